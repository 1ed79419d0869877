package tenant

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// ChangeStage is how far a tier change is.
type ChangeStage string

// The stages of a tier change.
const (
	// StageBuilding: the new topology is being made beside the one that serves.
	StageBuilding ChangeStage = "building"
	// StageCutover: it stands, and the data hook was asked to fill it.
	StageCutover ChangeStage = "cutover"
	// StageBaking: it serves, and what it replaced still stands.
	StageBaking ChangeStage = "baking"
	// StageRetiring: what it replaced is being removed. There is no way back.
	StageRetiring ChangeStage = "retiring"
)

// Change is a tier change that is under way: the topology beside the one that
// serves, which Record.Applied is.
type Change struct {
	// ID names the change to the hook. Retries keep it.
	ID    string      `json:"id"`
	Stage ChangeStage `json:"stage"`
	// Other is the new topology while it is built and filled, and the old one
	// once the new one serves.
	Other Applied `json:"other"`
	// Stood is set while the tenant goes back to what it left and what still
	// stands.
	Stood bool `json:"stood,omitempty"`
	// Guarded is set where Other must be prepared before it can be removed.
	Guarded bool `json:"guarded,omitempty"`
	// Outputs are those of the new topology, from StageCutover on until it serves.
	Outputs map[string]json.RawMessage `json:"outputs,omitempty"`
	// Tokens are the SHA-256, in hex, of what was sent to the hook.
	Tokens []string `json:"tokens,omitempty"`
	// Asked reports that the hook took the request.
	Asked bool `json:"asked,omitempty"`
	// Deadline ends the waiting for the hook.
	Deadline time.Time `json:"deadline,omitzero"`
	// Until is when the old topology may be removed.
	Until time.Time `json:"until,omitzero"`
}

// TokenDigest is the SHA-256 of a hook's token, in hex.
func TokenDigest(token string) string {
	sum := sha256.Sum256([]byte(token))

	return hex.EncodeToString(sum[:])
}

// Hook is who moves a tenant's data during a tier change. One of URL and Queue is
// set.
type Hook struct {
	// URL takes a POST.
	URL string `json:"url,omitempty"`
	// Queue is the URL of an SQS queue.
	Queue string `json:"queueUrl,omitempty"`
	// Timeout is how long the confirmation may take.
	Timeout time.Duration `json:"timeoutNanos,omitempty"`
}

// Guard bounds what an update may do without approval. A nil bound is none.
type Guard struct {
	MaxDeletes  *int `json:"maxDeletes,omitempty"`
	MaxReplaces *int `json:"maxReplaces,omitempty"`
	// ProtectedTypes are Pulumi types of which nothing is deleted or replaced.
	ProtectedTypes []string `json:"protectedTypes,omitempty"`
}

// Pending is an operation that waits for approval.
type Pending struct {
	Operation string `json:"operation"`
	Sequence  int64  `json:"sequence"`
	// Digest is of what exceeds the guard. An approval holds for that alone.
	Digest string       `json:"digest"`
	Report []Difference `json:"report,omitempty"`
	At     time.Time    `json:"at"`
	// Disturbed is set where the stack was not what Record.Applied says even
	// before: the operation itself changed nothing.
	Disturbed bool `json:"disturbed,omitempty"`
}
