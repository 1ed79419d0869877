package cloudsim

import (
	"errors"
	"fmt"
	"net/http"
)

// Error is a refusal in AWS's words.
type Error struct {
	Status  int    `json:"status"`
	Code    string `json:"code"`
	Message string `json:"message"`
	// Modeled is set where AWS's API model has a type for the error. The SDK
	// prints such an error without the words "api error".
	Modeled bool `json:"modeled,omitempty"`
	// RequestID identifies the refused request.
	RequestID string `json:"requestId,omitempty"`
}

// Error prints the error as the AWS SDK for Go does.
func (e *Error) Error() string {
	if e.Modeled {
		return e.Code + ": " + e.Message
	}

	return "api error " + e.Code + ": " + e.Message
}

// Codes that are the simulator's own. CodeCrash tells the provider plugin that
// the script wants it to die now.
const (
	CodeCrash       = "ScriptedCrash"
	CodeUnknownType = "UnknownType"
	CodeNotFound    = "ResourceNotFound"
	codeBadRequest  = "BadRequest"
	codeThrottled   = "RequestLimitExceeded"
)

// IsNotFound reports whether err says that the resource does not exist,
// whatever the service calls that.
func IsNotFound(err error) bool {
	var refused *Error

	return errors.As(err, &refused) && refused.Status == http.StatusNotFound
}

// errNoSimulator is what a server answers that is something else.
var errNoSimulator = errors.New("is this the endpoint of local mode?")

func badRequest(code, format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Code: code, Message: fmt.Sprintf(format, args...)}
}

func notFound(code, format string, args ...any) *Error {
	return &Error{Status: http.StatusNotFound, Code: code, Message: fmt.Sprintf(format, args...)}
}

func (e *Error) modeled() *Error {
	e.Modeled = true

	return e
}
