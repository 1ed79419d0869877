package serving

import (
	"encoding/json"
	"slices"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

// world is what there is at one moment of the journal.
type world map[place]*entity

// place is where a resource is. Names in two regions are of two tenants, or
// they are ARNs and URLs.
type place struct{ typ, id string }

// entity is a resource with what came before.
type entity struct {
	cloudsim.Resource

	in inputs
	// ready is whether it answers. A change does not interrupt that.
	// https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/Overview.DBInstance.Status.html
	ready bool
	// running is how many tasks of a service run. While it changes the old ones
	// run until the new ones do, as long as some are wanted.
	// https://docs.aws.amazon.com/AmazonECS/latest/developerguide/deployment-type-ecs.html
	running int
}

// inputs are those that matter, of all types together.
type inputs struct {
	Name          string   `json:"name"`
	Cluster       string   `json:"cluster"`
	Count         int      `json:"desiredCount"`
	LoadBalancers []target `json:"loadBalancers"`
	Actions       []target `json:"actions"`
	Conditions    []struct {
		Host struct {
			Values []string `json:"values"`
		} `json:"hostHeader"`
	} `json:"conditions"`
	Ingress        []json.RawMessage `json:"ingress"`
	Access         []string          `json:"securityGroups"`
	DatabaseAccess []string          `json:"vpcSecurityGroupIds"`
	Key            string            `json:"kmsKeyId"`
}

// target is who gets traffic. A rule that answers by itself has none.
type target struct {
	Group string `json:"targetGroupArn"`
}

func (w world) apply(step cloudsim.Transition) {
	at := place{step.Resource.Type, step.Resource.ID}

	switch step.Event {
	case cloudsim.EventFailed:
		return
	case cloudsim.EventDeleted:
		delete(w, at)

		return
	case cloudsim.EventCreated, cloudsim.EventAvailable, cloudsim.EventUpdated, cloudsim.EventDeleting:
	}

	before, now := w[at], &entity{Resource: step.Resource, in: read(step.Resource)}
	if before == nil {
		before = &entity{}
	}

	switch step.Resource.State {
	case cloudsim.StateAvailable:
		now.ready, now.running = true, now.in.Count
	case cloudsim.StateModifying:
		now.ready, now.running = before.ready, min(before.running, now.in.Count)
	case cloudsim.StateCreating, cloudsim.StateDeleting, cloudsim.StatePendingDeletion:
	}

	w[at] = now
}

// read takes the inputs that matter. What has another form than the programs give
// it is left out, and so does not serve.
func read(r cloudsim.Resource) inputs {
	var in inputs

	if raw, err := json.Marshal(r.Inputs); err == nil {
		_ = json.Unmarshal(raw, &in) // as said
	}

	return in
}

func (w world) of(typ string) []*entity {
	var list []*entity

	for at, one := range w {
		if at.typ == typ {
			list = append(list, one)
		}
	}

	return list
}

// stands reports whether something is there that takes no time to be.
func (w world) stands(typ, id string) bool {
	one := w[place{typ, id}]

	return one != nil && one.ready
}

func (e *entity) forHost(host string) bool {
	for _, condition := range e.in.Conditions {
		if slices.Contains(condition.Host.Values, host) {
			return true
		}
	}

	return false
}

func (e *entity) sendsTo(group string) bool {
	return slices.Contains(e.in.Actions, target{group})
}
