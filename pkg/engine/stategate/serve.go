package stategate

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const readHeaderTimeout = 10 * time.Second

// serve starts to answer on a loopback port.
func (g *Gate) serve(ctx context.Context) error {
	var lc net.ListenConfig

	listener, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("opening the state gate: %w", err)
	}

	// The token is the name of the bucket, which S3 wants in lower case.
	g.token = "op-" + strings.ToLower(rand.Text())
	g.listener = listener
	g.server = &http.Server{
		Handler:           http.HandlerFunc(g.answer),
		ReadHeaderTimeout: readHeaderTimeout,
		// A CLI that is killed in the middle of a request is no news.
		ErrorLog:    log.New(io.Discard, "", 0),
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	g.served = make(chan struct{})

	go func() {
		defer close(g.served)

		// It ends with the gate; any other end shows as requests that fail.
		_ = g.server.Serve(listener)
	}()

	return nil
}

// URL is the backend's URL for the CLI. It holds no credentials but the name of
// the bucket.
func (g *Gate) URL() string {
	query := url.Values{
		"region":                       {"us-east-1"},
		"anonymous":                    {"true"},
		"endpoint":                     {"http://" + g.listener.Addr().String()},
		"use_path_style":               {"true"},
		"disable_https":                {"true"},
		"response_checksum_validation": {"when_required"},
	}
	u := url.URL{Scheme: "s3", Host: g.token, RawQuery: query.Encode()}

	return u.String()
}

// answer is the handler of every request.
func (g *Gate) answer(w http.ResponseWriter, r *http.Request) {
	defer g.cfg.Busy()()

	parsed, err := parse(r.Method, r.URL, r.Header)

	if subtle.ConstantTimeCompare([]byte(parsed.bucket), []byte(g.token)) != 1 {
		// Not even the error tells a stranger anything.
		g.local.complainf("refused a request without the operation's bucket name")
		respondError(w, r, http.StatusForbidden, codeAccessDenied)

		return
	}

	if err != nil {
		g.local.complainf("refused: %v", err)
		respondError(w, r, http.StatusNotImplemented, "NotImplemented")

		return
	}

	switch parsed.action {
	case actionList:
		g.list(w, parsed)
	case actionGet, actionHead:
		g.read(w, r, parsed)
	case actionPut:
		if body, ok := g.receive(w, r); ok {
			g.write(w, r, parsed.key, body)
		}
	case actionCopy:
		g.copy(w, r, parsed)
	case actionDelete:
		g.remove(w, r, parsed)
	case actionBeginUpload, actionUploadPart, actionFinishUpload, actionAbortUpload:
		g.multipart(w, r, parsed)
	}
}

// receive reads a body within the limit.
func (g *Gate) receive(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	var body bytes.Buffer

	// Room for all of it, and for the read that finds its end.
	body.Grow(int(min(max(r.ContentLength, 0), MaxObject)) + bytes.MinRead)

	_, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, MaxObject))
	if err == nil {
		return body.Bytes(), true
	}

	_, ok := errors.AsType[*http.MaxBytesError](err)
	if ok {
		g.local.complainf("refused a body of more than %d bytes", MaxObject)
		respondError(w, r, http.StatusBadRequest, "EntityTooLarge")
	}

	if !ok {
		// Half a body is no body.
		panic(http.ErrAbortHandler)
	}

	return nil, false
}

// lookup finds what the CLI sees under a key.
func (g *Gate) lookup(key string) (localObject, bool) {
	if g.keys.classify(key) != classCheckpoint {
		return g.local.get(key)
	}

	g.mu.Lock()
	defer g.mu.Unlock()

	return localObject{body: g.body}, g.exists()
}

func (g *Gate) read(w http.ResponseWriter, r *http.Request, parsed request) {
	if g.foreign(w, r, parsed.key) {
		return
	}

	if parsed.key == g.keys.meta {
		// The bucket has it: Open sees to that.
		respondObject(w, r, localObject{body: []byte(metaContent)})

		return
	}

	found, ok := g.lookup(parsed.key)
	if !ok {
		respondError(w, r, http.StatusNotFound, "NoSuchKey")

		return
	}

	respondObject(w, r, found)
}

// foreign refuses keys that are not this stack's.
func (g *Gate) foreign(w http.ResponseWriter, r *http.Request, key string) bool {
	if g.keys.classify(key) != classForeign {
		return false
	}

	g.local.complainf("refused: %s of %q, which is not of this stack", r.Method, shorten(key))
	respondError(w, r, http.StatusForbidden, codeAccessDenied)

	return true
}

