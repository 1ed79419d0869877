package event_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

type invalidCase struct {
	body    []byte
	code    string
	field   string
	message string
	hint    string
}

func requireInvalid(t *testing.T, order event.Order, tt invalidCase) {
	t.Helper()

	e, err := newDecoder(order).Decode(tt.body)

	var invalid *event.InvalidError

	require.ErrorAs(t, err, &invalid)
	require.Equal(t, tenant.Event{}, e)
	require.Equal(t, tt.code, invalid.Code, err)
	require.Contains(t, event.Codes(), invalid.Code)
	require.Equal(t, tt.field, invalid.Field, err)
	require.Contains(t, invalid.Message, tt.message)
	require.Contains(t, invalid.Hint, tt.hint)
	require.NotEmpty(t, invalid.Hint, "every error says what to do: %v", err)
	requireShort(t, invalid)
}

// requireShort holds for any input: no part of an error is long, and none
// brings its own lines into a log.
func requireShort(t *testing.T, invalid *event.InvalidError) {
	t.Helper()

	require.Less(t, len(invalid.Field), 100)
	require.Less(t, len(invalid.Message), 250)
	require.Less(t, len(invalid.Hint), 450)
	require.NotContains(t, invalid.Error(), "\n")
	require.NotContains(t, invalid.Error(), "\x00")
}

func TestDecodeRefusesWhatIsNoJSON(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("x", 4000)

	tests := map[string]invalidCase{
		"nothing":           {[]byte(""), "not-json", "", "is empty", "one CloudEvent"},
		"not JSON":          {[]byte("hello"), "not-json", "", "is not JSON", "CloudEvent as JSON"},
		"XML":               {[]byte("<event/>"), "not-json", "", "at byte 1", "CloudEvent as JSON"},
		"cut off":           {message(t)[:60], "not-json", "", "is not JSON", "CloudEvent as JSON"},
		"two messages":      {append(message(t), message(t)...), "not-json", "", "after top-level value", "nothing after it"},
		"a batch":           {[]byte("[" + string(message(t)) + "]"), "not-json", "", "not a JSON object", "one CloudEvent per message"},
		"a string":          {[]byte(`"hello"`), "not-json", "", "not a JSON object", "one CloudEvent"},
		"null":              {[]byte(`null`), "not-json", "", "not a JSON object", "one CloudEvent"},
		"a byte order mark": {append([]byte("\ufeff"), message(t)...), "not-json", "", "is not JSON", "CloudEvent as JSON"},
		"Latin 1":           {message(t, "subject", "\"Andr\xe9\""), "not-json", "", "is not UTF-8", "UTF-8"},
		"half a surrogate":  {ofType(t, tenant.EventDeleted, `{"reason":"\ud83d!"}`), "not-json", "", "surrogate", "both halves"},
		"the other half":    {ofType(t, tenant.EventDeleted, `{"reason":"\ude00"}`), "not-json", "", "surrogate", "both halves"},
		"halves swapped":    {ofType(t, tenant.EventDeleted, `{"reason":"\ude00\ud83d"}`), "not-json", "", "surrogate", "both halves"},
		"half at the end":   {ofType(t, tenant.EventDeleted, `{"reason":"\ud83d"}`), "not-json", "", "surrogate", "both halves"},
		"256 KiB + 1": {
			padded(t, event.MaxBytes+1), "too-large", "", "is 262145 bytes long, the limit is 262144", "send a reference",
		},
		"a megabyte of junk": {[]byte(strings.Repeat("{", 1<<20)), "too-large", "", "limit is 262144", "reference"},
		"a name twice":       {[]byte(`{"id":"a","id":"b"}`), "not-json", "id", "is given twice", "once"},
		"a name twice in data": {
			message(t, "data", `{"tier":"free","region":"eu-west-1","tier":"enterprise"}`), "not-json", "data.tier", "is given twice", "once",
		},
		"a name twice in a parameter": {
			message(t, "data", `{"tier":"a","region":"eu-west-1","parameters":{"p":[{"x":1,"\u0078":2}]}}`),
			"not-json", "data.parameters.p.0.x", "is given twice", "once",
		},
		"a name twice, after other values": {
			message(t, "data", `{"tier":"free","region":"eu-west-1","parameters":{"o":{"a":[{}]},"p":[[0],{"x":1},{"y":[],"x":1,"x":2}]}}`),
			"not-json", "data.parameters.p.2.x", "is given twice", "once",
		},
		"a long name twice": {
			[]byte(`{"` + long + `":1,"` + long + `":2}`), "not-json", strings.Repeat("x", 80) + "…", "is given twice", "once",
		},
		"too deep":   {nested(t, 30), "not-json", "data.parameters.p" + strings.Repeat(".0", 29), "nested more than 32", "flatter"},
		"bottomless": {[]byte(strings.Repeat("[", 200000)), "not-json", "", "is not JSON", ""},
		"deep and closed": {
			nested(t, 5000), "not-json", "data.parameters.p" + strings.Repeat(".0", 29), "nested more than 32", "flatter",
		},
		"a huge number": {
			message(t, "data", `{"sequence":1e999999999}`), "not-json", "data.sequence", "number too large", "as a string",
		},
		"a tiny number": {
			message(t, "data", `{"sequence":1e-999999999}`), "not-json", "data.sequence", "number too large", "as a string",
		},
		"a long number": {
			message(t, "data", `{"sequence":`+strings.Repeat("1", 65)+`}`), "not-json", "data.sequence", "too long", "as a string",
		},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireInvalid(t, event.OrderTime, tt)
		})
	}
}

