package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

var errInUse = errors.New("another local mode runs in this directory: end it or choose another --dir")

// lock keeps a second run from replacing what the first one uses. The kernel
// lets go of it with the process.
func lock(dir string) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, privateFile)
	if err != nil {
		return nil, fmt.Errorf("locking the directory: %w", err)
	}

	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close() // nothing was written

		return nil, fmt.Errorf("%w (%s)", errInUse, dir)
	}

	return func() { _ = file.Close() }, nil
}
