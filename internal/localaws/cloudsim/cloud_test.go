package cloudsim_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

// clock is a clock that stands still until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.now = c.now.Add(d)
}

func TestDatabaseTakesItsTime(t *testing.T) {
	t.Parallel()

	clk := &clock{now: time.Unix(1_700_000_000, 0)}
	a := newAccount(t, cloudsim.Options{Now: clk.Now})
	n := a.network()

	state := func() cloudsim.State {
		r, err := a.Get(t.Context(), cloudsim.TypeInstance, region, "acme-t1")
		if cloudsim.IsNotFound(err) {
			return ""
		}

		require.NoError(t, err)

		return r.State
	}

	db := a.must(cloudsim.TypeInstance, n.instance(nil))
	require.Equal(t, cloudsim.StateCreating, db.State)
	refused(t, a.change(db, props{"allocatedStorage": 30}), "InvalidDBInstanceState", "not in available state")
	refused(t, a.remove(db, props{"skipFinalSnapshot": true}), "InvalidDBInstanceState", "")

	clk.advance(cloudsim.DefaultDelay)
	require.Equal(t, cloudsim.StateAvailable, state())
	require.NoError(t, a.change(db, props{"allocatedStorage": 30}))
	require.Equal(t, cloudsim.StateModifying, state())

	clk.advance(cloudsim.DefaultDelay)
	require.Equal(t, cloudsim.StateAvailable, state())
	require.NoError(t, a.remove(db, props{"skipFinalSnapshot": true}))
	require.Equal(t, cloudsim.StateDeleting, state())
	refused(t, a.remove(n.group, nil), "InvalidDBSubnetGroupStateFault", "")

	_, err := a.create(cloudsim.TypeInstance, n.instance(nil))
	refused(t, err, "DBInstanceAlreadyExists", "")

	clk.advance(cloudsim.DefaultDelay)
	require.Empty(t, state())
	require.NoError(t, a.remove(n.group, nil))
}

func TestComputedProperties(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())
	n := a.network()
	db := a.must(cloudsim.TypeInstance, n.instance(nil))

	require.Regexp(t, `^vpc-[0-9a-f]{17}$`, n.vpc.ID)
	require.Equal(t, "arn:aws:ec2:us-east-1:000000000000:vpc/"+n.vpc.ID, n.vpc.Outputs["arn"])
	require.Equal(t, "use1-az2", n.b.Outputs["availabilityZoneId"])
	require.Equal(t, n.vpc.ID, n.group.Outputs["vpcId"])
	require.Regexp(t, `^acme-t1\.c[0-9a-f]{11}\.us-east-1\.rds\.amazonaws\.com:5432$`, db.Outputs["endpoint"])

	secrets, _ := db.Outputs["masterUserSecrets"].([]any)
	require.Len(t, secrets, 1)

	secret, _ := secrets[0].(map[string]any)
	require.Contains(t, secret["secretArn"], "secret:rds!db-")

	require.NoError(t, a.change(db, props{"allocatedStorage": 21}))

	again, err := a.Get(t.Context(), cloudsim.TypeInstance, region, db.ID)
	require.NoError(t, err)
	require.Equal(t, db.Outputs, again.Outputs, "an update keeps the endpoint and the secret")
}

// complete turns a claim to a queue into a queue.
func (a *account) complete(claimed cloudsim.Resource) (cloudsim.Resource, error) {
	return a.Change(a.t.Context(), cloudsim.Change{
		Type: claimed.Type, Region: region, ID: claimed.ID, Completes: true, NewID: "http://queue/acme", Outputs: props{"arn": "arn:acme"},
	})
}

func (a *account) claim() (cloudsim.Resource, error) {
	return a.Create(a.t.Context(), cloudsim.Creation{
		Type: cloudsim.TypeQueue, Region: region, Inputs: props{"name": "acme"}, Claim: true,
		Tags: map[string]string{cloudsim.TagTenant: "acme"},
	})
}

