package event_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// now is when every test takes place: half an hour after the golden events.
func now() time.Time { return time.Date(2026, time.March, 1, 12, 30, 0, 0, time.UTC) }

func newDecoder(order event.Order) *event.Decoder { return event.NewDecoder(order, now) }

// message is a valid message, changed by the pairs of attribute and JSON
// value. An empty value removes the attribute.
func message(tb testing.TB, pairs ...string) []byte {
	tb.Helper()

	attributes := map[string]json.RawMessage{
		"specversion": json.RawMessage(`"1.0"`),
		"id":          json.RawMessage(`"e1"`),
		"source":      json.RawMessage(`"//signup"`),
		"type":        json.RawMessage(`"lessor.tenant.created.v1"`),
		"subject":     json.RawMessage(`"acme"`),
		"time":        json.RawMessage(`"2026-03-01T12:00:00Z"`),
		"data":        json.RawMessage(`{"tier":"free","region":"eu-west-1"}`),
	}

	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			delete(attributes, pairs[i])
		} else {
			attributes[pairs[i]] = json.RawMessage(pairs[i+1])
		}
	}

	parts := make([]string, 0, len(attributes))

	for name, value := range attributes {
		key, err := json.Marshal(name)
		require.NoError(tb, err)

		parts = append(parts, string(key)+":"+string(value))
	}

	return []byte("{" + strings.Join(parts, ",") + "}")
}

// ofType is a valid message of a type that needs no data, with that data.
func ofType(t *testing.T, kind tenant.EventType, data string) []byte {
	t.Helper()

	return message(t, "type", `"`+event.TypeName(kind)+`"`, "data", data)
}

// requireGolden compares with a file; UPDATE_GOLDEN=1 writes it anew.
func requireGolden(t *testing.T, path string, got []byte) {
	t.Helper()

	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, got, 0o600))
	}

	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func indented(t *testing.T, v any) []byte {
	t.Helper()

	text, err := json.MarshalIndent(v, "", "  ")
	require.NoError(t, err)

	return append(text, '\n')
}
