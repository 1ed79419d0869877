package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// change plans the way into another tier: the new topology is made beside the one
// that serves, takes its place, and only then the old one goes.
func change(rec tenant.Record, p Plan, standing *tenant.Applied, now time.Time) (Plan, error) {
	if standing.Blueprint.DataLoss && !p.Spec.AcceptDataLoss {
		return Plan{}, &InvalidError{
			Field: "tier",
			Message: fmt.Sprintf("tier %q keeps data and takes no final snapshot, so a change to %q would lose it",
				standing.Spec.Tier, p.Spec.Tier),
			Hint: "send the tier-changed event with acceptDataLoss: true, or set finalSnapshot for the present tier " +
				"and reprovision the tenant first",
		}
	}

	present := rec.Change

	switch {
	case present == nil:
		return build(rec, p, standing, tenant.Change{Other: tenant.Applied{Generation: nextGeneration(rec)}}, now), nil
	case present.Stage == tenant.StageBaking && present.Other.Spec.Tier == p.Spec.Tier:
		return build(rec, p, standing, tenant.Change{Stood: true, Guarded: present.Guarded, Other: present.Other}, now), nil
	case present.Stage == tenant.StageRetiring:
		return retire(rec, as(p, standing), EndMore), nil
	case present.Stage == tenant.StageBaking, present.Stood && present.Other.Spec.Tier != p.Spec.Tier:
		return leaveBehind(rec, as(p, standing), now), nil
	case present.Other.Spec.Tier != p.Spec.Tier:
		back := callOff(rec, as(p, standing))
		back.End = EndMore

		return back, nil
	case present.Stage == tenant.StageCutover && waits(rec, p, now):
		return cutover(rec, p, standing, now), nil
	default:
		return build(rec, p, standing, *present, now), nil
	}
}

// leaveBehind removes what a tenant left that is to change its tier once more. An
// operation that stopped is mended first: while something is being removed, the
// newest operation tells how far that is.
func leaveBehind(rec tenant.Record, p Plan, now time.Time) Plan {
	if !interrupted(rec) {
		return retire(rec, p, EndMore)
	}

	p = standBy(rec, p, now)
	p.End, p.Steps = EndMore, append(looks(rec), StepUp)

	return p
}

// standBy keeps what stands beside the topology that serves. What the tenant was
// to go back to goes on baking.
func standBy(rec tenant.Record, p Plan, now time.Time) Plan {
	c := rec.Change
	if c.Stage != tenant.StageBaking {
		c = baking(c.ID, c.Other, p.Blueprint, now)
		c.Guarded = c.Guarded || rec.Change.Guarded
	}

	p.Beside, p.Change, p.Then = &c.Other, c, c

	return p
}

// waits reports that the new topology is as the hook was told, or that there is
// nothing more to wait for.
func waits(rec tenant.Record, p Plan, now time.Time) bool {
	if differs(rec.Change.Other, p.Spec, p.Blueprint) {
		return false
	}

	_, answered := answerTo(rec)
	again := unserved(rec, tenant.RequestReprovision) && !answered

	return over(rec, p, now) || !interrupted(rec) && !again
}

// over reports that the hook had its say, or its time. What stopped on the way
// back then is on its way back.
func over(rec tenant.Record, p Plan, now time.Time) bool {
	if p.Blueprint.Hook == nil {
		return false
	}

	if answer, answered := answerTo(rec); answered {
		return answer.Refused
	}

	return rec.Change.Asked && !now.Before(rec.Change.Deadline)
}

// as makes a plan one for what stands. Nothing that is new is served by it.
func as(p Plan, standing *tenant.Applied) Plan {
	p.Spec, p.Blueprint, p.Generation, p.Requests = standing.Spec, standing.Blueprint, standing.Generation, standing.Requests

	return p
}

// build makes the new topology beside the one that serves.
func build(rec tenant.Record, p Plan, standing *tenant.Applied, c tenant.Change, now time.Time) Plan {
	p.Generation = c.Other.Generation
	c.Other = tenant.Applied{Spec: p.Spec, Blueprint: p.Blueprint, Generation: p.Generation}
	// What goes on standing keeps its protection, or gets it now.
	c.Stage, c.Guarded = tenant.StageBuilding, c.Guarded || c.Stood && guards(p.Blueprint)
	c.Outputs, c.Tokens, c.Asked = nil, nil, false
	c.Deadline, c.Until = time.Time{}, time.Time{}

	p.Beside, p.Change = standing, &c

	p.Steps = append(looks(rec), StepUp)

	if p.Blueprint.Hook != nil {
		p.End = EndAsk

		return p
	}

	return take(p, standing, now)
}

