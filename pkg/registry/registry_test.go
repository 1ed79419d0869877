package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/registry/registrytest"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func fakeWorld(t *testing.T) (*world, *registrytest.Table) {
	t.Helper()

	table := registrytest.New("tenants")

	return newWorld(t, func(*testing.T) (registrytest.API, string) { return table, "tenants" }), table
}

// Rule 9 of the emulator notes: no emulator refuses what AWS refuses here, and
// none must be handed what it ignores silently.
func TestExpressionsMeanTheSameEverywhere(t *testing.T) {
	t.Parallel()

	expressions := registrytest.Expressions(t, ".")
	require.Contains(t, expressions, "acceptExpression")
	require.Contains(t, expressions, "heldCondition")
	require.Contains(t, expressions, "removeLease")
	require.Contains(t, expressions, "recordRetry")
	require.Greater(t, len(expressions), 20)

	for name, expression := range expressions {
		_, err := registrytest.Lex(expression)
		require.NoError(t, err, name)
	}
}

func TestAnEventThatChangesNothingCostsOneRead(t *testing.T) {
	t.Parallel()

	w, table := fakeWorld(t)
	w.accept(t, created())

	reads, writes := table.Calls("GetItem"), table.Calls("UpdateItem")
	_, changed, err := w.Accept(t.Context(), created())
	require.NoError(t, err)
	require.False(t, changed)
	require.Equal(t, reads+1, table.Calls("GetItem"))
	require.Equal(t, writes, table.Calls("UpdateItem"))
}

func TestAConflictIsFoldedAgain(t *testing.T) {
	t.Parallel()

	w, table := fakeWorld(t)
	w.accept(t, created())

	others := 0

	var overtake func(string) error

	overtake = func(operation string) error { //nolint:unparam // the form of a hook
		// Somebody else is faster, three times.
		if operation == "UpdateItem" && others < 3 {
			others++

			table.Intercept(nil, nil)
			w.accept(t, updated(10+others, `1`))
			table.Intercept(overtake, nil)
		}

		return nil
	}

	table.Intercept(overtake, nil)

	rec := w.accept(t, tenant.Event{ID: "s", Type: tenant.EventSuspended, Tenant: acme, Version: version(5)})
	require.Equal(t, tenant.PhaseSuspended, rec.Desired.Spec().Phase)
	require.Equal(t, int64(2+others), rec.DesiredSeq)
	require.Equal(t, 3, others)
}

// contended is a row that somebody else always writes first.
func contended(t *testing.T) (*world, *registrytest.Table) {
	t.Helper()

	w, table := fakeWorld(t)
	w.accept(t, created())
	table.Intercept(func(operation string) error {
		if operation == "UpdateItem" {
			return &types.ConditionalCheckFailedException{}
		}

		return nil
	}, nil)

	return w, table
}

func TestConflictsAreSpacedOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, table := contended(t)
		before, began := table.Calls("UpdateItem"), time.Now()

		_, _, err := w.Accept(t.Context(), updated(2, `1`))
		require.ErrorContains(t, err, "the row changes too fast")
		require.Equal(t, 50, table.Calls("UpdateItem")-before)

		// At random up to 5, 10, 15, … 245 ms: about three seconds in all.
		require.InDelta(t, 3*time.Second, time.Since(began), float64(2*time.Second))
	})
}

func TestAConflictDoesNotOutliveItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, table := contended(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		before := table.Calls("UpdateItem")

		table.Intercept(func(operation string) error {
			if operation != "UpdateItem" {
				return nil
			}

			// While it waits after the conflict.
			time.AfterFunc(0, func() { cancel(errLost) })

			return &types.ConditionalCheckFailedException{}
		}, nil)

		_, _, err := w.Accept(ctx, updated(2, `1`))
		require.ErrorIs(t, err, errLost)
		require.Less(t, table.Calls("UpdateItem")-before, 3)
	})
}

var errLost = errors.New("connection reset")

// A write whose answer was lost and that is repeated is the same write.
func TestRepeatedWrites(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]func(*world, registry.Token) error{
		"settle": func(w *world, token registry.Token) error {
			_, err := w.Settle(context.Background(), acme, token, success(1, "op-1"))

			return err
		},
		"release": func(w *world, token registry.Token) error {
			return w.Release(context.Background(), acme, token, true)
		},
		"release seen": func(w *world, token registry.Token) error {
			return w.ReleaseSeen(context.Background(), acme, token, 1, true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w, table := fakeWorld(t)
			w.accept(t, created())
			token := w.acquire(t)

			table.Intercept(nil, func(operation string) error {
				if operation == "UpdateItem" {
					return errLost
				}

				return nil
			})
			require.ErrorIs(t, test(w, token), errLost)
			table.Intercept(nil, nil)

			require.NoError(t, test(w, token))
			requireFree(t, w.get(t))
		})
	}
}

