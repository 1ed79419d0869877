package programs

import (
	"regexp"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// PoolParameters are the parameters of Pool.
type PoolParameters struct {
	// SharedEndpoint is where the pool's database listens: host or host:port.
	SharedEndpoint string `json:"sharedEndpoint" required:"true"`
	// SchemaPrefix is what the names of the tenants' schemas begin with.
	SchemaPrefix string `form:"schemaPrefix" json:"schemaPrefix"`
}

// Outputs that tell the API layer how to route to a tenant, of every program.
const (
	// OutputIsolation is pool, bridge or silo, or shared for what others share.
	OutputIsolation = "isolation"
	// OutputServing is false for a tenant that is suspended.
	OutputServing = "serving"
	OutputRegion  = "region"
)

// Outputs of Pool.
const (
	OutputSharedSchema   = "sharedClusterSchema"
	OutputSharedEndpoint = "sharedEndpoint"
)

var endpointForm = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:\d{1,5})?$`)

// Pool is the program for tenants that share everything. It makes no resource,
// so that a sign-up takes a second and no provider is started: the tenant is a
// schema of the shared database, and the outputs say which. The application
// creates the schema on first use and refuses a tenant that is not serving.
func Pool() engine.Program {
	return program[PoolParameters]{
		defaults: func() PoolParameters { return PoolParameters{SchemaPrefix: "tenant_"} }, validate: checkPool, deploy: deployPool,
		summary: "Everything shared: the tenant is a schema of the shared database. Nothing is made, so a sign-up takes a second.",
		outputs: routing(
			Output{OutputSharedSchema, "The tenant's schema in the shared database."},
			Output{OutputSharedEndpoint, "Where the shared database listens."},
		),
	}
}

func checkPool(p PoolParameters) error {
	if p.SharedEndpoint != "" && !endpointForm.MatchString(p.SharedEndpoint) {
		return problem("sharedEndpoint", "%q is neither host nor host:port", p.SharedEndpoint)
	}

	return nil
}

func deployPool(_ *pulumi.Context, topology engine.Topology, p PoolParameters) (pulumi.Map, error) {
	// A slug has no underscore, so that two slugs never give one schema.
	slug := topology.Tenant.Slug(maxSchemaName - len(p.SchemaPrefix))
	schema := p.SchemaPrefix + strings.ReplaceAll(slug, "-", "_")

	return pulumi.Map{
		OutputIsolation:      pulumi.String(NamePool),
		OutputServing:        pulumi.Bool(serving(topology)),
		OutputRegion:         pulumi.String(topology.Region),
		OutputSharedSchema:   pulumi.String(schema),
		OutputSharedEndpoint: pulumi.String(p.SharedEndpoint),
	}, nil
}

func serving(topology engine.Topology) bool { return topology.Phase != tenant.PhaseSuspended }
