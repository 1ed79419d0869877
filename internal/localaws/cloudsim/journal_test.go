package cloudsim_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

// read returns the journal of a tenant.
func (a *account) journal(tenant string) cloudsim.Journal {
	a.t.Helper()

	journal, err := a.Journal(a.t.Context(), tenant)
	require.NoError(a.t, err)

	return journal
}

// steps are the transitions of a type, as words.
func steps(journal cloudsim.Journal, typ string) []string {
	var list []string

	for _, step := range journal.Transitions {
		if step.Resource.Type == typ {
			list = append(list, strings.TrimRight(string(step.Event)+":"+string(step.Resource.State)+":"+step.Code, ":"))
		}
	}

	return list
}

func TestJournalOfADatabase(t *testing.T) {
	t.Parallel()

	clk := &clock{now: time.Unix(1_700_000_000, 0)}
	a := newAccount(t, cloudsim.Options{Now: clk.Now})
	n := a.network()
	began := clk.Now()
	db := a.must(cloudsim.TypeInstance, n.instance(props{"deletionProtection": true}))

	clk.advance(10 * cloudsim.DefaultDelay)
	refused(t, a.remove(db, nil), "InvalidParameterCombination", "protected")
	require.NoError(t, a.change(db, props{"deletionProtection": false}))

	clk.advance(cloudsim.DefaultDelay)
	require.NoError(t, a.remove(db, props{"finalSnapshotIdentifier": "acme-final"}))

	clk.advance(cloudsim.DefaultDelay)

	journal := a.journal("")
	require.True(t, journal.Complete)
	require.True(t, journal.Now.Equal(clk.Now()))
	require.Equal(t, []string{
		"created:creating", "available:available", "failed:available:InvalidParameterCombination", "updated:modifying",
		"available:available", "deleting:deleting", "deleted",
	}, steps(journal, cloudsim.TypeInstance))
	require.Equal(t, []string{"created:creating", "available:available"}, steps(journal, cloudsim.TypeSnapshot))

	var last time.Time

	for i, step := range journal.Transitions {
		require.EqualValues(t, i+1, step.Sequence)
		require.False(t, step.Time.Before(last), "time never goes back")

		last = step.Time

		if step.Resource.Type == cloudsim.TypeInstance && step.Event == cloudsim.EventAvailable && step.Resource.Inputs["deletionProtection"] == true {
			require.True(t, step.Time.Equal(began.Add(cloudsim.DefaultDelay)), "when it happened, and not when somebody looked")
		}
	}

	require.Equal(t, cloudsim.TypeSnapshot, journal.Transitions[len(journal.Transitions)-2].Resource.Type,
		"the snapshot is there when the database goes")
}

func TestJournalIsOfATenant(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())

	claimed, err := a.claim()
	require.NoError(t, err)
	require.Empty(t, a.journal("acme").Transitions, "a claim is no resource")

	queue, err := a.complete(claimed)
	require.NoError(t, err)

	a.must(cloudsim.TypeVPC, props{"cidrBlock": "10.0.0.0/16"})

	_, err = a.Change(t.Context(), cloudsim.Change{
		Type: queue.Type, Region: region, ID: queue.ID, Inputs: props{"name": "acme", "delaySeconds": 5}, Behind: true,
	})
	require.NoError(t, err)
	require.NoError(t, a.remove(queue, nil))

	mine := a.journal("acme")
	require.Equal(t, []string{"created:available", "updated:available", "deleted"}, steps(mine, cloudsim.TypeQueue))
	require.Len(t, mine.Transitions, 3)
	require.True(t, mine.Transitions[1].Behind)
	require.NotContains(t, mine.Transitions[0].Resource.Inputs, "delaySeconds", "what it was then")
	require.Len(t, a.journal("").Transitions, 4)
}

func TestJournalNamesFaultsAndWhoseTheyAre(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())
	vpc, err := a.Create(t.Context(), cloudsim.Creation{
		Type: cloudsim.TypeVPC, Region: region, Inputs: props{"cidrBlock": "10.0.0.0/16"},
		Tags: map[string]string{cloudsim.TagTenant: "acme"},
	})
	require.NoError(t, err)

	for _, effect := range []cloudsim.Fault{
		{Effect: cloudsim.EffectThrottle, Operation: cloudsim.OperationDelete},
		{Effect: cloudsim.EffectDrop, Operation: cloudsim.OperationDelete},
	} {
		_, err := a.SetFault(t.Context(), effect)
		require.NoError(t, err)
		require.Error(t, a.remove(vpc, nil))
	}

	mine := a.journal("acme")
	require.Equal(t, []string{"created:available", "failed:available:RequestLimitExceeded", "deleted"}, steps(mine, cloudsim.TypeVPC))
	require.Equal(t, "1", mine.Transitions[1].Fault)
	require.Equal(t, cloudsim.OperationDelete, mine.Transitions[1].Operation)
	require.Equal(t, "2", mine.Transitions[2].Fault)

	other := a.must(cloudsim.TypeVPC, props{"cidrBlock": "10.1.0.0/16"})
	refused(t, a.change(other, props{"cidrBlock": "10.2.0.0/16"}), "OperationNotPermitted", "")

	refusal := a.journal("").Transitions[4].Resource
	require.Equal(t, "10.1.0.0/16", refusal.Inputs["cidrBlock"], "nothing happened")

	_, err = a.create(cloudsim.TypeAlias, props{"name": "acme", "targetKeyId": "0"})
	require.Error(t, err)

	never := a.journal("").Transitions[5].Resource
	require.Empty(t, never.ID)
	require.Empty(t, never.State)
}

