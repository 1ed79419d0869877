package bed

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// Counter is a Pulumi CLI that notes every start and goes on as the real one, in
// the same process.
type Counter struct{ dir, log string }

// NewCounter makes a CLI that counts.
func (b *Bed) NewCounter() (*Counter, error) {
	const (
		private    = 0o700
		executable = 0o700
	)

	dir := filepath.Join(b.Dir, b.Name("cli"))
	if err := os.MkdirAll(dir, private); err != nil {
		return nil, fmt.Errorf("making a directory: %w", err)
	}

	c := &Counter{dir: dir, log: filepath.Join(dir, "log")}
	script := fmt.Sprintf("#!/bin/sh\necho \"$*\" >>%q\nexec %q \"$@\"\n", c.log, filepath.Join(b.BinDir, "pulumi"))

	if err := os.WriteFile(c.path(), []byte(script), executable); err != nil {
		return nil, fmt.Errorf("writing the counter of CLI processes: %w", err)
	}

	return c, nil
}

func (c *Counter) path() string { return filepath.Join(c.dir, "pulumi") }

// Take is how often the CLI was started since the last call.
func (c *Counter) Take() (int, error) {
	text, err := os.ReadFile(c.log)
	if os.IsNotExist(err) {
		return 0, nil
	}

	if err != nil {
		return 0, fmt.Errorf("reading how often the CLI was started: %w", err)
	}

	if err := os.Truncate(c.log, 0); err != nil {
		return 0, fmt.Errorf("counting the starts of the CLI: %w", err)
	}

	return bytes.Count(text, []byte("\n")), nil
}
