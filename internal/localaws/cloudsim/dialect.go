package cloudsim

import (
	"encoding/json"
	"net/http"
)

// dialect is how answers are written.
type dialect struct {
	contentType string
	// refusal is the status and the body of an error.
	refusal func(err *Error) (int, any)
}

// ownJSON is what Client speaks, amazonJSON what AWS's SDKs do.
// https://smithy.io/2.0/aws/protocols/aws-json-1_1-protocol.html
var (
	ownJSON = dialect{"application/json", func(err *Error) (int, any) { return err.Status, err }} //nolint:gochecknoglobals // a constant

	amazonJSON = dialect{"application/x-amz-json-1.1", amazonRefusal} //nolint:gochecknoglobals // a constant
)

func amazonRefusal(err *Error) (status int, body any) {
	code := err.Code
	// This API has a name of its own for it.
	if code == codeThrottled {
		code = "ThrottledException"
	}

	return err.Status, map[string]string{"__type": code, "message": err.Message}
}

func (d dialect) answer(w http.ResponseWriter, work func(fault string) (any, *Error)) {
	body, err := work("")
	if err != nil {
		d.refuse(w, err)

		return
	}

	d.write(w, http.StatusOK, body)
}

func (d dialect) refuse(w http.ResponseWriter, err *Error) {
	refusal := *err
	refusal.RequestID = newUUID()

	w.Header().Set("X-Amzn-Requestid", refusal.RequestID)

	status, body := d.refusal(&refusal)
	d.write(w, status, body)
}

func (d dialect) write(w http.ResponseWriter, status int, body any) {
	raw, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)

		return
	}

	w.Header().Set("Content-Type", d.contentType)
	w.WriteHeader(status)

	_, _ = w.Write(raw) // a caller that went away needs no answer
}
