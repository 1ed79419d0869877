package plan

// Step is one thing to do with a tenant's stack.
type Step string

// The steps, in the order in which a plan may hold them.
const (
	// StepRefresh reads the real resources into the state.
	StepRefresh Step = "refresh"
	// StepPreview reports what an up would change.
	StepPreview Step = "preview"
	// StepPrepareDelete is an up with protection off and the final snapshot
	// named, since these settings must be in the state before a destroy, or
	// before the up of a tier change, which deletes what it replaces.
	StepPrepareDelete Step = "prepare-delete"
	// StepUp makes the stack what the blueprint says.
	StepUp Step = "up"
	// StepCutover asks the data hook of a tier change. It is no step of the
	// engine, and no plan holds it: Plan.End says when it is due.
	StepCutover Step = "cutover"
	// StepDestroy deletes every resource, from the state alone.
	StepDestroy Step = "destroy"
	// StepRemove proves the state empty and removes the stack's history, unless
	// the tier retains that for some days.
	StepRemove Step = "remove"
	// StepPurge removes what StepRemove left of the stack, a day later at least.
	// It stands alone.
	StepPurge Step = "purge"
)

// Steps lists every step, in the order in which a plan may hold them.
func Steps() []Step {
	return []Step{StepRefresh, StepPreview, StepPrepareDelete, StepUp, StepDestroy, StepRemove, StepPurge}
}
