package tenant_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// The tier change arrives first and the creation twice, as SQS may deliver
// them. The desired state is what upstream meant.
func ExampleApply() {
	noon := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

	created := tenant.Event{
		ID: "1", Source: "//signup", Type: tenant.EventCreated, Tenant: "acme",
		Version: tenant.TimeVersion(noon, "1", "//signup"),
		Tier:    "free", Region: "eu-west-1",
		Parameters: tenant.Parameters{"seats": json.RawMessage("5")},
	}
	upgraded := tenant.Event{
		ID: "2", Source: "//billing", Type: tenant.EventTierChanged, Tenant: "acme",
		Version: tenant.TimeVersion(noon.Add(time.Minute), "2", "//billing"),
		Tier:    "enterprise",
	}

	var desired tenant.Desired

	for _, e := range []tenant.Event{upgraded, created, created} {
		var changed bool

		desired, changed = tenant.Apply(desired, e)
		fmt.Println(e.Type, changed)
	}

	spec := desired.Spec()
	fmt.Println(spec.Phase, spec.Tier, spec.Region, string(spec.Parameters["seats"]))
	// Output:
	// tier-changed true
	// created true
	// created false
	// active enterprise eu-west-1 5
}

func ExampleID_Slug() {
	const limit = 32

	fmt.Println(tenant.ID("acme").Slug(limit))
	fmt.Println(tenant.ID("Acme.EU").Slug(limit))
	// Output:
	// acme
	// acme-eu-5874855e
}
