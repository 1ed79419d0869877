package awsplugin_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/lessor-dev/lessor/internal/localaws/awsplugin"
	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

// TestVersionIsThatOfGoMod: the CLI asks for the plugin by the version of the
// SDK that the program was built with.
func TestVersionIsThatOfGoMod(t *testing.T) {
	t.Parallel()

	mod, err := os.ReadFile(filepath.Join("..", "..", "..", "go.mod"))
	require.NoError(t, err)

	match := regexp.MustCompile(`github\.com/pulumi/pulumi-aws/sdk/v6 v(\S+)`).FindSubmatch(mod)
	require.NotNil(t, match)
	require.Equal(t, awsplugin.Version, string(match[1]))

	info, err := awsplugin.New(awsplugin.Options{}).GetPluginInfo(t.Context(), &emptypb.Empty{})
	require.NoError(t, err)
	require.Equal(t, awsplugin.Version, info.GetVersion())
}

func TestConfigurationIsNeeded(t *testing.T) {
	t.Parallel()

	_, err := awsplugin.New(awsplugin.Options{}).Configure(t.Context(), &pulumirpc.ConfigureRequest{})
	require.ErrorContains(t, err, "AWS_ENDPOINT_URL is not set")
	require.ErrorContains(t, err, "pulumi plugin install resource aws "+awsplugin.Version)

	h := newHost(t, "", cloudsim.Options{})
	require.ErrorContains(t, h.configure(props{}), "the region is missing")

	_, err = h.tryCreate(t.Context(), cloudsim.TypeVPC, props{"cidrBlock": "10.0.0.0/16"})
	require.ErrorContains(t, err, "not configured")
	require.NoError(t, h.configure(props{
		"region": region, "assumeRole": `{"roleArn":"arn:aws:iam::1:role/x"}`,
		"skipCredentialsValidation": "true", "skipRegionValidation": true,
	}))
}

func TestDefaultTagsComeInEitherForm(t *testing.T) {
	t.Parallel()

	for name, form := range map[string]any{
		"object": props{"tags": props{"tenant-id": "globex"}},
		"text":   `{"tags":{"tenant-id":"globex"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			h := newHost(t, "", cloudsim.Options{})
			require.NoError(t, h.configure(props{"region": region, "defaultTags": form}))
			h.create(cloudsim.TypeVPC, props{"cidrBlock": "10.0.0.0/16", "tags": props{"tenant-id": "own"}})
			h.create(cloudsim.TypeVPC, props{"cidrBlock": "10.1.0.0/16"})

			for _, tenant := range []string{"globex", "own"} {
				found, err := h.cloud.OfTenant(t.Context(), tenant)
				require.NoError(t, err)
				require.Len(t, found, 1, tenant)
			}
		})
	}
}

func TestConfigurationIsChecked(t *testing.T) {
	t.Parallel()

	h := newHost(t, "", cloudsim.Options{})

	res, err := h.CheckConfig(t.Context(), &pulumirpc.CheckRequest{News: h.pack(props{"region": "", "maxRetries": "-1"})})
	require.NoError(t, err)
	require.Len(t, res.GetFailures(), 2)
	require.Equal(t, "region", res.GetFailures()[0].GetProperty())
	require.Equal(t, "maxRetries", res.GetFailures()[1].GetProperty())

	res, err = h.CheckConfig(t.Context(), &pulumirpc.CheckRequest{News: h.pack(props{"region": region, "maxRetries": "3"})})
	require.NoError(t, err)
	require.Empty(t, res.GetFailures())
}

func TestOnlyAnotherRegionReplacesTheProvider(t *testing.T) {
	t.Parallel()

	h := newHost(t, "", cloudsim.Options{})
	before := props{"region": region, "defaultTags": `{"tags":{"tier":"free"}}`}
	diff := func(change props) *pulumirpc.DiffResponse {
		res, err := h.DiffConfig(t.Context(), &pulumirpc.DiffRequest{OldInputs: h.pack(before), News: h.pack(change)})
		require.NoError(t, err)

		return res
	}

	require.Equal(t, pulumirpc.DiffResponse_DIFF_NONE, diff(before).GetChanges())
	require.Equal(t, []string{"defaultTags"}, diff(props{"region": region, "defaultTags": `{"tags":{"tier":"pro"}}`}).GetDiffs())
	require.Empty(t, diff(props{"region": region, "defaultTags": `{"tags":{"tier":"pro"}}`}).GetReplaces())
	require.Equal(t, []string{"region"}, diff(props{"region": "eu-west-1", "defaultTags": before["defaultTags"]}).GetReplaces())
}

func TestTokens(t *testing.T) {
	t.Parallel()

	for _, typ := range []string{
		cloudsim.TypeVPC, cloudsim.TypeSubnet, cloudsim.TypeSecurityGroup, cloudsim.TypeKey, cloudsim.TypeAlias, cloudsim.TypeSubnetGroup,
		cloudsim.TypeInstance, cloudsim.TypeQueue, cloudsim.TypeRedrivePolicy, cloudsim.TypeQueuePolicy, cloudsim.TypeTable,
		cloudsim.TypeBucket,
		cloudsim.TypeVersioning, cloudsim.TypePublicAccess, cloudsim.TypeEncryption, cloudsim.TypeLifecycle, cloudsim.TypeTopic,
		cloudsim.TypeBucketPolicy, cloudsim.TypeBus, cloudsim.TypeAlarm, cloudsim.TypePolicy,
	} {
		require.Contains(t, awsplugin.Tokens(), typ)
	}
}
