package event_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func TestDecodeGolden(t *testing.T) {
	t.Parallel()

	for _, name := range goldenNames(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			body, err := os.ReadFile(filepath.Join("testdata", "valid", name+".json"))
			require.NoError(t, err)

			got, err := newDecoder(event.OrderTime).Decode(body)
			require.NoError(t, err)
			require.Equal(t, kindOf(t, name), got.Type)
			requireGolden(t, filepath.Join("testdata", "decoded", name+".json"), indented(t, got))
		})
	}
}

// goldenNames are those of the example messages. Each type has one.
func goldenNames(tb testing.TB) []string {
	tb.Helper()

	files, err := filepath.Glob(filepath.Join("testdata", "valid", "*.json"))
	require.NoError(tb, err)

	names := make([]string, len(files))
	for i, file := range files {
		names[i] = strings.TrimSuffix(filepath.Base(file), ".json")
	}

	for _, kind := range event.Types() {
		require.Contains(tb, names, string(kind))
	}

	return names
}

// kindOf is the type with which the name of an example begins.
func kindOf(t *testing.T, name string) tenant.EventType {
	t.Helper()

	for _, kind := range event.Types() {
		if name == string(kind) || strings.HasPrefix(name, string(kind)+"-") {
			return kind
		}
	}

	require.Fail(t, "an example of no type", name)

	return ""
}

func TestDecodeReadsEveryField(t *testing.T) {
	t.Parallel()

	body := []byte(`{
		"specversion": "1.0", "id": "e 1", "source": "//signup/eu", "type": "lessor.tenant.created.v1", "subject": "Acme_1.eu-x",
		"time": "2026-03-01T13:00:00.123456789+01:00", "datacontenttype": "application/json; charset=utf-8",
		"dataschema": "https://example.com/created.json", "traceparent": "00-ab", "partitionkey": 7, "urgent": true, "gone": null,
		"data": {"tier": "enterprise", "region": "us-gov-west-1", "parameters": {
			"seats": 5, "none": null, "labels": {"b": [1, 2.50, "<x>"], "a": false}}}}`)

	got, err := newDecoder(event.OrderTime).Decode(body)
	require.NoError(t, err)

	at := time.Date(2026, time.March, 1, 12, 0, 0, 123456789, time.UTC)
	require.Equal(t, tenant.Event{
		ID: "e 1", Source: "//signup/eu", Type: tenant.EventCreated, Tenant: "Acme_1.eu-x", Time: at,
		Version: tenant.TimeVersion(at, "e 1", "//signup/eu"), Tier: "enterprise", Region: "us-gov-west-1",
		Parameters: tenant.Parameters{
			"seats": json.RawMessage(`5`), "none": json.RawMessage(`null`),
			"labels": json.RawMessage(`{"a":false,"b":[1,2.50,"\u003cx\u003e"]}`),
		},
		Extensions: map[string]string{"traceparent": "00-ab", "partitionkey": "7", "urgent": "true"},
	}, got)
}

// A desired state goes through JSON in the tenant's row. If that changed the
// text of a parameter, every later comparison would see a difference.
func TestParametersAreStableThroughJSON(t *testing.T) {
	t.Parallel()

	body := message(t, "data", `{"tier":"free","region":"eu-west-1","parameters":{"p":{ "z" : "<&>\u2028é" , "a" : 1e2 }}}`)
	got, err := newDecoder(event.OrderTime).Decode(body)
	require.NoError(t, err)

	row, err := json.Marshal(got.Parameters)
	require.NoError(t, err)

	var read tenant.Parameters
	require.NoError(t, json.Unmarshal(row, &read))
	require.Equal(t, got.Parameters, read)
}

