package bed

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Busy is how long the processors of the machine have worked since it started,
// for whomever.
func Busy() (time.Duration, error) {
	// Of man 5 proc, /proc/stat: user, nice, system, idle, iowait, irq, softirq,
	// steal. What guests took is in user.
	const fields, idle, iowait = 8, 3, 4

	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("reading what the processors did: %w", err)
	}

	line, _, _ := strings.Cut(string(text), "\n")

	values := strings.Fields(strings.TrimPrefix(line, "cpu"))
	if len(values) < fields {
		return 0, fmt.Errorf("reading what the processors did: %w", os.ErrInvalid)
	}

	var sum int64

	for i, value := range values[:fields] {
		if i == idle || i == iowait {
			continue
		}

		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading what the processors did: %w", err)
		}

		sum += n
	}

	return time.Duration(sum) * time.Second / ticks, nil
}

// ShareOfMachine is which part of all that the processors could do in a time was
// done, from 0 to 1.
func ShareOfMachine(worked, within time.Duration) float64 {
	if within <= 0 {
		return 0
	}

	return worked.Seconds() / within.Seconds() / float64(runtime.NumCPU())
}
