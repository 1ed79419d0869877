package serving

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

// The outputs of the shipped programs that name what serves.
const (
	outputIsolation    = "isolation"
	outputServing      = "serving"
	outputEndpoint     = "endpoint"
	outputService      = "serviceName"
	outputCluster      = "clusterArn"
	outputTable        = "tableName"
	outputQueue        = "queueUrl"
	outputDatabase     = "databaseEndpoint"
	outputLoadBalancer = "loadBalancerDns"
	outputListener     = "listenerArn"
	outputKey          = "kmsKeyArn"
)

var (
	errForgotten = errors.New("the simulator's journal has forgotten its beginning")
	errOutputs   = errors.New("these outputs name nothing whose serving could be told")
)

// required are the outputs that a topology must have, by isolation model. Without
// them it would seem to serve because nobody looked.
func required() map[string][]string {
	return map[string][]string{
		"pool":   {},
		"bridge": {outputEndpoint, outputService, outputCluster, outputTable, outputQueue},
		"silo":   {outputDatabase, outputLoadBalancer, outputListener, outputKey},
	}
}

// Times returns when the topology with the outputs served, until the journal was
// read. It serves while everything that its outputs name does:
//
//   - a service, while tasks run and a rule for the endpoint's host sends to them;
//   - a database, while it is available, its key can be used and a rule lets
//     something connect;
//   - a load balancer, while it is active, lets something connect and has the listener;
//   - tables and queues, while they are there.
//
// What is shared with others is taken to serve, so that a pool always does. Outputs
// of a suspended tenant, and of other programs, are an error.
func Times(journal cloudsim.Journal, outputs map[string]json.RawMessage) (Spans, error) {
	if !journal.Complete {
		return nil, errForgotten
	}

	named, err := texts(outputs)
	if err != nil {
		return nil, err
	}

	var (
		served []Span
		since  time.Time
		there  = world{}
		serves = there.serve(named)
	)

	for _, step := range journal.Transitions {
		there.apply(step)

		now := there.serve(named)

		switch {
		case now && !serves:
			since = step.Time
		case serves && !now:
			served = append(served, Span{since, step.Time})
		}

		serves = now
	}

	if serves {
		served = append(served, Span{since, journal.Now})
	}

	return Unite(served...), nil
}

// texts are the outputs that are texts, if they are of a program that is known.
func texts(outputs map[string]json.RawMessage) (map[string]string, error) {
	named := map[string]string{}

	for name, raw := range outputs {
		var text string
		if json.Unmarshal(raw, &text) == nil && text != "" {
			named[name] = text
		}
	}

	needed, known := required()[named[outputIsolation]]

	switch {
	case !known:
		return nil, fmt.Errorf("%w: isolation is %q", errOutputs, named[outputIsolation])
	case string(outputs[outputServing]) != "true":
		return nil, fmt.Errorf("%w: they are of a tenant that is not served", errOutputs)
	}

	for _, name := range needed {
		if named[name] == "" {
			return nil, fmt.Errorf("%w: %s is missing", errOutputs, name)
		}
	}

	return named, nil
}

// serve reports whether everything serves that is named.
func (w world) serve(named map[string]string) bool {
	for name, works := range map[string]func(value string) bool{
		outputService:      func(name string) bool { return w.service(name, named[outputCluster], named[outputEndpoint]) },
		outputTable:        func(name string) bool { return w.stands(cloudsim.TypeTable, name) },
		outputQueue:        func(url string) bool { return w.stands(cloudsim.TypeQueue, url) },
		outputDatabase:     w.database,
		outputLoadBalancer: func(host string) bool { return w.balancer(host, named[outputListener]) },
	} {
		if value := named[name]; value != "" && !works(value) {
			return false
		}
	}

	return true
}

// service reports whether tasks run and traffic for the endpoint is sent to them.
func (w world) service(name, cluster, endpoint string) bool {
	_, host, _ := strings.Cut(endpoint, "://")

	for _, service := range w.of(cloudsim.TypeService) {
		if service.in.Name != name || service.in.Cluster != cluster || service.running == 0 {
			continue
		}

		for _, target := range service.in.LoadBalancers {
			if w.stands(cloudsim.TypeTargetGroup, target.Group) && w.routed(host, target.Group) {
				return true
			}
		}
	}

	return false
}

func (w world) routed(host, group string) bool {
	return slices.ContainsFunc(w.of(cloudsim.TypeListenerRule), func(rule *entity) bool {
		return rule.forHost(host) && rule.sendsTo(group)
	})
}

// database reports whether a database is up, readable and reachable.
func (w world) database(endpoint string) bool {
	return slices.ContainsFunc(w.of(cloudsim.TypeInstance), func(db *entity) bool {
		return db.ready && db.Text("endpoint") == endpoint && w.readable(db.in.Key) && w.reachable(db.in.DatabaseAccess)
	})
}

// readable reports whether a key can be used. Of one that is another's, or nobody's
// own, the journal of a tenant says nothing.
func (w world) readable(key string) bool {
	return !slices.ContainsFunc(w.of(cloudsim.TypeKey), func(k *entity) bool {
		return k.Text("arn") == key && k.State != cloudsim.StateAvailable
	})
}

func (w world) balancer(host, listener string) bool {
	return slices.ContainsFunc(w.of(cloudsim.TypeLoadBalancer), func(lb *entity) bool {
		return lb.ready && lb.Text("dnsName") == host && w.reachable(lb.in.Access) &&
			w.stands(cloudsim.TypeListener, listener)
	})
}

// reachable reports whether one of the security groups lets something in.
func (w world) reachable(groups []string) bool {
	return slices.ContainsFunc(groups, func(id string) bool {
		group := w[place{cloudsim.TypeSecurityGroup, id}]

		return group != nil && len(group.in.Ingress) > 0
	})
}