func TestClaimBecomesAResource(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())

	claimed, err := a.claim()
	require.NoError(t, err)

	_, err = a.create(cloudsim.TypeQueue, props{"name": "acme"})
	refused(t, err, "QueueAlreadyExists", "")

	_, err = a.Get(t.Context(), claimed.Type, region, claimed.ID)
	require.True(t, cloudsim.IsNotFound(err), "it does not exist yet")

	none, err := a.OfTenant(t.Context(), "acme")
	require.NoError(t, err)
	require.Empty(t, none)

	made, err := a.complete(claimed)
	require.NoError(t, err)
	require.Equal(t, "http://queue/acme", made.ID)

	_, err = a.create(cloudsim.TypeQueue, props{"name": "acme"})
	refused(t, err, "QueueAlreadyExists", "")

	a.must(cloudsim.TypeQueue, props{"name": "other", "redrivePolicy": `{"deadLetterTargetArn":"arn:acme","maxReceiveCount":3}`})

	entries, err := a.Log(t.Context(), 0)
	require.NoError(t, err)

	var creations []string

	for _, e := range entries {
		if e.Code == "" {
			creations = append(creations, string(e.Operation)+" "+e.ID)
		}
	}

	require.Equal(t, []string{"create http://queue/acme", "create other"}, creations)
}

func TestClaimOfTheDeadIsVoid(t *testing.T) {
	t.Parallel()

	clk := &clock{now: time.Unix(1_700_000_000, 0)}
	a := newAccount(t, cloudsim.Options{Now: clk.Now})

	_, err := a.claim()
	require.NoError(t, err)

	clk.advance(9 * time.Second)

	_, err = a.claim()
	refused(t, err, "QueueAlreadyExists", "")

	clk.advance(time.Second)

	_, err = a.claim()
	require.NoError(t, err)
}

func TestFaultsOfAClaim(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())

	for _, effect := range []cloudsim.Effect{cloudsim.EffectThrottle, cloudsim.EffectCrash} {
		_, err := a.SetFault(t.Context(), cloudsim.Fault{Effect: effect, Operation: cloudsim.OperationCreate, Tenant: "acme"})
		require.NoError(t, err)
	}

	_, err := a.claim()
	refused(t, err, "RequestLimitExceeded", "")

	claimed, err := a.claim()
	require.NoError(t, err, "a crash after the fact does not strike the claim")

	_, err = a.complete(claimed)
	refused(t, err, cloudsim.CodeCrash, "")

	_, err = a.Get(t.Context(), cloudsim.TypeQueue, region, "http://queue/acme")
	require.NoError(t, err, "the queue exists")
}

func TestListAndLogByTag(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())

	for i, tenant := range []string{"acme", "globex", "acme"} {
		_, err := a.Create(t.Context(), cloudsim.Creation{
			Type: cloudsim.TypeVPC, Region: region, Tags: map[string]string{cloudsim.TagTenant: tenant},
			Inputs: props{"cidrBlock": "10." + strconv.Itoa(i) + ".0.0/16"},
		})
		require.NoError(t, err)
	}

	mine, err := a.OfTenant(t.Context(), "acme")
	require.NoError(t, err)
	require.Len(t, mine, 2)
	require.NoError(t, a.remove(mine[0], nil))

	_, err = a.create(cloudsim.TypeVPC, props{"cidrBlock": "nonsense"})
	require.Error(t, err)

	entries, err := a.Log(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, entries, 5)
	require.Equal(t, cloudsim.OperationDelete, entries[3].Operation)
	require.Equal(t, "acme", entries[3].Tenant)
	require.Equal(t, mine[0].ID, entries[3].ID)
	require.Empty(t, entries[3].Code)
	require.Equal(t, "InvalidParameterValue", entries[4].Code)

	later, err := a.Log(t.Context(), entries[3].Sequence)
	require.NoError(t, err)
	require.Equal(t, entries[4:], later)

	none, err := a.List(t.Context(), cloudsim.Filter{Region: "eu-west-1"})
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestLogAndResourcesAreBounded(t *testing.T) {
	t.Parallel()

	a := newAccount(t, cloudsim.Options{MaxResources: 2, MaxEntries: 3})

	for range 2 {
		a.must(cloudsim.TypeKey, nil)
	}

	for range 3 {
		_, err := a.create(cloudsim.TypeKey, nil)
		refused(t, err, "BadRequest", "holds 2 resources")
	}

	entries, err := a.Log(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, entries, 3)
	require.EqualValues(t, 5, entries[2].Sequence)
}

