package stategate

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// action is what a request asks for.
type action int

const (
	actionGet action = iota
	actionHead
	actionPut
	actionCopy
	actionDelete
	actionList
	actionBeginUpload
	actionUploadPart
	actionFinishUpload
	actionAbortUpload
)

// request is what the CLI may ask.
type request struct {
	action action
	bucket string
	key    string
	// source is the key to copy from.
	source string

	prefix, delimiter, after string
	limit                    int
	urlEncoded               bool

	upload string
	part   int
}

const (
	// maxKey is S3's.
	maxKey = 1024
	// maxPage is S3's, and its default.
	maxPage = 1000
	// maxParts is S3's.
	maxParts = 10_000
)

var errNotUnderstood = errors.New("the state gate does not know such a request")

// parse understands the part of S3's protocol that the CLI speaks, with the
// bucket in the path. Everything else is an error: a request that is half
// understood could do harm.
func parse(method string, u *url.URL, header http.Header) (request, error) {
	path, found := strings.CutPrefix(u.Path, "/")
	if !found {
		return request{}, fmt.Errorf("%w: the path %q", errNotUnderstood, shorten(u.Path))
	}

	bucket, key, _ := strings.Cut(path, "/")
	r := request{bucket: bucket, key: key}

	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return r, fmt.Errorf("%w: the query %q", errNotUnderstood, shorten(u.RawQuery))
	}

	if err := known(query, key); err != nil {
		return r, err
	}

	if len(key) > maxKey {
		return r, fmt.Errorf("%w: a key of %d bytes", errNotUnderstood, len(key))
	}

	switch {
	case key == "" && method == http.MethodGet && query.Get("list-type") == "2":
		return list(r, query)
	case key == "":
		return r, fmt.Errorf("%w: %s on the bucket", errNotUnderstood, shorten(method))
	default:
		return object(r, method, query, header)
	}
}

// known refuses parameters that would change the meaning of a request.
func known(query url.Values, key string) error {
	for name := range query {
		switch name {
		case "x-id":
		case "list-type", "prefix", "delimiter", "max-keys", "continuation-token", "start-after", "encoding-type", "fetch-owner":
			if key != "" {
				return fmt.Errorf("%w: the parameter %q of an object", errNotUnderstood, name)
			}
		case "uploads", "uploadId", "partNumber":
			if key == "" {
				return fmt.Errorf("%w: the parameter %q of a bucket", errNotUnderstood, name)
			}
		default:
			return fmt.Errorf("%w: the parameter %q", errNotUnderstood, shorten(name))
		}
	}

	return nil
}

func list(r request, query url.Values) (request, error) {
	r.action = actionList
	r.prefix, r.delimiter = query.Get("prefix"), query.Get("delimiter")
	r.urlEncoded = query.Get("encoding-type") == "url"
	r.limit = maxPage

	// A continuation token of the gate is the last key of the page before.
	r.after = max(query.Get("continuation-token"), query.Get("start-after"))

	if text := query.Get("max-keys"); text != "" {
		limit, err := strconv.Atoi(text)
		if err != nil || limit < 1 {
			return r, fmt.Errorf("%w: max-keys=%q", errNotUnderstood, shorten(text))
		}

		r.limit = min(limit, maxPage)
	}

	return r, nil
}

func object(r request, method string, query url.Values, header http.Header) (request, error) {
	if query.Has("uploads") || query.Has("uploadId") || query.Has("partNumber") {
		return multipart(r, method, query, header)
	}

	source := header.Get("X-Amz-Copy-Source")

	switch {
	case method == http.MethodPut && source != "":
		return copied(r, source)
	case method == http.MethodPut:
		r.action = actionPut
	case method == http.MethodGet:
		r.action = actionGet
	case method == http.MethodHead:
		r.action = actionHead
	case method == http.MethodDelete:
		r.action = actionDelete
	default:
		return r, fmt.Errorf("%w: %s on an object", errNotUnderstood, shorten(method))
	}

	return r, nil
}

// multipart reads the requests of an upload in parts.
func multipart(r request, method string, query url.Values, header http.Header) (request, error) {
	r.upload = query.Get("uploadId")

	switch {
	case query.Has("uploads"):
		r.action = actionBeginUpload

		return r, expect(method, http.MethodPost)
	case query.Has("partNumber"):
		r.action = actionUploadPart

		part, err := strconv.Atoi(query.Get("partNumber"))
		if err != nil || part < 1 || part > maxParts || r.upload == "" || header.Get("X-Amz-Copy-Source") != "" {
			return r, fmt.Errorf("%w: part %q of an upload", errNotUnderstood, shorten(query.Get("partNumber")))
		}

		r.part = part

		return r, expect(method, http.MethodPut)
	case method == http.MethodDelete:
		r.action = actionAbortUpload

		return r, nil
	default:
		r.action = actionFinishUpload

		return r, expect(method, http.MethodPost)
	}
}

func expect(method, wanted string) error {
	if method != wanted {
		return fmt.Errorf("%w: %s and not %s", errNotUnderstood, shorten(method), wanted)
	}

	return nil
}

// copied reads x-amz-copy-source, which must name this bucket and no version.
func copied(r request, source string) (request, error) {
	r.action = actionCopy

	if strings.Contains(source, "?") {
		return r, fmt.Errorf("%w: a copy of a version", errNotUnderstood)
	}

	decoded, err := url.PathUnescape(source)
	if err != nil {
		return r, fmt.Errorf("%w: a copy from %q", errNotUnderstood, shorten(source))
	}

	bucket, key, found := strings.Cut(strings.TrimPrefix(decoded, "/"), "/")
	if !found || bucket != r.bucket || key == "" || len(key) > maxKey {
		return r, fmt.Errorf("%w: a copy from another bucket", errNotUnderstood)
	}

	r.source = key

	return r, nil
}

// shorten keeps what a stranger sent out of long messages.
func shorten(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most]
	}

	return s
}
