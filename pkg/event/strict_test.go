package event_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// anyValue generates what JSON can say.
func anyValue(depth int) *rapid.Generator[any] {
	kinds := []*rapid.Generator[any]{
		rapid.Just(any(nil)), rapid.Bool().AsAny(), rapid.String().AsAny(), rapid.Int64().AsAny(), rapid.Float64().AsAny(),
		rapid.StringOf(rapid.SampledFrom([]rune("\"\\/\b\n,:{}[]aé\U0001f600"))).AsAny(),
	}
	if depth > 0 {
		kinds = append(kinds, rapid.SliceOfN(anyValue(depth-1), 0, 4).AsAny(),
			rapid.MapOfN(rapid.String(), anyValue(depth-1), 0, 4).AsAny())
	}

	return rapid.OneOf(kinds...)
}

// escaped writes every character outside of ASCII as an escape.
func escaped(text []byte) []byte {
	var b bytes.Buffer

	for _, r := range string(text) {
		if r < 0x80 {
			b.WriteRune(r)

			continue
		}

		for _, half := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04X`, half)
		}
	}

	return b.Bytes()
}

// The reader is our own; what it makes of a value is what encoding/json does.
func TestValuesAreReadAsEncodingJSONReadsThem(t *testing.T) {
	t.Parallel()

	decoder := newDecoder(event.OrderTime)

	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(anyValue(3).Draw(t, "value"))
		require.NoError(t, err)

		if rapid.Bool().Draw(t, "escaped") {
			text = escaped(text)
		}

		if rapid.Bool().Draw(t, "spaced") {
			var b bytes.Buffer

			require.NoError(t, json.Indent(&b, text, "\r\n", "\t "))
			text = b.Bytes()
		}

		var want any

		reference := json.NewDecoder(bytes.NewReader(text))
		reference.UseNumber()
		require.NoError(t, reference.Decode(&want))

		canonical, err := json.Marshal(want)
		require.NoError(t, err)

		e, err := decoder.Decode([]byte(`{"specversion":"1.0","id":"e1","source":"//signup","type":"lessor.tenant.created.v1",` +
			`"subject":"acme","time":"2026-03-01T12:00:00Z" , "data" : {"tier":"free","region":"eu-west-1",` +
			`"parameters":{"before":[1E2 , -0.5e-1],"value":` + string(text) + `,"after":true}}}` + "\n"))
		require.NoError(t, err)
		require.Equal(t, tenant.Parameters{"before": json.RawMessage(`[1E2,-0.5e-1]`), "value": canonical, "after": json.RawMessage(`true`)}, e.Parameters)
	})
}

// A value may end with the message, if that is no event.
func TestValuesAreReadToTheirEnd(t *testing.T) {
	t.Parallel()

	for _, body := range []string{"1", "-1.5e+3", " 1", "1 ", "true", "null ", `"x"`} {
		_, err := newDecoder(event.OrderTime).Decode([]byte(body))
		require.ErrorContains(t, err, "is not a JSON object", strings.TrimSpace(body))
	}
}
