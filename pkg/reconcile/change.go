package reconcile

import (
	"crypto/rand"
	"fmt"
	"slices"

	"github.com/oklog/ulid/v2"

	"github.com/lessor-dev/lessor/pkg/cutover"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// begun is the row as it is while a plan is done. A tier change that begins gets
// its id.
func begun(rec tenant.Record, p plan.Plan, stack tenant.Stack) tenant.Record {
	if c := p.Change; c != nil && c.ID == "" {
		c.ID = ulid.Make().String()
		if p.Then != nil {
			p.Then.ID = c.ID
		}
	}

	if len(p.Steps) > 0 {
		rec.Stack, rec.Change = stack, p.Change
	}

	return rec
}

// record writes what a successor must know even if nothing else is ever written:
// where the state is, which names are used, how far a tier change is, and which
// operation is under way.
func (t *tenure) record(rec tenant.Record, progress *tenant.Progress) error {
	err := t.Rows.Begin(t.ctx, rec.ID, t.lease.Token(), registry.Beginning{
		Round: t.round, Stack: rec.Stack, Change: rec.Change, Progress: progress,
	})
	if err != nil {
		return fmt.Errorf("recording the operation: %w", err)
	}

	return nil
}

// noted is a tier change with what only an operation that failed tells, which the
// outcome of the next one replaces.
func noted(rec tenant.Record, failed tenant.Outcome) *tenant.Change {
	rec.Progress, rec.Last = nil, &failed

	return plan.Noted(rec)
}

// conclude says what to record once the steps of a plan are done, or failed.
func (t *tenure) conclude(rec tenant.Record, p plan.Plan, done *operationDone) error {
	if done.result.Failure == nil {
		done.result.Failure = oversized(done.result.Outputs)
		done.settlement.Outcome.Failure = done.result.Failure
	}

	if done.result.Failure != nil {
		done.settlement.Change = noted(rec, done.settlement.Outcome)
		t.judgeFailure(rec, p, done)

		return nil //nolint:nilerr // the failure is what to record
	}

	if p.End == plan.EndAsk {
		return t.ask(rec, p, done)
	}

	s := &done.settlement
	s.Change = p.Then
	t.looked(rec, p, s)

	switch p.End {
	case plan.EndApplied:
		s.Applied, s.Outputs = t.applied(rec, p), outputsOf(rec, p, *done)
	case plan.EndMore:
		s.Applied, s.Outputs = t.applied(rec, p), outputsOf(rec, p, *done)
		s.Partial, s.Keep, s.Attempts = true, true, 0
	case plan.EndWait:
		await(rec, p, done)
	case plan.EndBack:
		done.result.Failure, s.Outcome.Failure, s.GaveUp = p.Failure, p.Failure, true
	case plan.EndAsk:
	}

	return nil
}

// await has the tenant wait for its data hook. Until then it is what it was.
func await(rec tenant.Record, p plan.Plan, done *operationDone) {
	is := *rec.Applied
	is.Requests = p.Requests

	s := &done.settlement
	s.Applied, s.Partial, s.Attempts, s.NotBefore = &is, true, 0, s.Change.Deadline
}

// maxTokens bounds how often the hook is asked of one change. Older tokens are
// forgotten.
const maxTokens = 8

// ask has the data hook fill the new topology. The token is recorded first, so
// that an answer cannot come before the row knows it.
func (t *tenure) ask(rec tenant.Record, p plan.Plan, done *operationDone) error {
	token := rand.Text()
	s := &done.settlement

	c := *p.Change
	c.Stage, c.Asked = tenant.StageCutover, false
	c.Deadline = t.now().Add(p.Blueprint.Hook.Timeout).UTC()

	c.Tokens = append(slices.Clone(c.Tokens), tenant.TokenDigest(token))
	c.Tokens = c.Tokens[max(0, len(c.Tokens)-maxTokens):]

	if slices.Contains(p.Steps, plan.StepUp) {
		c.Outputs = done.result.Outputs
	}

	rec.Stack, rec.Change = s.Stack, &c
	if err := t.record(rec, nil); err != nil {
		return err
	}

	s.Change = &c
	s.Outcome.Steps = append(s.Outcome.Steps, string(plan.StepCutover))

	err := t.Hook.Ask(t.ctx, *p.Blueprint.Hook, cutover.Request{
		ChangeID: c.ID, Tenant: rec.ID, Region: p.Spec.Region, Token: token, Deadline: c.Deadline,
		From: cutover.Side{Tier: rec.Applied.Spec.Tier, Generation: rec.Applied.Generation, Outputs: rec.Outputs},
		To:   cutover.Side{Tier: p.Spec.Tier, Generation: p.Generation, Outputs: c.Outputs},
	})
	t.Observer.HookAsked(rec.ID, c, err)

	if err != nil {
		done.result.Failure = &tenant.Failure{
			Kind: tenant.KindTransient, Step: string(plan.StepCutover), Message: err.Error(),
			Hint: "it is tried again; see whether the hook of the tier can be reached from the workers",
		}
		s.Outcome.Failure = done.result.Failure
		t.judgeFailure(rec, p, done)

		return nil //nolint:nilerr // the failure is what to record
	}

	c.Asked = true

	await(rec, p, done)

	return nil
}
