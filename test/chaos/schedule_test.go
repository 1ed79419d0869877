package chaos_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

// trouble is a kind of fault.
type trouble string

const (
	killWorker    trouble = "kill worker"
	killChild     trouble = "kill child"
	killCLI       trouble = "kill CLI"
	freezeWorker  trouble = "freeze worker"
	restartWorker trouble = "restart worker"
	failCreate    trouble = "provider fails"
	hangCreate    trouble = "provider hangs"
	crashCreate   trouble = "provider crashes"
)

// cut, refuse and throttle are done to a service.
const (
	cut      = "cut"
	refuse   = "5xx"
	throttle = "throttle"
)

// services are those that the fleet's own state is in.
func services() []string { return []string{serviceSQS, serviceDynamoDB, serviceS3} }

func onService(what, service string) trouble { return trouble(what + " " + service) }

// troubles lists every kind.
func troubles() []trouble {
	return []trouble{
		killWorker, killChild, killCLI, freezeWorker, restartWorker, failCreate, hangCreate, crashCreate,
		onService(cut, serviceSQS), onService(cut, serviceDynamoDB), onService(cut, serviceS3),
		onService(refuse, serviceSQS), onService(refuse, serviceDynamoDB), onService(refuse, serviceS3),
		onService(throttle, serviceSQS), onService(throttle, serviceDynamoDB), onService(throttle, serviceS3),
	}
}

// action is one entry of the schedule.
type action struct {
	at   time.Duration
	what trouble
	// lasts is how long a window, a freeze or a hang takes.
	lasts time.Duration
	// pick chooses among those that it can hit at the time.
	pick int
	// share is the part of the requests that is hit, after whether they are
	// done first and only their answer is lost.
	share float64
	after bool
	// kind and nth are the create that a provider fault strikes.
	kind string
	nth  int
}

func (a action) String() string {
	s := fmt.Sprintf("%s %s", a.at.Round(100*time.Millisecond), a.what)
	if a.lasts > 0 {
		s += fmt.Sprintf(" for %s", a.lasts.Round(100*time.Millisecond))
	}

	return s
}

// compact prints the schedule, a few entries a line.
func compact(schedule []action) string {
	const perLine = 4

	var b strings.Builder

	for chunk := range slices.Chunk(schedule, perLine) {
		b.WriteString("\n    ")

		for _, a := range chunk {
			fmt.Fprintf(&b, "%-36s", a)
		}
	}

	return b.String()
}

const (
	// frozenFor is longer than visibility, lease and margins, so that a frozen
	// worker's tenants are taken over, and a bit for the successor to work.
	frozenFor = 26 * time.Second
	// gap is what lies between two troubles, on average: time to recover a bit,
	// or nothing would ever be taken over in peace.
	gap = 2500 * time.Millisecond
)

// newSchedule plans what goes wrong. Every kind comes once before any comes
// twice; freezes come early, since they take long, and one at a time.
func newSchedule(random *rand.Rand, duration time.Duration) []action {
	var schedule []action

	begin, end := duration/15, duration-duration/10
	frozenUntil := time.Duration(0)
	deck := []trouble{}

	for at := begin; at < end; at += gap/2 + time.Duration(random.Float64()*float64(gap)) {
		if len(deck) == 0 {
			deck = troubles()
			random.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })

			// A freeze that comes late in a short run ends behind it.
			if i := slices.Index(deck, freezeWorker); i > 2 && len(schedule) == 0 {
				deck[i], deck[2] = deck[2], deck[i]
			}
		}

		a := newAction(random, deck[0], at)
		deck = deck[1:]

		if a.what == freezeWorker {
			if at < frozenUntil || at+a.lasts > duration {
				continue
			}

			frozenUntil = at + a.lasts
		}

		a.lasts = min(a.lasts, duration-at)
		schedule = append(schedule, a)
	}

	return schedule
}

