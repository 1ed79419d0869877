package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// slot is where one operation at a time keeps its files. Its paths stay the
// same, because the CLI remembers every directory that it ever worked in.
type slot struct {
	// Work holds Pulumi.yaml, Home is PULUMI_HOME, Temp is TMPDIR.
	Work string `json:"work"`
	Home string `json:"home"`
	Temp string `json:"temp"`
}

// slots are the directories of one runner.
type slots struct {
	root    string
	plugins string
	// lock is held by every process of every operation, since they inherit it.
	// So a directory is taken over only when all that worked in it are gone,
	// even if the worker died first.
	lock *os.File
}

const (
	privateDir  os.FileMode = 0o700
	privateFile os.FileMode = 0o600
	// maxRunners bounds how many workers can share a work directory.
	maxRunners = 1000
	slotPrefix = "slot-"
)

var errNoDirectory = errors.New("every directory is taken")

// claimSlots takes the first directory under workDir that nobody works in.
func claimSlots(workDir, plugins string) (*slots, error) {
	for n := range maxRunners {
		root := filepath.Join(workDir, "w"+strconv.Itoa(n))
		if err := os.MkdirAll(root, privateDir); err != nil {
			return nil, fmt.Errorf("preparing LESSOR_WORK_DIR: %w", err)
		}

		lock, err := os.OpenFile(filepath.Join(root, "lock"), os.O_CREATE|os.O_RDWR, privateFile)
		if err != nil {
			return nil, fmt.Errorf("preparing LESSOR_WORK_DIR: %w", err)
		}

		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
			_ = lock.Close()

			continue
		}

		claimed := &slots{root: root, plugins: plugins, lock: lock}
		if err := claimed.clear(); err != nil {
			return nil, errors.Join(err, claimed.release())
		}

		return claimed, nil
	}

	return nil, fmt.Errorf("preparing LESSOR_WORK_DIR %s: %w", workDir, errNoDirectory)
}

// none is where a process waits that has no slot yet. Its temporary directory is
// not there, and tells only those who look for strays that it is ours.
func (s *slots) none() slot { return slot{Work: s.root, Temp: filepath.Join(s.root, "tmp")} }

// enter makes this process, a child that had no slot, work in one.
func (s slot) enter() error {
	if err := os.Chdir(s.Work); err != nil {
		return fmt.Errorf("entering the slot: %w", err)
	}

	if err := os.Setenv("TMPDIR", s.Temp); err != nil {
		return fmt.Errorf("entering the slot: %w", err)
	}

	return nil
}

func (s *slots) path(n int) string { return filepath.Join(s.root, slotPrefix+strconv.Itoa(n)) }

// clear removes what a worker left that was killed: nobody works there any more.
func (s *slots) clear() error {
	entries, err := os.ReadDir(s.root)
	if err != nil {
		return fmt.Errorf("clearing LESSOR_WORK_DIR: %w", err)
	}

	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), slotPrefix) {
			continue
		}

		if err := os.RemoveAll(filepath.Join(s.root, entry.Name())); err != nil {
			return fmt.Errorf("clearing LESSOR_WORK_DIR: %w", err)
		}
	}

	return nil
}

// prepare makes the slot's directories anew.
func (s *slots) prepare(n int) (slot, error) {
	if err := s.clean(n); err != nil {
		return slot{}, err
	}

	dir := s.path(n)
	prepared := slot{
		Work: filepath.Join(dir, "work"),
		Home: filepath.Join(dir, "home"),
		Temp: filepath.Join(dir, "tmp"),
	}

	for _, d := range []string{prepared.Work, prepared.Home, prepared.Temp} {
		if err := os.MkdirAll(d, privateDir); err != nil {
			return slot{}, fmt.Errorf("preparing a slot: %w", err)
		}
	}

	if s.plugins == "" {
		return prepared, nil
	}

	if err := os.Symlink(s.plugins, filepath.Join(prepared.Home, "plugins")); err != nil {
		return slot{}, fmt.Errorf("preparing a slot: %w", err)
	}

	return prepared, nil
}

// clean removes what an operation left in its slot.
func (s *slots) clean(n int) error {
	if err := os.RemoveAll(s.path(n)); err != nil {
		return fmt.Errorf("cleaning a slot: %w", err)
	}

	return nil
}

// release gives the directory back.
func (s *slots) release() error {
	// The file stays: who waits for the lock has opened it already.
	if err := s.lock.Close(); err != nil {
		return fmt.Errorf("releasing LESSOR_WORK_DIR: %w", err)
	}

	return nil
}
