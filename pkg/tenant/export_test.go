package tenant

// MaxConfirmations is how many confirmations Desired keeps.
const MaxConfirmations = maxConfirmations
