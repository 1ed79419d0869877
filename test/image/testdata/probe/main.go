// Command probe stands in for programs of the image. By its name it prints what
// is in /etc/probe/<name>; as the plugin, it also looks around in the image.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"time"
)

// findings are what a program sees in a container.
type findings struct {
	UID, GID, PID int
	User          string
	Writable      map[string]bool
	// Reaped says that a child whose parent died left no zombie.
	Reaped bool
}

func main() {
	var err error

	switch {
	case len(os.Args) > 1 && os.Args[1] == "look":
		err = look(os.Args[2:])
	case len(os.Args) > 1 && os.Args[1] == "orphan":
		err = orphan()
	case len(os.Args) > 1 && os.Args[1] == "exit":
	default:
		var text []byte
		text, err = os.ReadFile("/etc/probe/" + filepath.Base(os.Args[0]))
		fmt.Print(string(text))
	}

	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// look prints findings, for directories that may be writable.
func look(dirs []string) error {
	found := findings{UID: os.Getuid(), GID: os.Getgid(), PID: os.Getpid(), Writable: map[string]bool{}}

	if me, err := user.Current(); err == nil {
		found.User = me.Username
	}

	for _, dir := range dirs {
		found.Writable[dir] = os.WriteFile(filepath.Join(dir, "probe"), nil, 0o600) == nil
	}

	out, err := exec.Command(os.Args[0], "orphan").Output()
	if err != nil {
		return fmt.Errorf("making an orphan: %w", err)
	}

	for range 100 {
		if _, err := os.Stat("/proc/" + string(out)); os.IsNotExist(err) {
			found.Reaped = true

			break
		}

		time.Sleep(20 * time.Millisecond)
	}

	return json.NewEncoder(os.Stdout).Encode(found)
}

// orphan starts a process, prints its number, and dies before anybody waits for
// it.
func orphan() error {
	child := exec.Command(os.Args[0], "exit")
	if err := child.Start(); err != nil {
		return err
	}

	fmt.Print(strconv.Itoa(child.Process.Pid))

	return nil
}
