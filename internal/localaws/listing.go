package localaws

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// The emulator lists deleted objects of a bucket with versioning: a delete
// marker is an entry without an ETag. AWS does not, and Pulumi takes each lock
// that it finds for one that is held.
//
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/DeleteMarker.html
const (
	listingRoot  = "<ListBucketResult"
	entryBegin   = "<Contents>"
	entryEnd     = "</Contents>"
	emptyETag    = "<ETag></ETag>"
	keyCountText = "<KeyCount>%d</KeyCount>"
)

// withoutDeleteMarkers corrects a listing on its way from the emulator. Other
// answers pass as they are.
func withoutDeleteMarkers(res *http.Response) error {
	if res.StatusCode != http.StatusOK || res.Request.Method != http.MethodGet || !isListing(res.Request) {
		return nil
	}

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

// isListing reports whether the request may be one for a bucket's objects: a
// bucket alone in the path.
func isListing(r *http.Request) bool {
	bucket, key, _ := bytes.Cut([]byte(r.URL.Path)[min(1, len(r.URL.Path)):], []byte("/"))

	return len(bucket) > 0 && len(key) == 0
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
