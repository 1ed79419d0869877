package cloudsim

import (
	"maps"
	"time"
)

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

	c.unmake(k, r, faultID, req.Behind)

	return nil
}

// unmake ends a resource, or begins to.
func (c *Cloud) unmake(k kind, r *Resource, faultID string, behind bool) {
	if r.claim() {
		c.drop(r)

		return
	}

	if k.rests {
		maps.DeleteFunc(c.resting, func(_ place, until time.Time) bool { return !until.After(c.at) })
		c.resting[place{r.Region, r.Text(k.name)}] = c.at.Add(c.rest)
	}

	if !behind && k.retained != "" {
		r.State, r.UpdatedAt = k.retained, c.at
		c.note(EventDeleting, r, faultID, false)

		return
	}

	if !behind {
		c.pass(r, StateDeleting)
	}

	if !behind && r.State == StateDeleting {
		c.note(EventDeleting, r, faultID, false)

		return
	}

	c.drop(r)
	c.note(EventDeleted, r, faultID, behind)
}
