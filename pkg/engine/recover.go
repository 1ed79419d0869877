package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optrefresh"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
	"github.com/lessor-dev/lessor/pkg/inventory"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// stepRecover names what goes before the steps of a plan, in failures.
const stepRecover plan.Step = "recover"

// recover makes the state fit to be worked on: a damaged one is mended or
// replaced by an older version, and what was under way when an earlier worker
// died is looked up.
func (j *job) recover(ctx context.Context) *tenant.Failure {
	if j.gate == nil || !j.gate.Exists() {
		return nil
	}

	if j.gate.Damage() != nil {
		if failure := j.mend(ctx); failure != nil {
			return failure
		}
	}

	j.known = j.gate.State().Resources

	// What an earlier operation adopted and did not live to read has an import
	// id, by which a deletion may find nothing.
	if len(j.gate.State().Pending) == 0 && !slices.ContainsFunc(j.known, checkpoint.Resource.Unread) {
		return nil
	}

	return j.resolve(ctx)
}

// mend has the CLI take dangling references out of the state, and falls back to
// an older version of it.
func (j *job) mend(ctx context.Context) *tenant.Failure {
	damage := j.gate.Damage()

	_, _, code, err := j.command.Run(ctx, j.workspace.WorkDir(), nil, nil, nil, nil,
		"state", "repair", "--yes", "--stack", j.order.Operation.Stack.Name)
	if err == nil && code == 0 && j.gate.Damage() == nil {
		j.repaired(tenant.RepairMended, damage.Error())

		return nil
	}

	if j.gate.Err() != nil || ctx.Err() != nil {
		return &tenant.Failure{Kind: tenant.KindUnknown, Message: "stopped while mending the state", Hint: hints[tenant.KindUnknown]}
	}

	if err := j.gate.Restore(ctx); err != nil {
		return failureOf(err)
	}

	return nil
}

// resolve finds out what became of operations that were cut short. What exists
// is taken into the state under its id and read by the refresh, what does not is
// forgotten. Without it the next up would make a second one.
func (j *job) resolve(ctx context.Context) *tenant.Failure {
	ids, failure := j.lookUp(ctx)
	if failure != nil {
		return failure
	}

	if ids != nil {
		adopt := func(body []byte) ([]byte, error) { return checkpoint.Adopt(body, ids) }
		if err := j.gate.Rewrite(ctx, adopt); err != nil {
			return failureOf(err)
		}
	}

	if failure := j.find(ctx); failure != nil {
		return failure
	}

	col := newCollector(plan.StepRefresh, j.resources, j.notify)

	failure = j.execute(ctx, col, nil, func(ctx context.Context) error {
		_, err := j.stack.Refresh(ctx,
			optrefresh.Parallel(j.order.Settings.Parallel), optrefresh.SuppressProgress(), optrefresh.Color(noColor),
			optrefresh.UserAgent(userAgent), optrefresh.Message(j.message()), optrefresh.ShowSecrets(false),
			optrefresh.EventStreams(col.stream))

		return err //nolint:wrapcheck // execute turns it into a failure.
	})
	if failure != nil {
		return failure
	}

	j.setPresent(col.present)
	j.tellResolved(ids)

	return nil
}

// lookUp tells under which ids the creations that were cut short are to be read.
// It is nil if there are none.
func (j *job) lookUp(ctx context.Context) (map[string]string, *tenant.Failure) {
	var (
		ids     map[string]string
		unknown = map[place][]inventory.Resource{}
	)

	for _, p := range j.gate.State().Pending {
		if p.Operation != "creating" {
			continue
		}

		if ids == nil {
			ids = map[string]string{}
		}

		at := placeOf(p.Resource.Provider, j.known)

		found, looked := unknown[at]
		if !looked {
			var err error
			if found, err = j.findUnknown(ctx, at); err != nil {
				return nil, failureOf(err)
			}

			unknown[at] = found
		}

		if id, verdict := inventory.Identify(p.Resource, found); verdict == inventory.Exists {
			ids[p.Resource.URN] = id
		} else {
			j.repaired(tenant.RepairCleared, fmt.Sprintf("%s, which is %s", describe(p.Resource.URN), verdict))
		}
	}

	return ids, nil
}

// tellResolved says which of the looked up resources the provider knew.
func (j *job) tellResolved(ids map[string]string) {
	there := map[string]bool{}
	for _, r := range j.gate.State().Resources {
		there[r.URN] = true
	}

	for urn, id := range ids {
		if there[urn] {
			j.repaired(tenant.RepairImported, fmt.Sprintf("%s with id %s", describe(urn), id))
		} else {
			j.repaired(tenant.RepairCleared, describe(urn)+", which is absent")
		}
	}
}

func (j *job) repaired(action tenant.RepairAction, detail string) {
	j.result.Repairs = append(j.result.Repairs, tenant.Repair{Action: action, Detail: oneLine(detail)})
}
