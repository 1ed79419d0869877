package cloudsim

import (
	"maps"
	"strings"
	"sync"
	"time"
)

// Defaults of Options.
const (
	DefaultDelay        = 300 * time.Millisecond
	defaultMaxResources = 200_000
	defaultMaxEntries   = 500_000
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
	// Now is the clock.
	Now func() time.Time
}

// Cloud is a simulated account. It is safe for concurrent use.
type Cloud struct {
	now          func() time.Time
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
	journal   journal
	script    script

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
		maxResources: opts.MaxResources,
		kinds:        kinds(),
		resources:    map[string]map[place]*Resource{},
		passing:      map[*Resource]struct{}{},
		revisions:    map[place]int{},
		journal:      journal{limit: opts.MaxEntries},
		script:       script{limit: defaultMaxFaults},
		closed:       make(chan struct{}),
	}

	maps.Copy(c.delays, opts.Delays)

	if c.now == nil {
		c.now = time.Now
	}

	if c.maxResources <= 0 {
		c.maxResources = defaultMaxResources
	}

	if c.journal.limit <= 0 {
		c.journal.limit = defaultMaxEntries
	}

	return c
}

// Close ends requests that hang.
func (c *Cloud) Close() { c.closeOnce.Do(func() { close(c.closed) }) }

// create makes a resource or refuses to.
func (c *Cloud) create(req Creation, faultID string) (Resource, *Error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.settle()

	r := &Resource{
		Type: req.Type, Region: req.Region, State: StateAvailable, CreatedAt: c.now(), UpdatedAt: c.now(),
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
		r.claimEnds = c.now().Add(claimPatience)
	}

	c.pass(r, StateCreating)
	c.put(r)

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

// claim gives r its id and makes sure that nobody has its name.
func (c *Cloud) claim(k kind, r *Resource) *Error {
	name := r.Text(k.name)
	if k.lower {
		name = strings.ToLower(name)
	}

	switch {
	case k.id != nil:
		r.ID = k.id(c, r)
	case k.prefix != "":
		r.ID = newID(k.prefix)
	case k.name == "":
		r.ID = newUUID()
	default:
		r.ID = name
	}

	if k.name == "" {
		return nil
	}

	if k.names != nil && !k.names.MatchString(name) {
		return k.badName(name)
	}

	for _, other := range c.resources[r.Type] {
		if other.claim() && !other.claimEnds.After(c.now()) {
			c.drop(other)

			continue
		}

		if other.Text(k.name) == name && k.clash(r, other) {
			return k.taken(r)
		}
	}

	return nil
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
	changed.UpdatedAt = c.now()

	k := c.kinds[req.Type]
	if k.check != nil && !req.Behind && req.Inputs != nil {
		err = k.check(c, &changed, r)
	}

	if k.fill != nil && err == nil {
		k.fill(c, &changed)
		maps.Copy(changed.Outputs, req.Outputs)
	}

	op := OperationUpdate
	if req.Completes {
		op = OperationCreate
	}

	c.record(op, &changed, err, faultID, req.Behind)

	if err != nil {
		return Resource{}, err
	}

	c.drop(r)

	if !req.Behind && req.Inputs != nil {
		c.pass(&changed, StateModifying)
	}

	c.put(&changed)

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

// remove deletes a resource or refuses to.
func (c *Cloud) remove(req Removal, faultID string) *Error {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.settle()

	r, err := c.lookUp(req.Type, req.Region, req.ID)
	if err != nil {
		c.record(OperationDelete, &Resource{Type: req.Type, Region: req.Region, ID: req.ID}, err, faultID, req.Behind)

		return err
	}

	k, arguments := c.kinds[req.Type], &Resource{Inputs: req.Arguments}
	if k.blocked != nil && !req.Behind {
		err = k.blocked(c, r, arguments)
	}

	if !r.claim() {
		c.record(OperationDelete, r, err, faultID, req.Behind)
	}

	if err != nil {
		return err
	}

	if k.deleted != nil && !req.Behind {
		k.deleted(c, r, arguments)
	}

	switch {
	case req.Behind:
		c.drop(r)
	case k.retained != "":
		r.State, r.UpdatedAt = k.retained, c.now()
	default:
		c.pass(r, StateDeleting)

		if r.State != StateDeleting {
			c.drop(r)
		}
	}

	return nil
}

func (c *Cloud) record(op Operation, r *Resource, err *Error, faultID string, behind bool) {
	entry := Entry{
		Time: c.now(), Operation: op, Type: r.Type, ID: r.ID, Region: r.Region, Tenant: r.Tenant(), Tags: r.Tags,
		Fault: faultID, Behind: behind,
	}
	if err != nil {
		entry.Code = err.Code
	}

	c.journal.add(entry)
}