func TestErrorsNameTableVariableAndPermission(t *testing.T) {
	t.Parallel()

	token := registry.Token{Owner: "me", Fence: 1}
	calls := map[string]func(*registry.Registry) error{
		"dynamodb:GetItem": func(r *registry.Registry) error { _, err := r.Get(context.Background(), acme); return err },
		"dynamodb:UpdateItem": func(r *registry.Registry) error {
			return r.Release(context.Background(), acme, token, true)
		},
		"dynamodb:Scan": func(r *registry.Registry) error {
			return r.List(context.Background(), func(tenant.Record) bool { return true })
		},
	}

	for action, call := range calls {
		table := registrytest.New("tenants")
		table.Intercept(func(string) error {
			return &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "not authorized"}
		}, nil)

		err := call(registry.New(table, registry.Config{Table: "tenants"}, time.Now))
		require.ErrorContains(t, err, "tenants")
		require.ErrorContains(t, err, "LESSOR_TABLE")
		require.ErrorContains(t, err, action)

		err = call(registry.New(registrytest.New("tenants"), registry.Config{Table: "other"}, time.Now))
		require.ErrorContains(t, err, `"other"`)
		require.ErrorContains(t, err, "LESSOR_TABLE")
	}
}

func TestAnAttributeOfTheWrongTypeIsNamed(t *testing.T) {
	t.Parallel()

	for name, value := range map[string]types.AttributeValue{
		"desired":     &types.AttributeValueMemberS{Value: "{"},
		"fence":       &types.AttributeValueMemberS{Value: "1"},
		"desired_seq": &types.AttributeValueMemberN{Value: "1.5"},
		"hold_reason": &types.AttributeValueMemberBOOL{Value: true},
	} {
		w, _ := fakeWorld(t)
		w.accept(t, created())
		w.put(t, acme, name, value)

		_, err := w.Get(t.Context(), acme)
		require.ErrorContains(t, err, name)
		require.ErrorContains(t, err, string(acme))
	}
}

func TestWhatAFailureSaysIsBounded(t *testing.T) {
	t.Parallel()

	w, _ := fakeWorld(t)
	w.accept(t, created())

	s := gaveUp(1, "op-1")
	s.Outcome.Failure.Message = strings.Repeat("ü", 1<<20)
	s.Outcome.Failure.Hint = "read it"

	settled, err := w.Settle(t.Context(), acme, w.acquire(t), s)
	require.NoError(t, err)

	got := settled.Record.Last.Failure
	require.Less(t, len(got.Message), 4<<10)
	require.True(t, strings.HasSuffix(got.Message, "ü…"), "cut between characters")
	require.Equal(t, "read it", got.Hint)
	require.Len(t, s.Outcome.Failure.Message, 2<<20, "the caller's failure is left alone")
}

// What a blueprint has of its spec is kept once, and comes back whole.
func TestBlueprintsComeBackWhole(t *testing.T) {
	t.Parallel()

	one, two, three := json.RawMessage(`1`), json.RawMessage(`{"a":[2]}`), json.RawMessage(`"<3>"`)

	for name, parameters := range map[string]struct{ spec, blueprint tenant.Parameters }{
		"none":                   {},
		"tier only":              {blueprint: tenant.Parameters{"a": one}},
		"tenant only":            {spec: tenant.Parameters{"a": one}, blueprint: tenant.Parameters{"a": one}},
		"both":                   {spec: tenant.Parameters{"a": one}, blueprint: tenant.Parameters{"a": one, "b": two, "c": three}},
		"blueprint differs":      {spec: tenant.Parameters{"a": one}, blueprint: tenant.Parameters{"a": two, "b": one}},
		"blueprint leaves out":   {spec: tenant.Parameters{"a": one, "b": two}, blueprint: tenant.Parameters{"a": one}},
		"blueprint has nothing":  {spec: tenant.Parameters{"a": one}},
		"one differs, one stays": {spec: tenant.Parameters{"a": one, "b": two}, blueprint: tenant.Parameters{"a": three, "b": two}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w, _ := fakeWorld(t)
			w.accept(t, created())

			s := success(1, "op-1")
			s.Applied.Spec.Parameters = parameters.spec
			s.Applied.Blueprint.Parameters = parameters.blueprint

			settled, err := w.Settle(t.Context(), acme, w.acquire(t), s)
			require.NoError(t, err)
			require.Equal(t, s.Applied, settled.Record.Applied)
			require.Equal(t, s.Applied, w.get(t).Applied)
		})
	}
}

// The layout is a contract with whoever reads the table.
func TestEveryAttributeIsDocumented(t *testing.T) {
	t.Parallel()

	contract, err := os.ReadFile(filepath.Join("..", "..", "docs", "contract.md"))
	require.NoError(t, err)

	_, section, found := strings.Cut(string(contract), "## The tenant row")
	require.True(t, found)

	w, table := fakeWorld(t)
	w.accept(t, created())

	attributes := map[string]bool{}
	collect := func() {
		for _, key := range []string{"tenant#" + string(acme), "fleet"} {
			for name := range table.Item(key) {
				attributes[name] = true
			}
		}
	}

	token := w.acquire(t)
	require.NoError(t, w.Progress(t.Context(), acme, token, tenant.Progress{OperationID: "op-1"}))
	require.NoError(t, w.SetHold(t.Context(), acme, "why"))
	require.NoError(t, w.Pause(t.Context(), "why"))
	collect()

	_, err = w.Settle(t.Context(), acme, token, success(1, "op-1"))
	require.NoError(t, err)
	collect()

	w.accept(t, updated(2, `1`))

	_, err = w.Settle(t.Context(), acme, w.acquire(t), failure(2, "op-2"))
	require.NoError(t, err)
	collect()

	for name := range attributes {
		require.Contains(t, section, "`"+name+"`")
	}

	for _, name := range []string{"applied", "not_before", "lease_message", "paused_at", "result_pending", "hold_reason"} {
		require.True(t, attributes[name], "%s was not written", name)
	}
}
