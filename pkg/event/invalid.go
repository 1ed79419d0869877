package event

import (
	"strconv"
	"strings"
)

// The codes of InvalidError: few, so that they can label a metric.
const (
	CodeTooLarge = "too-large"
	CodeNotJSON  = "not-json"
	CodeEnvelope = "envelope"
	CodeType     = "type"
	CodeData     = "data"
	CodeTime     = "time"
	CodeSequence = "sequence"
	CodeSubject  = "subject"
)

// Codes lists every code, for metrics that start at zero.
func Codes() []string {
	return []string{
		CodeTooLarge, CodeNotJSON, CodeEnvelope, CodeType, CodeData, CodeTime, CodeSequence, CodeSubject,
	}
}

const (
	isMissing     = "is missing"
	sequenceField = "data.sequence"
)

// InvalidError says what is wrong with a message that no retry can make right.
type InvalidError struct {
	// Code is one of Codes.
	Code string
	// Field is the path of what is wrong, such as data.tier. It is empty
	// where the message as a whole is.
	Field string
	// Message completes a sentence that begins with the field, Hint says
	// what to do about it.
	Message string
	Hint    string
}

// Error is one line: field, message and hint.
func (e *InvalidError) Error() string {
	field := e.Field
	if field == "" {
		field = "the message"
	}

	text := "invalid event: " + field + " " + e.Message
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}

	return text
}

// maxEcho is how many bytes of input an error repeats at most, in each part.
const maxEcho = 80

// quote repeats a piece of input, shortened and without control characters.
func quote(s string) string { return shorten(strconv.Quote(cut(s))) }

// shorten repeats a piece of input as it is, but for control characters.
func shorten(s string) string {
	clean := strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '?'
		}

		return r
	}, cut(s))

	if len(clean) <= maxEcho {
		return clean
	}

	return strings.ToValidUTF8(clean[:maxEcho], "") + "…"
}

// cut spares the functions above from working through a large message.
func cut(s string) string { return s[:min(len(s), maxEcho+1)] }

// join makes the path of a field. Names from a message may be anything.
func join(path ...string) string {
	var parts []string

	for _, p := range path {
		if p != "" {
			parts = append(parts, p)
		}
	}

	return shorten(strings.Join(parts, "."))
}
