package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/lessor-dev/lessor/pkg/tenant"
	"github.com/lessor-dev/lessor/test/bench/bed"
)

// moldID is the tenant that all others are copies of. Their ids have the same
// length, so that their rows do.
const moldID tenant.ID = "tenant-of-mold-000000"

// checkpointBytes is the size of a checkpoint with some thirty resources.
const checkpointBytes = 37 << 10

// mold is what one tenant leaves in a bucket and in a table.
type mold struct {
	objects []bed.Object
	row     bed.Row
	rowSize int
}

// newMold lets a tenant live for a while.
func newMold(ctx context.Context, l *lab) (m *mold, err error) {
	bucket, err := l.NewBucket(ctx)
	if err != nil {
		return nil, err
	}

	o, err := oursIn(ctx, l, bucket)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.fleet.Close()) }()

	for _, a := range []action{create, update, noChange} {
		if _, err := o.run(ctx, pair, moldID, a); err != nil {
			return nil, err
		}
	}

	m = &mold{}
	if m.objects, err = l.Objects(ctx, bucket, string(moldID)); err != nil {
		return nil, err
	}

	for i, object := range m.objects {
		if missing := checkpointBytes - len(object.Body); strings.HasPrefix(object.Key, ".pulumi/stacks/") && missing > 0 {
			m.objects[i].Body = slices.Concat(object.Body, bytes.Repeat([]byte(" "), missing))
		}
	}

	if m.row, err = o.fleet.Row(ctx, moldID); err != nil {
		return nil, err
	}

	m.rowSize, err = bed.RowSize(m.row)

	return m, err
}

// oursIn is lessor with its state in a bucket.
func oursIn(ctx context.Context, l *lab, bucket string) (*ours, error) {
	f, err := l.NewFleet(ctx, bed.FleetOptions{Catalog: benchCatalog, Variables: []string{"LESSOR_STATE_BUCKETS=" + bucket, pollSoon}})
	if err != nil {
		return nil, err
	}

	w, err := f.Start(ctx)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}

	return &ours{fleet: f, worker: w, changes: map[tenant.ID]int64{}}, nil
}

// copyID numbers the copies.
func copyID(n int) string { return fmt.Sprintf("tenant-of-copy-%06d", n) }

// stacks are so many copies of what is in the bucket.
func (m *mold) stacks(n int) iter.Seq[bed.Object] {
	return func(yield func(bed.Object) bool) {
		for i := range n {
			for _, o := range m.objects {
				if !yield(bed.Object{Key: strings.ReplaceAll(o.Key, string(moldID), copyID(i)), Body: o.Body}) {
					return
				}
			}
		}
	}
}

// rows are so many copies of the row.
func (m *mold) rows(n int) iter.Seq[bed.Row] {
	return func(yield func(bed.Row) bool) {
		for i := range n {
			row := bed.Renamed(m.row, func(text string) string { return strings.ReplaceAll(text, string(moldID), copyID(i)) })
			if !yield(row) {
				return
			}
		}
	}
}
