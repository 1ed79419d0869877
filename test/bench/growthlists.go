package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/lessor-dev/lessor/test/bench/bed"
	"github.com/lessor-dev/lessor/test/bench/figure"
)

// listing is what one form of `enqueue list` takes.
type listing struct {
	took, first, cpu, memory, requests figure.Sample
}

var errLines = errors.New("enqueue list does not show every tenant")

// listsGrow measures `enqueue list` with few and with many tenants.
func listsGrow(ctx context.Context, l *lab, m *mold, s size, section *figure.Section) error {
	if s.short {
		return nil
	}

	t := figure.Table{Columns: []string{"`enqueue list`", "time", "first output after", "CPU", "memory", "Scan requests", "read units"}}
	fleets := make([]*bed.Fleet, 0, len(s.listed))

	for _, tenants := range s.listed {
		f, err := l.NewFleet(ctx, bed.FleetOptions{Catalog: benchCatalog, Variables: []string{pollSoon}})
		if err != nil {
			return err
		}

		if err := f.PutRows(ctx, m.rows(tenants)); err != nil {
			return err
		}

		l.PageScans(f.Table, pageBytes/m.rowSize)
		fleets = append(fleets, f)
	}

	for i, f := range fleets {
		tenants := s.listed[i]
		l.say("enqueue list, %d tenants", tenants)

		for _, form := range []struct {
			name string
			args []string
			all  bool
		}{
			{name: "", args: nil},
			{name: ", all of them", args: []string{"--limit", strconv.Itoa(tenants)}, all: true},
			{name: ", all of them as JSON", args: []string{"--limit", strconv.Itoa(tenants), "--output", "json"}},
		} {
			found, err := list(ctx, l, f, s.lists, form.args, func(output []byte) error {
				if lines := bytes.Count(output, []byte("\n")) - 1; form.all && lines != tenants {
					return fmt.Errorf("%w: %d of %d", errLines, lines, tenants)
				}

				return nil
			})
			if err != nil {
				return err
			}

			units := figure.Of(figure.Count, float64(tenants*m.rowSize)/unitBytes)
			t.Row(figure.Count.Format(float64(tenants))+" tenants"+form.name,
				found.took, found.first, found.cpu, found.memory, found.requests, units)
		}
	}

	t.Note = "Memory is the most that the command held, with the pages of its program. Without a limit it shows the " +
		"first 500. The list is in order and the table is not, so that nothing is shown before all is read, strongly consistent."
	section.Tables = append(section.Tables, t)

	return nil
}

// list runs the command some times. The first time reads the stand-in and does
// not count.
func list(
	ctx context.Context, l *lab, f *bed.Fleet, times int, args []string, check func([]byte) error,
) (listing, error) {
	found := listing{
		took: figure.Sample{Unit: figure.Seconds}, first: figure.Sample{Unit: figure.Seconds}, cpu: figure.Sample{Unit: figure.Seconds},
		memory: figure.Sample{Unit: figure.Bytes},
	}

	for i := range times + 1 {
		before := l.PagesAsked(f.Table)

		ran, err := l.Run(ctx, f.Environ(), "enqueue", append([]string{"list"}, args...)...)
		if err != nil {
			return found, err
		}

		if err := check(ran.Output); err != nil {
			return found, err
		}

		if i == 0 {
			continue
		}

		found.took.Add(ran.Took.Seconds())
		found.first.Add(ran.First.Seconds())
		found.cpu.Add(ran.CPU.Seconds())
		found.memory.Add(float64(ran.Memory))
		found.requests.Add(float64(l.PagesAsked(f.Table) - before))
	}

	return found, nil
}
