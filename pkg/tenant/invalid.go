package tenant

// InvalidError says that the desired state as a whole makes no sense: for the
// catalog, or for what the tenant is now. Only a new event or a new catalog
// can make it right.
type InvalidError struct {
	// Field is what is wrong: tier, region, parameters.<name>, acceptDataLoss.
	Field   string
	Message string
	// Hint is what to do about it.
	Hint string
}

// Error says what is wrong, and leaves the hint to Advice.
func (e *InvalidError) Error() string { return e.Field + ": " + e.Message }

// Advice says how to make it right.
func (e *InvalidError) Advice() string { return e.Hint }
