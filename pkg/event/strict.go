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

	r := strictReader{text: string(body)}

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
	if json.Valid(body) {
		return nil
	}

	var (
		raw    json.RawMessage
		broken *json.SyntaxError
	)

	err := json.Unmarshal(body, &raw)

	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return notJSON("", "is empty", "send one CloudEvent per message")
	case errors.As(err, &broken):
		return notJSON("", fmt.Sprintf("is not JSON: %s at byte %d", shorten(broken.Error()), broken.Offset),
			"send one CloudEvent as JSON and nothing after it")
	}

	return notJSON("", "is not JSON", "send one CloudEvent as JSON and nothing after it")
}

func invalidUTF8(body []byte) int {
	if utf8.Valid(body) {
		return -1
	}

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

// strictReader builds the value of a text that is known to be valid JSON in
// UTF-8. The strings of the value are parts of the text.
type strictReader struct {
	text string
	at   int
	path []step
}

// step leads to a value: by its name from an object, or by its index from a list.
type step struct {
	name  string
	index int
	list  bool
}

// where is the path of the value that is read.
func (r *strictReader) where() string {
	names := make([]string, 0, len(r.path))

	for _, s := range r.path {
		if s.list {
			s.name = strconv.Itoa(s.index)
		}

		names = append(names, s.name)
	}

	return join(names...)
}

// next is the first byte of what comes next. In a valid text commas and colons
// tell no more than white space does.
func (r *strictReader) next() byte {
	for {
		switch c := r.text[r.at]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
			r.at++
		default:
			return c
		}
	}
}

func (r *strictReader) value() (any, error) {
	switch c := r.next(); c {
	case '{', '[':
		if len(r.path) >= maxDepth {
			return nil, notJSON(r.where(), fmt.Sprintf("is nested more than %d deep", maxDepth), "make it flatter")
		}

		if c == '{' {
			return r.object()
		}

		return r.list()
	case '"':
		return r.string()
	case 't':
		r.at += len("true")

		return true, nil
	case 'f':
		r.at += len("false")

		return false, nil
	case 'n':
		r.at += len("null")

		return nil, nil //nolint:nilnil // null is nil.
	default:
		return r.number()
	}
}

func (r *strictReader) object() (any, error) {
	object, depth := map[string]any{}, len(r.path)
	r.path = append(r.path, step{})
	r.at++

	for r.next() != '}' {
		name, err := r.string()
		if err != nil {
			return nil, err
		}

		r.path[depth].name = name

		if _, twice := object[name]; twice {
			return nil, notJSON(r.where(), "is given twice", "give each name once")
		}

		object[name], err = r.value()
		if err != nil {
			return nil, err
		}
	}

	r.path = r.path[:depth]
	r.at++

	return object, nil
}

func (r *strictReader) list() (any, error) {
	list, depth := []any{}, len(r.path)
	r.path = append(r.path, step{list: true})
	r.at++

	for r.next() != ']' {
		r.path[depth].index = len(list)

		value, err := r.value()
		if err != nil {
			return nil, err
		}

		list = append(list, value)
	}

	r.path = r.path[:depth]
	r.at++

	return list, nil
}

func (r *strictReader) string() (string, error) {
	end, escaped := r.at+1, false

	for r.text[end] != '"' {
		if r.text[end] == '\\' {
			escaped = true
			end++
		}

		end++
	}

	quoted := r.text[r.at : end+1]
	r.at = end + 1

	if !escaped {
		return quoted[1 : len(quoted)-1], nil
	}

	var s string
	if err := json.Unmarshal([]byte(quoted), &s); err != nil {
		return "", notJSON(r.where(), "is not JSON", "")
	}

	return s, nil
}

// number refuses what a float64 cannot hold, since that is what most readers
// use, and what would take long to compare.
func (r *strictReader) number() (json.Number, error) {
	const (
		bits           = 64
		exponentDigits = 3
	)

	from := r.at
	for r.at < len(r.text) && strings.IndexByte("+-.0123456789eE", r.text[r.at]) >= 0 {
		r.at++
	}

	text := r.text[from:r.at]

	_, err := strconv.ParseFloat(text, bits)
	exponent := strings.IndexAny(text, "eE")
	digits := strings.TrimLeft(text[exponent+1:], "+-")

	if err != nil || len(text) > maxNumberLength || (exponent >= 0 && len(digits) > exponentDigits) {
		return "", notJSON(r.where(), "is a number too large or too long to be read alike everywhere", "send it as a string")
	}

	return json.Number(text), nil
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
