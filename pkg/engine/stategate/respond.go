package stategate

import (
	"encoding/xml"
	"fmt"
	"hash/maphash"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const codeAccessDenied = "AccessDenied"

// metaContent is what the CLI writes into a new backend.
const metaContent = "version: 1\n"

type errorResult struct {
	XMLName xml.Name `xml:"Error"`
	Code    string   `xml:"Code"`
	Message string   `xml:"Message"`
}

type copyResult struct {
	XMLName      xml.Name `xml:"CopyObjectResult"`
	ETag         string   `xml:"ETag"`
	LastModified string   `xml:"LastModified"`
}

type uploadResult struct {
	XMLName  xml.Name `xml:"InitiateMultipartUploadResult"`
	Bucket   string   `xml:"Bucket"`
	Key      string   `xml:"Key"`
	UploadID string   `xml:"UploadId"`
}

type finishResult struct {
	XMLName xml.Name `xml:"CompleteMultipartUploadResult"`
	Bucket  string   `xml:"Bucket"`
	Key     string   `xml:"Key"`
	ETag    string   `xml:"ETag"`
}

type listResult struct {
	XMLName               xml.Name     `xml:"ListBucketResult"`
	Name                  string       `xml:"Name"`
	Prefix                string       `xml:"Prefix"`
	Delimiter             string       `xml:"Delimiter,omitempty"`
	EncodingType          string       `xml:"EncodingType,omitempty"`
	KeyCount              int          `xml:"KeyCount"`
	MaxKeys               int          `xml:"MaxKeys"`
	IsTruncated           bool         `xml:"IsTruncated"`
	NextContinuationToken string       `xml:"NextContinuationToken,omitempty"`
	Contents              []listObject `xml:"Contents"`
	CommonPrefixes        []listPrefix `xml:"CommonPrefixes"`
}

type listObject struct {
	Key          string `xml:"Key"`
	LastModified string `xml:"LastModified"`
	ETag         string `xml:"ETag"`
	Size         int    `xml:"Size"`
	StorageClass string `xml:"StorageClass"`
}

type listPrefix struct {
	Prefix string `xml:"Prefix"`
}

// list answers with what this stack has, as if the bucket held nothing else.
func (g *Gate) list(w http.ResponseWriter, r request) {
	keys := g.local.keys(r.prefix)
	if _, exists := g.lookup(g.keys.checkpoint); exists && strings.HasPrefix(g.keys.checkpoint, r.prefix) {
		keys = append(keys, g.keys.checkpoint)
	}

	if strings.HasPrefix(g.keys.meta, r.prefix) && !slices.Contains(keys, g.keys.meta) {
		keys = append(keys, g.keys.meta)
	}

	slices.Sort(keys)

	encode := func(s string) string { return s }
	result := listResult{Name: g.token, MaxKeys: r.limit}

	if r.urlEncoded {
		encode, result.EncodingType = url.QueryEscape, "url"
	}

	result.Prefix, result.Delimiter = encode(r.prefix), encode(r.delimiter)

	last := ""

	for _, key := range keys {
		entry := key

		if r.delimiter != "" {
			if i := strings.Index(key[len(r.prefix):], r.delimiter); i >= 0 {
				entry = key[:len(r.prefix)+i+len(r.delimiter)]
			}
		}

		if entry <= r.after || entry == last {
			continue
		}

		if result.KeyCount == r.limit {
			result.IsTruncated, result.NextContinuationToken = true, last

			break
		}

		last = entry
		result.KeyCount++

		if entry != key {
			result.CommonPrefixes = append(result.CommonPrefixes, listPrefix{Prefix: encode(entry)})

			continue
		}

		found, _ := g.lookup(key)
		result.Contents = append(result.Contents, listObject{
			Key: encode(key), Size: len(found.body), ETag: etagOf(found.body), LastModified: timestamp(found.at), StorageClass: "STANDARD",
		})
	}

	respondXML(w, result)
}

func respondObject(w http.ResponseWriter, r *http.Request, o localObject) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(o.body)))
	w.Header().Set("ETag", etagOf(o.body))
	w.Header().Set("Last-Modified", o.at.UTC().Format(http.TimeFormat))
	w.WriteHeader(http.StatusOK)

	if r.Method != http.MethodHead {
		_, _ = w.Write(o.body) // who went away misses nothing
	}
}

func respondXML(w http.ResponseWriter, value any) {
	body, err := xml.Marshal(value)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)

		return
	}

	w.Header().Set("Content-Type", "application/xml")
	_, _ = w.Write(append([]byte(xml.Header), body...)) // who went away misses nothing
}

func respondError(w http.ResponseWriter, r *http.Request, status int, code string) {
	body, err := xml.Marshal(errorResult{Code: code, Message: "The state gate of lessor answers so."})
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)

		return
	}

	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)

	if r.Method != http.MethodHead {
		_, _ = w.Write(append([]byte(xml.Header), body...)) // who went away misses nothing
	}
}

// seed makes the ETags of this process.
var seed = maphash.MakeSeed() //nolint:gochecknoglobals // a constant

// etagOf is the ETag of what the CLI is given: it differs where the content does,
// and ends with the operation.
func etagOf(body []byte) string { return fmt.Sprintf(`"%016x"`, maphash.Bytes(seed, body)) }

func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
