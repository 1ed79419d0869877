package plan_test

import (
	"slices"
	"strconv"
	"time"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// fate is what becomes of a part of an operation.
type fate int

const (
	goesThrough fate = iota
	fails
	// dies: the worker is gone, and nothing more is recorded.
	dies
)

// judgement is what a failure means for further attempts.
type judgement int

const (
	counted judgement = iota
	interrupts
	final
)

// fates decide how an operation goes.
type fates interface {
	// begin is called once the row shows what the plan is about to do.
	begin(p plan.Plan) fate
	step(p plan.Plan, step plan.Step) fate
	ask() fate
	// settle is called before the outcome is recorded.
	settle(p plan.Plan) fate
	judge(p plan.Plan) judgement
}

// ledger is a row, and follows what package reconcile writes into it.
type ledger struct {
	rec     tenant.Record
	catalog tiers
	now     time.Time
	// clock is the version of the newest event.
	clock int64
	// operations numbers them.
	operations int
	// tokens are those that the hook got, the newest last.
	tokens []string
}

// settlement is what is recorded of an operation.
type settlement struct {
	target    int64
	applied   *tenant.Applied
	partial   bool
	gaveUp    bool
	change    *tenant.Change
	outcome   tenant.Outcome
	attempts  int
	notBefore time.Time
}

// accept takes an event.
func (l *ledger) accept(e tenant.Event) {
	d, changed := tenant.Apply(l.rec.Desired, e)
	if !changed {
		return
	}

	l.rec.Desired, l.rec.Attempts, l.rec.NotBefore = d, 0, time.Time{}
	l.rec.DesiredSeq++
}

// tell accepts an event that is newer than all others.
func (l *ledger) tell(e tenant.Event) {
	l.clock++
	e.Version = at(l.clock)
	l.accept(e)
}

// work makes a plan, has it done and records what came of it.
func (l *ledger) work(f fates) {
	l.operations++
	s := settlement{
		target: l.rec.DesiredSeq, change: l.rec.Change, attempts: l.rec.Attempts,
		outcome: tenant.Outcome{OperationID: "op-" + strconv.Itoa(l.operations)},
	}

	p, err := plan.For(l.rec, l.catalog, l.now)
	if err != nil {
		s.gaveUp, s.outcome.Failure = true, &tenant.Failure{Kind: tenant.KindInvalid}
	} else if !l.attempt(f, p, &s) {
		return
	}

	if s.gaveUp && p.End != plan.EndBack && !l.compensate(f, p, &s) {
		return
	}

	if f.settle(p) != dies {
		l.settle(s)
	}
}

// attempt reports false if the worker died.
func (l *ledger) attempt(f fates, p plan.Plan, s *settlement) bool {
	if c := p.Change; c != nil && c.ID == "" {
		c.ID = "change-" + strconv.Itoa(l.operations)
		if p.Then != nil {
			p.Then.ID = c.ID
		}
	}

	if len(p.Steps) > 0 {
		if l.rec.Stack == (tenant.Stack{}) {
			l.rec.Stack = stack()
			l.rec.Stack.Created = false
		}

		if slices.Contains(p.Steps, plan.StepUp) {
			l.rec.Stack.RemovedAt, l.rec.Stack.PurgedAt = time.Time{}, time.Time{}
		}

		l.rec.Stack.Generation = max(l.rec.Stack.Generation, p.Generation)
		l.rec.Change, s.change = p.Change, p.Change
	}

	if f.begin(p) == dies || !l.execute(f, p, &s.outcome) {
		return false
	}

	if s.outcome.Failure != nil {
		judge(f, p, s)

		return true
	}

	return l.conclude(f, p, s)
}

func (l *ledger) execute(f fates, p plan.Plan, o *tenant.Outcome) bool {
	o.Steps = append(o.Steps, names(p.Steps)...)

	for _, step := range p.Steps {
		l.rec.Progress = &tenant.Progress{OperationID: o.OperationID, Step: string(step)}

		switch f.step(p, step) {
		case dies:
			return false
		case fails:
			o.Failure = &tenant.Failure{Kind: tenant.KindUnknown, Step: string(step)}

			return true
		case goesThrough:
			l.rec.Stack.Created = true
		}
	}

	return true
}

func judge(f fates, p plan.Plan, s *settlement) {
	verdict := f.judge(p)
	if verdict == interrupts {
		return
	}

	s.attempts++
	// Nobody gives up on a deletion, nor on the way back.
	s.gaveUp = verdict == final && p.End != plan.EndBack && !slices.Contains(p.Steps, plan.StepDestroy)
}

// conclude reports false if the worker died.
func (l *ledger) conclude(f fates, p plan.Plan, s *settlement) bool {
	if p.End == plan.EndAsk {
		return l.ask(f, p, s)
	}

	s.change = p.Then
	l.clean(p)

	switch p.End {
	case plan.EndApplied:
		s.applied = l.applied(p)
	case plan.EndMore:
		s.applied, s.partial, s.attempts = l.applied(p), true, 0
	case plan.EndWait:
		l.await(p, s)
	case plan.EndBack:
		s.outcome.Failure, s.gaveUp = p.Failure, true
	case plan.EndAsk:
	}

	return true
}

// clean notes since when the stack is empty.
func (l *ledger) clean(p plan.Plan) {
	switch {
	case slices.Contains(p.Steps, plan.StepRemove):
		l.rec.Stack.RemovedAt = l.now
	case slices.Contains(p.Steps, plan.StepPurge):
		l.rec.Stack.RemovedAt, l.rec.Stack.PurgedAt = time.Time{}, l.now
	}
}

func (l *ledger) applied(p plan.Plan) *tenant.Applied {
	a := tenant.Applied{Spec: p.Spec, Blueprint: p.Blueprint, Requests: p.Requests, Generation: p.Generation}
	if p.Spec.Phase == tenant.PhaseAbsent {
		a.Generation = max(a.Generation, l.rec.Stack.Generation)
	}

	return &a
}

func (l *ledger) await(p plan.Plan, s *settlement) {
	is := *l.rec.Applied
	is.Requests = p.Requests
	s.applied, s.partial, s.attempts, s.notBefore = &is, true, 0, s.change.Deadline
}

func (l *ledger) ask(f fates, p plan.Plan, s *settlement) bool {
	l.tokens = append(l.tokens, "token-"+strconv.Itoa(l.operations))

	c := *p.Change
	c.Stage, c.Asked, c.Deadline = tenant.StageCutover, false, l.now.Add(p.Blueprint.Hook.Timeout)
	c.Tokens = append(slices.Clone(c.Tokens), tenant.TokenDigest(l.tokens[len(l.tokens)-1]))

	l.rec.Change, s.change = &c, &c
	s.outcome.Steps = append(s.outcome.Steps, string(plan.StepCutover))

	switch f.ask() {
	case dies:
		return false
	case fails:
		s.outcome.Failure = &tenant.Failure{Kind: tenant.KindTransient, Step: string(plan.StepCutover)}
		judge(f, p, s)
	case goesThrough:
		asked := c
		asked.Asked = true
		s.change = &asked
		l.await(p, s)
	}

	return true
}

// compensate follows the tier's policy. It reports false if the worker died.
func (l *ledger) compensate(f fates, p plan.Plan, s *settlement) bool {
	back, ok := l.wayBack(p, *s)
	if !ok {
		return true
	}

	undone := tenant.Outcome{OperationID: s.outcome.OperationID + "-undone"}
	if !l.execute(f, back, &undone) {
		return false
	}

	if undone.Failure != nil && f.judge(back) == interrupts {
		s.gaveUp, s.outcome = false, undone

		return true
	}

	s.outcome.Steps = append(s.outcome.Steps, undone.Steps...)

	if undone.Failure != nil {
		s.gaveUp, s.outcome.Failure = false, undone.Failure

		return true
	}

	s.change = back.Then

	return true
}

func (l *ledger) wayBack(p plan.Plan, s settlement) (plan.Plan, bool) {
	if l.rec.Applied == nil || l.rec.Applied.Spec.Phase == tenant.PhaseAbsent {
		began := l.rec.Stack.Created || l.rec.Progress != nil

		return plan.Plan{Steps: []plan.Step{plan.StepDestroy, plan.StepRemove}}, began && p.Blueprint.OnCreate != tenant.PolicyKeep
	}

	if p.Blueprint.OnUpdate != tenant.PolicyRevert {
		return plan.Plan{}, false
	}

	ended := l.rec
	ended.Progress, ended.Change, ended.Last = nil, s.change, &s.outcome

	if back, ok := plan.Back(ended, l.now); ok {
		return back, true
	}

	if p.Leaving != nil || !slices.Contains(p.Steps, plan.StepUp) {
		return plan.Plan{}, false
	}

	return plan.Plan{
		Steps: []plan.Step{plan.StepUp}, Beside: p.Beside, Change: l.rec.Change, Then: l.rec.Change,
		Spec: l.rec.Applied.Spec, Blueprint: l.rec.Applied.Blueprint, Generation: l.rec.Applied.Generation,
	}, true
}

// settle is the write that ends an operation.
func (l *ledger) settle(s settlement) {
	moved := l.rec.DesiredSeq != s.target
	l.rec.Progress, l.rec.Last, l.rec.Change = nil, &s.outcome, s.change

	switch {
	case s.applied != nil && s.partial:
		l.rec.Applied, l.rec.AppliedSeq = s.applied, s.target-1
	case s.applied != nil:
		l.rec.Applied, l.rec.AppliedSeq = s.applied, s.target
		s.attempts = 0
	case s.gaveUp:
		l.rec.FailedSeq = s.target
	}

	l.rec.DueAt = plan.Due(l.rec)

	if !moved {
		l.rec.Attempts, l.rec.NotBefore = s.attempts, s.notBefore
	}
}
