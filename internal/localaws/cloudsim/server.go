package cloudsim

import (
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// PathPrefix is where Handler is mounted beside the emulator.
const PathPrefix = "/_cloud"

const (
	maxBody   = 1 << 20
	maxTags   = 50
	tagQuery  = "tag."
	textQuery = "text."
)

// Handler serves the simulator under PathPrefix:
//
//	POST   /_cloud/resources          Creation ▶ Resource
//	PUT    /_cloud/resources          Change ▶ Resource
//	DELETE /_cloud/resources          Removal
//	GET    /_cloud/resource?type=…&region=…&id=…
//	GET    /_cloud/resources?type=…&region=…&tag.NAME=VALUE&text.NAME=VALUE&pendingDeletion=true
//	GET    /_cloud/log?after=SEQUENCE
//	GET    /_cloud/journal?tenant=…
//	POST, GET, DELETE /_cloud/faults[?id=…]
//
// and, at /, GetResources of the Resource Groups Tagging API as AWS's SDKs ask
// for it with AWS JSON 1.1. It answers this machine only.
func (c *Cloud) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+PathPrefix+"/resources", c.serveCreate)
	mux.HandleFunc("PUT "+PathPrefix+"/resources", c.serveChange)
	mux.HandleFunc("DELETE "+PathPrefix+"/resources", c.serveRemove)
	mux.HandleFunc("GET "+PathPrefix+"/resource", c.serveGet)
	mux.HandleFunc("GET "+PathPrefix+"/resources", c.serveList)
	mux.HandleFunc("GET "+PathPrefix+"/log", c.serveLog)
	mux.HandleFunc("GET "+PathPrefix+"/journal", c.serveJournal)
	mux.HandleFunc("POST "+PathPrefix+"/faults", c.serveSetFault)
	mux.HandleFunc("GET "+PathPrefix+"/faults", c.serveFaults)
	mux.HandleFunc("DELETE "+PathPrefix+"/faults", c.serveClearFaults)

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		ip := net.ParseIP(host)

		if err != nil || ip == nil || !ip.IsLoopback() {
			http.Error(w, "the cloud simulator answers this machine only", http.StatusForbidden)

			return
		}

		r.Body = http.MaxBytesReader(w, r.Body, maxBody)

		if strings.HasPrefix(r.Header.Get(targetHeader), TaggingTarget) {
			c.serveTagging(w, r)

			return
		}

		mux.ServeHTTP(w, r)
	})
}

func (c *Cloud) serveCreate(w http.ResponseWriter, r *http.Request) {
	var req Creation
	if !readJSON(w, r, &req) {
		return
	}

	if len(req.Tags) > maxTags {
		writeError(w, badRequest("TooManyTagsException", "a resource has at most %d tags", maxTags))

		return
	}

	subject, when := &Resource{Type: req.Type, Region: req.Region, Tags: req.Tags}, anytime
	if req.Claim {
		when = beforeTheFact
	}

	c.serve(w, r, OperationCreate, subject, when, func(fault string) (any, *Error) {
		return c.create(req, fault)
	})
}

func (c *Cloud) serveChange(w http.ResponseWriter, r *http.Request) {
	var req Change
	if !readJSON(w, r, &req) {
		return
	}

	work := func(fault string) (any, *Error) { return c.change(req, fault) }

	if req.Behind {
		answer(w, work)

		return
	}

	op, when := OperationUpdate, anytime
	if req.Completes {
		op, when = OperationCreate, afterTheFact
	}

	c.serve(w, r, op, &Resource{Type: req.Type, Region: req.Region, ID: req.ID}, when, work)
}

func (c *Cloud) serveRemove(w http.ResponseWriter, r *http.Request) {
	var req Removal
	if !readJSON(w, r, &req) {
		return
	}

	work := func(fault string) (any, *Error) { return struct{}{}, c.remove(req, fault) }

	if req.Behind {
		answer(w, work)

		return
	}

	c.serve(w, r, OperationDelete, &Resource{Type: req.Type, Region: req.Region, ID: req.ID}, anytime, work)
}

