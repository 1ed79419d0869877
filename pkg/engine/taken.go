package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
)

// TakenError says that AWS has a resource of the name that one of a new topology is
// to have. A Deploy that returns it makes nothing, and touches nothing of others.
type TakenError struct {
	// What is the kind of resource, such as "RDS instance".
	What string
	Name string
}

// Error names the resource.
func (e *TakenError) Error() string {
	return fmt.Sprintf("there is a %s named %s already, which is not in the tenant's state", e.What, e.Name)
}

// hintTaken is the fix of a TakenError.
const hintTaken = "nothing was made and that one was not touched: `enqueue orphans <tenant>` tells whether it is the tenant's; " +
	"delete or rename it, then `enqueue reprovision <tenant>`"

// fresh reports whether the state has nothing of a topology yet, which is when its
// names may be somebody else's. Where the state is not known it has.
func (j *job) fresh(t Topology) bool {
	if j.gate == nil {
		return false
	}

	return !slices.ContainsFunc(j.gate.State().Resources, func(r checkpoint.Resource) bool {
		name := r.URN[strings.LastIndex(r.URN, "::")+len("::"):]

		return r.Cloud() && strings.HasPrefix(name, t.Name(""))
	})
}
