package event_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

type schema struct {
	Schema     string                     `json:"$schema"`
	ID         string                     `json:"$id"`
	Properties map[string]json.RawMessage `json:"properties"`
}

func TestSchemasAreOnePerTypeAndTheEnvelope(t *testing.T) {
	t.Parallel()

	files, err := fs.Glob(event.Schemas(), "*.json")
	require.NoError(t, err)
	require.Len(t, files, len(event.Types())+1)
	require.Contains(t, files, "envelope.json")

	// Each schema stands on its own for those who use it elsewhere, so they
	// repeat each other; they must not differ.
	words := map[string]string{}

	for _, kind := range event.Types() {
		var s schema

		require.NoError(t, json.Unmarshal(event.Schema(kind), &s))
		require.Equal(t, "https://json-schema.org/draft/2020-12/schema", s.Schema)
		require.Equal(t, "urn:lessor:schema:"+event.TypeName(kind), s.ID)

		for name, text := range s.Properties {
			if seen, ok := words[name]; ok {
				require.JSONEq(t, seen, string(text), "%s of %s", name, kind)
			}

			words[name] = string(text)
		}
	}

	require.ElementsMatch(t,
		[]string{"tier", "region", "parameters", "reason", "acceptDataLoss", "sequence", "token", "accepted", "operation"}, slicesOf(words))
	require.Nil(t, event.Schema("born"))
}

func slicesOf(m map[string]string) []string {
	var out []string
	for name := range maps.Keys(m) {
		out = append(out, name)
	}

	return out
}

// The envelope's schema tells upstream what a tenant id is; tenant.ParseID is
// what decides.
func TestTheSchemaAndTheCodeAgreeOnTenantIDs(t *testing.T) {
	t.Parallel()

	text, err := fs.ReadFile(event.Schemas(), "envelope.json")
	require.NoError(t, err)

	var s struct {
		Properties struct {
			Subject struct {
				Pattern string `json:"pattern"`
			} `json:"subject"`
		} `json:"properties"`
	}

	require.NoError(t, json.Unmarshal(text, &s))

	pattern := regexp.MustCompile(s.Properties.Subject.Pattern)

	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(rapid.String(), rapid.StringMatching(`[A-Za-z0-9_./-]{0,70}`)).Draw(t, "id")
		_, err := tenant.ParseID(id)
		require.Equal(t, err == nil, pattern.MatchString(id))
	})
}

func TestOrderValidate(t *testing.T) {
	t.Parallel()

	require.NoError(t, event.OrderTime.Validate())
	require.NoError(t, event.OrderSequence.Validate())
	require.ErrorContains(t, event.Order("id").Validate(), `LESSOR_EVENT_ORDER is "id", set it to time or sequence`)
}

func ExampleDecoder_Decode() {
	decoder := event.NewDecoder(event.OrderTime, now)

	_, err := decoder.Decode([]byte(`{
		"specversion": "1.0", "id": "1", "source": "//signup", "type": "lessor.tenant.created.v1",
		"subject": "acme", "time": "2026-03-01T12:00:00Z", "data": {"teir": "free", "region": "eu-west-1"}}`))
	fmt.Println(err)
	// Output:
	// invalid event: data.teir is not a field of lessor.tenant.created.v1 (did you mean "tier"?)
}
