//go:build linux

package k8s_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	messages = 20

	// The values of the fleets in seconds: short, as a test cannot wait for what
	// is kind to long jobs. shrinkAfter is the stabilization window.
	pollingInterval = 2
	cooldown        = 20
	growEvery       = 15
	shrinkAfter     = 30
	shrinkEvery     = 15
)

// fleet is an installation of the chart.
type fleet struct {
	name     string
	min, max int
	// many is how many replicas the messages need, as far as max allows: 4Gi of
	// memory give a pod five slots.
	many int
	// down is the way back.
	down []int
	// quiet is how long nothing goes after the last message.
	quiet time.Duration

	cluster cluster
	queue   *queue
	table   *table
}

func TestKEDAScalesTheFleetByItsQueue(t *testing.T) {
	guard(t)

	aws := startEmulator(t)
	c := startCluster(t)
	results := &table{}

	t.Cleanup(results.print)

	t.Run("fleets", func(t *testing.T) {
		for _, f := range []fleet{
			{name: "standing", min: 1, max: 10, many: 4, down: []int{4, 3, 2, 1}, quiet: shrinkAfter * time.Second},
			// KEDA itself takes a fleet to sleep, all of it at once.
			{name: "sleeping", min: 0, max: 3, many: 3, down: []int{3, 0}, quiet: cooldown * time.Second},
		} {
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()

				f.cluster, f.table = c, results
				f.queue = makeQueue(t, aws.URL(), f.name)
				f.install(t, aws.URL())
				f.scale(t)
			})
		}
	})
}

// scale has messages come, be worked on and go.
func (f fleet) scale(t *testing.T) {
	t.Helper()

	before := f.reach(t, "0", f.min)
	require.LessOrEqual(t, len(before), 2, "replicas went %v", before)

	f.queue.send(t, messages)

	up := f.reach(t, fmt.Sprintf("%d waiting", messages), f.many)
	require.True(t, slices.IsSorted(up), "replicas went %v", up)

	f.queue.take(t, messages)

	waiting, inHand := f.queue.depth(t)
	require.Equal(t, []int{0, messages}, []int{waiting, inHand})

	// Who works is not taken away, however empty the queue looks.
	started := time.Now()

	f.hold(t, f.many, (shrinkAfter+shrinkEvery)*time.Second)
	f.table.add(f.name, fmt.Sprintf("%d in hand", messages), f.many, []int{f.many}, time.Since(started))

	f.queue.finish(t)

	emptied := time.Now()

	f.hold(t, f.many, f.quiet/2)
	require.Equal(t, f.down, f.reachSince(t, "0", f.min, emptied))
}

// install installs the chart with helm and waits until KEDA has taken over.
func (f fleet) install(t *testing.T, endpoint string) {
	t.Helper()

	values, err := json.Marshal(map[string]any{
		"aws":   map[string]any{"region": region, "endpointUrl": endpoint},
		"queue": map[string]any{"url": f.queue.url},
		"scaling": map[string]any{
			"minReplicas": f.min, "maxReplicas": f.max,
			"scaleUp":   map[string]any{"periodSeconds": growEvery},
			"scaleDown": map[string]any{"stabilizationWindowSeconds": shrinkAfter, "periodSeconds": shrinkEvery},
			"keda": map[string]any{
				"pollingInterval": pollingInterval, "cooldownPeriod": cooldown,
				// The clock would wake the fleet up for a third of every hour.
				"wake": map[string]any{"enabled": false},
			},
		},
	})
	require.NoError(t, err)

	file := filepath.Join(t.TempDir(), "values.json")
	require.NoError(t, os.WriteFile(file, values, 0o600))

	f.cluster.install(t, f.name, filepath.Join(chart, "ci", "minimal.yaml"), file)

	object := "/apis/keda.sh/v1alpha1/namespaces/" + f.name + "/scaledobjects/lessor"
	ready := within(t, patience, func() bool { return f.cluster.api.condition(t, object, "Ready") })
	require.True(t, ready, "KEDA does not take the ScaledObject")
}

// replicas is how many the Deployment asks for.
func (f fleet) replicas(t *testing.T) int {
	t.Helper()

	var deployment struct {
		Spec struct{ Replicas int }
	}

	f.cluster.api.get(t, "/apis/apps/v1/namespaces/"+f.name+"/deployments/lessor", &deployment)

	return deployment.Spec.Replicas
}

// reach waits until the number of replicas is the expected one, and stays so.
// It returns every number on the way there.
func (f fleet) reach(t *testing.T, load string, expected int) []int {
	t.Helper()

	return f.reachSince(t, load, expected, time.Now())
}

func (f fleet) reachSince(t *testing.T, load string, expected int, since time.Time) []int {
	t.Helper()

	way := []int{f.replicas(t)}
	reached := within(t, patience, func() bool {
		if n := f.replicas(t); n != way[len(way)-1] {
			way = append(way, n)
		}

		return way[len(way)-1] == expected
	})

	f.table.add(f.name, load, expected, way, time.Since(since))
	require.True(t, reached, "with %s messages the replicas went %v and not to %d", load, way, expected)
	f.hold(t, expected, growEvery*time.Second)

	return way
}

// hold looks for a while whether the number of replicas stays as it is.
func (f fleet) hold(t *testing.T, expected int, d time.Duration) {
	t.Helper()

	seen := expected
	changed := within(t, d, func() bool {
		seen = f.replicas(t)

		return seen != expected
	})
	require.False(t, changed, "replicas do not stay at %d, there are %d", expected, seen)
}

// table is what was seen.
type table struct {
	mu   sync.Mutex
	rows []string
}

func (r *table) add(fleet, load string, expected int, way []int, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()

	steps := strings.Trim(fmt.Sprint(way), "[]")
	r.rows = append(r.rows, fmt.Sprintf("%s\t%s\t%d\t%d\t%.0f\t%s", fleet, load, expected, way[len(way)-1], took.Seconds(), steps))
}

// print prints the rows, those of a fleet in their order.
func (r *table) print() {
	slices.SortStableFunc(r.rows, func(a, b string) int {
		return strings.Compare(strings.SplitN(a, "\t", 2)[0], strings.SplitN(b, "\t", 2)[0])
	})

	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "fleet\tmessages\texpected\tseen\tseconds\tway")

	for _, row := range r.rows {
		fmt.Fprintln(w, row)
	}

	_ = w.Flush()
}
