package localaws

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// The emulator lists deleted objects of a bucket with versioning, and answers a
// HEAD of one as if it were there: a delete marker is an object without an ETag.
// AWS does neither. Pulumi would take each lock for one that is held, and the
// state of a tenant that is gone for one that exists.
//
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/DeleteMarker.html
const (
	listingRoot  = "<ListBucketResult"
	entryBegin   = "<Contents>"
	entryEnd     = "</Contents>"
	emptyETag    = "<ETag></ETag>"
	keyCountText = "<KeyCount>%d</KeyCount>"
)

// hideDeleteMarkers corrects answers on their way from the emulator. Most pass
// as they are.
func hideDeleteMarkers(res *http.Response) error {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(res.Request.URL.Path, "/"), "/")
	if res.StatusCode != http.StatusOK || bucket == "" {
		return nil
	}

	switch {
	case res.Request.Method == http.MethodHead && key != "" && res.Header.Get("ETag") == "":
		res.StatusCode = http.StatusNotFound
		res.Status = http.StatusText(http.StatusNotFound)
		res.Header.Set("X-Amz-Delete-Marker", "true")
		res.Header.Del("Content-Length")
	case res.Request.Method == http.MethodGet && key == "":
		return correctListing(res)
	}

	return nil
}

func correctListing(res *http.Response) error {
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("reading a listing: %w", err)
	}

	if err := res.Body.Close(); err != nil {
		return fmt.Errorf("reading a listing: %w", err)
	}

	if bytes.Contains(body, []byte(listingRoot)) {
		body = dropMarkers(body)
	}

	res.Body = io.NopCloser(bytes.NewReader(body))
	res.ContentLength = int64(len(body))
	res.Header.Set("Content-Length", strconv.Itoa(len(body)))

	return nil
}

func dropMarkers(listing []byte) []byte {
	var (
		kept          bytes.Buffer
		total, marked int
	)

	for {
		before, rest, found := bytes.Cut(listing, []byte(entryBegin))
		kept.Write(before)

		if !found {
			break
		}

		entry, after, _ := bytes.Cut(rest, []byte(entryEnd))
		total++

		if bytes.Contains(entry, []byte(emptyETag)) {
			marked++
		} else {
			kept.WriteString(entryBegin)
			kept.Write(entry)
			kept.WriteString(entryEnd)
		}

		listing = after
	}

	return bytes.Replace(kept.Bytes(), fmt.Appendf(nil, keyCountText, total), fmt.Appendf(nil, keyCountText, total-marked), 1)
}