// write takes a whole object.
func (g *Gate) write(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	switch g.keys.classify(key) {
	case classForeign:
		g.foreign(w, r, key)

		return
	case classCheckpoint:
		// The request's own context ends with the CLI, the write must not: its
		// answer says whether it landed.
		if err := g.save(context.WithoutCancel(r.Context()), body); err != nil {
			g.hang(r)
		}
	case classHistory:
		g.keep(r, key, body)
	case classLocal:
		if !g.local.put(key, body) {
			g.local.complainf("refused: no room for %q", shorten(key))
			respondError(w, r, http.StatusBadRequest, "EntityTooLarge")

			return
		}
	}

	w.Header().Set("ETag", etagOf(body))
	w.WriteHeader(http.StatusOK)
}

// hang leaves a request without an answer until the CLI is killed. A refusal
// would be tried again for half a minute, and the CLI ends with success if the
// last of its writes is refused.
func (g *Gate) hang(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-g.done:
	}

	// A handler that returns has answered with 200.
	panic(http.ErrAbortHandler)
}

// historyBound is how long an entry of the history may take. It is no state:
// what was done counts even if nobody can read about it.
const historyBound = 15 * time.Second

// keep writes an entry of the history while the CLI, which does not look at it
// again, comes to its end. Close and Remove wait for it.
func (g *Gate) keep(r *http.Request, key string, body []byte) {
	left := g.cfg.Left()
	if left <= 0 {
		return
	}

	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), min(left, historyBound))
	stamp := Stamp{Fence: g.cfg.Fence, Operation: g.cfg.Operation}

	g.kept.Go(func() {
		defer cancel()

		if _, err := g.store.Put(ctx, key, body, stamp, Condition{}); err != nil {
			g.local.complainf("an entry of the history was not written: %v", err)
		}
	})
}

// copy makes backups, which share the bytes of what they copy.
func (g *Gate) copy(w http.ResponseWriter, r *http.Request, parsed request) {
	if g.foreign(w, r, parsed.source) || g.foreign(w, r, parsed.key) {
		return
	}

	if g.keys.classify(parsed.key) != classLocal {
		g.local.complainf("refused: a copy to %q", shorten(parsed.key))
		respondError(w, r, http.StatusForbidden, codeAccessDenied)

		return
	}

	found, ok := g.lookup(parsed.source)
	if !ok {
		respondError(w, r, http.StatusNotFound, "NoSuchKey")

		return
	}

	if !g.local.put(parsed.key, found.body) {
		respondError(w, r, http.StatusBadRequest, "EntityTooLarge")

		return
	}

	respondXML(w, copyResult{ETag: etagOf(found.body), LastModified: timestamp(time.Now())})
}

func (g *Gate) remove(w http.ResponseWriter, r *http.Request, parsed request) {
	if g.foreign(w, r, parsed.key) {
		return
	}

	if g.keys.classify(parsed.key) != classLocal {
		// A checkpoint is never removed, and history by nobody but Remove.
		g.local.complainf("refused: the removal of %q", shorten(parsed.key))
		respondError(w, r, http.StatusForbidden, codeAccessDenied)

		return
	}

	g.local.drop(parsed.key)
	w.WriteHeader(http.StatusNoContent)
}

// multipart gathers the parts of a large object into one write.
func (g *Gate) multipart(w http.ResponseWriter, r *http.Request, parsed request) {
	if g.foreign(w, r, parsed.key) {
		return
	}

	switch parsed.action {
	case actionBeginUpload:
		id := rand.Text()
		if !g.local.begin(id, parsed.key) {
			respondError(w, r, http.StatusServiceUnavailable, "SlowDown")

			return
		}

		respondXML(w, uploadResult{Bucket: g.token, Key: parsed.key, UploadID: id})
	case actionUploadPart:
		body, ok := g.receive(w, r)
		if !ok {
			return
		}

		if !g.local.part(parsed.upload, parsed.key, parsed.part, body) {
			respondError(w, r, http.StatusBadRequest, "EntityTooLarge")

			return
		}

		w.Header().Set("ETag", etagOf(body))
		w.WriteHeader(http.StatusOK)
	case actionFinishUpload:
		g.finish(w, r, parsed)
	default:
		g.local.abort(parsed.upload)
		w.WriteHeader(http.StatusNoContent)
	}
}

func (g *Gate) finish(w http.ResponseWriter, r *http.Request, parsed request) {
	body, ok := g.local.finish(parsed.upload, parsed.key)
	if !ok {
		respondError(w, r, http.StatusNotFound, "NoSuchUpload")

		return
	}

	switch g.keys.classify(parsed.key) {
	case classCheckpoint:
		if err := g.save(context.WithoutCancel(r.Context()), body); err != nil {
			g.hang(r)
		}
	case classHistory:
		g.keep(r, parsed.key, body)
	case classLocal, classForeign:
		if !g.local.put(parsed.key, body) {
			respondError(w, r, http.StatusBadRequest, "EntityTooLarge")

			return
		}
	}

	respondXML(w, finishResult{Bucket: g.token, Key: parsed.key, ETag: etagOf(body)})
}
