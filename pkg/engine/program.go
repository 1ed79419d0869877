package engine

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Program makes one topology of a tenant's infrastructure.
type Program interface {
	// Check judges parameters before anything is started. Its error names
	// the parameter and what is allowed.
	Check(parameters tenant.Parameters) error
	// Deploy declares the resources of one topology and returns its outputs.
	// Names of resources and physical names come from topology.Name and
	// topology.PhysicalName, so that two topologies can stand side by side.
	Deploy(ctx *pulumi.Context, topology Topology) (pulumi.Map, error)
}

// Programs are the programs a worker knows, by the name that the catalog uses.
type Programs map[string]Program

// Topology is one generation of a tenant's infrastructure.
type Topology struct {
	// Generation numbers it: t1, t2, … A tier change begins a new one.
	Generation int               `json:"generation"`
	Tenant     tenant.ID         `json:"tenant"`
	Tier       string            `json:"tier"`
	Region     string            `json:"region"`
	Phase      tenant.Phase      `json:"phase"`
	Program    string            `json:"program"`
	Parameters tenant.Parameters `json:"parameters,omitempty"`
	// Network is the range that the address pool of the tier gave, in CIDR form,
	// or "".
	Network string `json:"network,omitempty"`
	// Addresses is the pool that a topology which is made gets its Network from. A
	// program has no use for it.
	Addresses *tenant.AddressPool `json:"-"`
	// RoleARN is the role that the provider assumes, "" for the worker's own.
	RoleARN string `json:"roleArn,omitempty"`
	// Protect is set once the topology stood: it guards resources that hold
	// data against deletion, in the engine and at AWS.
	Protect bool `json:"protect,omitempty"`
	// Fresh is set while nothing of the topology was made: then a program can look
	// for what has its names already, and return a *TakenError.
	Fresh bool `json:"-"`
	// FinalSnapshot is the name of the snapshot that a deletion takes, or "".
	FinalSnapshot string `json:"finalSnapshot,omitempty"`
}

// Name is the logical name of a part of the topology, unique in the stack:
// "t1-db".
func (t Topology) Name(part string) string {
	return fmt.Sprintf("t%d-%s", t.Generation, part)
}

// PhysicalName is the name at AWS of a part of the topology, at most limit
// characters of a-z, 0-9 and hyphens: "acme-t1-db". It is a function of tenant,
// topology and part alone, so that a resource can be found by its name. The
// limit must leave ten characters for the tenant.
func (t Topology) PhysicalName(part string, limit int) string {
	suffix := "-" + t.Name(part)

	return t.Tenant.Slug(limit-len(suffix)) + suffix
}