func TestDecodeRefusesAWrongEnvelope(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("x", 4000)

	many := make([]string, 0, 66)
	for i := range 33 {
		many = append(many, "x"+strings.Repeat("a", i%15)+string(rune('b'+i/15)), "1")
	}

	tests := map[string]invalidCase{
		"no CloudEvent": {[]byte(`{"tenant_id":"acme"}`), "envelope", "specversion", "is missing", "CloudEvent 1.0"},
		"version 0.3": {
			message(t, "specversion", `"0.3"`), "envelope", "specversion", `must be "1.0", not "0.3"`, "CloudEvent 1.0",
		},
		"version of a number": {
			message(t, "specversion", `1.0`), "envelope", "specversion", `must be "1.0", not 1.0`, "CloudEvent 1.0",
		},
		"null version":      {message(t, "specversion", `null`), "envelope", "specversion", "is missing", "CloudEvent 1.0"},
		"no id":             {message(t, "id", ``), "envelope", "id", "is missing", "unique"},
		"null id":           {message(t, "id", `null`), "envelope", "id", "is missing", "unique"},
		"an empty id":       {message(t, "id", `""`), "envelope", "id", "must not be empty", "unique"},
		"an id of a number": {message(t, "id", `5`), "envelope", "id", "must be a string, not a number", "unique"},
		"a long id": {
			message(t, "id", `"`+long+`"`), "envelope", "id", "is 4000 characters long, the limit is 256", "unique",
		},
		"an id of two lines":    {message(t, "id", `"a\nb"`), "envelope", "id", `must not be "a\nb"`, "unique"},
		"no source":             {message(t, "source", ``), "envelope", "source", "is missing", "URI"},
		"a source with a space": {message(t, "source", `"sign up"`), "envelope", "source", `must not be "sign up"`, "without spaces"},
		"a source that is none": {message(t, "source", `"%zz"`), "envelope", "source", `must not be "%zz"`, "URI"},
		"no type":               {message(t, "type", ``), "type", "type", "is missing", "lessor.tenant.created.v1"},
		"an unknown type": {
			message(t, "type", `"com.example.signup"`),
			"type", "type", `is unknown: "com.example.signup"`, "the types are lessor.tenant.created.v1, ",
		},
		"a mistyped type": {
			message(t, "type", `"lessor.tenant.tier_changed.v1"`),
			"type", "type", "is unknown", `did you mean "lessor.tenant.tier-changed.v1"?`,
		},
		"a type of tomorrow": {
			message(t, "type", `"lessor.tenant.created.v2"`), "type", "type", "is unknown", `did you mean "lessor.tenant.created.v1"?`,
		},
		"a type without its prefix": {
			message(t, "type", `"created.v1"`), "type", "type", `is unknown: "created.v1"`, "the types are",
		},
		"a type without its version": {
			message(t, "type", `"lessor.tenant.created"`), "type", "type", "is unknown", `did you mean "lessor.tenant.created.v1"?`,
		},
		"an endless type":  {message(t, "type", `"`+long+`"`), "type", "type", `is unknown: "xxx`, "the types are"},
		"no subject":       {message(t, "subject", ``), "subject", "subject", "is missing", "tenant id"},
		"an empty subject": {message(t, "subject", `""`), "subject", "subject", `must not be ""`, "tenant id"},
		"an id with a slash": {
			message(t, "subject", `"acme/prod"`),
			"subject", "subject", `must not be "acme/prod"`, "letters, digits, underscores, dots and hyphens",
		},
		"an id of 64": {message(t, "subject", `"`+strings.Repeat("a", 64)+`"`), "subject", "subject", "must not be", "1 to 63"},
		"a mistyped subject": {
			message(t, "subject", ``, "subjct", `"acme"`), "subject", "subject", "is missing", `is it misspelt as "subjct"?`,
		},
		"no time":            {message(t, "time", ``), "time", "time", "is missing", "RFC 3339"},
		"a time of a number": {message(t, "time", `1772366400`), "time", "time", "must be a string, not a number", "RFC 3339"},
		"a time without a zone": {
			message(t, "time", `"2026-03-01T12:00:00"`), "time", "time", `must not be "2026-03-01T12:00:00"`, "RFC 3339",
		},
		"a day": {message(t, "time", `"2026-03-01"`), "time", "time", "must not be", "RFC 3339"},
		"a leap second": {
			message(t, "time", `"2016-12-31T23:59:60Z"`), "time", "time", "must be in RFC 3339", "2026-03-01T12:00:00Z",
		},
		"five minutes and a bit ahead": {
			message(t, "time", `"2026-03-01T12:35:00.000000001Z"`), "time", "time", "is 5m0s ahead of now, the limit is 5m0s", "clock",
		},
		"the far future":   {message(t, "time", `"9999-12-31T23:59:59Z"`), "time", "time", "ahead of now", "clock"},
		"the last century": {message(t, "time", `"1999-12-31T23:59:59Z"`), "time", "time", "before the year 2000", "when it happened"},
		"the zero of Go":   {message(t, "time", `"0001-01-01T00:00:00Z"`), "time", "time", "before the year 2000", "when it happened"},
		"XML as data": {
			message(t, "datacontenttype", `"application/xml"`),
			"envelope", "datacontenttype", `must not be "application/xml"`, "application/json",
		},
		"data in base 64":    {message(t, "data", ``, "data_base64", `"e30="`), "envelope", "data_base64", "not a name", "data as JSON"},
		"data of a string":   {message(t, "data", `"{}"`), "data", "data", "must be an object, not a string", "object"},
		"data of a list":     {message(t, "data", `[]`), "data", "data", "must be an object, not a list", "object"},
		"an upper-case name": {message(t, "Subject", `"acme"`), "envelope", "Subject", "not a name", `did you mean "subject"?`},
		"a name with a dash": {
			message(t, "trace-parent", `"00"`), "envelope", "trace-parent", "not a name", "lower-case letters and digits",
		},
		"a name of 21": {
			message(t, strings.Repeat("x", 21), `"00"`), "envelope", strings.Repeat("x", 21), "not a name", "1 to 20",
		},
		"an endless name":     {message(t, long, `"00"`), "envelope", strings.Repeat("x", 80) + "…", "not a name", "1 to 20"},
		"a name of two lines": {message(t, "a\nb", `"00"`), "envelope", "a?b", "not a name", "1 to 20"},
		"an object as extension": {
			message(t, "actor", `{"name":"x"}`), "envelope", "actor", "must be a number or a string or true or false, not an object", "extension",
		},
		"an endless extension": {message(t, "actor", `"`+long+`"`), "envelope", "actor", "the limit is 1024", "extension"},
		"too many extensions": {
			message(t, append(many, "type", `"lessor.tenant.suspended.v1"`, "datacontenttype", `"application/json"`, "dataschema", `"a"`)...),
			"envelope", "", "has 42 entries, the limit is 41", "at most 32 extension",
		},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireInvalid(t, event.OrderTime, tt)
		})
	}
}

