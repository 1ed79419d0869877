package serving_test

import (
	"encoding/json"
	"maps"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/internal/localaws/serving"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	region  = "eu-west-1"
	tenant  = "acme"
	host    = "acme.example.com"
	waiting = cloudsim.DefaultDelay
)

type props = map[string]any

// account is a simulator whose time stands still until it is moved.
type account struct {
	*cloudsim.Client

	t   *testing.T
	mu  sync.Mutex
	now time.Time
}

func newAccount(t *testing.T, opts cloudsim.Options) *account {
	t.Helper()

	a := &account{t: t, now: at(0)}
	opts.Now = func() time.Time {
		a.mu.Lock()
		defer a.mu.Unlock()

		return a.now
	}

	cloud := cloudsim.New(opts)
	server := httptest.NewServer(cloud.Handler())
	a.Client = cloudsim.NewClient(server.URL, nil)

	t.Cleanup(func() {
		cloud.Close()
		a.Close()
		server.Close()
	})

	return a
}

// pass moves the time, and returns what it is then.
func (a *account) pass(d time.Duration) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()

	a.now = a.now.Add(d)

	return a.now
}

func (a *account) add(typ string, inputs props) cloudsim.Resource {
	a.t.Helper()

	r, err := a.Create(a.t.Context(), cloudsim.Creation{
		Type: typ, Region: region, Inputs: inputs, Tags: map[string]string{cloudsim.TagTenant: tenant},
	})
	require.NoError(a.t, err)

	return r
}

func (a *account) change(r cloudsim.Resource, inputs props) {
	a.t.Helper()

	merged := maps.Clone(r.Inputs)
	maps.Copy(merged, inputs)

	_, err := a.Change(a.t.Context(), cloudsim.Change{Type: r.Type, Region: region, ID: r.ID, Inputs: merged})
	require.NoError(a.t, err)
}

func (a *account) remove(r cloudsim.Resource, arguments props) {
	a.t.Helper()
	require.NoError(a.t, a.Remove(a.t.Context(), cloudsim.Removal{Type: r.Type, Region: region, ID: r.ID, Arguments: arguments}))
}

// times are those of the outputs, as the journal is now.
func (a *account) times(outputs props) (serving.Spans, error) {
	a.t.Helper()

	journal, err := a.Journal(a.t.Context(), tenant)
	require.NoError(a.t, err)

	raw := map[string]json.RawMessage{}

	for name, value := range outputs {
		text, err := json.Marshal(value)
		require.NoError(a.t, err)

		raw[name] = text
	}

	return serving.Times(journal, raw)
}

// parts are a topology's resources by name, and its outputs.
type parts struct {
	made    map[string]cloudsim.Resource
	outputs props
}

func (a *account) network() (subnets []any, access cloudsim.Resource) {
	a.t.Helper()

	vpc := a.add(cloudsim.TypeVPC, props{"cidrBlock": "10.0.0.0/16"})
	subnets = []any{
		a.add(cloudsim.TypeSubnet, props{"vpcId": vpc.ID, "cidrBlock": "10.0.0.0/20", "availabilityZone": region + "a"}).ID,
		a.add(cloudsim.TypeSubnet, props{"vpcId": vpc.ID, "cidrBlock": "10.0.16.0/20", "availabilityZone": region + "b"}).ID,
	}

	return subnets, a.add(cloudsim.TypeSecurityGroup, props{
		"vpcId": vpc.ID, "name": "access", "ingress": []any{props{"cidrBlocks": []any{"10.0.0.0/16"}}},
	})
}

// another makes a security group like one.
func (a *account) another(access cloudsim.Resource) cloudsim.Resource {
	a.t.Helper()

	inputs := maps.Clone(access.Inputs)
	inputs["name"] = "another"

	return a.add(access.Type, inputs)
}

func (a *account) balancer(subnets []any, access cloudsim.Resource) (balancer, listener cloudsim.Resource) {
	a.t.Helper()

	balancer = a.add(cloudsim.TypeLoadBalancer, props{"name": "lb", "subnets": subnets, "securityGroups": []any{access.ID}})

	return balancer, a.add(cloudsim.TypeListener, props{
		"loadBalancerArn": balancer.ID, "port": 80, "protocol": "HTTP", "defaultActions": []any{props{"type": "fixed-response"}},
	})
}

