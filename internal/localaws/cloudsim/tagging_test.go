package cloudsim_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/schemas"
	taggingtypes "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

// tagger is a simulator and AWS's own client of the tagging API.
type tagger struct {
	*account

	endpoint string
	client   *tagging.Client
}

func newTagger(t *testing.T, opts cloudsim.Options) tagger {
	t.Helper()

	cloud := cloudsim.New(opts)
	server := httptest.NewServer(cloud.Handler())
	own := cloudsim.NewClient(server.URL, nil)
	transport := &http.Transport{}

	t.Cleanup(func() {
		cloud.Close()
		own.Close()
		transport.CloseIdleConnections()
		server.Close()
	})

	return tagger{&account{own, t}, server.URL, tagging.New(tagging.Options{
		Region: region, BaseEndpoint: &server.URL, HTTPClient: &http.Client{Transport: transport}, Retryer: aws.NopRetryer{},
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	}, func(o *tagging.Options) { o.Protocol = awsjson.New11(schemas.ResourceGroupsTaggingAPI_20170126) })}
}

func (g tagger) tagged(typ string, inputs props, tags map[string]string) cloudsim.Resource {
	g.t.Helper()

	r, err := g.Create(g.t.Context(), cloudsim.Creation{Type: typ, Region: region, Inputs: inputs, Tags: tags})
	require.NoError(g.t, err)

	return r
}

func (g tagger) search(in tagging.GetResourcesInput) []string {
	g.t.Helper()

	out, err := g.client.GetResources(g.t.Context(), &in)
	require.NoError(g.t, err)
	require.Empty(g.t, aws.ToString(out.PaginationToken))

	return arns(out)
}

func arns(out *tagging.GetResourcesOutput) []string {
	list := make([]string, 0, len(out.ResourceTagMappingList))
	for _, m := range out.ResourceTagMappingList {
		list = append(list, *m.ResourceARN)
	}

	return list
}

func filter(key string, values ...string) taggingtypes.TagFilter {
	return taggingtypes.TagFilter{Key: &key, Values: values}
}

func apiError(t *testing.T, err error, code string) {
	t.Helper()

	var api smithy.APIError

	require.ErrorAs(t, err, &api)
	require.Equal(t, code, api.ErrorCode(), err)
	require.NotEmpty(t, api.ErrorMessage())
}

// Every type that carries tags is found under the ARN that AWS gives it.
func TestSearchFindsAllThatCarriesTags(t *testing.T) {
	t.Parallel()

	g := newTagger(t, instant())
	tags := map[string]string{"tenant-id": "acme"}

	vpc := g.tagged(cloudsim.TypeVPC, props{"cidrBlock": "10.0.0.0/16"}, tags)
	a := g.tagged(cloudsim.TypeSubnet, props{"vpcId": vpc.ID, "cidrBlock": "10.0.0.0/20", "availabilityZone": "us-east-1a"}, tags)
	b := g.tagged(cloudsim.TypeSubnet, props{"vpcId": vpc.ID, "cidrBlock": "10.0.16.0/20", "availabilityZone": "us-east-1b"}, tags)
	sg := g.tagged(cloudsim.TypeSecurityGroup, props{"vpcId": vpc.ID, "name": "db"}, tags)
	key := g.tagged(cloudsim.TypeKey, props{}, tags)
	doomed := g.tagged(cloudsim.TypeKey, props{}, tags)
	group := g.tagged(cloudsim.TypeSubnetGroup, props{"name": "db", "subnetIds": []any{a.ID, b.ID}}, tags)
	n := network{vpc: vpc, a: a, b: b, sg: sg, key: key, group: group}
	db := g.tagged(cloudsim.TypeInstance, n.instance(props{"identifier": "db"}), tags)
	gone := g.tagged(cloudsim.TypeInstance, n.instance(props{"identifier": "gone"}), tags)
	g.tagged(cloudsim.TypeBucket, props{"bucket": "data"}, tags)
	g.tagged(cloudsim.TypeTable, props{"name": "rows"}, tags)

	// The emulator names these.
	for typ, arn := range map[string]string{
		cloudsim.TypeQueue: "arn:aws:sqs:us-east-1:000000000000:work",
		cloudsim.TypeTopic: "arn:aws:sns:us-east-1:000000000000:news",
	} {
		name := arn[strings.LastIndex(arn, ":")+1:]
		_, err := g.Create(t.Context(), cloudsim.Creation{
			Type: typ, Region: region, Inputs: props{"name": name}, Outputs: props{"arn": arn}, Tags: tags,
		})
		require.NoError(t, err)
	}

	require.NoError(t, g.remove(doomed, nil))
	require.NoError(t, g.remove(gone, props{"finalSnapshotIdentifier": "last"}))

	// None of these is found: no tags of its own, another region, a claim.
	g.must(cloudsim.TypeAlias, props{"name": "alias/data", "targetKeyId": key.ID})
	g.must(cloudsim.TypeVersioning, props{"bucket": "data"})
	g.must(cloudsim.TypeVPC, props{"cidrBlock": "10.1.0.0/16"})

	_, err := g.Create(t.Context(), cloudsim.Creation{Type: cloudsim.TypeKey, Region: "eu-west-1", Tags: tags})
	require.NoError(t, err)

	_, err = g.Create(t.Context(), cloudsim.Creation{
		Type: cloudsim.TypeTable, Region: region, Inputs: props{"name": "claimed"}, Tags: tags, Claim: true,
	})
	require.NoError(t, err)

	const ec2, rds, kms = "arn:aws:ec2:us-east-1:000000000000:", "arn:aws:rds:us-east-1:000000000000:", "arn:aws:kms:us-east-1:000000000000:"

	want := []string{
		ec2 + "vpc/" + vpc.ID, ec2 + "subnet/" + a.ID, ec2 + "subnet/" + b.ID, ec2 + "security-group/" + sg.ID,
		kms + "key/" + key.ID, kms + "key/" + doomed.ID, rds + "subgrp:db", rds + "db:" + db.ID, rds + "snapshot:last",
		"arn:aws:s3:::data", "arn:aws:dynamodb:us-east-1:000000000000:table/rows",
		"arn:aws:sqs:us-east-1:000000000000:work", "arn:aws:sns:us-east-1:000000000000:news",
	}
	slices.Sort(want)
	require.Equal(t, want, g.search(tagging.GetResourcesInput{}))
	require.Equal(t, want, g.search(tagging.GetResourcesInput{TagFilters: []taggingtypes.TagFilter{filter("tenant-id", "acme")}}))
	require.Equal(t, []string{rds + "db:db"}, g.search(tagging.GetResourcesInput{ResourceTypeFilters: []string{"rds:db"}}))
	require.Equal(t, []string{rds + "db:db", rds + "snapshot:last", rds + "subgrp:db", "arn:aws:s3:::data"},
		g.search(tagging.GetResourcesInput{ResourceTypeFilters: []string{"s3", "rds"}}))
}