func TestDecodeRefusesWrongData(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("x", 4000)

	many := make([]string, 65)
	for i := range many {
		many[i] = `"` + string(rune('a'+i%26)) + strings.Repeat("b", i/26) + `":1`
	}

	created := func(rest string) []byte { return message(t, "data", `{"tier":"free","region":"eu-west-1",`+rest+`}`) }

	tests := map[string]invalidCase{
		"no data": {message(t, "data", ``), "data", "data.tier", "is missing", `for example "enterprise"`},
		"missing tier": {
			message(t, "data", `{"region":"eu-west-1"}`), "data", "data.tier", "is missing", `for example "enterprise"`,
		},
		"missing region": {message(t, "data", `{"tier":"free"}`), "data", "data.region", "is missing", `for example "eu-west-1"`},
		"a mistyped field": {
			message(t, "data", `{"teir":"free","region":"eu-west-1"}`),
			"data", "data.teir", "is not a field of lessor.tenant.created.v1", `did you mean "tier"?`,
		},
		"an unknown field": {
			created(`"colour":"red"`), "data", "data.colour", "is not a field", "its fields are parameters, region, sequence, tier",
		},
		"snake case": {
			ofType(t, tenant.EventDeleted, `{"accept_data_loss":true}`),
			"data", "data.accept_data_loss", "is not a field", `did you mean "acceptDataLoss"?`,
		},
		"an endless field": {
			created(`"` + long + `":1`), "data", "data." + strings.Repeat("x", 75) + "…", "is not a field", "its fields are",
		},
		"a tier of a number": {
			message(t, "data", `{"tier":1,"region":"eu-west-1"}`), "data", "data.tier", "must be a string, not a number", "lower-case",
		},
		"a null tier": {
			message(t, "data", `{"tier":null,"region":"eu-west-1"}`), "data", "data.tier", "must be a string, not null", "lower-case",
		},
		"an upper-case tier": {
			message(t, "data", `{"tier":"Free","region":"eu-west-1"}`), "data", "data.tier", `must not be "Free"`, "lower-case",
		},
		"an endless tier": {
			message(t, "data", `{"tier":"`+long+`","region":"eu-west-1"}`), "data", "data.tier", `must not be "xxxx`, "1 to 31",
		},
		"a zone as region": {
			message(t, "data", `{"tier":"free","region":"eu-west-1a"}`), "data", "data.region", `must not be "eu-west-1a"`, "eu-west-1",
		},
		"parameters of a list": {created(`"parameters":[]`), "data", "data.parameters", "must be an object, not a list", "null removes"},
		"null parameters":      {created(`"parameters":null`), "data", "data.parameters", "must be an object, not null", "null removes"},
		"65 parameters": {
			created(`"parameters":{` + strings.Join(many, ",") + `}`),
			"data", "data.parameters", "has 65 entries, the limit is 64", "at most 64",
		},
		"a parameter's name": {
			created(`"parameters":{"9lives":1}`), "data", "data.parameters.9lives", "not a name", "starting with a letter",
		},
		"a dotted name": {
			created(`"parameters":{"a.b":1}`), "data", "data.parameters.a.b", "not a name", "letters, digits and underscores",
		},
		"a long name": {
			created(`"parameters":{"` + strings.Repeat("a", 65) + `":1}`),
			"data", "data.parameters." + strings.Repeat("a", 64) + "…", "not a name", "1 to 64",
		},
		"an update of nothing": {ofType(t, tenant.EventUpdated, ``), "data", "data.parameters", "is missing", "by name"},
		"an update of the tier": {
			ofType(t, tenant.EventUpdated, `{"parameters":{},"tier":"free"}`),
			"data", "data.tier", "is not a field", "its fields are parameters, sequence",
		},
		"a change to no tier": {ofType(t, tenant.EventTierChanged, `{}`), "data", "data.tier", "is missing", "enterprise"},
		"a suspension's reason": {
			ofType(t, tenant.EventSuspended, `{"reason":"x"}`), "data", "data.reason", "is not a field", "its fields are sequence",
		},
		"a long reason": {
			ofType(t, tenant.EventDeleted, `{"reason":"`+long+`"}`),
			"data", "data.reason", "is 4000 characters long, the limit is 512", "512",
		},
		"loss of a string": {
			ofType(t, tenant.EventDeleted, `{"acceptDataLoss":"yes"}`),
			"data", "data.acceptDataLoss", "must be true or false, not a string", "snapshot",
		},
		"an unknown wish": {
			ofType(t, tenant.EventRetire, `{"force":true}`), "data", "data.force", "is not a field", "its fields are reason, sequence",
		},
		"a confirmation of nothing": {ofType(t, tenant.EventCutoverConfirmed, `{}`), "data", "data.token", "is missing", "the hook"},
		"a short token": {
			ofType(t, tenant.EventCutoverConfirmed, `{"token":"`+strings.Repeat("x", 19)+`"}`), "data", "data.token", "is not one", "20 to 128",
		},
		"an endless token": {
			ofType(t, tenant.EventCutoverConfirmed, `{"token":"`+strings.Repeat("x", 129)+`"}`), "data", "data.token", "is not one", "20 to 128",
		},
		"an answer in words": {
			ofType(t, tenant.EventCutoverConfirmed, `{"token":"6JZ3Q2M5TW7Y4XKD6VQH2C5N3A","accepted":"no"}`),
			"data", "data.accepted", "must be true or false, not a string", "stays in its tier",
		},
		"an approval of nothing": {ofType(t, tenant.EventApproved, ``), "data", "data.operation", "is missing", "waits for approval"},
		"an approval of anything": {
			ofType(t, tenant.EventApproved, `{"operation":"*"}`), "data", "data.operation", `must not be "*"`, "waits for approval",
		},
		"a clock with data": {ofType(t, tenant.EventDue, `{"reason":"x"}`), "data", "data.reason", "is not a field", "it has no fields"},
		"loss where none can be": {
			message(t, "data", `{"tier":"free","region":"eu-west-1","acceptDataLoss":true}`),
			"data", "data.acceptDataLoss", "is not a field", "its fields are parameters, region, sequence, tier",
		},
		"a nudge with data": {ofType(t, tenant.EventNudged, `{"x":1}`), "data", "data.x", "is not a field", "it has no fields"},
		"sequence of a string": {
			ofType(t, tenant.EventSuspended, `{"sequence":"7"}`),
			"sequence", "data.sequence", "must be a whole number, not a string", "grows",
		},
		"a negative sequence": {
			ofType(t, tenant.EventSuspended, `{"sequence":-1}`), "sequence", "data.sequence", "must be at least 0", "grows",
		},
		"a broken sequence": {
			ofType(t, tenant.EventSuspended, `{"sequence":1.5}`), "sequence", "data.sequence", "must be a whole number", "grows",
		},
		"a sequence of 2^63": {
			ofType(t, tenant.EventSuspended, `{"sequence":9223372036854775808}`),
			"sequence", "data.sequence", "must be at most 9223372036854775807", "grows",
		},
		"a null sequence": {
			ofType(t, tenant.EventSuspended, `{"sequence":null}`),
			"sequence", "data.sequence", "must be a whole number, not null", "grows",
		},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			for range 3 { // Maps have no order; the error has.
				requireInvalid(t, event.OrderTime, tt)
			}
		})
	}
}