func (c *Cloud) serveGet(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	subject := &Resource{Type: q.Get("type"), Region: q.Get("region"), ID: q.Get("id")}
	c.serve(w, r, OperationRead, subject, anytime, func(string) (any, *Error) {
		return c.get(subject.Type, subject.Region, subject.ID)
	})
}

// serve does the work as the script of faults allows.
func (c *Cloud) serve(
	w http.ResponseWriter, r *http.Request, op Operation, subject *Resource, when moment, work func(fault string) (any, *Error),
) {
	c.serveIn(ownJSON, w, r, op, subject, when, work)
}

func (c *Cloud) serveIn(
	d dialect, w http.ResponseWriter, r *http.Request, op Operation, subject *Resource, when moment,
	work func(fault string) (any, *Error),
) {
	fault := c.strike(op, subject.Type, subject.Region, subject.ID, subject.Tenant(), when)
	if fault == nil {
		d.answer(w, work)

		return
	}

	if !fault.afterwards() {
		if !c.wait(r, fault) {
			abort(w)

			return
		}

		if err := fault.refusal(); err != nil {
			if op.mutates() {
				c.refuse(op, subject, err, fault.ID)
			}

			d.refuse(w, err)

			return
		}

		d.answer(w, work)

		return
	}

	body, err := work(fault.ID)
	if err != nil {
		d.refuse(w, err)

		return
	}

	if fault.Effect == EffectDrop || !c.wait(r, fault) {
		abort(w)

		return
	}

	if err := fault.refusal(); err != nil {
		d.refuse(w, err)

		return
	}

	d.write(w, http.StatusOK, body)
}

func (c *Cloud) serveList(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	filter := Filter{Type: q.Get("type"), Region: q.Get("region"), PendingDeletion: q.Get("pendingDeletion") == "true"}

	for name := range q {
		if tag, ok := strings.CutPrefix(name, tagQuery); ok {
			if filter.Tags == nil {
				filter.Tags = map[string]string{}
			}

			filter.Tags[tag] = q.Get(name)
		}

		if text, ok := strings.CutPrefix(name, textQuery); ok {
			if filter.Texts == nil {
				filter.Texts = map[string]string{}
			}

			filter.Texts[text] = q.Get(name)
		}
	}

	writeJSON(w, http.StatusOK, c.list(filter))
}

func (c *Cloud) serveLog(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
	if err != nil && r.URL.Query().Has("after") {
		writeError(w, badRequest(codeBadRequest, "after is the sequence of a log entry"))

		return
	}

	c.mu.Lock()
	entries := c.log.after(after)
	c.mu.Unlock()

	writeJSON(w, http.StatusOK, entries)
}

func (c *Cloud) serveJournal(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, c.history(r.URL.Query().Get("tenant")))
}

func (c *Cloud) serveSetFault(w http.ResponseWriter, r *http.Request) {
	var f Fault
	if !readJSON(w, r, &f) {
		return
	}

	c.mu.Lock()
	set, err := c.script.add(f)
	c.mu.Unlock()

	if err != nil {
		writeError(w, badRequest(codeBadRequest, "%v", err))

		return
	}

	writeJSON(w, http.StatusCreated, set)
}

func (c *Cloud) serveFaults(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	list := c.script.list()
	c.mu.Unlock()

	writeJSON(w, http.StatusOK, list)
}

func (c *Cloud) serveClearFaults(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.script.clear(r.URL.Query().Get("id"))
	c.mu.Unlock()

	writeJSON(w, http.StatusOK, struct{}{})
}

// abort cuts the connection. net/http documents the panic for this purpose.
func abort(http.ResponseWriter) { panic(http.ErrAbortHandler) }

func answer(w http.ResponseWriter, work func(fault string) (any, *Error)) { ownJSON.answer(w, work) }

func readJSON(w http.ResponseWriter, r *http.Request, into any) bool {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()

	if err := decoder.Decode(into); err != nil {
		writeError(w, badRequest(codeBadRequest, "the body is not what it should be: %v", err))

		return false
	}

	return true
}

func writeError(w http.ResponseWriter, err *Error) { ownJSON.refuse(w, err) }

func writeJSON(w http.ResponseWriter, status int, body any) { ownJSON.write(w, status, body) }
