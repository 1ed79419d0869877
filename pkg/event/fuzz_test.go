package event_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/event"
)

// FuzzDecode: no input brings the decoder down, every refusal is one short
// error, and what is accepted survives being sent on.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "valid", "*.json"))
	require.NoError(f, err)
	require.NotEmpty(f, files)

	for _, file := range files {
		body, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(body, true)
		f.Add(body, false)
		f.Add(body[:len(body)/2], false)
		f.Add([]byte(strings.Replace(string(body), `"data": {`, `"data": {"sequence": 7, `, 1)), true)
	}

	for _, seed := range []string{
		``, `{}`, `null`, `[[[`, `{"specversion":1.0}`, `{"a":1,"a":2}`, `{"\ud800":"\udc00"}`, `{"specversion":"1.0","data":{"":[]}}`,
		`{"specversion":"1.0","id":"a","source":"b","type":"lessor.tenant.deleted.v1","subject":"c",` +
			`"time":"2026-03-01T12:00:00Z","data":{"sequence":1e3}}`,
	} {
		f.Add([]byte(seed), true)
	}

	decoders := map[bool]*event.Decoder{true: newDecoder(event.OrderSequence), false: newDecoder(event.OrderTime)}
	orders := map[bool]event.Order{true: event.OrderSequence, false: event.OrderTime}

	f.Fuzz(func(t *testing.T, body []byte, sequence bool) {
		got, err := decoders[sequence].Decode(body)
		if err != nil {
			var invalid *event.InvalidError

			require.ErrorAs(t, err, &invalid)
			require.Contains(t, event.Codes(), invalid.Code)
			requireShort(t, invalid)

			return
		}

		again, err := event.Encode(got, orders[sequence])

		// Escapes can make a message longer than it came.
		var invalid *event.InvalidError
		if errors.As(err, &invalid) && invalid.Code == event.CodeTooLarge {
			return
		}

		require.NoError(t, err)

		same, err := decoders[sequence].Decode(again)
		require.NoError(t, err)
		require.Equal(t, got, same)
	})
}
