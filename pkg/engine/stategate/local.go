package stategate

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// maxLocal bounds what the CLI may keep for itself: copies of the
	// checkpoint that it makes share its bytes and cost next to nothing.
	maxLocal      = 4 * MaxObject
	maxLocalCount = 1000
	maxComplaints = 20
)

// local is what the CLI writes and nobody but itself reads: its locks, backups
// and the copies that go with its history.
type local struct {
	mu         sync.Mutex
	objects    map[string]localObject
	size       int
	uploads    map[string]*upload
	complaints []string
}

type localObject struct {
	body []byte
	at   time.Time
}

// upload is a multipart upload on its way.
type upload struct {
	key   string
	parts map[int][]byte
}

func newLocal() *local {
	return &local{objects: map[string]localObject{}, uploads: map[string]*upload{}}
}

func (l *local) get(key string) (localObject, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()

	o, ok := l.objects[key]

	return o, ok
}

// put reports whether there was room.
func (l *local) put(key string, body []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()

	old, replaced := l.objects[key]
	size := l.size - len(old.body) + len(body)

	if size > maxLocal || (!replaced && len(l.objects) >= maxLocalCount) {
		return false
	}

	l.objects[key], l.size = localObject{body: body, at: time.Now()}, size

	return true
}

func (l *local) drop(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.size -= len(l.objects[key].body)
	delete(l.objects, key)
}

// keys returns the keys under a prefix.
func (l *local) keys(prefix string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()

	var found []string

	for key := range l.objects {
		if strings.HasPrefix(key, prefix) {
			found = append(found, key)
		}
	}

	return found
}

// begin starts an upload, unless too many are under way.
func (l *local) begin(id, key string) bool {
	const most = 4

	l.mu.Lock()
	defer l.mu.Unlock()

	if len(l.uploads) >= most {
		return false
	}

	l.uploads[id] = &upload{key: key, parts: map[int][]byte{}}

	return true
}

// part keeps a part. It reports whether there is such an upload, and room.
func (l *local) part(id, key string, number int, body []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()

	u := l.uploads[id]
	if u == nil || u.key != key {
		return false
	}

	size := len(body)

	for n, p := range u.parts {
		if n != number {
			size += len(p)
		}
	}

	if size > MaxObject {
		return false
	}

	u.parts[number] = body

	return true
}

// finish joins the parts in the order of their numbers.
func (l *local) finish(id, key string) ([]byte, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()

	u := l.uploads[id]
	if u == nil || u.key != key {
		return nil, false
	}

	delete(l.uploads, id)

	numbers := make([]int, 0, len(u.parts))
	for n := range u.parts {
		numbers = append(numbers, n)
	}

	slices.Sort(numbers)

	var body []byte
	for _, n := range numbers {
		body = append(body, u.parts[n]...)
	}

	return body, true
}

func (l *local) abort(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()

	delete(l.uploads, id)
}

func (l *local) complainf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()

	if len(l.complaints) < maxComplaints {
		l.complaints = append(l.complaints, fmt.Sprintf(format, args...))
	}
}

func (l *local) takeComplaints() []string {
	l.mu.Lock()
	defer l.mu.Unlock()

	taken := l.complaints
	l.complaints = nil

	return taken
}
