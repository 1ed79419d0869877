package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
	"github.com/lessor-dev/lessor/test/bench/bed"
	"github.com/lessor-dev/lessor/test/bench/figure"
)

// town is a bucket with stacks, and who works in it.
type town struct {
	stacks int
	bucket string
	ours   *ours
	id     tenant.ID

	costs, plain      costs
	memories, listing figure.Sample
}

// project is that of lessor's stacks, which the plain side shares here.
const project = "lessor"

// stacksGrow measures one operation among few and among many stacks.
func stacksGrow(ctx context.Context, l *lab, m *mold, s size, section *figure.Section) (err error) {
	var towns []*town

	defer func() {
		for _, t := range towns {
			err = errors.Join(err, t.ours.fleet.Close())
		}
	}()

	for _, stacks := range s.stacks {
		l.say("a bucket with %d stacks", stacks)

		t, err := newTown(ctx, l, m, stacks)
		if err != nil {
			return err
		}

		towns = append(towns, t)
	}

	if err := operateIn(ctx, l, towns, s); err != nil {
		return err
	}

	var pulumi []figure.Sample

	if !s.short {
		if err := plainIn(ctx, l, towns, s.plain); err != nil {
			return err
		}

		if pulumi, err = listStacks(ctx, l, towns); err != nil {
			return err
		}
	}

	if err := listingIn(ctx, l, towns); err != nil {
		return err
	}

	addStacks(section, m, towns, pulumi, s.short)

	return nil
}

func newTown(ctx context.Context, l *lab, m *mold, stacks int) (*town, error) {
	bucket, err := l.NewBucket(ctx)
	if err != nil {
		return nil, err
	}

	if err := l.PutObjects(ctx, bucket, m.stacks(stacks-1)); err != nil {
		return nil, err
	}

	o, err := oursIn(ctx, l, bucket)
	if err != nil {
		return nil, err
	}

	t := &town{
		stacks: stacks, bucket: bucket, ours: o, id: tenant.ID(l.Name("resident")), costs: costs{}, plain: costs{},
		memories: figure.Sample{Unit: figure.Bytes}, listing: figure.Sample{Unit: figure.Seconds},
	}

	// The first operation of a worker has to warm up.
	for _, a := range []action{create, noChange} {
		if _, err := o.run(ctx, bare, t.id, a); err != nil {
			return nil, errors.Join(err, o.fleet.Close())
		}
	}

	return t, nil
}

// operateIn goes round the buckets, each time from another one.
func operateIn(ctx context.Context, l *lab, towns []*town, s size) error {
	l.say("operations, %d rounds", s.rounds)

	for round := range s.rounds + s.calm {
		for i := range towns {
			t := towns[(i+round)%len(towns)]

			var peak *bed.MemoryWatch
			// To look at memory takes time.
			if round >= s.rounds {
				peak = bed.WatchMemory(t.ours.pid())
			}

			got, err := measured(ctx, l, t.ours, nil, bare, t.id, noChange)

			if peak != nil {
				t.memories.Add(float64(peak.Stop().Most.Operation()))
			} else {
				t.costs[noChange] = append(t.costs[noChange], got)
			}

			if err != nil {
				return err
			}
		}
	}

	return nil
}