func (a *account) bridge() parts {
	a.t.Helper()

	subnets, access := a.network()
	_, listener := a.balancer(subnets, access)
	cluster := a.add(cloudsim.TypeCluster, props{"name": "shared"})
	task := a.add(cloudsim.TypeTaskDefinition, props{
		"family": "app", "containerDefinitions": `[{"name":"app","image":"x","portMappings":[{"containerPort":80}]}]`,
	})
	group := a.add(cloudsim.TypeTargetGroup, props{"name": "app", "port": 80, "targetType": "ip", "vpcId": access.Text("vpcId")})
	rule := a.add(cloudsim.TypeListenerRule, props{
		"listenerArn": listener.ID, "actions": []any{props{"type": "forward", "targetGroupArn": group.ID}},
		"conditions": []any{props{"hostHeader": props{"values": []any{host}}}},
	})
	table, queue := a.add(cloudsim.TypeTable, props{"name": "data"}), a.add(cloudsim.TypeQueue, props{"name": "work"})
	service := a.add(cloudsim.TypeService, props{
		"name": "app", "cluster": cluster.ID, "taskDefinition": task.ID, "desiredCount": 2,
		"loadBalancers": []any{props{"targetGroupArn": group.ID, "containerName": "app", "containerPort": 80}},
	})

	return parts{
		map[string]cloudsim.Resource{"service": service, "rule": rule, "group": group, "table": table, "queue": queue},
		props{
			"isolation": "bridge", "serving": true, "endpoint": "https://" + host, "serviceName": "app", "clusterArn": cluster.ID,
			"tableName": table.ID, "queueUrl": queue.ID,
		},
	}
}

func (a *account) silo() parts {
	a.t.Helper()

	subnets, access := a.network()
	balancer, listener := a.balancer(subnets, access)
	key := a.add(cloudsim.TypeKey, props{})
	group, private := a.add(cloudsim.TypeSubnetGroup, props{"name": "db", "subnetIds": subnets}), a.another(access)
	db := a.add(cloudsim.TypeInstance, props{
		"identifier": "db", "engine": "postgres", "allocatedStorage": 20, "username": "app", "manageMasterUserPassword": true,
		"kmsKeyId": key.Outputs["arn"], "dbSubnetGroupName": group.ID, "vpcSecurityGroupIds": []any{private.ID},
	})

	return parts{
		map[string]cloudsim.Resource{
			"balancer": balancer, "listener": listener, "key": key, "db": db, "access": access, "private": private,
		},
		props{
			"isolation": "silo", "serving": true, "databaseEndpoint": db.Outputs["endpoint"], "loadBalancerDns": balancer.Outputs["dnsName"],
			"listenerArn": listener.ID, "kmsKeyArn": key.Outputs["arn"],
		},
	}
}

// What ends the serving of a topology, and what does not.
func TestTopologiesServe(t *testing.T) {
	t.Parallel()

	bridge, silo := (*account).bridge, (*account).silo

	for name, tc := range map[string]struct {
		topology func(*account) parts
		happens  func(*account, map[string]cloudsim.Resource)
		// goesOn is whether it still serves while and after that happens.
		goesOn bool
	}{
		"another image": {bridge, func(a *account, made map[string]cloudsim.Resource) {
			a.change(made["service"], props{"tags": props{"image": "2"}})
		}, true},
		"fewer tasks": {bridge, func(a *account, made map[string]cloudsim.Resource) {
			a.change(made["service"], props{"desiredCount": 1})
		}, true},
		"no task": {bridge, func(a *account, made map[string]cloudsim.Resource) {
			a.change(made["service"], props{"desiredCount": 0})
		}, false},
		"no target": {bridge, func(a *account, made map[string]cloudsim.Resource) {
			a.change(made["service"], props{"loadBalancers": []any{}})
		}, false},
		"another rule's traffic": {bridge, func(a *account, made map[string]cloudsim.Resource) {
			a.change(made["rule"], props{"conditions": []any{props{"hostHeader": props{"values": []any{"globex.example.com"}}}}})
		}, false},
		"a fixed answer": {bridge, func(a *account, made map[string]cloudsim.Resource) {
			a.change(made["rule"], props{"actions": []any{props{"type": "fixed-response"}}})
		}, false},
		"no rule":  {bridge, func(a *account, made map[string]cloudsim.Resource) { a.remove(made["rule"], nil) }, false},
		"no table": {bridge, func(a *account, made map[string]cloudsim.Resource) { a.remove(made["table"], nil) }, false},
		"no queue": {bridge, func(a *account, made map[string]cloudsim.Resource) { a.remove(made["queue"], nil) }, false},
		"more storage": {silo, func(a *account, made map[string]cloudsim.Resource) {
			a.change(made["db"], props{"allocatedStorage": 30})
		}, true},
		"a refused deletion": {silo, func(a *account, made map[string]cloudsim.Resource) {
			require.Error(a.t, a.Remove(a.t.Context(), cloudsim.Removal{Type: cloudsim.TypeInstance, Region: region, ID: made["db"].ID}))
		}, true},
		"no database": {silo, func(a *account, made map[string]cloudsim.Resource) {
			a.remove(made["db"], props{"skipFinalSnapshot": true})
		}, false},
		"no targets behind the rule": {bridge, func(a *account, made map[string]cloudsim.Resource) {
			require.NoError(a.t, a.Remove(a.t.Context(), cloudsim.Removal{
				Type: cloudsim.TypeTargetGroup, Region: region, ID: made["group"].ID, Behind: true,
			}))
		}, false},
		"no way to the database": {silo, func(a *account, made map[string]cloudsim.Resource) {
			a.change(made["private"], props{"ingress": []any{}})
		}, false},
		"no way in": {silo, func(a *account, made map[string]cloudsim.Resource) {
			a.change(made["access"], props{"ingress": []any{}})
		}, false},
		"no key":           {silo, func(a *account, made map[string]cloudsim.Resource) { a.remove(made["key"], nil) }, false},
		"no load balancer": {silo, func(a *account, made map[string]cloudsim.Resource) { a.remove(made["balancer"], nil) }, false},
		"no listener":      {silo, func(a *account, made map[string]cloudsim.Resource) { a.remove(made["listener"], nil) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			a := newAccount(t, cloudsim.Options{})
			topology := tc.topology(a)

			a.pass(waiting / 2)
			require.Empty(t, must(a.times(topology.outputs)), "it is not ready yet")

			happened := a.pass(time.Minute)
			tc.happens(a, topology.made)

			end := a.pass(time.Minute)
			if !tc.goesOn {
				end = happened
			}

			require.Equal(t, serving.Unite(serving.Span{From: at(0).Add(waiting), To: end}), must(a.times(topology.outputs)))
		})
	}
}

