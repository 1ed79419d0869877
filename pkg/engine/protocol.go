package engine

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Parent and child talk in lines of JSON: an order and then instructions go
// down the child's stdin, reports come up its stdout.

// maxLine bounds a line in both directions. An order holds a desired state of
// 128 KiB at most, a result outputs of maxOutputs.
const maxLine = 8 << 20

var (
	errLineTooLong = errors.New("a line is too long")
	errNoOrder     = errors.New("no operation came down stdin")
)

// order is the first line that a child reads.
type order struct {
	Operation Operation `json:"operation"`
	Settings  settings  `json:"settings"`
}

// settings are what a child needs to know of its surroundings.
type settings struct {
	Pulumi          string `json:"pulumi"`
	Version         string `json:"version"`
	SecretsProvider string `json:"secretsProvider"`
	Parallel        int    `json:"parallel"`
	Slot            slot   `json:"slot"`
	// Enter tells a child that was started before its slot was known.
	Enter          bool          `json:"enter,omitempty"`
	InterruptGrace time.Duration `json:"interruptGrace"`
	TerminateGrace time.Duration `json:"terminateGrace"`
	// Leased reports that word of the lease follows.
	Leased bool `json:"leased,omitempty"`
	// PlainState keeps the state gate out.
	PlainState bool `json:"plainState,omitempty"`
}

// instruction is every later line that a child reads. One of its fields is set.
type instruction struct {
	// LeaseUntil is when the lease ends, in nanoseconds of CLOCK_BOOTTIME.
	LeaseUntil int64      `json:"leaseUntil,omitempty"`
	Interrupt  *interrupt `json:"interrupt,omitempty"`
	Kill       bool       `json:"kill,omitempty"`
}

// interrupt asks the child to end cleanly within a grace.
type interrupt struct {
	Grace time.Duration `json:"grace"`
}

// report is every line that a child writes. One of its fields is set.
type report struct {
	// Started is when the child had its order, and word of the lease if it needs
	// one, in nanoseconds of CLOCK_BOOTTIME. It comes first.
	Started  int64     `json:"started,omitempty"`
	Progress *Progress `json:"progress,omitempty"`
	Result   *Result   `json:"result,omitempty"`
}

// lineWriter writes values as lines, each with a single call.
type lineWriter struct {
	mutex sync.Mutex
	to    io.Writer
}

// write begins with a line feed, so that a program that prints to its stdout
// cannot spoil the line.
func (w *lineWriter) write(value any) error {
	line, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding a line: %w", err)
	}

	if len(line) > maxLine {
		return errLineTooLong
	}

	framed := make([]byte, 0, len(line)+len("\n\n"))
	framed = append(framed, '\n')
	framed = append(framed, line...)
	framed = append(framed, '\n')

	w.mutex.Lock()
	defer w.mutex.Unlock()

	if _, err := w.to.Write(framed); err != nil {
		return fmt.Errorf("writing a line: %w", err)
	}

	return nil
}

// lineReader reads the lines that lineWriter writes.
type lineReader struct {
	scanner *bufio.Scanner
}

func newLineReader(from io.Reader) *lineReader {
	scanner := bufio.NewScanner(from)
	scanner.Buffer(nil, maxLine+1)

	return &lineReader{scanner: scanner}
}

// next fills into with the next line that is a JSON object and skips others.
// It returns io.EOF at the end.
func (r *lineReader) next(into any) error {
	for r.scanner.Scan() {
		line := r.scanner.Bytes()
		if len(line) == 0 || line[0] != '{' {
			continue
		}

		if json.Unmarshal(line, into) == nil {
			return nil
		}
	}

	if err := r.scanner.Err(); err != nil {
		return fmt.Errorf("reading a line: %w", err)
	}

	return io.EOF
}