func TestChangeBehindAsksNoRule(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())
	n := a.network()

	_, err := a.SetFault(t.Context(), cloudsim.Fault{Effect: cloudsim.EffectThrottle, Times: -1})
	require.NoError(t, err)

	_, err = a.Change(t.Context(), cloudsim.Change{
		Type: n.vpc.Type, Region: region, ID: n.vpc.ID, Behind: true, Inputs: props{"cidrBlock": "10.0.0.0/16", "enableDnsSupport": false},
	})
	require.NoError(t, err)
	require.NoError(t, a.Remove(t.Context(), cloudsim.Removal{Type: n.vpc.Type, Region: region, ID: n.vpc.ID, Behind: true}))

	entries, err := a.Log(t.Context(), 0)
	require.NoError(t, err)
	require.True(t, entries[len(entries)-1].Behind)
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())

	const callers = 8

	made := make([]bool, callers)

	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			_, err := a.create(cloudsim.TypeTable, props{"name": "contended"})
			made[i] = err == nil

			_, _ = a.List(t.Context(), cloudsim.Filter{})
			_, _ = a.Log(t.Context(), 0)
		})
	}

	wg.Wait()

	winners := 0

	for _, won := range made {
		if won {
			winners++
		}
	}

	require.Equal(t, 1, winners)
}

func TestOtherMachinesAreRefused(t *testing.T) {
	t.Parallel()

	cloud := cloudsim.New(cloudsim.Options{})
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/_cloud/resources", http.NoBody)
	req.RemoteAddr = "192.0.2.1:4711"

	res := httptest.NewRecorder()
	cloud.Handler().ServeHTTP(res, req)
	require.Equal(t, http.StatusForbidden, res.Code)
}

func TestBadRequests(t *testing.T) {
	t.Parallel()

	handler := cloudsim.New(cloudsim.Options{}).Handler()

	for name, tc := range map[string]struct{ method, path, body, want string }{
		"no json":         {http.MethodPost, "/_cloud/resources", "{", "unexpected EOF"},
		"unknown field":   {http.MethodPost, "/_cloud/resources", `{"kind":"x"}`, "kind"},
		"no region":       {http.MethodPost, "/_cloud/resources", `{"type":"aws:kms/key:Key"}`, "region"},
		"too large":       {http.MethodPost, "/_cloud/resources", `{"type":"` + strings.Repeat("x", 1<<20) + `"}`, "too large"},
		"bad sequence":    {http.MethodGet, "/_cloud/log?after=x", "", "sequence"},
		"no effect":       {http.MethodPost, "/_cloud/faults", `{"effect":"explode"}`, "explode"},
		"fail, no code":   {http.MethodPost, "/_cloud/faults", `{"effect":"fail"}`, "code"},
		"no delay":        {http.MethodPost, "/_cloud/faults", `{"effect":"delay"}`, "delay"},
		"negative nth":    {http.MethodPost, "/_cloud/faults", `{"effect":"hang","nth":-1}`, "nth"},
		"unknown to get":  {http.MethodGet, "/_cloud/resource?type=x", "", "UnknownType"},
		"change nowhere":  {http.MethodPut, "/_cloud/resources", `{"type":"aws:kms/key:Key","id":"0"}`, "NotFoundException"},
		"removal nowhere": {http.MethodDelete, "/_cloud/resources", `{"type":"aws:kms/key:Key","id":"0"}`, "NotFoundException"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			req := httptest.NewRequestWithContext(t.Context(), tc.method, tc.path, strings.NewReader(tc.body))
			req.RemoteAddr = "127.0.0.1:4711"

			res := httptest.NewRecorder()
			handler.ServeHTTP(res, req)
			require.GreaterOrEqual(t, res.Code, http.StatusBadRequest)
			require.Contains(t, res.Body.String(), tc.want)
		})
	}
}

func TestClientTellsAnotherServerApart(t *testing.T) {
	t.Parallel()

	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()

	client := cloudsim.NewClient(server.URL, server.Client())

	_, err := client.List(t.Context(), cloudsim.Filter{})
	require.ErrorContains(t, err, "is this the endpoint of local mode?")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	_, err = client.List(ctx, cloudsim.Filter{})
	require.ErrorIs(t, err, context.Canceled)
}
