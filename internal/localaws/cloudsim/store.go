package cloudsim

import "time"

// The functions of this file run under the simulator's lock.

func (c *Cloud) find(typ, region, id string) *Resource { return c.resources[typ][place{region, id}] }

// of returns the resources of a type in a region.
func (c *Cloud) of(typ, region string) []*Resource {
	var list []*Resource

	for at, r := range c.resources[typ] {
		if at.region == region {
			list = append(list, r)
		}
	}

	return list
}

func (c *Cloud) put(r *Resource) {
	ofType := c.resources[r.Type]
	if ofType == nil {
		ofType = map[place]*Resource{}
		c.resources[r.Type] = ofType
	}

	at := place{r.Region, r.ID}
	if before := ofType[at]; before != nil {
		c.drop(before)
	}

	ofType[at] = r
	c.count++

	if !r.settlesAt.IsZero() {
		c.passing[r] = struct{}{}
	}
}

func (c *Cloud) drop(r *Resource) {
	delete(c.resources[r.Type], place{r.Region, r.ID})
	delete(c.passing, r)

	c.count--
}

// pass puts r into a state that ends by itself, if its type has a delay.
func (c *Cloud) pass(r *Resource, state State) {
	delay := c.delays[r.Type]
	if delay <= 0 {
		return
	}

	r.State = state
	r.settlesAt = c.now().Add(delay)
	c.passing[r] = struct{}{}
}

// settle ends the states whose time is over.
func (c *Cloud) settle() {
	now := c.now()

	for r := range c.passing {
		if r.settlesAt.After(now) {
			continue
		}

		delete(c.passing, r)

		if r.State == StateDeleting {
			c.drop(r)

			continue
		}

		r.State = StateAvailable
		r.settlesAt = time.Time{}
	}
}
