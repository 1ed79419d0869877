package catalog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/catalog"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func BenchmarkResolve(b *testing.B) {
	c, err := catalog.Parse([]byte(valid), programs(), []string{"eu-central-1", "us-east-1"})
	require.NoError(b, err)

	own := tenant.Parameters{"size": []byte(`5`), "labels": []byte(`{"team":"edge"}`)}

	for _, bench := range []struct {
		name    string
		spec    tenant.Spec
		refused bool
	}{
		{"plain", tenant.Spec{Tier: "free", Region: "eu-central-1"}, false},
		{"parameters", tenant.Spec{Tier: "enterprise", Region: "eu-central-1", Parameters: own}, false},
		{"refused/tier", tenant.Spec{Tier: "premium", Region: "eu-central-1"}, true},
		{"refused/parameter", tenant.Spec{Tier: "free", Region: "us-east-1", Parameters: tenant.Parameters{"size": []byte(`12`)}}, true},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()

			for b.Loop() {
				if _, err := c.Resolve(bench.spec); (err != nil) != bench.refused {
					b.Fatal(err)
				}
			}
		})
	}
}