// What goes with something else is in the journal as well.
func TestJournalOfWhatGoesAlong(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())
	n := a.app()
	require.NoError(t, a.remove(n.balancer, nil))
	require.NoError(t, a.remove(n.key, nil))

	table := a.must(cloudsim.TypeTable, props{"name": "acme", "pointInTimeRecovery": props{"enabled": true}})
	require.NoError(t, a.remove(table, nil))

	journal := a.journal("")
	require.Equal(t, cloudsim.TypeKey, journal.Transitions[4].Resource.Type)
	require.NotContains(t, journal.Transitions[4].Resource.Outputs, "deletionDate", "what it was then")

	for typ, want := range map[string][]string{
		cloudsim.TypeListener:     {"created:available", "deleted"},
		cloudsim.TypeListenerRule: {"created:available", "deleted"},
		cloudsim.TypeLoadBalancer: {"created:available", "deleted"},
		cloudsim.TypeKey:          {"created:available", "deleting:pending-deletion"},
		cloudsim.TypeBackup:       {"created:available"},
	} {
		require.Equal(t, want, steps(journal, typ), typ)
	}
}

// However late somebody looks, what happened in between is in its order.
func TestJournalIsInOrderOfTime(t *testing.T) {
	t.Parallel()

	const databases = 8

	clk := &clock{now: time.Unix(1_700_000_000, 0)}
	a := newAccount(t, cloudsim.Options{Now: clk.Now})
	n := a.network()

	for i := range databases {
		a.must(cloudsim.TypeInstance, n.instance(props{"identifier": "db-" + strconv.Itoa(i)}))
		clk.advance(time.Millisecond)
	}

	clk.advance(time.Minute)

	_, err := a.SetFault(t.Context(), cloudsim.Fault{Effect: cloudsim.EffectThrottle, Operation: cloudsim.OperationCreate})
	require.NoError(t, err)

	_, err = a.create(cloudsim.TypeKey, nil)
	require.Error(t, err)

	var last time.Time

	journal := a.journal("")
	for _, step := range journal.Transitions {
		require.False(t, step.Time.Before(last), "%+v", journal.Transitions)

		last = step.Time
	}

	require.Equal(t, cloudsim.EventFailed, journal.Transitions[len(journal.Transitions)-1].Event)
}

// A claim takes its time as well, and is no resource for that.
func TestJournalOfAClaim(t *testing.T) {
	t.Parallel()

	clk := &clock{now: time.Unix(1_700_000_000, 0)}
	a := newAccount(t, cloudsim.Options{Now: clk.Now, Delays: map[string]time.Duration{cloudsim.TypeQueue: time.Second}})

	claimed, err := a.claim()
	require.NoError(t, err)
	clk.advance(time.Second)
	require.Empty(t, a.journal("").Transitions)

	release := cloudsim.Removal{Type: claimed.Type, Region: region, ID: claimed.ID, Behind: true}
	require.NoError(t, a.Remove(t.Context(), release))

	claimed, err = a.claim()
	require.NoError(t, err, "a name that nothing had needs no rest")
	require.Empty(t, a.journal("").Transitions)

	_, err = a.complete(claimed)
	require.NoError(t, err)
	require.Equal(t, []string{"created:creating"}, steps(a.journal("acme"), cloudsim.TypeQueue))
}

func TestJournalIsBounded(t *testing.T) {
	t.Parallel()

	a := newAccount(t, cloudsim.Options{MaxTransitions: 3})

	for range 3 {
		a.must(cloudsim.TypeKey, nil)
	}

	require.True(t, a.journal("").Complete)
	a.must(cloudsim.TypeKey, nil)

	journal := a.journal("nobody")
	require.Empty(t, journal.Transitions)
	require.False(t, journal.Complete, "what is forgotten may have been anybody's")
	require.Len(t, a.journal("").Transitions, 3)
}

func TestClockNeverGoesBack(t *testing.T) {
	t.Parallel()

	const readings = 1000

	now := cloudsim.Clock()
	last := now().Round(0)
	require.WithinDuration(t, time.Now(), last, time.Second)

	for range readings {
		next := now().Round(0)
		require.False(t, next.Before(last), "even without what only this process knows")

		last = next
	}
}
