package cloudsim

import (
	"maps"
	"sync"
	"time"
)

// Defaults of Options.
const (
	DefaultDelay        = 300 * time.Millisecond
	defaultMaxResources = 200_000
	defaultMaxEntries   = 500_000
	defaultMaxJournal   = 100_000
	defaultMaxFaults    = 1000
	// claimPatience is how long a name is kept for a resource that is being
	// made in the emulator. Who made it may have died.
	claimPatience = 10 * time.Second
)

// Options configure a Cloud. The zero value is usable.
type Options struct {
	// Delays is how long resources of a type are creating, modifying and
	// deleting. Databases, services and load balancers take DefaultDelay
	// unless it says otherwise, all other types no time.
	Delays map[string]time.Duration
	// Quotas limits the number of resources of a type in a region.
	Quotas map[string]int
	// MaxResources and MaxEntries bound the memory; the log forgets its oldest
	// entries.
	MaxResources int
	MaxEntries   int
	// MaxTransitions bounds the journal, which forgets its oldest ones, too.
	// Default 100 000.
	MaxTransitions int
	// NameRest is how long the name of a deleted queue stays taken, a minute in
	// AWS. Default DefaultDelay.
	NameRest time.Duration
	// Now is the clock. It must not go back. Default Clock.
	Now func() time.Time
}

// Cloud is a simulated account. It is safe for concurrent use.
type Cloud struct {
	now          func() time.Time
	rest         time.Duration
	delays       map[string]time.Duration
	quotas       map[string]int
	maxResources int
	kinds        map[string]kind

	mu        sync.Mutex
	resources map[string]map[place]*Resource
	count     int
	// passing are the resources whose state passes by itself.
	passing map[*Resource]struct{}
	// revisions are the newest ones of families of task definitions.
	revisions map[place]int
	// resting are the names of deleted queues that are not free yet.
	resting map[place]time.Time
	log     recent[Entry]
	journal recent[Transition]
	script  script
	// at is when the current operation happens: all of it at one moment.
	at time.Time

	closeOnce sync.Once
	closed    chan struct{}
}

// place is where a resource is, within its type.
type place struct{ region, id string }

// New returns an empty account.
func New(opts Options) *Cloud {
	c := &Cloud{
		now: opts.Now,
		delays: map[string]time.Duration{
			TypeInstance: DefaultDelay, TypeService: DefaultDelay, TypeLoadBalancer: DefaultDelay,
		},
		quotas:       maps.Clone(opts.Quotas),
		maxResources: orDefault(opts.MaxResources, defaultMaxResources),
		kinds:        kinds(),
		resources:    map[string]map[place]*Resource{},
		passing:      map[*Resource]struct{}{},
		revisions:    map[place]int{},
		resting:      map[place]time.Time{},
		rest:         orDefault(opts.NameRest, DefaultDelay),
		log:          recent[Entry]{limit: orDefault(opts.MaxEntries, defaultMaxEntries)},
		journal:      recent[Transition]{limit: orDefault(opts.MaxTransitions, defaultMaxJournal)},
		script:       script{limit: defaultMaxFaults},
		closed:       make(chan struct{}),
	}

	maps.Copy(c.delays, opts.Delays)

	if c.now == nil {
		c.now = Clock()
	}

	return c
}

func orDefault[N int | time.Duration](given, fallback N) N {
	if given > 0 {
		return given
	}

	return fallback
}

// Close ends requests that hang.
func (c *Cloud) Close() { c.closeOnce.Do(func() { close(c.closed) }) }

// create makes a resource or refuses to.
func (c *Cloud) create(req Creation, faultID string) (Resource, *Error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.settle()

	r := &Resource{
		Type: req.Type, Region: req.Region, State: StateAvailable, CreatedAt: c.at, UpdatedAt: c.at,
		Inputs: maps.Clone(req.Inputs), Outputs: maps.Clone(req.Outputs), Tags: maps.Clone(req.Tags),
	}

	err := c.admit(r)
	if err != nil || !req.Claim {
		c.record(OperationCreate, r, err, faultID, false)
	}

	if err != nil {
		return Resource{}, err
	}

	if req.Claim {
		r.claimEnds = c.at.Add(claimPatience)
	}

	c.pass(r, StateCreating)
	c.put(r)

	if !req.Claim {
		c.note(EventCreated, r, faultID, false)
	}

	return r.clone(), nil
}

