package catalog_test

import (
	"testing"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// What every plan asks: the tier's blueprint, and the program's opinion of its
// parameters.
func BenchmarkResolve(b *testing.B) {
	c := load(b)

	for _, tier := range c.Tiers() {
		b.Run(tier, func(b *testing.B) {
			spec := tenant.Spec{Tier: tier, Region: "eu-central-1"}

			b.ReportAllocs()

			for b.Loop() {
				if _, err := c.Resolve(spec); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
