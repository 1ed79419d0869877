package stategate_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/lessor-dev/lessor/pkg/engine/stategate"
)

// memory is a bucket with versions, which the contract suite compares with S3.
type memory struct {
	mu      sync.Mutex
	objects map[string][]kept
	made    int
	// before and after are called around a PUT, without the lock: a test may
	// hold it up, lose it, or lose its answer.
	before, after func(key string) error
}

// kept is a version, newest last.
type kept struct {
	stategate.Object

	id     string
	marker bool
}

func newMemory() *memory { return &memory{objects: map[string][]kept{}} }

func (m *memory) Get(_ context.Context, key, version string) (stategate.Object, error) {
	m.mu.Lock()
	defer m.mu.Unlock()

	versions := m.objects[key]
	if version == "" && len(versions) > 0 {
		version = versions[len(versions)-1].id
	}

	for _, v := range versions {
		if v.id == version && !v.marker {
			return stategate.Object{Body: bytes.Clone(v.Body), ETag: v.ETag, Stamp: v.Stamp}, nil
		}
	}

	return stategate.Object{}, stategate.ErrNotFound
}

func (m *memory) Put(
	_ context.Context, key string, body []byte, stamp stategate.Stamp, condition stategate.Condition,
) (string, error) {
	if m.before != nil {
		if err := m.before(key); err != nil {
			return "", err
		}
	}

	etag, err := m.put(key, body, stamp, condition)
	if err != nil {
		return "", err
	}

	if m.after != nil {
		if err := m.after(key); err != nil {
			return "", err
		}
	}

	return etag, nil
}

func (m *memory) put(key string, body []byte, stamp stategate.Stamp, condition stategate.Condition) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()

	versions := m.objects[key]
	exists := len(versions) > 0 && !versions[len(versions)-1].marker

	switch {
	case condition.Absent && exists:
		return "", stategate.ErrPrecondition
	case condition.ETag != "" && !exists:
		return "", stategate.ErrNotFound
	case condition.ETag != "" && versions[len(versions)-1].ETag != condition.ETag:
		return "", stategate.ErrPrecondition
	}

	m.made++
	// Like that of S3, the ETag is a function of the content alone.
	etag := contentTag(body)
	m.objects[key] = append(versions, kept{
		Object: stategate.Object{Body: bytes.Clone(body), ETag: etag, Stamp: stamp}, id: strconv.Itoa(m.made),
	})

	return etag, nil
}

func (m *memory) List(_ context.Context, prefix string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()

	var keys []string

	for key, versions := range m.objects {
		if strings.HasPrefix(key, prefix) && !versions[len(versions)-1].marker {
			keys = append(keys, key)
		}
	}

	slices.Sort(keys)

	return keys, nil
}

func (m *memory) Delete(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()

	if versions := m.objects[key]; len(versions) > 0 && !versions[len(versions)-1].marker {
		m.made++
		m.objects[key] = append(versions, kept{id: strconv.Itoa(m.made), marker: true})
	}

	return nil
}

func (m *memory) Versions(_ context.Context, prefix string) ([]stategate.Version, error) {
	m.mu.Lock()
	defer m.mu.Unlock()

	var found []stategate.Version

	for key, versions := range m.objects {
		for i, v := range slices.Backward(versions) {
			if strings.HasPrefix(key, prefix) {
				found = append(found, stategate.Version{Key: key, ID: v.id, ETag: v.ETag, Marker: v.marker, Latest: i == len(versions)-1})
			}
		}
	}

	return found, nil
}

func (m *memory) DeleteVersions(_ context.Context, gone []stategate.Version) error {
	m.mu.Lock()
	defer m.mu.Unlock()

	for _, g := range gone {
		m.objects[g.Key] = slices.DeleteFunc(m.objects[g.Key], func(v kept) bool { return v.id == g.ID })
		if len(m.objects[g.Key]) == 0 {
			delete(m.objects, g.Key)
		}
	}

	return nil
}

// stamps are those of all versions of a key, oldest first.
func (m *memory) stamps(key string) []stategate.Stamp {
	m.mu.Lock()
	defer m.mu.Unlock()

	stamps := make([]stategate.Stamp, 0, len(m.objects[key]))
	for _, v := range m.objects[key] {
		stamps = append(stamps, v.Stamp)
	}

	return stamps
}

// keys are those of all objects, with or without older versions.
func (m *memory) keys() []string {
	keys, _ := m.List(context.Background(), "")

	return keys
}

var errAnswerLost = errors.New("the answer was lost")