// Filters all apply, and a filter by any of its values, or by none.
func TestSearchFiltersByTag(t *testing.T) {
	t.Parallel()

	g := newTagger(t, instant())
	one := g.tagged(cloudsim.TypeKey, nil, map[string]string{"tenant-id": "acme", "managed-by": "lessor"})
	two := g.tagged(cloudsim.TypeKey, nil, map[string]string{"tenant-id": "globex", "managed-by": "lessor"})
	three := g.tagged(cloudsim.TypeKey, nil, map[string]string{"tenant-id": "Acme", "managed-by": "people"})

	for name, c := range map[string]struct {
		filters []taggingtypes.TagFilter
		want    []cloudsim.Resource
	}{
		"none":            {nil, []cloudsim.Resource{one, two, three}},
		"one value":       {[]taggingtypes.TagFilter{filter("tenant-id", "acme")}, []cloudsim.Resource{one}},
		"any value of it": {[]taggingtypes.TagFilter{filter("tenant-id", "acme", "globex")}, []cloudsim.Resource{one, two}},
		"all filters":     {[]taggingtypes.TagFilter{filter("tenant-id", "Acme", "globex"), filter("managed-by", "lessor")}, []cloudsim.Resource{two}},
		"key alone":       {[]taggingtypes.TagFilter{filter("managed-by")}, []cloudsim.Resource{one, two, three}},
		"other key":       {[]taggingtypes.TagFilter{filter("tenant-id", "acme"), filter("tier")}, nil},
	} {
		want := make([]string, 0, len(c.want))
		for _, r := range c.want {
			want = append(want, r.ARN())
		}

		slices.Sort(want)
		require.Equal(t, want, g.search(tagging.GetResourcesInput{TagFilters: c.filters}), name)
	}

	out, err := g.client.GetResources(t.Context(), &tagging.GetResourcesInput{TagFilters: []taggingtypes.TagFilter{filter("tenant-id", "acme")}})
	require.NoError(t, err)
	require.Equal(t, []taggingtypes.Tag{
		{Key: aws.String("managed-by"), Value: aws.String("lessor")}, {Key: aws.String("tenant-id"), Value: aws.String("acme")},
	}, out.ResourceTagMappingList[0].Tags)
}

