package inventory_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/inventory"
)

// The real client against the simulator of local mode.
func TestInventoryOfLocalMode(t *testing.T) {
	t.Parallel()

	cloud := cloudsim.New(cloudsim.Options{})
	server := httptest.NewServer(cloud.Handler())
	sim := cloudsim.NewClient(server.URL, nil)
	transport := &http.Transport{}

	t.Cleanup(func() {
		transport.CloseIdleConnections()
		sim.Close()
		cloud.Close()
		server.Close()
	})

	const pages = 2

	made := make([]string, 0, pages*100+1)

	for range cap(made) {
		vpc, err := sim.Create(t.Context(), cloudsim.Creation{
			Type: cloudsim.TypeVPC, Region: "eu-west-1", Inputs: map[string]any{"cidrBlock": "10.0.0.0/16"},
			Tags: tags{"tenant-id": "acme", "managed-by": "lessor", "Name": "acme-t1-vpc"},
		})
		require.NoError(t, err)

		made = append(made, vpc.ARN())
	}

	for region, owner := range map[string]string{"eu-west-1": "globex", "us-east-1": "acme"} {
		_, err := sim.Create(t.Context(), cloudsim.Creation{
			Type: cloudsim.TypeKey, Region: region, Tags: tags{"tenant-id": owner, "managed-by": "lessor"},
		})
		require.NoError(t, err)
	}

	// The fleet's own is of no tenant.
	_, err := sim.Create(t.Context(), cloudsim.Creation{Type: cloudsim.TypeKey, Region: "eu-west-1", Tags: tags{"managed-by": "lessor"}})
	require.NoError(t, err)

	cfg := aws.Config{
		Region: "us-east-1", BaseEndpoint: &server.URL, HTTPClient: &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	}
	look := inventory.Open(cfg, "eu-west-1")

	found, err := look.Find(t.Context(), "acme")
	require.NoError(t, err)
	require.Len(t, found, len(made))

	arns := make([]string, 0, len(found))
	for _, r := range found {
		arns = append(arns, r.ARN)
	}

	require.ElementsMatch(t, made, arns)

	everyone, err := look.FindAll(t.Context())
	require.NoError(t, err)
	require.Len(t, everyone, len(made)+1)

	known := make([]inventory.Known, 0, len(made))
	for _, arn := range made[1:] {
		known = append(known, inventory.Known{Type: cloudsim.TypeVPC, Outputs: map[string]any{"arn": arn}})
	}

	unknown, err := look.FindUnknown(t.Context(), "acme", known)
	require.NoError(t, err)
	require.Len(t, unknown, 1)

	id, verdict := inventory.Identify(inventory.Known{
		Type: cloudsim.TypeVPC, Inputs: map[string]any{"tags": map[string]any{"Name": "acme-t1-vpc"}},
	}, unknown)
	require.Equal(t, inventory.Exists, verdict)
	require.Equal(t, made[0], "arn:aws:ec2:eu-west-1:000000000000:vpc/"+id)
}
