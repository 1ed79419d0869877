package chaos_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// life is the kind of life that a tenant leads.
type life string

const (
	// lifePool shares everything.
	lifePool life = "pool"
	// lifeMover changes between tiers with and without resources.
	lifeMover life = "mover"
	// lifeSilo has an own database.
	lifeSilo life = "silo"
	// lifeLost asks for a tier that is in no catalog, and may be set right.
	lifeLost life = "lost"
	// lifeDoomed is refused by the cloud whatever it asks for.
	lifeDoomed life = "doomed"
)

// subject is a tenant of the flow, with what all events of it amount to.
type subject struct {
	id      tenant.ID
	life    life
	desired tenant.Desired
}

// excuses are the kinds of failure that the script lets a tenant end with. The
// few attempts of a doomed one may be spent by other trouble.
func (s subject) excuses() []tenant.Kind {
	spec := s.desired.Spec()

	switch {
	case spec.Phase == tenant.PhaseAbsent:
		return nil
	case spec.Tier == tierNowhere:
		return []tenant.Kind{tenant.KindInvalid}
	case s.life == lifeDoomed:
		return []tenant.Kind{
			tenant.KindDenied, tenant.KindUnknown, tenant.KindTransient, tenant.KindThrottled, tenant.KindTimeout, tenant.KindIntegrity,
		}
	default:
		return nil
	}
}

// delivery is one message and when it is sent.
type delivery struct {
	at   time.Duration
	body []byte
	// copied marks one that was sent before, late one that an older event
	// follows or that follows a newer one.
	copied, late bool
	invalid      bool
}

// traffic is the whole flow of events, known before the first is sent.
type traffic struct {
	subjects   []*subject
	deliveries []delivery
	events     int
}

const (
	minTenants = 30
	// eventsPerSecond is what two processors can follow, roughly: events of one
	// tenant that come while it is worked on share an operation.
	eventsPerSecond = 1.2
	region          = "us-east-1"
	source          = "chaos"
)

// newTraffic makes the flow. Events have times of their own, beginning at
// start; the messages come in another order, and some come again.
func newTraffic(random *rand.Rand, start time.Time, duration time.Duration) *traffic {
	t := &traffic{}
	total := int(duration.Seconds() * eventsPerSecond)
	tenants := max(minTenants, total/5)

	for i := range tenants {
		kind := lifeOf(i)
		t.subjects = append(t.subjects, &subject{id: tenant.ID(fmt.Sprintf("chaos-%s-%02d", kind, i)), life: kind})
	}

	// Everybody is created early, so that there is enough to disturb.
	for _, s := range t.subjects {
		author := &author{traffic: t, random: random, subject: s, start: start, duration: duration}
		author.write(creation(random, s), time.Duration(random.Float64()*float64(duration)*0.4))
	}

	for t.events < max(total, 2*tenants) {
		s := t.subjects[random.IntN(len(t.subjects))]
		author := &author{traffic: t, random: random, subject: s, start: start, duration: duration}
		author.write(change(random, s), time.Duration((0.1+0.9*random.Float64())*float64(duration)))
	}

	for i, body := range []string{"{not json", `{"specversion":"1.0","id":"x"}`, ""} {
		if body == "" {
			body = string(t.deliveries[i].body[:40])
		}

		t.deliveries = append(t.deliveries, delivery{
			at: time.Duration(random.Float64() * float64(duration)), body: []byte(body), invalid: true,
		})
	}

	slices.SortStableFunc(t.deliveries, func(a, b delivery) int { return cmp.Compare(a.at, b.at) })

	return t
}

func lifeOf(i int) life {
	switch i % 15 {
	case 0:
		return lifeSilo
	case 1:
		return lifeLost
	case 2:
		return lifeDoomed
	case 3, 4, 5, 6, 7, 8:
		return lifeMover
	default:
		return lifePool
	}
}