// plainIn goes round the buckets with the plain Automation API.
func plainIn(ctx context.Context, l *lab, towns []*town, rounds int) (err error) {
	l.say("the plain way, %d rounds", rounds)

	p, err := newPlain(l, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()

	for round := range rounds + 1 {
		for i := range towns {
			t := towns[(i+round)%len(towns)]
			side := neighbor{plain: p, bucket: t.bucket}

			a := noChange
			if round == 0 {
				a = create
			}

			got, err := measured(ctx, l, side, nil, bare, "plain-"+t.id, a)
			if err != nil {
				return err
			}

			t.plain[a] = append(t.plain[a], got)
		}
	}

	return nil
}

// neighbor is the plain side among lessor's stacks.
type neighbor struct {
	*plain

	bucket string
}

func (n neighbor) run(_ context.Context, program string, id tenant.ID, _ action) (time.Duration, error) {
	n.changes++

	return n.Run(bed.PlainOrder{
		Tenant: id, Program: program, Bucket: n.bucket, Project: project,
		Parameters: map[string]string{parameterNote: strconv.Itoa(n.changes), parameterColor: "blue"},
	})
}

// listStacks asks the CLI for all stacks, where that ends soon. It is what
// ListStacks of the Automation API does.
func listStacks(ctx context.Context, l *lab, towns []*town) ([]figure.Sample, error) {
	const bearable = 1_000

	took, memory, requests := figure.Sample{Unit: figure.Seconds}, figure.Sample{Unit: figure.Bytes}, figure.Sample{}

	for _, t := range towns {
		if t.stacks > bearable {
			continue
		}

		l.say("pulumi stack ls, %d stacks", t.stacks)

		before := l.Wire.Calls()

		ran, err := l.Run(ctx, l.CLI(t.bucket), "pulumi", "stack", "ls", "--all", "--non-interactive")
		if err != nil {
			return nil, err
		}

		took.Add(ran.Took.Seconds())
		memory.Add(float64(ran.Memory))
		requests.Add(float64(l.Wire.Since(before).Of("s3")))
	}

	return []figure.Sample{took, memory, requests}, nil
}

// listingIn asks the stand-in for the locks of one stack, as an operation does.
func listingIn(ctx context.Context, l *lab, towns []*town) error {
	const times = 20

	for range times {
		for _, t := range towns {
			began := time.Now()

			if _, err := l.Keys(ctx, t.bucket, ".pulumi/locks/organization/"+project+"/"+string(t.id)+"/"); err != nil {
				return err
			}

			t.listing.Add(time.Since(began).Seconds())
		}
	}

	return nil
}

func addStacks(section *figure.Section, m *mold, towns []*town, pulumi []figure.Sample, short bool) {
	const growsAtMost = 1.1

	few, many := towns[0], towns[len(towns)-1]
	t := figure.Table{Columns: []string{"stacks in the bucket"}}

	for _, in := range towns {
		t.Columns = append(t.Columns, figure.Count.Format(float64(in.stacks)))
	}

	t.Columns = append(t.Columns, "most ÷ fewest")

	row := func(what string, of func(*town) figure.Sample) {
		if len(of(few).Values) == 0 {
			return
		}

		cells := []any{what}
		for _, in := range towns {
			cells = append(cells, of(in))
		}

		t.Row(append(cells, paired(of(many), of(few)))...)
	}

	row("no-change operation, lessor", func(in *town) figure.Sample { return in.costs.times(noChange) })
	row("CPU of it", func(in *town) figure.Sample { return in.costs.cpu(noChange) })
	row("S3 requests of it", func(in *town) figure.Sample { return in.costs.requests(noChange, "s3") })
	row("memory of it", func(in *town) figure.Sample { return in.memories })
	row("no-change operation, plain", func(in *town) figure.Sample { return in.plain.times(noChange) })
	row("CPU of it", func(in *town) figure.Sample { return in.plain.cpu(noChange) })
	row("S3 requests of it", func(in *town) figure.Sample { return in.plain.requests(noChange, "s3") })

	for i, what := range []string{"`pulumi stack ls`", "memory of it", "S3 requests of it"} {
		if len(pulumi) > 0 {
			t.Row(pulumiRow(what, pulumi[i], len(towns))...)
		}
	}

	row("one LIST of the stand-in", func(in *town) figure.Sample { return in.listing })

	t.Note = "The last column is the median of what each round divides to. An operation asks for the list of its own stack's " +
		"locks, and S3 finds that by its name; the stand-in goes through the whole bucket for it, which is in the time of lessor " +
		"and of the plain way. `pulumi stack ls` reads every checkpoint, and so does `ListStacks` of the Automation API: lessor has " +
		"a table for that, and asks neither. Each stack leaves " + figure.Count.Format(float64(len(m.objects))) + " objects in the bucket."
	section.Tables = append(section.Tables, t)

	what := figure.Count.Format(float64(many.stacks)) + " stacks in the bucket ÷ with " + figure.Count.Format(float64(few.stacks))
	took := figure.Typically("time of a no-change operation with "+what,
		paired(many.costs.times(noChange), few.costs.times(noChange)), growsAtMost)
	took.Why = "The row of the LIST says what the stand-in has to do with it: where the requests are the same and the LIST is " +
		"slower, S3 would not be."

	if !short {
		section.Goals = append(section.Goals, took)
	}

	// The least of each, since a request that is repeated says nothing of stacks.
	least := func(in *town) float64 { return slices.Min(in.costs.requests(noChange, "s3").Values) }

	section.Goals = append(section.Goals,
		figure.AtMost("S3 requests of a no-change operation with "+what, figure.Of(figure.Ratio, least(many)/least(few)), 1))
}

// pulumiRow is a row that ends before the largest bucket.
func pulumiRow(what string, s figure.Sample, columns int) []any {
	cells := []any{what}
	for _, value := range s.Values {
		cells = append(cells, figure.Of(s.Unit, value))
	}

	for range columns - len(s.Values) {
		cells = append(cells, "–")
	}

	return append(cells, figure.Of(figure.Ratio, slices.Max(s.Values)/slices.Min(s.Values)))
}
