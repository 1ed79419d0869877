package enqueuecli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
	"github.com/lessor-dev/lessor/pkg/inventory"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// surveyPatience bounds the search of one region, with all its pages.
const surveyPatience = 10 * time.Minute

// place is where resources can be: a region, seen with a role or, where that is
// "", with one's own credentials.
type place struct{ region, role string }

// sighting is a resource and who saw it.
type sighting struct {
	inventory.Resource

	look cloud
	at   place
}

// survey compares what AWS has with what the states know.
type survey struct {
	app      *app
	settings settings
	rows     rows
	states   states
	meter    *meter
	began    time.Time

	findings findings
}

func (a *app) newSurvey(ctx context.Context) (*survey, error) {
	table, err := a.rows(ctx)
	if err != nil {
		return nil, err
	}

	read, err := a.connect.States(ctx, a.settings())
	if err != nil {
		return nil, err
	}

	return &survey{
		app: a, settings: a.settings(), rows: table, states: read, meter: a.newMeter(), began: a.now(),
		// Empty lists are no nulls.
		findings: findings{Orphans: []finding{}, Kept: []finding{}},
	}, nil
}

// tenant looks at one tenant.
func (s *survey) tenant(ctx context.Context, name string) error {
	id, err := tenant.ParseID(name)
	if err != nil {
		return err
	}

	rec, err := readRow(ctx, s.rows, id)
	if err != nil {
		return err
	}

	if !rec.Exists() {
		return absent(rec, "without a tenant, `enqueue orphans` lists what has no row")
	}

	seen := map[string]sighting{}
	s.look(ctx, placesOf(rec), seen, func(ctx context.Context, look cloud) ([]inventory.Resource, error) { return look.Find(ctx, id) })

	return s.judge(ctx, id, seen)
}

// fleet looks at everything.
func (s *survey) fleet(ctx context.Context) error {
	var places []place

	err := s.rows.List(ctx, func(rec tenant.Record) bool {
		places = append(places, placesOf(rec)...)

		return true
	})
	if err != nil {
		return fmt.Errorf("listing the tenants: %w", err)
	}

	regions, _ := s.settings.lookuper.Lookup(envRegions)
	for _, region := range strings.FieldsFunc(regions, func(r rune) bool { return r == ',' || r == ' ' }) {
		places = append(places, place{region: region})
	}

	seen := map[string]sighting{}
	s.look(ctx, places, seen, func(ctx context.Context, look cloud) ([]inventory.Resource, error) { return look.FindAll(ctx) })

	owners := map[tenant.ID]map[string]sighting{}

	for arn, r := range seen {
		if owners[r.Tenant()] == nil {
			owners[r.Tenant()] = map[string]sighting{}
		}

		owners[r.Tenant()][arn] = r
	}

	// A tenant without resources has no orphans: its state need not be read.
	done := 0
	for _, id := range slices.Sorted(maps.Keys(owners)) {
		s.show(stage{text: "comparing with the states", done: done, planned: len(owners)})

		if err := s.judge(ctx, id, owners[id]); err != nil {
			return err
		}

		done++
	}

	return nil
}

func (s *survey) show(at stage) {
	// Where each line stays, a few of them are enough.
	const every = 100
	if s.meter.width == 0 && at.done%every != 0 {
		return
	}

	s.meter.show(progress{subject: "orphans", stage: at}, s.app.now().Sub(s.began))
}

// placesOf is where the resources of a tenant can be, as far as its row knows.
// The role of a tier that it never had is not in the row.
func placesOf(rec tenant.Record) []place {
	var places []place

	role := ""
	if rec.Applied != nil {
		role = rec.Applied.Blueprint.RoleARN
		places = append(places, place{rec.Applied.Spec.Region, role})
	}

	return append(places, place{rec.Desired.Spec().Region, role})
}

// look searches every place and notes those that it could not.
func (s *survey) look(
	ctx context.Context, places []place, seen map[string]sighting,
	search func(context.Context, cloud) ([]inventory.Resource, error),
) {
	slices.SortFunc(places, func(a, b place) int { return cmp.Or(cmp.Compare(a.region, b.region), cmp.Compare(a.role, b.role)) })

	for _, at := range slices.Compact(places) {
		// A row that awaits its creation has no region yet.
		if at.region == "" {
			continue
		}

		s.show(stage{text: "looking in " + at.region, detail: asRole(at.role)})

		if err := s.search(ctx, at, seen, search); err != nil {
			s.skip(unseen{Region: at.region, RoleARN: at.role}, err)
		}
	}
}

func asRole(role string) string {
	if role == "" {
		return ""
	}

	return " as " + role
}