// cutover waits for the data hook and does what it says.
func cutover(rec tenant.Record, p Plan, standing *tenant.Applied, now time.Time) Plan {
	c := *rec.Change
	p.Generation, p.Beside, p.Change, p.Then = c.Other.Generation, standing, &c, &c
	p.Steps = looks(rec)

	answer, answered := answerTo(rec)

	switch {
	case p.Blueprint.Hook == nil, answered && !answer.Refused:
		return take(p, standing, now)
	case answered:
		return back(rec, now, &tenant.Failure{
			Kind: tenant.KindCutover, Step: string(StepCutover),
			Message: because("the data hook refused the change to tier "+p.Spec.Tier, answer.Reason),
			Hint:    "the tenant stays in its tier; send another tier-changed event once its data can follow",
		})
	case !c.Asked:
		p.End = EndAsk

		return p
	case !now.Before(c.Deadline):
		return back(rec, now, &tenant.Failure{
			Kind: tenant.KindCutover, Step: string(StepCutover),
			Message: fmt.Sprintf("the data hook did not confirm the change to tier %s within %s", p.Spec.Tier, p.Blueprint.Hook.Timeout),
			Hint:    "the tenant stays in its tier; see why the hook did not answer, and send another tier-changed event",
		})
	default:
		p.End, p.Wait = EndWait, c.Deadline

		return p
	}
}

func because(what, reason string) string {
	if reason == "" {
		return what
	}

	return what + ": " + reason
}

// answerTo is the newest answer that knows a token of the change.
func answerTo(rec tenant.Record) (tenant.Confirmation, bool) {
	var newest tenant.Field[tenant.Confirmation]

	for _, token := range rec.Change.Tokens {
		if answer := rec.Desired.Confirmations[token]; answer.Version.After(newest.Version) {
			newest = answer
		}
	}

	return newest.Value, !newest.Version.IsZero()
}

// take lets the new topology serve.
func take(p Plan, standing *tenant.Applied, now time.Time) Plan {
	p.Then = baking(p.Change.ID, *standing, p.Blueprint, now)

	if p.Change.Stood {
		return p
	}

	return unprotected(p)
}

// baking keeps what no longer serves for as long as the tier says that does.
func baking(id string, old tenant.Applied, serves tenant.Blueprint, now time.Time) *tenant.Change {
	return &tenant.Change{
		ID: id, Stage: tenant.StageBaking, Other: old, Guarded: guards(old.Blueprint),
		Until: now.Add(serves.Bake).UTC(),
	}
}

// guards reports whether a topology that served must be prepared for its removal.
func guards(b tenant.Blueprint) bool { return b.Protect || b.FinalSnapshot }

// Back plans the way back to what serves, from a tier change whose new topology
// does not serve yet. It reports false if there is none.
func Back(rec tenant.Record, now time.Time) (Plan, bool) {
	if c := rec.Change; c == nil || c.Stage != tenant.StageBuilding && c.Stage != tenant.StageCutover {
		return Plan{}, false
	}

	return back(rec, now, nil), true
}

func back(rec tenant.Record, now time.Time, failure *tenant.Failure) Plan {
	p := as(Plan{End: EndBack, Failure: failure}, rec.Applied)

	if rec.Change.Stood {
		// It goes on standing by, as before the tenant was to go back to it.
		p.Then = standBy(rec, p, now).Then
		p.Change = rec.Change

		return p
	}

	p.Steps = []Step{StepUp}

	return leave(rec, p)
}

// bake plans a tenant that may go back to its former tier yet.
func bake(rec tenant.Record, p Plan, different bool, now time.Time) Plan {
	c := rec.Change
	asked := unserved(rec, tenant.RequestRetire)
	steps := nextSteps(rec, different)

	if len(steps) == 0 && (asked || !now.Before(c.Until)) {
		return retire(rec, p, EndApplied)
	}

	p = standBy(rec, p, now)
	p.Steps = steps

	if asked {
		// The old topology goes after that, and not in one go with it: what the
		// steps break can be mended while it stands.
		p.End = EndMore
		delete(p.Requests, tenant.RequestRetire)
	}

	return p
}

// retire removes the topology beside the one that serves.
func retire(rec tenant.Record, p Plan, end End) Plan {
	p.End = end

	p.Steps = append(looks(rec), StepUp)
	p = leave(rec, p)
	p.Change.Stage = tenant.StageRetiring

	return p
}

// leave has the plan's up no longer declare the topology beside. What is guarded
// is prepared for that.
func leave(rec tenant.Record, p Plan) Plan {
	p.Change, p.Leaving = Noted(rec), &rec.Change.Other
	if p.Change.Guarded {
		p.Steps = slices.Insert(p.Steps, slices.Index(p.Steps, StepUp), StepPrepareDelete)
	}

	return p
}

// Noted is the row's tier change with what only the newest operation tells, which
// the next one replaces. It is nil if none is under way.
func Noted(rec tenant.Record) *tenant.Change {
	if rec.Change == nil {
		return nil
	}

	c := *rec.Change
	c.Guarded = guarded(rec)

	return &c
}
