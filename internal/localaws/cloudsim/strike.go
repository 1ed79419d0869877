package cloudsim

import (
	"net/http"
	"time"
)

// refuse logs a mutation that a scripted fault refused.
func (c *Cloud) refuse(op Operation, r *Resource, err *Error, faultID string) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.settle()

	if there := c.find(r.Type, r.Region, r.ID); there != nil {
		r = there
	}

	c.record(op, r, err, faultID, false)
}

// strike asks the script about a request.
func (c *Cloud) strike(op Operation, typ, region, id, tenant string, when moment) *Fault {
	c.mu.Lock()
	defer c.mu.Unlock()

	if r := c.find(typ, region, id); r != nil && tenant == "" {
		tenant = r.Tenant()
	}

	if f := c.script.strike(op, typ, tenant, when); f != nil {
		struck := *f

		return &struck
	}

	return nil
}

// wait does what a fault wants done before (or after) the work. It returns
// false if there shall be no answer.
func (c *Cloud) wait(r *http.Request, f *Fault) bool {
	var timer <-chan time.Time

	switch f.Effect {
	case EffectDelay:
		t := time.NewTimer(f.Delay)
		defer t.Stop()

		timer = t.C
	case EffectHang:
	case EffectFail, EffectThrottle, EffectCrash, EffectDrop:
		return true
	}

	select {
	case <-timer:
	case <-f.cleared:
	case <-c.closed:
		return false
	case <-r.Context().Done():
		return false
	}

	return true
}
