package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxBytes is the size of the largest message that is read.
const MaxBytes = 256 << 10

const (
	// maxDepth is how deep objects and lists may be nested.
	maxDepth = 32
	// maxNumberLength bounds the work that a number makes.
	maxNumberLength = 64
)

// parse reads a message that is one JSON object, and refuses what
// encoding/json would pass over in silence and other readers would read
// differently: names that are given twice, text that is no Unicode, numbers
// that fit nowhere.
func parse(body []byte) (map[string]any, error) {
	if len(body) > MaxBytes {
		return nil, &InvalidError{
			Code: CodeTooLarge, Message: fmt.Sprintf("is %d bytes long, the limit is %d", len(body), MaxBytes),
			Hint: "keep large values elsewhere and send a reference",
		}
	}

	if offset := invalidUTF8(body); offset >= 0 {
		return nil, notJSON("", fmt.Sprintf("is not UTF-8 at byte %d", offset), "send JSON encoded in UTF-8")
	}

	if err := syntax(body); err != nil {
		return nil, err
	}

	if offset := loneSurrogate(body); offset >= 0 {
		return nil, notJSON("", fmt.Sprintf("has half a surrogate pair at byte %d", offset), `write both halves, or the character itself`)
	}

	r := strictReader{decoder: json.NewDecoder(bytes.NewReader(body))}
	r.decoder.UseNumber()

	value, err := r.value()
	if err != nil {
		return nil, err
	}

	object, ok := value.(map[string]any)
	if !ok {
		return nil, notJSON("", "is not a JSON object", "send one CloudEvent per message")
	}

	return object, nil
}

func notJSON(field, message, hint string) error {
	return &InvalidError{Code: CodeNotJSON, Field: field, Message: message, Hint: hint}
}

func syntax(body []byte) error {
	var (
		raw    json.RawMessage
		broken *json.SyntaxError
	)

	err := json.Unmarshal(body, &raw)

	switch {
	case err == nil:
		return nil
	case len(bytes.TrimSpace(body)) == 0:
		return notJSON("", "is empty", "send one CloudEvent per message")
	case errors.As(err, &broken):
		return notJSON("", fmt.Sprintf("is not JSON: %s at byte %d", shorten(broken.Error()), broken.Offset),
			"send one CloudEvent as JSON and nothing after it")
	}

	return notJSON("", "is not JSON", "send one CloudEvent as JSON and nothing after it")
}

func invalidUTF8(body []byte) int {
	for i := 0; i < len(body); {
		r, size := utf8.DecodeRune(body[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}

		i += size
	}

	return -1
}

// loneSurrogate finds an escape such as \ud83d without its other half. The
// body is valid JSON: a backslash stands in a string and has a follower.
func loneSurrogate(body []byte) int {
	const escape = len(`\uXXXX`)

	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			continue
		}

		if body[i+1] != 'u' {
			i++

			continue
		}

		r := unescape(body[i:])
		if utf16.IsSurrogate(r) {
			rest := body[i+escape:]
			if len(rest) < escape || rest[0] != '\\' || rest[1] != 'u' || utf16.DecodeRune(r, unescape(rest)) == utf8.RuneError {
				return i
			}

			i += escape
		}

		i += escape - 1
	}

	return -1
}

// unescape reads an escape; it is known to be four hexadecimal digits.
func unescape(b []byte) rune {
	const (
		from, to = len(`\u`), len(`\uXXXX`)
		hex      = 16
		bits     = 32
	)

	n, err := strconv.ParseInt(string(b[from:to]), hex, bits)
	if err != nil {
		return utf8.RuneError
	}

	return rune(n)
}

// strictReader builds the value of a text that is known to be valid JSON.
type strictReader struct {
	decoder *json.Decoder
	path    []string
}

func (r *strictReader) value() (any, error) {
	token, err := r.decoder.Token()
	if err != nil {
		return nil, notJSON(join(r.path...), "is not JSON", "")
	}

	switch token := token.(type) {
	case json.Delim:
		if len(r.path) >= maxDepth {
			return nil, notJSON(join(r.path...), fmt.Sprintf("is nested more than %d deep", maxDepth), "make it flatter")
		}

		if token == '{' {
			return r.object()
		}

		return r.list()
	case json.Number:
		return token, r.number(token.String())
	default:
		return token, nil
	}
}

func (r *strictReader) object() (any, error) {
	object := map[string]any{}

	for r.decoder.More() {
		token, err := r.decoder.Token()
		if err != nil {
			return nil, notJSON(join(r.path...), "is not JSON", "")
		}

		name, _ := token.(string)
		r.path = append(r.path, name)

		if _, twice := object[name]; twice {
			return nil, notJSON(join(r.path...), "is given twice", "give each name once")
		}

		object[name], err = r.value()
		if err != nil {
			return nil, err
		}

		r.path = r.path[:len(r.path)-1]
	}

	return object, r.end()
}

func (r *strictReader) list() (any, error) {
	list := []any{}

	for r.decoder.More() {
		r.path = append(r.path, strconv.Itoa(len(list)))

		value, err := r.value()
		if err != nil {
			return nil, err
		}

		list = append(list, value)
		r.path = r.path[:len(r.path)-1]
	}

	return list, r.end()
}

// end reads the bracket that closes an object or a list.
func (r *strictReader) end() error {
	if _, err := r.decoder.Token(); err != nil {
		return notJSON(join(r.path...), "is not JSON", "")
	}

	return nil
}

// number refuses what a float64 cannot hold, since that is what most readers
// use, and what would take long to compare.
func (r *strictReader) number(text string) error {
	const (
		bits           = 64
		exponentDigits = 3
	)

	_, err := strconv.ParseFloat(text, bits)
	exponent := strings.IndexAny(text, "eE")
	digits := strings.TrimLeft(text[exponent+1:], "+-")

	if err != nil || len(text) > maxNumberLength || (exponent >= 0 && len(digits) > exponentDigits) {
		return notJSON(join(r.path...), "is a number too large or too long to be read alike everywhere", "send it as a string")
	}

	return nil
}

// keys lists the names of an object in order.
func keys(object map[string]any) []string {
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}

	slices.Sort(names)

	return names
}