func (s *survey) search(
	ctx context.Context, at place, seen map[string]sighting, search func(context.Context, cloud) ([]inventory.Resource, error),
) error {
	ctx, cancel := context.WithTimeout(ctx, surveyPatience)
	defer cancel()

	look, err := s.app.connect.Cloud(ctx, s.settings, at)
	if err != nil {
		return err
	}

	found, err := search(ctx, look)
	if err != nil {
		return err
	}

	for _, r := range found {
		seen[r.ARN] = sighting{r, look, at}
	}

	return nil
}

// inspect asks about the keys among what no state knows, which are few.
func (s *survey) inspect(ctx context.Context, unknown []inventory.Resource, seen map[string]sighting) []inventory.Resource {
	inspected := make([]inventory.Resource, 0, len(unknown))

	for _, r := range unknown {
		saw := seen[r.ARN]

		closer, err := saw.look.Inspect(ctx, []inventory.Resource{r})
		if err != nil {
			s.skip(unseen{Tenant: r.Tenant(), Region: saw.at.region, RoleARN: saw.at.role}, err)

			continue
		}

		inspected = append(inspected, closer...)
	}

	return inspected
}

func (s *survey) skip(what unseen, err error) {
	what.Error = err.Error()
	s.findings.NotLookedAt = append(s.findings.NotLookedAt, what)
}

// judge compares what was found of a tenant with its state. The row and the
// state are read after the search, so that what an operation made meanwhile is
// known.
func (s *survey) judge(ctx context.Context, id tenant.ID, seen map[string]sighting) error {
	if len(seen) == 0 {
		return nil
	}

	found := make([]inventory.Resource, 0, len(seen))
	for _, saw := range seen {
		found = append(found, saw.Resource)
	}

	rec, err := s.row(ctx, id)
	if err != nil {
		return err
	}

	state, err := s.state(ctx, rec)
	if err != nil {
		s.skip(unseen{Tenant: id}, err)

		return nil
	}

	unknown := s.inspect(ctx, inventory.Unknown(found, state.Resources), seen)
	pending := pendingARNs(state, unknown)

	for _, r := range unknown {
		switch {
		case inventory.Kept(r):
			s.findings.add(r, reasonKept, false)
		case !rec.Exists():
			s.findings.add(r, reasonNoRow, false)
		case pending[r.ARN]:
			s.findings.add(r, reasonPending, rec.Lease.Owner != "")
		case rec.Desired.Spec().Phase == tenant.PhaseAbsent && !rec.NeedsWork():
			s.findings.add(r, reasonDeleted, rec.Lease.Owner != "")
		default:
			s.findings.add(r, reasonStray, rec.Lease.Owner != "")
		}
	}

	return nil
}

// row reads the row of a tag's value, which anybody may have written.
func (s *survey) row(ctx context.Context, id tenant.ID) (tenant.Record, error) {
	if _, err := tenant.ParseID(id.String()); err != nil {
		return tenant.Record{ID: id}, nil //nolint:nilerr // no tenant has such an id
	}

	return readRow(ctx, s.rows, id)
}

var errNoState = errors.New("the row says that there is a state, and there is none: restore a version of it before you delete anything")

// state reads the state of a tenant, which is empty before its first operation.
func (s *survey) state(ctx context.Context, rec tenant.Record) (checkpoint.State, error) {
	if rec.Stack == (tenant.Stack{}) {
		return checkpoint.State{}, nil
	}

	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()

	data, err := s.states.Read(ctx, rec.Stack)

	switch {
	case errors.Is(err, errAbsent) && !rec.Stack.Created:
		return checkpoint.State{}, nil
	case errors.Is(err, errAbsent):
		return checkpoint.State{}, errNoState
	case err != nil:
		return checkpoint.State{}, fmt.Errorf("reading the state: %w", err)
	}

	state, err := checkpoint.Read(data)
	// An inconsistent state still tells what it knows.
	if err != nil && !errors.Is(err, checkpoint.ErrIntegrity) {
		return checkpoint.State{}, err
	}

	return state, nil
}

// pendingARNs are those of unknown that the state knows as creations that were
// cut short.
func pendingARNs(state checkpoint.State, unknown []inventory.Resource) map[string]bool {
	arns := map[string]bool{}

	for _, p := range state.Pending {
		id, verdict := inventory.Identify(p.Resource, unknown)
		if verdict != inventory.Exists {
			continue
		}

		adopted := p.Resource
		adopted.ID, adopted.Outputs = id, nil

		left := inventory.Unknown(unknown, []inventory.Known{adopted})
		for _, r := range unknown {
			if !slices.ContainsFunc(left, func(l inventory.Resource) bool { return l.ARN == r.ARN }) {
				arns[r.ARN] = true
			}
		}
	}

	return arns
}
