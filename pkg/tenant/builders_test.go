package tenant_test

import (
	"encoding/json"
	"iter"
	"slices"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

type option func(*tenant.Event)

// made builds an event that happened in the given second.
func made(kind tenant.EventType, second int, id string, options ...option) tenant.Event {
	e := tenant.Event{ID: id, Source: "//test", Type: kind, Tenant: "acme", Time: at(second)}
	if kind == tenant.EventCreated {
		e.Tier, e.Region = "standard", "eu-west-1"
	}

	e.Version = tenant.TimeVersion(e.Time, e.ID, e.Source)

	for _, o := range options {
		o(&e)
	}

	return e
}

func withTier(tier string) option     { return func(e *tenant.Event) { e.Tier = tier } }
func withRegion(region string) option { return func(e *tenant.Event) { e.Region = region } }
func withReason(reason string) option { return func(e *tenant.Event) { e.Reason = reason } }
func withDataLoss() option            { return func(e *tenant.Event) { e.AcceptDataLoss = true } }

func withToken(token string) option { return func(e *tenant.Event) { e.Token = token } }

func withRefusal(reason string) option {
	return func(e *tenant.Event) { e.Refused, e.Reason = true, reason }
}

func withOperation(id string) option { return func(e *tenant.Event) { e.Operation = id } }

func withParameters(object string) option {
	return func(e *tenant.Event) { e.Parameters = params(object) }
}

func params(object string) tenant.Parameters {
	var p tenant.Parameters
	if err := json.Unmarshal([]byte(object), &p); err != nil {
		panic(err)
	}

	return p
}

func ids(events []tenant.Event) []string {
	out := make([]string, len(events))
	for i, e := range events {
		out[i] = e.ID
	}

	return out
}

// permutations yields every order of the events.
func permutations(events []tenant.Event) iter.Seq[[]tenant.Event] {
	return func(yield func([]tenant.Event) bool) {
		permute(slices.Clone(events), 0, yield)
	}
}

func permute(events []tenant.Event, from int, yield func([]tenant.Event) bool) bool {
	if from == len(events) {
		return yield(slices.Clone(events))
	}

	for i := from; i < len(events); i++ {
		events[from], events[i] = events[i], events[from]

		if !permute(events, from+1, yield) {
			return false
		}

		events[from], events[i] = events[i], events[from]
	}

	return true
}

func factorial(n int) int {
	out := 1
	for i := 2; i <= n; i++ {
		out *= i
	}

	return out
}

// firstPermutations bounds the orders that are tried of long histories.
func firstPermutations(events []tenant.Event) iter.Seq[[]tenant.Event] {
	const enough = 200

	return func(yield func([]tenant.Event) bool) {
		count := 0

		for order := range permutations(events) {
			count++
			if count > enough || !yield(order) {
				return
			}
		}
	}
}
