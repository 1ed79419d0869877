package bed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"
)

// pages answer Scan as DynamoDB does, a page after the other. The stand-in
// answers with the whole table at once, and where it is asked for less it sorts
// the whole table for each page.
//
// The first Scan of a table reads it from the stand-in, and all others are
// answered with what that found, so that the time of a Scan is that of who asks.
type pages struct {
	// next is the stand-in.
	next http.Handler

	mu sync.Mutex
	// rows are how many a page has, by table.
	rows map[string]int
	// known are the rows, by table and projection.
	known map[scanned]*rowList
	// asked counts the pages, by table.
	asked map[string]int
}

// answerAfter is how long an answer takes at least, far less than AWS's. A client
// of AWS's SDK closes the body of its request once it has an answer. Where it has
// that before it sees that its request is sent, net/http takes this for a broken
// request, ends the connection, and the answer has to be asked for again. Over a
// network nothing is so quick.
const answerAfter = 2 * time.Millisecond

type scanned struct{ table, projection string }

// rowList is what one Scan of the stand-in found.
type rowList struct {
	items []json.RawMessage
	// at is where the row with a key is.
	at map[string]int
}

// scanInput and scanOutput are what AWS calls so.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Scan.html
//
//nolint:tagliatelle // these are the names of AWS
type scanInput struct {
	TableName            string          `json:"TableName"`
	ProjectionExpression string          `json:"ProjectionExpression,omitempty"`
	Limit                int             `json:"Limit,omitempty"`
	ExclusiveStartKey    json.RawMessage `json:"ExclusiveStartKey,omitempty"`
}

// whole asks for the whole table.
func (in scanInput) whole() scanInput {
	in.Limit, in.ExclusiveStartKey = 0, nil

	return in
}

//nolint:tagliatelle // as above
type scanOutput struct {
	Items            []json.RawMessage `json:"Items"`
	Count            int               `json:"Count"`
	ScannedCount     int               `json:"ScannedCount"`
	LastEvaluatedKey json.RawMessage   `json:"LastEvaluatedKey,omitempty"`
}

// rowKey is the key of a row in JSON.
type rowKey struct {
	PK struct {
		//nolint:tagliatelle // as above
		S string `json:"S"`
	} `json:"pk"`
}

// PageScans has every Scan of a table answered in pages of so many rows, for as
// long as the rows are those of the first Scan.
func (b *Bed) PageScans(table string, rows int) {
	b.pages.mu.Lock()
	defer b.pages.mu.Unlock()

	b.pages.rows[table] = rows
}

// PagesAsked is how many pages of a table were asked for, without those that were
// asked for again.
func (b *Bed) PagesAsked(table string) int {
	b.pages.mu.Lock()
	defer b.pages.mu.Unlock()

	return b.pages.asked[table]
}

func newPages(next http.Handler) *pages {
	return &pages{next: next, rows: map[string]int{}, known: map[scanned]*rowList{}, asked: map[string]int{}}
}

func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Scan") {
		p.next.ServeHTTP(w, r)

		return
	}

	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)

		return
	}

	r.Body = io.NopCloser(bytes.NewReader(body))

	var in scanInput
	if err := json.Unmarshal(body, &in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)

		return
	}

	page, err := p.page(in, r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)

		return
	}

	if page == nil {
		p.next.ServeHTTP(w, r)

		return
	}

	timer := time.NewTimer(answerAfter)
	defer timer.Stop()

	<-timer.C
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.Header().Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(page)), 10))

	_, _ = w.Write(page) //nolint:gosec // no browser reads it; who went away misses nothing
}

// page is the answer to a Scan, nil if it is left to the stand-in.
func (p *pages) page(in scanInput, r *http.Request) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	rows := p.rows[in.TableName]
	if rows == 0 {
		return nil, nil
	}

	if in.Limit > 0 {
		rows = min(rows, in.Limit)
	}

	// https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html
	if !strings.Contains(r.Header.Get("Amz-Sdk-Request"), "attempt=") || strings.Contains(r.Header.Get("Amz-Sdk-Request"), "attempt=1;") {
		p.asked[in.TableName]++
	}

	list, err := p.list(in, r)
	if err != nil {
		return nil, err
	}

	begin := 0

	if len(in.ExclusiveStartKey) > 0 {
		var after rowKey
		if err := json.Unmarshal(in.ExclusiveStartKey, &after); err != nil {
			return nil, fmt.Errorf("reading the key to go on after: %w", err)
		}

		begin = list.at[after.PK.S] + 1
	}

	end := min(begin+rows, len(list.items))
	out := scanOutput{Items: list.items[begin:end], Count: end - begin, ScannedCount: end - begin}

	if end < len(list.items) {
		var last rowKey
		if err := json.Unmarshal(list.items[end-1], &last); err != nil {
			return nil, fmt.Errorf("reading the key of a row: %w", err)
		}

		if out.LastEvaluatedKey, err = json.Marshal(last); err != nil {
			return nil, fmt.Errorf("writing the key of a row: %w", err)
		}
	}

	answer, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("writing a page: %w", err)
	}

	return answer, nil
}

// list is the whole table, as the stand-in has it the first time.
func (p *pages) list(in scanInput, r *http.Request) (*rowList, error) {
	what := scanned{table: in.TableName, projection: in.ProjectionExpression}
	if known := p.known[what]; known != nil {
		return known, nil
	}

	whole, err := json.Marshal(in.whole())
	if err != nil {
		return nil, fmt.Errorf("asking for a table: %w", err)
	}

	ask := r.Clone(r.Context())
	ask.Body, ask.ContentLength = io.NopCloser(bytes.NewReader(whole)), int64(len(whole))

	answer := httptest.NewRecorder()
	p.next.ServeHTTP(answer, ask)

	if answer.Code != http.StatusOK {
		return nil, fmt.Errorf("scanning the stand-in: %s", answer.Body) //nolint:err113 // it goes into an answer
	}

	var out scanOutput
	if err := json.Unmarshal(answer.Body.Bytes(), &out); err != nil {
		return nil, fmt.Errorf("reading a table: %w", err)
	}

	list := &rowList{items: out.Items, at: make(map[string]int, len(out.Items))}

	for i, item := range out.Items {
		var key rowKey
		if err := json.Unmarshal(item, &key); err != nil {
			return nil, fmt.Errorf("reading the key of a row: %w", err)
		}

		list.at[key.PK.S] = i
	}

	p.known[what] = list

	return list, nil
}
