package engine

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// endStrays kills what is left of operations whose worker and whose own process
// were both killed: mostly a provider plugin, which does not mind that for
// minutes. They are the processes with their temporary files under workDir whose
// session has no leader any more.
//
// In a container none is left: it dies as a whole.
func endStrays(workDir string) {
	proc, err := os.Open("/proc")
	if err != nil {
		return
	}
	defer proc.Close()

	names, err := proc.Readdirnames(-1)
	if err != nil {
		return
	}

	mark := []byte("\x00TMPDIR=" + workDir + "/")

	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}

		// Other users' processes cannot be read, nor are they ours.
		environ, err := os.ReadFile("/proc/" + name + "/environ")
		if err != nil || !bytes.Contains(append([]byte{0}, environ...), mark) {
			continue
		}

		// While a session has members, the kernel gives its number to no other.
		if _, sid := readStat(pid); sid > 0 && !exists(sid) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func exists(pid int) bool {
	_, err := os.Stat("/proc/" + strconv.Itoa(pid))

	return err == nil
}