func TestDecodeNeedsASequenceWhereTheFleetOrdersByIt(t *testing.T) {
	t.Parallel()

	for _, kind := range []tenant.EventType{
		tenant.EventCreated, tenant.EventUpdated, tenant.EventTierChanged, tenant.EventSuspended, tenant.EventResumed, tenant.EventDeleted,
	} {
		data := map[tenant.EventType]string{
			tenant.EventCreated:     `{"tier":"free","region":"eu-west-1"}`,
			tenant.EventUpdated:     `{"parameters":{"a":1}}`,
			tenant.EventTierChanged: `{"tier":"free"}`,
		}[kind]

		requireInvalid(t, event.OrderSequence, invalidCase{
			ofType(t, kind, data), "sequence", "data.sequence", "is missing", "LESSOR_EVENT_ORDER=sequence",
		})
	}
}

// Parameters may be refused, but nothing of their values is ever repeated.
func TestErrorsDoNotRepeatParameters(t *testing.T) {
	t.Parallel()

	for _, data := range []string{
		`{"tier":"free","region":"eu-west-1","parameters":"hunter2"}`,
		`{"tier":"free","region":"eu-west-1","parameters":["hunter2"]}`,
		`{"tier":"free","region":"eu-west-1","parameters":{"9":"hunter2"}}`,
		`{"tier":"free","region":"eu-west-1","password":"hunter2"}`,
		`{"tier":["hunter2"],"region":"eu-west-1"}`,
	} {
		_, err := newDecoder(event.OrderTime).Decode(message(t, "data", data))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

// A token lets whoever has it move a tenant, also one that was copied with a
// space too much.
func TestErrorsDoNotRepeatTokens(t *testing.T) {
	t.Parallel()

	for _, data := range []string{
		`{"token":"7KX4R3N6VX8Z5YME7WRJ3D6P4B "}`,
		`{"token":["7KX4R3N6VX8Z5YME7WRJ3D6P4B"]}`,
		`{"token":"7KX4R3N6VX8Z5YME7WRJ3D6P4B","token":"7KX4R3N6VX8Z5YME7WRJ3D6P4B"}`,
		`{"tokem":"7KX4R3N6VX8Z5YME7WRJ3D6P4B"}`,
	} {
		_, err := newDecoder(event.OrderTime).Decode(ofType(t, tenant.EventCutoverConfirmed, data))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "7KX4")
	}
}

func TestInvalidErrorIsOneLine(t *testing.T) {
	t.Parallel()

	require.EqualError(t, &event.InvalidError{Field: "data.tier", Message: "is missing", Hint: "give one"},
		"invalid event: data.tier is missing (give one)")
	require.EqualError(t, &event.InvalidError{Message: "is empty"}, "invalid event: the message is empty")
}
