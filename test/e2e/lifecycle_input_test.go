package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Events that say nothing new, or make no sense for the tenant as it is, start no
// operation and harm nothing. Of those that people send by mistake, the command
// says so and sends none.
func TestEventsThatMakeNoSense(t *testing.T) {
	t.Parallel()

	const id = tenant.ID("sensible")

	f := newLifecycle(t, "")
	f.create(id, tierPool)
	before := f.serves(id, tierPool)
	began := len(started(f.operations(id)))

	for name, e := range map[string]struct {
		kind   tenant.EventType
		change func(*tenant.Event)
	}{
		"the same tier":            {tenant.EventTierChanged, func(e *tenant.Event) { e.Tier = tierPool }},
		"resume of an active one":  {tenant.EventResumed, nil},
		"created twice":            {tenant.EventCreated, func(e *tenant.Event) { e.Tier = tierPool }},
		"nothing to approve":       {tenant.EventApproved, func(e *tenant.Event) { e.Operation = "01JQ8M5T9W3Z6Y2X4V7R8P0N1K" }},
		"nothing to confirm":       {tenant.EventCutoverConfirmed, func(e *tenant.Event) { e.Token = "a-token-that-nobody-was-given" }},
		"nothing to refuse":        {tenant.EventCutoverConfirmed, func(e *tenant.Event) { e.Token, e.Refused = "another-one-that-nobody-was-given", true }},
		"nothing beside to retire": {tenant.EventRetire, nil},
		"the parameters of before": {tenant.EventUpdated, func(e *tenant.Event) { e.Parameters = tenant.Parameters{"schemaPrefix": nil} }},
	} {
		t.Log(name)
		f.say(e.kind, id, e.change)
	}

	// A deletion of before its creation comes late.
	f.send(f.event(tenant.EventDeleted, id, before.CreatedAt.Add(-time.Hour), nil))

	f.idle(time.Minute)

	rec := f.serves(id, tierPool)
	f.sameOutputs(before, rec)
	require.Nil(t, rec.Change)
	require.Equal(t, before.Applied.Generation, rec.Applied.Generation)
	require.Len(t, started(f.operations(id)), began, "no operation was needed")

	const known = string(id)

	for name, tc := range map[string]struct {
		args []string
		code int
		says string
	}{
		"create twice":       {[]string{"provision", known, "--tier", tierPool, "--region", "us-east-1"}, 5, "exists already"},
		"the same tier":      {[]string{"tier", known, tierPool}, 5, "is in tier pooled already"},
		"resume an active":   {[]string{"resume", known}, 5, "is active already"},
		"nothing to approve": {[]string{"approve", known}, 5, "nothing of tenant sensible waits for approval"},
		"nothing to retire":  {[]string{"retire", known}, 5, "there is nothing to retire"},
		"nothing to confirm": {[]string{"confirm", known, "--token", "a-token-that-nobody-was-given"}, 5, "no tier change of tenant sensible waits"},
		"delete nobody":      {[]string{"deprovision", "nobody-here", "--yes"}, 4, "nobody-here"},
		"resume nobody":      {[]string{"resume", "nobody-here"}, 4, "nobody-here"},
		"move nobody":        {[]string{"tier", "nobody-here", tierPool}, 4, "nobody-here"},
		"approve of nobody":  {[]string{"approve", "nobody-here"}, 4, "nobody-here"},
	} {
		code, text := f.enqueue(tc.args...)
		require.Equal(t, tc.code, code, "%s: %s", name, text)
		require.Contains(t, text, tc.says, name)
	}

	f.idle(time.Minute)
	require.Len(t, started(f.operations(id)), began)
}

// Whatever comes for a tenant that is gone or never was, nothing is made, and
// nothing of it is left for a later life.
func TestEventsForTenantsThatAreNotThere(t *testing.T) {
	t.Parallel()

	const (
		deleted = tenant.ID("deleted-one")
		never   = tenant.ID("never-was")
	)

	f := newLifecycle(t, "")
	f.create(deleted, tierPool)
	f.serves(deleted, tierPool)
	f.say(tenant.EventDeleted, deleted, nil)
	f.gone(deleted)

	began := len(started(f.operations("")))

	for _, id := range []tenant.ID{deleted, never} {
		f.say(tenant.EventDeleted, id, nil)
		f.move(id, tierSilo)
		f.say(tenant.EventSuspended, id, nil)
		f.say(tenant.EventUpdated, id, func(e *tenant.Event) { e.Parameters = tenant.Parameters{"schemaPrefix": []byte(`"former_"`)} })
		f.say(tenant.EventReprovision, id, nil)
		f.retire(id)
	}

	f.idle(time.Minute)
	require.Len(t, started(f.operations("")), began, "nothing is there to work on")

	for _, id := range []tenant.ID{deleted, never} {
		rec := f.row(id, "to be settled", func(rec tenant.Record) bool { return !rec.NeedsWork() })
		require.Equal(t, tenant.PhaseAbsent, rec.Desired.Spec().Phase)
		require.Empty(t, f.resources(id))
		f.create(id, tierPool)
	}

	for _, id := range []tenant.ID{deleted, never} {
		rec := f.serves(id, tierPool)
		require.Equal(t, tenant.PhaseActive, rec.Applied.Spec.Phase)
		require.Empty(t, rec.Applied.Spec.Parameters)
		require.JSONEq(t, "true", string(rec.Outputs["serving"]))
	}
}

// Parameters out of their bounds fail the tenant with the bounds, before anything
// is made, and harm no topology that stands.
func TestParametersOutOfBounds(t *testing.T) {
	t.Parallel()

	f := newLifecycle(t, "")
	wrong := map[tenant.ID]struct {
		tier, name, value, says string
	}{
		"unbound-tasks": {tierBridge, "desiredCount", "1000", "1000 is not between 1 and 100"},
		"unbound-size":  {tierSilo, "storageGiB", "5", "5 is not between 20 and 65536"},
		"unbound-range": {tierSilo, "cidr", `"10.0.0.0/8"`, "10.0.0.0/8 must be between /16 and /24"},
		"unbound-key":   {tierSilo, "keyDeletionDays", "6", "6 is not between 7 and 30"},
	}
	bad := func(id tenant.ID) tenant.Parameters {
		return tenant.Parameters{wrong[id].name: []byte(wrong[id].value)}
	}
	refused := func(id tenant.ID) tenant.Record {
		rec := f.givenUp(id)
		require.Equal(t, tenant.KindInvalid, rec.Last.Failure.Kind)
		require.Contains(t, rec.Last.Failure.Message, "parameters."+wrong[id].name+": ")
		require.Contains(t, rec.Last.Failure.Message, wrong[id].says)

		return rec
	}

	for id, w := range wrong {
		f.say(tenant.EventCreated, id, func(e *tenant.Event) { e.Tier, e.Parameters = w.tier, bad(id) })
	}

	for id := range wrong {
		require.Nil(t, refused(id).Applied)
		require.Empty(t, f.resources(id))
	}

	t.Log("a change of tier with such a parameter is refused, and the tenant stays")

	const mover = tenant.ID("unbound-tasks")

	f.say(tenant.EventCreated, mover, func(e *tenant.Event) { e.Tier = tierPool })
	before := f.serves(mover, tierPool)
	f.say(tenant.EventTierChanged, mover, func(e *tenant.Event) { e.Tier, e.Parameters = tierBridge, bad(mover) })
	f.sameOutputs(before, refused(mover))
	require.Empty(t, f.resources(mover))
	f.uninterrupted(mover, now())
}
