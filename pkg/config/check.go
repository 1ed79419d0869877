package config

import (
	"encoding"
	"errors"
	"fmt"
	"net"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lessor-dev/lessor/internal/nearest"
	"github.com/lessor-dev/lessor/pkg/capacity"
)

var (
	errType  = errors.New("cannot be read")
	errValue = errors.New("cannot be used")
)

// wrong says of a value that it is not what is needed.
func wrong(value, why string) error {
	const limit = 80
	if len(value) > limit {
		value = value[:limit] + "…"
	}

	return fmt.Errorf("%q %w: %s", value, errValue, why)
}

// check judges the text of one variable: by its type, then by its own rule.
func check(s setting, v variable, value string) error {
	if err := fits(s.kind, value); err != nil {
		return err
	}

	if v.check == nil {
		return nil
	}

	return v.check(value)
}

// fits reports whether the reader of the environment will be able to make the
// type of it.
func fits(kind reflect.Type, value string) error {
	if text, ok := reflect.TypeAssert[encoding.TextUnmarshaler](reflect.New(kind)); ok {
		if err := text.UnmarshalText([]byte(value)); err != nil {
			return fmt.Errorf("%w: %w", errType, err)
		}

		return nil
	}

	switch {
	case kind == reflect.TypeFor[time.Duration]():
		if _, err := time.ParseDuration(value); err != nil {
			return fmt.Errorf("%q %w as a duration", value, errType)
		}
	case kind.Kind() == reflect.Bool:
		if _, err := strconv.ParseBool(value); err != nil {
			return fmt.Errorf("%q %w as true or false", value, errType)
		}
	case kind.Kind() == reflect.Int:
		if _, err := strconv.Atoi(value); err != nil {
			return fmt.Errorf("%q %w as a whole number", value, errType)
		}
	}

	return nil
}

func isURL(value string) error {
	u, err := url.Parse(value)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" {
		return wrong(value, "it is no URL with https or http and a host")
	}

	return nil
}

func isAddress(value string) error {
	_, port, err := net.SplitHostPort(value)
	if err != nil {
		return wrong(value, "it has no port")
	}

	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return wrong(value, "its port is no number below 65536")
	}

	return nil
}

func oneOf(known ...string) func(string) error {
	return func(value string) error {
		if slices.Contains(known, value) {
			return nil
		}

		if meant := nearest.To(value, known); meant != "" {
			return wrong(value, "did you mean "+meant+"?")
		}

		return wrong(value, "it is none of the known words")
	}
}

func matches(pattern string) func(string) error {
	compiled := regexp.MustCompile(pattern)

	return func(value string) error {
		if !compiled.MatchString(value) {
			return wrong(value, "it does not match "+pattern)
		}

		return nil
	}
}

// each checks the parts of a list. Blanks would become part of a name.
func each(pattern string) func(string) error {
	match := matches(pattern)

	return func(value string) error {
		seen := map[string]bool{}

		for part := range strings.SplitSeq(value, ",") {
			if err := match(strings.TrimSpace(part)); err != nil {
				return err
			}

			if seen[part] {
				return wrong(part, "it is there twice")
			}

			seen[part] = true
		}

		return nil
	}
}

// The checks of durations and numbers come after the check of the type, so the
// text can be read.

func positive(value string) error {
	if d, _ := time.ParseDuration(value); d <= 0 {
		return wrong(value, "it must be above 0")
	}

	return nil
}

func notNegative(value string) error {
	if d, _ := time.ParseDuration(value); d < 0 {
		return wrong(value, "it must not be negative")
	}

	return nil
}

func between(low, high string) func(string) error {
	lowest, errLow := time.ParseDuration(low)
	highest, errHigh := time.ParseDuration(high)

	return func(value string) error {
		d, err := time.ParseDuration(value)
		if err := errors.Join(errLow, errHigh, err); err != nil {
			return err
		}

		if d < lowest || d > highest {
			return wrong(value, "it is out of range")
		}

		return nil
	}
}

func integer(low, high int) func(string) error {
	return func(value string) error {
		if n, err := strconv.Atoi(value); err != nil || n < low || n > high {
			return wrong(value, "it is out of range")
		}

		return nil
	}
}

func someMemory(value string) error {
	var b capacity.Bytes
	if err := b.UnmarshalText([]byte(value)); err != nil || b == 0 {
		return wrong(value, "it must be above 0")
	}

	return nil
}
