package event_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func BenchmarkDecode(b *testing.B) {
	messages := map[string][]byte{
		"256KiB/text":    filled(b, `"`, "x", `"`),
		"256KiB/escapes": filled(b, `"`, `\u00e9`, `"`),
		"256KiB/numbers": filled(b, "[0", ",0", "]"),
		"256KiB/objects": filled(b, "[{}", `,{"a":{}}`, "]"),
	}

	for _, name := range goldenNames(b) {
		body, err := os.ReadFile(filepath.Join("testdata", "valid", name+".json"))
		require.NoError(b, err)

		messages[name] = body
	}

	for _, name := range slices.Sorted(maps.Keys(messages)) {
		body := messages[name]

		b.Run(name, func(b *testing.B) {
			decoder := newDecoder(event.OrderTime)

			b.ReportAllocs()
			b.SetBytes(int64(len(body)))

			for b.Loop() {
				if _, err := decoder.Decode(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Whoever sends nonsense must not cost more than whoever does not.
func BenchmarkDecodeRefused(b *testing.B) {
	messages := map[string][]byte{
		"type":        message(b, "type", `"lessor.tenant.born.v1"`),
		"field":       message(b, "data", `{"teir":"free","region":"eu-west-1"}`),
		"256KiB/text": []byte(strings.Repeat("x", event.MaxBytes)),
		"256KiB/deep": []byte(strings.Repeat("[", event.MaxBytes)),
		"256KiB/names": message(b, "data", `{"tier":"free","region":"eu-west-1","parameters":{`+
			strings.Repeat(`"a":0,`, event.MaxBytes/6-100)+`"b":0}}`),
	}

	for _, name := range slices.Sorted(maps.Keys(messages)) {
		body := messages[name]

		b.Run(name, func(b *testing.B) {
			decoder := newDecoder(event.OrderTime)

			b.ReportAllocs()

			for b.Loop() {
				if _, err := decoder.Decode(body); err == nil {
					b.Fatal("it was decoded")
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	events := map[string]tenant.Event{
		"suspended": {ID: "1", Source: "//s", Type: tenant.EventSuspended, Tenant: "acme", Time: now()},
		"created": {
			ID: "1", Source: "//s", Type: tenant.EventCreated, Tenant: "acme", Time: now(), Tier: "free", Region: "eu-west-1",
			Parameters: tenant.Parameters{"seats": []byte(`5`), "labels": []byte(`{"team":"core"}`)},
		},
	}

	for _, name := range slices.Sorted(maps.Keys(events)) {
		e := events[name]

		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()

			for b.Loop() {
				if _, err := event.Encode(e, event.OrderTime); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// filled is the largest message that is read: one with a parameter made of a
// first part, many of the same and a last one.
func filled(tb testing.TB, first, repeated, last string) []byte {
	tb.Helper()

	created := func(value string) []byte {
		return message(tb, "data", `{"tier":"free","region":"eu-west-1","parameters":{"value":`+value+`}}`)
	}

	room := event.MaxBytes - len(created(first+last))

	return created(first + strings.Repeat(repeated, room/len(repeated)) + last)
}

// Anybody who may publish can send 256 KiB of small values, so what each of them
// costs is bounded: one allocation, and a little for the growth of the list.
func TestAValueOfAMessageAllocatesOnce(t *testing.T) { //nolint:paralleltest // it counts what the process allocates
	const values = 1000

	decoder := newDecoder(event.OrderTime)
	allocations := func(list string) float64 {
		body := message(t, "data", `{"tier":"free","region":"eu-west-1","parameters":{"list":[`+list+`0]}}`)

		return testing.AllocsPerRun(20, func() {
			if _, err := decoder.Decode(body); err != nil {
				t.Error(err)
			}
		})
	}

	none := allocations("")
	require.Less(t, none, 150.0)
	require.Less(t, allocations(strings.Repeat("0,", values))-none, 1.1*values)
}
