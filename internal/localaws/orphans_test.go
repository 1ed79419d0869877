package localaws_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/sethvargo/go-envconfig"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
	"github.com/lessor-dev/lessor/pkg/enqueuecli"
	"github.com/lessor-dev/lessor/pkg/inventory"
	"github.com/lessor-dev/lessor/pkg/lease"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// TestOrphansAreFound runs `enqueue orphans` as people do, on a fleet with one
// tenant whose state is empty. The SDK reads the environment of the process, so
// it does not run beside others.
func TestOrphansAreFound(t *testing.T) { //nolint:paralleltest // see above
	l := start(t, nil)
	for name, value := range l.variables {
		t.Setenv(name, value)
	}

	bucket, _, _ := strings.Cut(l.variables["LESSOR_STATE_BUCKETS"], ",")
	begun(t, l, "acme", tenant.Stack{Project: "lessor", Name: "acme", Shard: bucket, Created: true})

	orphans := func(args ...string) (code int, arns []string, talk string) {
		t.Helper()

		var (
			stdout, stderr bytes.Buffer
			found          struct {
				Orphans []struct {
					ARN    string `json:"arn"`
					Reason string `json:"reason"`
				} `json:"orphans"`
			}
		)

		args = append([]string{"orphans", "--output", "json"}, args...)
		code = enqueuecli.Main(t.Context(), args, strings.NewReader(""), &stdout, &stderr, envconfig.MapLookuper(l.variables))
		require.NoError(t, json.Unmarshal(stdout.Bytes(), &found), stderr.String())

		for _, o := range found.Orphans {
			arns = append(arns, o.Reason+" "+o.ARN)
		}

		return code, arns, stderr.String()
	}

	code, found, _ := orphans()
	require.Zero(t, code, "the platform is nobody's orphan")
	require.Empty(t, found)

	made := func(owner string) string {
		vpc, err := l.env.Cloud().Create(t.Context(), cloudsim.Creation{
			Type: cloudsim.TypeVPC, Region: "us-east-1", Inputs: map[string]any{"cidrBlock": "10.0.0.0/16"},
			Tags: map[string]string{"tenant-id": owner, "managed-by": "lessor"},
		})
		require.NoError(t, err)

		return vpc.ARN()
	}
	acme, stranger := made("acme"), made("initech")

	code, _, talk := orphans("acme")
	require.Equal(t, 1, code)
	require.Contains(t, talk, "restore a version of it before you delete anything", "its state is missing")

	client := s3.NewFromConfig(l.aws, func(o *s3.Options) { o.UsePathStyle = true })
	_, err := client.PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: &bucket, Key: aws.String(".pulumi/stacks/lessor/acme.json"), Body: bytes.NewReader(checkpoint.Blank("lessor", "acme")),
	})
	require.NoError(t, err)

	code, found, talk = orphans("acme")
	require.Equal(t, 8, code, talk)
	require.Equal(t, []string{"stray " + acme}, found)

	code, found, talk = orphans()
	require.Equal(t, 8, code, talk)
	require.Equal(t, []string{"stray " + acme, "no-row " + stranger}, found)

	role := inventory.Assume(l.aws, "arn:aws:iam::000000000000:role/tenants")
	seen, err := inventory.Open(role, "us-east-1").Find(t.Context(), "acme")
	require.NoError(t, err)
	require.Len(t, seen, 1, "with the role of a tier")

	_, err = l.env.Cloud().SetFault(t.Context(), cloudsim.Fault{
		Effect: cloudsim.EffectFail, Operation: cloudsim.OperationList, Code: "AccessDeniedException", Message: "not authorized",
	})
	require.NoError(t, err)

	code, _, talk = orphans()
	require.Equal(t, 1, code)
	require.Contains(t, talk, "not looked at: us-east-1: ")
	require.Contains(t, talk, "AccessDeniedException")
}

// begun makes the row of a tenant that an operation was begun for.
func begun(t *testing.T, l local, id tenant.ID, stack tenant.Stack) {
	t.Helper()

	table, client := l.variables["LESSOR_TABLE"], dynamodb.NewFromConfig(l.aws)
	reg := registry.New(client, registry.Config{Table: table}, time.Now)

	created := tenant.Event{
		ID: "1", Source: "/test", Type: tenant.EventCreated, Tenant: id, Time: time.Now(), Tier: "enterprise", Region: "us-east-1",
	}
	created.Version = tenant.TimeVersion(created.Time, created.ID, created.Source)

	rec, changed, err := reg.Accept(t.Context(), created)
	require.NoError(t, err)
	require.True(t, changed, slices.Sorted(maps.Keys(l.variables)))

	held, err := lease.New(client, table, lease.Config{Duration: time.Minute, Margin: time.Second}).Acquire(t.Context(), rec, "message")
	require.NoError(t, err)
	require.NoError(t, reg.Begin(t.Context(), id, held.Token(), registry.Beginning{Round: 1, Stack: stack}))
	require.NoError(t, reg.Release(t.Context(), id, held.Token(), true))
}
