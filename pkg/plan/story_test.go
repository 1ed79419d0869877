package plan_test

import (
	"time"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// story tells how a tenant came to be as it is.
type story struct {
	ledger

	// stops is the step at which the next operation ends in the fate.
	stops   plan.Step
	fate    fate
	verdict judgement
}

// in begins with a tenant that is settled in a tier.
func in(tier string) *story {
	return born(tier).works().works()
}

// born begins with a tenant that shall be.
func born(tier string) *story {
	s := &story{ledger: ledger{rec: tenant.Record{ID: "acme"}, catalog: catalog(), now: now}}
	s.tell(tenant.Event{Type: tenant.EventCreated, Tier: tier, Region: "eu-central-1"})

	return s
}

func (s *story) begin(plan.Plan) fate                  { return s.at("begin") }
func (s *story) step(_ plan.Plan, step plan.Step) fate { return s.at(step) }
func (s *story) ask() fate                             { return s.at(plan.StepCutover) }
func (s *story) settle(plan.Plan) fate                 { return s.at("settle") }
func (s *story) judge(plan.Plan) judgement             { return s.verdict }

func (s *story) at(step plan.Step) fate {
	if s.stops != step {
		return goesThrough
	}

	s.stops = ""

	return s.fate
}

// works does one operation, if there is any.
func (s *story) works() *story {
	if s.rec.NeedsWork() {
		s.work(s)
	}

	return s
}

// fails has an operation fail in a step, and be tried again.
func (s *story) fails(step plan.Step) *story { return s.ends(step, fails, counted) }

// givesUp has an up fail for good.
func (s *story) givesUp() *story { return s.ends(plan.StepUp, fails, final) }

func (s *story) dies(step plan.Step) *story { return s.ends(step, dies, counted) }

func (s *story) ends(step plan.Step, how fate, verdict judgement) *story {
	s.stops, s.fate, s.verdict = step, how, verdict

	return s.works()
}

func (s *story) to(tier string) *story {
	return s.hears(tenant.Event{Type: tenant.EventTierChanged, Tier: tier})
}

// parting leaves a tier without its data.
func (s *story) parting(tier string) *story {
	return s.hears(tenant.Event{Type: tenant.EventTierChanged, Tier: tier, AcceptDataLoss: true})
}

func (s *story) asks(event tenant.EventType) *story { return s.hears(tenant.Event{Type: event}) }

func (s *story) deleted() *story { return s.asks(tenant.EventDeleted) }

func (s *story) hears(e tenant.Event) *story {
	s.tell(e)

	return s
}

// answers is the hook, with the token that it got last or the one before.
func (s *story) answers(refused bool, before int) *story {
	return s.hears(tenant.Event{
		Type: tenant.EventCutoverConfirmed, Token: s.tokens[len(s.tokens)-1-before], Refused: refused, Reason: "no room",
	})
}

func (s *story) confirms() *story { return s.answers(false, 0) }
func (s *story) refuses() *story  { return s.answers(true, 0) }

func (s *story) refusesSilently() *story {
	return s.hears(tenant.Event{Type: tenant.EventCutoverConfirmed, Token: s.tokens[len(s.tokens)-1], Refused: true})
}

// unguarded has the catalog no longer protect a tier.
func (s *story) unguarded(tier string) *story {
	b := s.catalog[tier]
	b.Protect, b.FinalSnapshot = false, false
	s.catalog[tier] = b

	return s
}

func (s *story) copied() *story {
	c := *s

	return &c
}

func (s *story) later(d time.Duration) *story {
	s.now = s.now.Add(d)

	return s
}
