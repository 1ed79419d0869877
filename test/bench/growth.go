package main

import (
	"context"

	"github.com/lessor-dev/lessor/test/bench/figure"
)

const growthText = `
What others leave behind must not slow a tenant down.

Stacks: buckets that differ in nothing but how many stacks they have, and a worker on each. An operation that
changes nothing goes round the buckets, so that what else the machine does hits all of them. The stacks are copies
of one that lessor made, with all it leaves in the bucket, each checkpoint filled up with white space to the size
of a larger one. The plain side goes round the same buckets, in the same project.

Rows: tables that differ in nothing but how many rows they have, all copies of a settled row that lessor made.
DynamoDB answers a Scan in pages of 1 MB, whatever it leaves out of each row; the stand-in does not, so the
benchmark cuts what that answers into pages of this size, and answers each after a moment. The time of a sweep and
of a list is therefore little but theirs: DynamoDB adds its own for each page.`

// pollSoon spares drains the rest of a long poll.
const pollSoon = "LESSOR_POLL_WAIT=1s"

// fewStacks is what the growth is measured from.
const fewStacks = 10

// size says how large a growth is measured.
type size struct {
	stacks, rows, listed []int
	// rounds are those of the operations, calm more of them to look at memory,
	// plain those of the plain way.
	rounds, calm, plain, sweeps, lists int
	// short is for counts alone.
	short bool
}

func measureGrowth(ctx context.Context, l *lab) (figure.Section, error) {
	const rounds, calm, plain, sweeps, lists = 12, 2, 4, 2, 5

	return growth(ctx, l, size{
		stacks: []int{fewStacks, 1_000, 10_000}, rounds: rounds, calm: calm, plain: plain,
		rows: []int{1_000, 10_000, 100_000}, sweeps: sweeps,
		listed: []int{10, 10_000}, lists: lists,
	})
}

// checkGrowth counts the same, with less.
func checkGrowth(ctx context.Context, l *lab) (figure.Section, error) {
	const rounds = 2

	return growth(ctx, l, size{short: true, stacks: []int{fewStacks, 1_000}, rounds: rounds, rows: []int{100, 1_000}, sweeps: 1})
}

func growth(ctx context.Context, l *lab, s size) (section figure.Section, err error) {
	section = figure.Section{Title: "Growth", Text: growthText}

	l.say("a tenant to copy")

	m, err := newMold(ctx, l)
	if err != nil {
		return section, err
	}

	for _, part := range []func(context.Context, *lab, *mold, size, *figure.Section) error{stacksGrow, rowsGrow, listsGrow} {
		if err := part(ctx, l, m, s, &section); err != nil {
			return section, err
		}
	}

	return section, nil
}

// paired divides turn by turn.
func paired(larger, smaller figure.Sample) figure.Sample {
	ratios := figure.Sample{Unit: figure.Ratio}

	for i := range min(len(larger.Values), len(smaller.Values)) {
		ratios.Add(larger.Values[i] / smaller.Values[i])
	}

	return ratios
}