// author writes the events of one tenant.
type author struct {
	*traffic

	random   *rand.Rand
	subject  *subject
	start    time.Time
	duration time.Duration
}

// write adds an event that happens at a moment, folds it into what the tenant
// shall be, and decides when its message comes, and how often.
func (a *author) write(e tenant.Event, at time.Duration) {
	const (
		lateShare, copyShare = 0.3, 0.3
		soon, late           = 300 * time.Millisecond, 5 * time.Second
	)

	a.events++

	e.Tenant, e.Source, e.Time = a.subject.id, source, a.start.Add(at)
	e.ID = fmt.Sprintf("%s-%04d", a.subject.id, a.events)
	e.Version = tenant.TimeVersion(e.Time, e.ID, e.Source)
	a.subject.desired, _ = tenant.Apply(a.subject.desired, e)

	body, err := event.Encode(e, event.OrderTime)
	if err != nil {
		panic(fmt.Sprintf("the flow has an event that cannot be: %v", err))
	}

	first := delivery{at: at + a.upTo(soon), body: body}
	if a.random.Float64() < lateShare {
		first.at, first.late = at+a.upTo(late), true
	}

	first.at = min(first.at, a.duration)
	a.deliveries = append(a.deliveries, first)

	for a.random.Float64() < copyShare {
		again := first
		again.at, again.copied = min(first.at+a.upTo(a.duration/4), a.duration), true
		a.deliveries = append(a.deliveries, again)
	}
}

func (a *author) upTo(d time.Duration) time.Duration {
	return time.Duration(a.random.Float64() * float64(d))
}

func creation(random *rand.Rand, s *subject) tenant.Event {
	e := tenant.Event{Type: tenant.EventCreated, Region: region, Parameters: parameters(random, s)}

	switch s.life {
	case lifePool:
		e.Tier = tierFree
	case lifeSilo:
		e.Tier = tierSilo
	case lifeLost:
		e.Tier = tierNowhere
	case lifeDoomed:
		e.Tier = tierDoomed
	case lifeMover:
		e.Tier = moverTier(random)
	}

	return e
}

func moverTier(random *rand.Rand) string {
	return []string{tierPlain, tierSmall, tierLarge, tierSmall}[random.IntN(4)]
}

// parameters are what the tenant's program lets it say.
func parameters(random *rand.Rand, s *subject) tenant.Parameters {
	value := func(format string, n int) json.RawMessage {
		raw, err := json.Marshal(fmt.Sprintf(format, n))
		if err != nil {
			panic(err)
		}

		return raw
	}

	switch s.life {
	case lifePool:
		return tenant.Parameters{parameterEndpoint: value("e%d.example.com", random.IntN(1e6))}
	case lifeSilo:
		return tenant.Parameters{"backupDays": json.RawMessage(strconv.Itoa(1 + random.IntN(30)))}
	default:
		return tenant.Parameters{parameterNote: value("n%d", random.IntN(1e6))}
	}
}

func change(random *rand.Rand, s *subject) tenant.Event {
	switch roll := random.IntN(100); {
	case roll < 15:
		return tenant.Event{Type: tenant.EventSuspended}
	case roll < 30:
		return tenant.Event{Type: tenant.EventResumed}
	case roll < 40:
		return tenant.Event{Type: tenant.EventDeleted, Reason: "chaos", AcceptDataLoss: random.IntN(2) == 0}
	case roll < 50:
		return creation(random, s)
	case roll < 60:
		return tenant.Event{Type: tenant.EventReprovision, Reason: "chaos"}
	case roll < 75 && s.life == lifeMover:
		return tenant.Event{Type: tenant.EventTierChanged, Tier: moverTier(random)}
	case roll < 75 && s.life == lifeLost:
		return tenant.Event{Type: tenant.EventTierChanged, Tier: tierPlain}
	default:
		return tenant.Event{Type: tenant.EventUpdated, Parameters: parameters(random, s)}
	}
}
