# Prints the targets of a Makefile with what stands behind "##" on their lines.
BEGIN { FS = ":.*## " }
/^##@/ { printf "\n%s\n", substr($0, 5) }
/^[a-z][a-z-]*:.*## / { printf "  %-14s %s\n", $1, $2 }