func must(spans serving.Spans, err error) serving.Spans {
	if err != nil {
		panic(err)
	}

	return spans
}

// What takes longest to be ready decides.
func TestAllOfATopologyMustServe(t *testing.T) {
	t.Parallel()

	for typ, topology := range map[string]func(*account) parts{
		cloudsim.TypeTable: (*account).bridge, cloudsim.TypeQueue: (*account).bridge, cloudsim.TypeService: (*account).bridge,
		cloudsim.TypeInstance: (*account).silo, cloudsim.TypeLoadBalancer: (*account).silo, cloudsim.TypeListener: (*account).silo,
	} {
		a := newAccount(t, cloudsim.Options{Delays: map[string]time.Duration{typ: 2 * waiting}})
		outputs := topology(a).outputs
		end := a.pass(time.Minute)
		require.Equal(t, serving.Unite(serving.Span{From: at(0).Add(2 * waiting), To: end}), must(a.times(outputs)), typ)

		for output := range outputs {
			if output == "isolation" || output == "serving" || output == "kmsKeyArn" {
				continue
			}

			outputs := maps.Clone(outputs)
			outputs[output] = "https://elsewhere"
			require.Empty(t, must(a.times(outputs)), output)
		}
	}
}

// A tenant that is suspended and resumed does not serve in between: not until its
// tasks run again.
func TestServingIsInterrupted(t *testing.T) {
	t.Parallel()

	a := newAccount(t, cloudsim.Options{})
	topology := a.bridge()
	suspended := a.pass(time.Minute)
	a.change(topology.made["service"], props{"desiredCount": 0})

	resumed := a.pass(time.Minute)
	a.change(topology.made["service"], nil)

	end := a.pass(time.Minute)
	require.Equal(t, serving.Unite(
		serving.Span{From: at(0).Add(waiting), To: suspended}, serving.Span{From: resumed.Add(waiting), To: end},
	), must(a.times(topology.outputs)))
}

func TestWhatCannotBeTold(t *testing.T) {
	t.Parallel()

	a := newAccount(t, cloudsim.Options{MaxTransitions: 10})
	pool := props{"isolation": "pool", "serving": true}
	end := a.pass(time.Minute)

	require.Equal(t, serving.Spans{{To: end}}, must(a.times(pool)), "a pool has nothing of its own")

	for want, outputs := range map[string]props{
		`isolation is ""`:             {"serving": true},
		`isolation is "moat"`:         {"isolation": "moat", "serving": true},
		"a tenant that is not served": {"isolation": "pool", "serving": false},
		"databaseEndpoint is missing": {"isolation": "silo", "serving": true},
		"endpoint is missing":         {"isolation": "bridge", "serving": true, "endpoint": ""},
	} {
		_, err := a.times(outputs)
		require.ErrorContains(t, err, want)
	}

	for range 11 {
		a.add(cloudsim.TypeKey, nil)
	}

	_, err := a.times(pool)
	require.ErrorContains(t, err, "has forgotten its beginning")
}
