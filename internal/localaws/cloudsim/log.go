package cloudsim

import "time"

// Operation is what was asked of a resource.
type Operation string

// The operations. Read and List appear in faults only, the log holds mutations.
// List is a search by tag, which is of no type.
const (
	OperationCreate Operation = "create"
	OperationRead   Operation = "read"
	OperationUpdate Operation = "update"
	OperationDelete Operation = "delete"
	OperationList   Operation = "list"
)

func (o Operation) mutates() bool { return o != OperationRead && o != OperationList }

// Entry is one line of the log: a mutation that was made or refused.
type Entry struct {
	Sequence  int64             `json:"sequence"`
	Time      time.Time         `json:"time"`
	Operation Operation         `json:"operation"`
	Type      string            `json:"type"`
	ID        string            `json:"id,omitempty"`
	Region    string            `json:"region,omitempty"`
	Tenant    string            `json:"tenant,omitempty"`
	Tags      map[string]string `json:"tags,omitempty"`
	// Code is the error code of a refusal, "" for a mutation that happened.
	Code string `json:"code,omitempty"`
	// Fault is the id of the scripted fault that struck, if one did.
	Fault string `json:"fault,omitempty"`
	// Behind marks changes that a test made behind the engine's back.
	Behind bool `json:"behind,omitempty"`
}
