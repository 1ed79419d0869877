package plan

import (
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Due is when a tenant that is settled has work by the clock, zero if it has
// none.
func Due(change *tenant.Change) time.Time {
	if change == nil || change.Stage != tenant.StageBaking {
		return time.Time{}
	}

	return change.Until
}
