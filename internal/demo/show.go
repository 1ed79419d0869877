package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// table prints the tenants as an API layer would see them.
func (s *stage) table(ctx context.Context, ids ...tenant.ID) error {
	const padding = 2

	fmt.Println()

	w := tabwriter.NewWriter(os.Stdout, 0, 0, padding, ' ', 0)
	fmt.Fprintln(w, "   TENANT\tTIER\tPHASE\tSEQUENCE\tRESOURCES\tSECONDS\tOUTPUTS")

	for _, id := range ids {
		rec, err := s.rows.Get(ctx, id)
		if err != nil {
			return err
		}

		fmt.Fprintf(w, "   %s\t%s\t%s\t%d\t%d\t%.1f\t%s\n", id, rec.Applied.Spec.Tier, rec.Applied.Spec.Phase,
			rec.AppliedSeq, rec.Last.Resources, rec.Last.Duration.Seconds(), outputs(rec.Outputs))
	}

	if err := w.Flush(); err != nil {
		return fmt.Errorf("printing the table: %w", err)
	}

	return nil
}

func outputs(all map[string]json.RawMessage) string {
	const (
		shown  = 2
		length = 60
	)

	parts := make([]string, 0, shown)

	for _, name := range slices.SortedFunc(maps.Keys(all), tellingFirst) {
		if len(parts) == shown {
			break
		}

		value := strings.Trim(string(all[name]), `"`)
		if len(value) > length {
			value = value[:length] + "…"
		}

		parts = append(parts, name+"="+value)
	}

	if more := len(all) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}

	return strings.Join(parts, " ")
}

// tellingFirst puts the outputs first that differ between tenants.
func tellingFirst(a, b string) int {
	rank := func(name string) int {
		telling := []string{"databaseEndpoint", "vpcId", "sharedClusterSchema", "sharedEndpoint"}
		if i := slices.Index(telling, name); i >= 0 {
			return i
		}

		return len(telling)
	}

	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
}

// stateResources counts what a stack's checkpoint holds, 0 if there is none.
func (s *stage) stateResources(ctx context.Context, stack tenant.Stack) (int, error) {
	client := s3.NewFromConfig(s.aws, func(o *s3.Options) { o.UsePathStyle = true })
	key := fmt.Sprintf(".pulumi/stacks/%s/%s.json", stack.Project, stack.Name)

	object, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(stack.Shard), Key: aws.String(key)})

	if _, missing := errors.AsType[*types.NoSuchKey](err); missing {
		return 0, nil
	}

	if err != nil {
		return 0, fmt.Errorf("reading the state: %w", err)
	}

	var state checkpoint

	err = json.NewDecoder(object.Body).Decode(&state)
	if err = errors.Join(err, object.Body.Close()); err != nil {
		return 0, fmt.Errorf("reading the state: %w", err)
	}

	return len(state.Checkpoint.Latest.Resources), nil
}

// metrics are the samples of one scrape, by name and labels.
type metrics map[string]float64

// sum adds up all label sets of one name.
func (m metrics) sum(name string) float64 {
	total := 0.0

	for series, value := range m {
		if series == name || strings.HasPrefix(series, name+"{") {
			total += value
		}
	}

	return total
}

func (s *stage) scrape(ctx context.Context) (metrics, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.admin+"/metrics", http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("reading the metrics: %w", err)
	}

	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("reading the metrics: %w", err)
	}

	m, err := parseMetrics(res.Body)

	return m, errors.Join(err, res.Body.Close())
}

func parseMetrics(r io.Reader) (metrics, error) {
	m := metrics{}
	lines := bufio.NewScanner(r)

	for lines.Scan() {
		line := lines.Text()

		i := strings.LastIndexByte(line, ' ')
		if i < 0 || strings.HasPrefix(line, "#") {
			continue
		}

		value, err := strconv.ParseFloat(line[i+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("reading the metrics: %w", err)
		}

		m[line[:i]] = value
	}

	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the metrics: %w", err)
	}

	return m, nil
}

// showMetrics prints the counters of ours that the demo moved.
func (s *stage) showMetrics(ctx context.Context) error {
	now, err := s.scrape(ctx)
	if err != nil {
		return err
	}

	moved := 0

	for _, series := range slices.Sorted(maps.Keys(now)) {
		name, _, _ := strings.Cut(series, "{")
		counts := strings.HasSuffix(name, "_total") || strings.HasSuffix(name, "_count")

		if diff := now[series] - s.before[series]; counts && strings.HasPrefix(name, "lessor_") && diff > 0 {
			s.sayf("%-90s +%g", series, diff)

			moved++
		}
	}

	if moved == 0 {
		return fmt.Errorf("%w: no metric moved", errUnexpected)
	}

	return nil
}
