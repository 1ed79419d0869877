package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/lessor-dev/lessor/test/bench/figure"
)

//go:embed texts/hot.md
var hotText string

// measureHot runs the benchmarks of the packages.
func measureHot(ctx context.Context, _ *lab) (figure.Section, error) {
	section := figure.Section{Title: "Hot paths", Text: hotText}

	cmd := exec.CommandContext(ctx, "go", "test",
		"-run", "^$", "-bench", ".", "-benchmem", "-benchtime", "100ms", "./pkg/...", "./infra/catalog")

	out, err := cmd.CombinedOutput()
	if err != nil {
		return section, fmt.Errorf("running the benchmarks: %w\n%s", err, out)
	}

	t := figure.Table{Columns: []string{"benchmark", "time", "bytes", "allocations"}}

	for _, r := range hotResults(out) {
		t.Row("`"+r.name+"`", r.time, r.bytes, r.allocations)
	}

	section.Tables = append(section.Tables, t)

	return section, nil
}

// hotResult is a line of Go's benchmarks.
type hotResult struct {
	// name is the package and the benchmark in it.
	name                     string
	time, bytes, allocations figure.Sample
}

// hotResults reads what `go test -bench -benchmem` prints.
func hotResults(out []byte) []hotResult {
	const (
		prefix      = "Benchmark"
		nanoseconds = 1e9
	)

	var (
		all  []hotResult
		pack string
	)

	lines := bufio.NewScanner(bytes.NewReader(out))

	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 2 && fields[0] == "pkg:" {
			_, pack, _ = strings.Cut(fields[1], "/lessor/")
			pack = strings.TrimPrefix(pack, "pkg/")
		}

		if len(fields) == 0 || !strings.HasPrefix(fields[0], prefix) {
			continue
		}

		r := hotResult{name: pack + " " + withoutProcessors(strings.TrimPrefix(fields[0], prefix))}

		for i := 1; i < len(fields); i++ {
			value, err := strconv.ParseFloat(fields[i-1], 64)
			if err != nil {
				continue
			}

			switch fields[i] {
			case "ns/op":
				r.time = figure.Of(figure.Seconds, value/nanoseconds)
			case "B/op":
				r.bytes = figure.Of(figure.Count, value)
			case "allocs/op":
				r.allocations = figure.Of(figure.Count, value)
			}
		}

		if len(r.time.Values) > 0 {
			all = append(all, r)
		}
	}

	return all
}

// withoutProcessors cuts off the number of processors that Go adds to a name.
func withoutProcessors(name string) string {
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		if _, err := strconv.Atoi(name[i+1:]); err == nil {
			return name[:i]
		}
	}

	return name
}