// admit judges a new resource and gives it its id.
func (c *Cloud) admit(r *Resource) *Error {
	k, ok := c.kinds[r.Type]

	switch {
	case !ok:
		return badRequest(CodeUnknownType, "the cloud simulator does not know the type %q", r.Type)
	case r.Region == "":
		return badRequest(codeBadRequest, "a resource needs a region")
	case c.count >= c.maxResources:
		return badRequest(codeBadRequest, "the cloud simulator holds %d resources already", c.count)
	}

	if err := c.withinQuota(r); err != nil {
		return err
	}

	if err := c.claim(k, r); err != nil {
		return err
	}

	if k.check != nil {
		if err := k.check(c, r, nil); err != nil {
			return err
		}
	}

	if k.fill != nil {
		k.fill(c, r)
	}

	return nil
}

func (c *Cloud) withinQuota(r *Resource) *Error {
	quota, limited := c.quotas[r.Type]
	if !limited || len(c.of(r.Type, r.Region)) < quota {
		return nil
	}

	switch r.Type {
	case TypeVPC:
		return badRequest("VpcLimitExceeded", "The maximum number of VPCs has been reached.")
	case TypeInstance:
		return badRequest("InstanceQuotaExceeded", "Cannot create more than %d DB instances", quota).modeled()
	default:
		return badRequest("LimitExceededException", "The limit of %d resources of type %s has been reached.", quota, r.Type)
	}
}

// get returns one resource.
func (c *Cloud) get(typ, region, id string) (Resource, *Error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.settle()

	r, err := c.lookUp(typ, region, id)
	if err != nil {
		return Resource{}, err
	}

	if r.claim() {
		return Resource{}, c.kinds[typ].missing(id)
	}

	return r.clone(), nil
}

func (c *Cloud) lookUp(typ, region, id string) (*Resource, *Error) {
	k, ok := c.kinds[typ]
	if !ok {
		return nil, badRequest(CodeUnknownType, "the cloud simulator does not know the type %q", typ)
	}

	r := c.find(typ, region, id)
	if r == nil {
		return nil, k.missing(id)
	}

	return r, nil
}

// change modifies a resource or refuses to.
func (c *Cloud) change(req Change, faultID string) (Resource, *Error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.settle()

	r, err := c.lookUp(req.Type, req.Region, req.ID)
	if err != nil {
		c.record(OperationUpdate, &Resource{Type: req.Type, Region: req.Region, ID: req.ID}, err, faultID, req.Behind)

		return Resource{}, err
	}

	changed := changedBy(r, req)
	changed.UpdatedAt = c.at

	k := c.kinds[req.Type]
	if k.check != nil && !req.Behind && req.Inputs != nil {
		err = k.check(c, &changed, r)
	}

	if k.fill != nil && err == nil {
		k.fill(c, &changed)
		maps.Copy(changed.Outputs, req.Outputs)
	}

	op, event := OperationUpdate, EventUpdated
	if req.Completes {
		op, event = OperationCreate, EventCreated
	}

	if err != nil {
		c.record(op, r, err, faultID, req.Behind)

		return Resource{}, err
	}

	c.record(op, &changed, nil, faultID, req.Behind)
	c.drop(r)

	if !req.Behind && req.Inputs != nil {
		c.pass(&changed, StateModifying)
	}

	c.put(&changed)
	c.note(event, &changed, faultID, req.Behind)

	return changed.clone(), nil
}

func changedBy(r *Resource, req Change) Resource {
	changed := r.clone()
	if req.Inputs != nil {
		changed.Inputs = maps.Clone(req.Inputs)
	}

	if req.Tags != nil {
		changed.Tags = maps.Clone(req.Tags)
	}

	if req.Completes {
		changed.claimEnds = time.Time{}
	}

	if req.NewID != "" {
		changed.ID = req.NewID
	}

	if changed.Outputs == nil {
		changed.Outputs = map[string]any{}
	}

	maps.Copy(changed.Outputs, req.Outputs)

	return changed
}

func (c *Cloud) record(op Operation, r *Resource, err *Error, faultID string, behind bool) {
	entry := Entry{
		Time: c.at, Operation: op, Type: r.Type, ID: r.ID, Region: r.Region, Tenant: r.Tenant(), Tags: maps.Clone(r.Tags),
		Fault: faultID, Behind: behind,
	}

	if err != nil {
		entry.Code = err.Code
		c.noteFailure(op, r, err, faultID)
	}

	c.log.add(func(sequence int64) Entry {
		entry.Sequence = sequence

		return entry
	})
}
