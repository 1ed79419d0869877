package enqueuecli

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lessor-dev/lessor/pkg/inventory"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const orphansLong = `List resources that carry a tenant's tags and that the tenant's state does not
know: what a worker made and did not live to write down. Without a tenant: of
all tenants, and what is tagged managed-by=lessor and with a tenant that has no
row. Nothing is changed.

It asks the Resource Groups Tagging API in the regions that the rows name (and,
without a tenant, those of LESSOR_REGIONS), with the role of the tier where the
last successful operation had one, else with your own credentials. It cannot see
types without tags, nor what AWS has not indexed yet: that may take minutes. A
place or a state that could not be read is named, and nothing of it is listed.

Final snapshots, keys that they need and keys that wait for their deletion are
kept on purpose. They are listed apart, and are no orphans.

Exit code 8 says that there are orphans, so that a script can tell.`

func (a *app) orphansCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "orphans [TENANT]",
		Short: "List resources that no state knows",
		Long:  orphansLong,
		Example: `  enqueue orphans acme
  enqueue orphans
  enqueue orphans --output json | jq -r '.orphans[].arn'`,
		Args:              atMostOneTenant,
		ValidArgsFunction: a.completeTenants,
		RunE: a.action(func(ctx context.Context, args []string) error {
			s, err := a.newSurvey(ctx)
			if err != nil {
				return err
			}

			if len(args) == 0 {
				err = s.fleet(ctx)
			} else {
				err = s.tenant(ctx, args[0])
			}

			s.meter.clear()

			if err != nil {
				return err
			}

			return a.printOrphans(s.findings)
		}),
	}
}

// findings is the documented form of what was found: `enqueue help json`.
type findings struct {
	Orphans     []finding `json:"orphans"`
	Kept        []finding `json:"kept"`
	NotLookedAt []unseen  `json:"notLookedAt,omitempty"`
}

// finding is a resource that no state knows.
type finding struct {
	ARN    string    `json:"arn"`
	Type   string    `json:"type"`
	Tenant tenant.ID `json:"tenant,omitempty"`
	Reason reason    `json:"reason"`
	// Running is set while an operation of the tenant runs: its state may
	// know the resource in a moment.
	Running bool `json:"running,omitempty"`
	// Advice says what to do.
	Advice string `json:"advice"`
}

// unseen is what could not be looked at.
type unseen struct {
	Tenant  tenant.ID `json:"tenant,omitempty"`
	Region  string    `json:"region,omitempty"`
	RoleARN string    `json:"roleArn,omitempty"`
	Error   string    `json:"error"`
}

// reason is why a resource is listed, for scripts.
type reason string

const (
	// reasonPending is a creation that was cut short; the state knows of it.
	reasonPending reason = "pending"
	reasonStray   reason = "stray"
	reasonDeleted reason = "deleted"
	reasonNoRow   reason = "no-row"
	reasonKept    reason = "kept"
)

func (f *findings) add(r inventory.Resource, why reason, running bool) {
	found := finding{ARN: r.ARN, Type: r.Type(), Tenant: r.Tenant(), Reason: why, Running: running, Advice: adviceFor(r, why, running)}

	if why == reasonKept {
		f.Kept = append(f.Kept, found)
	} else {
		f.Orphans = append(f.Orphans, found)
	}
}

func (f *findings) sort() {
	order := func(a, b finding) int { return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.ARN, b.ARN)) }
	slices.SortFunc(f.Orphans, order)
	slices.SortFunc(f.Kept, order)
}

func adviceFor(r inventory.Resource, why reason, running bool) string {
	if running {
		return "look again once the operation that runs has ended"
	}

	switch why {
	case reasonPending:
		return "the next operation adopts it: enqueue reprovision " + r.Tenant().String()
	case reasonStray:
		return "check that nothing uses it, then delete it at AWS"
	case reasonDeleted:
		return "the tenant is gone: delete it at AWS"
	case reasonNoRow:
		return "another fleet's in this account, or to be deleted at AWS"
	case reasonKept:
	}

	switch {
	case r.PendingDeletion:
		return "AWS deletes the key when its waiting period is over"
	case r.Tags[inventory.TagKeptFor] != "":
		return "needed by snapshot " + r.Tags[inventory.TagKeptFor]
	default:
		return "a snapshot: delete it when its data is not wanted any more"
	}
}
