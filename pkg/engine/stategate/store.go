package stategate

import (
	"context"
	"errors"
)

// What a Store answers. Every other error leaves open whether a write landed.
var (
	// ErrNotFound means that there is no such object.
	ErrNotFound = errors.New("there is no such object")
	// ErrPrecondition means that the object is not the one that was expected
	// (412).
	ErrPrecondition = errors.New("the object has changed")
	// ErrRaced means that S3 could not tell because of another write at the
	// same moment (409). Nothing was written.
	ErrRaced = errors.New("another write was under way")
	// ErrDenied means that S3 does not let us. Nothing was written.
	ErrDenied = errors.New("access denied")
)

// Stamp says who wrote an object. Its zero value stands for the plain CLI.
type Stamp struct {
	Fence     int64
	Operation string
	// Write numbers the writes of an operation.
	Write int64
}

// Object is what a bucket has under a key.
type Object struct {
	Body  []byte
	ETag  string
	Stamp Stamp
}

// Condition is what must hold for a write. The zero value is no condition.
type Condition struct {
	// ETag is that of the object to replace.
	ETag string
	// Absent demands that there is no object.
	Absent bool
}

// Version is an older state of an object, or the mark of its deletion.
type Version struct {
	Key, ID string
	// ETag is that of the object, "" of a marker.
	ETag string
	// Marker reports that this version says that the object was deleted.
	Marker bool
	// Latest reports that this is what a GET without a version returns.
	Latest bool
}

// versioned reports whether the version has an id that no other one will have. In
// a bucket without versions every object is version "null".
func (v Version) versioned() bool { return v.ID != "" && v.ID != "null" }

// Objects reads and writes a bucket.
type Objects interface {
	// Get returns the object, or an older version of it.
	Get(ctx context.Context, key, version string) (Object, error)
	// Put writes an object and returns its ETag.
	Put(ctx context.Context, key string, body []byte, stamp Stamp, condition Condition) (etag string, err error)
	// List returns the keys under a prefix.
	List(ctx context.Context, prefix string) ([]string, error)
	// Delete removes an object; one that is not there is no error.
	Delete(ctx context.Context, key string) error
}

// History reads and removes older versions.
type History interface {
	// Versions returns the versions under a prefix, each key's newest first.
	Versions(ctx context.Context, prefix string) ([]Version, error)
	// DeleteVersions removes versions for good.
	DeleteVersions(ctx context.Context, versions []Version) error
}

// Store is a bucket with versions. One without has a single version of each key.
type Store interface {
	Objects
	History
}