func TestDecodeOrder(t *testing.T) {
	t.Parallel()

	at := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	byTime := tenant.TimeVersion(at, "e1", "//signup")
	bySequence := func(n int64) tenant.Version { return tenant.SequenceVersion(n, "e1", "//signup") }

	tests := map[string]struct {
		order event.Order
		kind  tenant.EventType
		data  string
		want  tenant.Version
	}{
		"time":                    {event.OrderTime, tenant.EventSuspended, ``, byTime},
		"time ignores a sequence": {event.OrderTime, tenant.EventSuspended, `{"sequence":7}`, byTime},
		"sequence":                {event.OrderSequence, tenant.EventSuspended, `{"sequence":7}`, bySequence(7)},
		"sequence zero":           {event.OrderSequence, tenant.EventSuspended, `{"sequence":0}`, bySequence(0)},
		"the greatest sequence": {
			event.OrderSequence, tenant.EventSuspended, `{"sequence":9223372036854775807}`, bySequence(1<<63 - 1),
		},
		"a whole number with a fraction": {event.OrderSequence, tenant.EventSuspended, `{"sequence":42.0}`, bySequence(42)},
		"a request goes by time":         {event.OrderSequence, tenant.EventReprovision, `{"sequence":7}`, byTime},
		"a request needs no sequence":    {event.OrderSequence, tenant.EventPreview, ``, byTime},
		"a nudge needs no sequence":      {event.OrderSequence, tenant.EventNudged, ``, byTime},
		"the clock needs no sequence":    {event.OrderSequence, tenant.EventDue, ``, byTime},
		"an approval goes by time": {
			event.OrderSequence, tenant.EventApproved, `{"operation":"01JQ8M7C4H8K2V5N9T3W6X0Y1Z","sequence":7}`, byTime,
		},
		"a confirmation goes by time": {
			event.OrderSequence, tenant.EventCutoverConfirmed, `{"token":"6JZ3Q2M5TW7Y4XKD6VQH2C5N3A","sequence":7}`, byTime,
		},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got, err := newDecoder(tt.order).Decode(ofType(t, tt.kind, tt.data))
			require.NoError(t, err)
			require.Equal(t, tt.want, got.Version)
		})
	}
}

func TestDecodeAcceptsTheLimits(t *testing.T) {
	t.Parallel()

	many := make([]string, 64)
	for i := range many {
		many[i] = `"p` + strings.Repeat("x", i) + `":1`
	}

	many[63] = `"q":1`

	tests := map[string][]byte{
		"five minutes ahead":          message(t, "time", `"2026-03-01T12:35:00Z"`),
		"the year 2000":               message(t, "time", `"2000-01-01T00:00:00Z"`),
		"256 KiB":                     padded(t, event.MaxBytes),
		"64 parameters":               message(t, "data", `{"tier":"f","region":"eu-west-1","parameters":{`+strings.Join(many, ",")+`}}`),
		"a name of 64":                message(t, "data", `{"tier":"f","region":"eu-west-1","parameters":{"`+strings.Repeat("a", 64)+`":1}}`),
		"a tier of 31":                message(t, "data", `{"tier":"`+strings.Repeat("a", 31)+`","region":"eu-west-1"}`),
		"deep":                        nested(t, 29),
		"an empty update":             ofType(t, tenant.EventUpdated, `{"parameters":{}}`),
		"null data":                   ofType(t, tenant.EventSuspended, `null`),
		"an emoji in two escapes":     ofType(t, tenant.EventDeleted, `{"reason":"\ud83d\ude00 \\ud83d"}`),
		"a tiny number":               message(t, "data", `{"tier":"f","region":"eu-west-1","parameters":{"p":-1.5e-300}}`),
		"an extension of 20":          message(t, strings.Repeat("x", 20), `"y"`),
		"a region with four parts":    message(t, "data", `{"tier":"f","region":"us-iso-east-1"}`),
		"a source that is a urn":      message(t, "source", `"urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66"`),
		"a subject of one character":  message(t, "subject", `"7"`),
		"deletion without any reason": ofType(t, tenant.EventDeleted, ``),
		"retirement without a reason": ofType(t, tenant.EventRetire, ``),
		"a token of 20":               ofType(t, tenant.EventCutoverConfirmed, `{"token":"`+strings.Repeat("_", 20)+`"}`),
		"a token of 128":              ofType(t, tenant.EventCutoverConfirmed, `{"token":"`+strings.Repeat("-", 128)+`","accepted":true}`),
	}

	for name, body := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, err := newDecoder(event.OrderTime).Decode(body)
			require.NoError(t, err)
		})
	}
}

// padded is a valid message of exactly so many bytes.
func padded(t *testing.T, size int) []byte {
	t.Helper()

	pad := func(n int) []byte {
		return message(t, "data", `{"tier":"f","region":"eu-west-1","parameters":{"p":"`+strings.Repeat("x", n)+`"}}`)
	}

	body := pad(size - len(pad(0)))
	require.Len(t, body, size)

	return body
}

// nested is a message with a parameter of so many lists in one another.
func nested(t *testing.T, depth int) []byte {
	t.Helper()

	return message(t, "data", `{"tier":"f","region":"eu-west-1","parameters":{"p":`+
		strings.Repeat("[", depth)+strings.Repeat("]", depth)+`}}`)
}

func TestDecoderIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()

	decoder := newDecoder(event.OrderTime)
	good, bad := message(t), message(t, "data", `{"teir":"free"}`)

	var group sync.WaitGroup

	for range 8 {
		group.Go(func() {
			for range 20 {
				_, err := decoder.Decode(good)
				require.NoError(t, err)

				_, err = decoder.Decode(bad)
				require.ErrorContains(t, err, "data.teir")
			}
		})
	}

	group.Wait()
}