func newAction(random *rand.Rand, what trouble, at time.Duration) action {
	between := func(low, high time.Duration) time.Duration {
		return low + time.Duration(random.Float64()*float64(high-low))
	}
	// Most have networks, few have databases.
	kinds := []string{
		cloudsim.TypeVPC, cloudsim.TypeSubnet, cloudsim.TypeBucket, cloudsim.TypeQueue, cloudsim.TypeVPC, cloudsim.TypeSubnet,
		cloudsim.TypeKey, cloudsim.TypeInstance, cloudsim.TypeSecurityGroup,
	}
	a := action{
		at: at, what: what, pick: random.IntN(1 << 20), share: 0.3 + 0.7*random.Float64(), after: random.IntN(2) == 0,
		kind: kinds[random.IntN(len(kinds))], nth: 1 + random.IntN(2),
	}

	window, freeze, hang := between(time.Second, 5*time.Second), between(0, 3*time.Second), between(2*time.Second, 8*time.Second)

	switch what {
	case killWorker, killChild, killCLI, restartWorker, failCreate, crashCreate:
	case freezeWorker:
		a.lasts = frozenFor + freeze
	case hangCreate:
		a.lasts = hang
	default:
		a.lasts = window
	}

	return a
}

func TestScheduleIsAFunctionOfTheSeed(t *testing.T) {
	t.Parallel()

	plan := func(seed uint64) []action { return newSchedule(rand.New(rand.NewPCG(seed, 0)), time.Minute) }
	first, again := plan(1), plan(1)
	require.Equal(t, first, again)
	require.NotEqual(t, plan(1), plan(2))

	start := time.Unix(1_700_000_000, 0)
	flow := func(seed uint64) *traffic { return newTraffic(rand.New(rand.NewPCG(seed, 1)), start, time.Minute) }
	once, twice := flow(1), flow(1)
	require.Equal(t, once, twice)
	require.NotEqual(t, flow(1).deliveries, flow(2).deliveries)
}

// Whatever the seed, a minute has each kind of trouble, and trouble ends before
// the run does.
func TestScheduleLeavesNothingOut(t *testing.T) {
	t.Parallel()

	for seed := range uint64(200) {
		duration := time.Minute
		hit := map[trouble]bool{}
		frozenUntil := time.Duration(0)

		for _, a := range newSchedule(rand.New(rand.NewPCG(seed, 0)), duration) {
			hit[a.what] = true

			require.Positive(t, a.at)
			require.LessOrEqual(t, a.at+a.lasts, duration)

			if a.what == freezeWorker {
				require.Greater(t, a.at, frozenUntil, "two workers frozen at once")
				frozenUntil = a.at + a.lasts
			}
		}

		require.GreaterOrEqual(t, len(hit), len(troubles()), "seed %d: %v", seed, hit)
	}
}

// Whatever the seed, the flow has what it shall have, and tenants end in every
// way.
func TestTrafficIsMixed(t *testing.T) {
	t.Parallel()

	absent := 0

	for seed := range uint64(50) {
		flow := newTraffic(rand.New(rand.NewPCG(seed, 1)), time.Unix(1_700_000_000, 0), time.Minute)
		require.GreaterOrEqual(t, len(flow.subjects), minTenants)
		require.True(t, slices.IsSortedFunc(flow.deliveries, func(a, b delivery) int { return int(a.at - b.at) }))

		copied, late, invalid, gone := 0, 0, 0, 0

		for _, d := range flow.deliveries {
			copied += count(d.copied)
			late += count(d.late && !d.copied)
			invalid += count(d.invalid)

			require.LessOrEqual(t, d.at, time.Minute)
		}

		for _, s := range flow.subjects {
			gone += count(s.desired.Spec().Phase == "absent")
		}

		require.Equal(t, 3, invalid)
		require.Greater(t, copied, 5)
		require.Greater(t, late, 5)
		require.Less(t, gone, len(flow.subjects)/2)
		require.Equal(t, len(flow.deliveries), flow.events+copied+invalid)

		absent += gone
	}

	require.Greater(t, absent, 50)
}

func count(b bool) int {
	if b {
		return 1
	}

	return 0
}
