package registry_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/registry/registrytest"
)

// BenchmarkAccept is on the fake table, so that it measures our own part.
func BenchmarkAccept(b *testing.B) {
	open := func(b *testing.B) *registry.Registry {
		b.Helper()

		r := registry.New(registrytest.New("tenants"), registry.Config{Table: "tenants"}, start)
		_, _, err := r.Accept(b.Context(), created())
		require.NoError(b, err)

		return r
	}

	b.Run("duplicate", func(b *testing.B) {
		r, e := open(b), created()

		b.ReportAllocs()

		for b.Loop() {
			if _, changed, err := r.Accept(b.Context(), e); err != nil || changed {
				b.Fatal(err)
			}
		}
	})

	b.Run("changing", func(b *testing.B) {
		r, e := open(b), updated(2, `"large"`)

		b.ReportAllocs()

		for b.Loop() {
			e.Version.N++
			if _, changed, err := r.Accept(b.Context(), e); err != nil || !changed {
				b.Fatal(err)
			}
		}
	})
}
