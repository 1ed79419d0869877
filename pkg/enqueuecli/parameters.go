package enqueuecli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

const (
	jsonNull      = "null"
	standardInput = "-"
)

// parameterFlags collect the tenant's parameters from the command line.
type parameterFlags struct {
	given tenant.Parameters
	file  string
}

func (p *parameterFlags) register(set *pflag.FlagSet, unset bool) {
	p.given = tenant.Parameters{}

	set.Var(&parameterFlag{into: p.given, parse: looseValue, kind: "name=value"}, "set",
		"set a parameter; the value is JSON if it parses as such, else a string (repeatable)")
	set.Var(&parameterFlag{into: p.given, parse: strictValue, kind: "name=json"}, "set-json",
		"set a parameter to a JSON value (repeatable)")
	set.StringVar(&p.file, "parameters-file", "", "JSON object of parameters, - for standard input; --set and the like win over it")

	if unset {
		set.Var(&parameterFlag{into: p.given, parse: nil, kind: "name"}, "unset", "remove a parameter (repeatable)")
	}
}

// collect merges file and flags; nil if there is nothing.
func (p *parameterFlags) collect(stdin io.Reader) (tenant.Parameters, error) {
	var all tenant.Parameters

	if p.file != "" {
		content, err := readInput(p.file, stdin)
		if err != nil {
			return nil, err
		}

		// Into the plain type, since the error names it.
		if err := json.Unmarshal(content, (*map[string]json.RawMessage)(&all)); err != nil {
			return nil, fail(exitValidation, `it must be one JSON object, such as {"size": 3}`,
				"%s does not hold parameters: %w", inputName(p.file), err)
		}
	}

	for name, value := range p.given {
		if all == nil {
			all = tenant.Parameters{}
		}

		all[name] = value
	}

	return all, nil
}

var (
	errNoValue     = errors.New("must be name=value")
	errNoName      = errors.New("must name a parameter")
	errNotJSON     = errors.New("is not JSON")
	errNull        = errors.New("null would remove the parameter: use --unset")
	errGivenTwice  = errors.New("is given twice")
	errUnsetEquals = errors.New("takes a name only")
)

// parameterFlag is one of the flags that set or remove parameters.
type parameterFlag struct {
	into tenant.Parameters
	// parse is nil for the flag that removes.
	parse func(value string) (json.RawMessage, error)
	kind  string
}

func (*parameterFlag) String() string { return "" }

func (f *parameterFlag) Type() string { return f.kind }

func (f *parameterFlag) Set(argument string) error {
	name, text, hasValue := strings.Cut(argument, "=")
	value := json.RawMessage(jsonNull)

	switch {
	case name == "":
		return errNoName
	case f.parse == nil && hasValue:
		return errUnsetEquals
	case f.parse != nil && !hasValue:
		return errNoValue
	case f.parse != nil:
		var err error
		if value, err = f.parse(text); err != nil {
			return err
		}
	}

	if _, twice := f.into[name]; twice {
		return fmt.Errorf("%s %w", name, errGivenTwice)
	}

	f.into[name] = value

	return nil
}

// looseValue is JSON if it parses, else a string.
func looseValue(text string) (json.RawMessage, error) {
	if json.Valid([]byte(text)) {
		return strictValue(text)
	}

	quoted, err := json.Marshal(text)
	if err != nil {
		return nil, fmt.Errorf("encoding the value: %w", err)
	}

	return quoted, nil
}

// strictValue is JSON. It keeps the digits of numbers as they were typed.
func strictValue(text string) (json.RawMessage, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(text)); err != nil {
		return nil, errNotJSON
	}

	if compact.String() == jsonNull {
		return nil, errNull
	}

	return compact.Bytes(), nil
}

// maxInput bounds what is read from a file, far above any real use.
const (
	maxInputMiB = 64
	maxInput    = maxInputMiB << 20
)

// readInput reads a file, or standard input for "-".
func readInput(path string, stdin io.Reader) ([]byte, error) {
	if path != standardInput {
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("reading the file: %w", err)
		}
		defer func() { _ = file.Close() }()

		stdin = file
	}

	content, err := io.ReadAll(io.LimitReader(stdin, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", inputName(path), err)
	}

	if len(content) > maxInput {
		return nil, fail(exitValidation, "split it", "%s is larger than %d MiB", inputName(path), maxInputMiB)
	}

	return content, nil
}

// inputName is how messages call an input.
func inputName(path string) string {
	if path == standardInput {
		return "standard input"
	}

	return path
}