func TestSearchHasPages(t *testing.T) {
	t.Parallel()

	var elapsed atomic.Int64

	epoch := time.Now()
	g := newTagger(t, cloudsim.Options{Now: func() time.Time { return epoch.Add(time.Duration(elapsed.Load())) }})

	want := make([]string, 0, 51)

	for i := range 51 {
		key := g.tagged(cloudsim.TypeKey, nil, map[string]string{"n": strconv.Itoa(i)})
		want = append(want, key.ARN())
	}

	slices.Sort(want)

	var (
		got   []string
		pages int
	)

	pager := tagging.NewGetResourcesPaginator(g.client, &tagging.GetResourcesInput{ResourcesPerPage: aws.Int32(17)})
	for pager.HasMorePages() {
		page, err := pager.NextPage(t.Context())
		require.NoError(t, err)

		got = append(got, arns(page)...)
		pages++
	}

	require.Equal(t, want, got)
	require.Equal(t, 3, pages)

	first, err := g.client.GetResources(t.Context(), &tagging.GetResourcesInput{})
	require.NoError(t, err)
	require.Equal(t, want[:50], arns(first))

	next := tagging.GetResourcesInput{PaginationToken: first.PaginationToken}
	other := next
	other.TagFilters = []taggingtypes.TagFilter{filter("n")}

	_, err = g.client.GetResources(t.Context(), &other)
	apiError(t, err, "InvalidParameterException")

	elapsed.Store(int64(15 * time.Minute))

	// The size of a page is no part of the search.
	next.ResourcesPerPage = aws.Int32(1)
	require.Equal(t, want[50:], g.search(next))

	elapsed.Store(int64(15*time.Minute + 1))

	_, err = g.client.GetResources(t.Context(), &next)
	apiError(t, err, "PaginationTokenExpiredException")

	var expired *taggingtypes.PaginationTokenExpiredException

	require.ErrorAs(t, err, &expired)
}

func TestSearchRefusesWhatAWSRefuses(t *testing.T) {
	t.Parallel()

	g := newTagger(t, instant())

	for name, in := range map[string]tagging.GetResourcesInput{
		"no page":           {ResourcesPerPage: aws.Int32(0)},
		"page too large":    {ResourcesPerPage: aws.Int32(101)},
		"no key":            {TagFilters: []taggingtypes.TagFilter{filter("")}},
		"long key":          {TagFilters: []taggingtypes.TagFilter{filter(strings.Repeat("k", 129))}},
		"too many values":   {TagFilters: []taggingtypes.TagFilter{filter("k", make([]string, 21)...)}},
		"too many filters":  {TagFilters: slices.Repeat([]taggingtypes.TagFilter{filter("k")}, 51)},
		"too many types":    {ResourceTypeFilters: slices.Repeat([]string{"s3"}, 101)},
		"no token":          {PaginationToken: aws.String("?")},
		"what it has not":   {ResourceARNList: []string{"arn:aws:s3:::data"}},
		"nor tags per page": {TagsPerPage: aws.Int32(100)},
	} {
		_, err := g.client.GetResources(t.Context(), &in)
		require.Error(t, err, name)
		apiError(t, err, "InvalidParameterException")
	}

	_, err := g.client.GetTagKeys(t.Context(), &tagging.GetTagKeysInput{})
	apiError(t, err, "UnknownOperationException")

	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.endpoint, strings.NewReader("{}"))
	require.NoError(t, err)
	r.Header.Set("X-Amz-Target", cloudsim.TaggingTarget+"GetResources")
	r.Close = true

	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusBadRequest, res.StatusCode, "without a signature there is no region")
}

func TestFaultsStrikeSearches(t *testing.T) {
	t.Parallel()

	g := newTagger(t, instant())
	g.tagged(cloudsim.TypeKey, nil, map[string]string{"tenant-id": "acme"})

	of := func(ctx context.Context, tenant string) error {
		_, err := g.client.GetResources(ctx, &tagging.GetResourcesInput{TagFilters: []taggingtypes.TagFilter{filter("tenant-id", tenant)}})

		return err
	}
	fault := func(f cloudsim.Fault) cloudsim.Fault {
		f.Operation, f.Tenant = cloudsim.OperationList, "acme"
		set, err := g.SetFault(t.Context(), f)
		require.NoError(t, err)

		return set
	}

	fault(cloudsim.Fault{Effect: cloudsim.EffectThrottle})
	require.NoError(t, of(t.Context(), "globex"))
	apiError(t, of(t.Context(), "acme"), "ThrottledException")
	require.NoError(t, of(t.Context(), "acme"))

	fault(cloudsim.Fault{Effect: cloudsim.EffectFail, Code: "AccessDeniedException", Message: "not authorized to perform: tag:GetResources", After: true})
	apiError(t, of(t.Context(), "acme"), "AccessDeniedException")

	fault(cloudsim.Fault{Effect: cloudsim.EffectDrop})
	require.Error(t, of(t.Context(), "acme"))

	fault(cloudsim.Fault{Effect: cloudsim.EffectDelay, Delay: 20 * time.Millisecond})

	began := time.Now()

	require.NoError(t, of(t.Context(), "acme"))
	require.GreaterOrEqual(t, time.Since(began), 20*time.Millisecond)

	hang := fault(cloudsim.Fault{Effect: cloudsim.EffectHang})
	answered := make(chan error, 1)

	go func() { answered <- of(t.Context(), "acme") }()

	require.Eventually(t, func() bool {
		faults, err := g.Faults(t.Context())

		return err == nil && faults[len(faults)-1].Struck == 1
	}, time.Minute, time.Millisecond)
	require.Empty(t, answered)
	require.NoError(t, g.ClearFaults(t.Context(), hang.ID))
	require.NoError(t, <-answered)

	entries, err := g.Log(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, entries, 1, "a search is no mutation")
}
