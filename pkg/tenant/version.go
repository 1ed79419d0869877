package tenant

import (
	"cmp"
	"time"
)

// Version orders the facts of a tenant. It comes from the event that states
// the fact: its time in nanoseconds, or its data.sequence where the fleet is
// configured so. Equal numbers are ordered by Tie, which is unique to the event.
type Version struct {
	N   int64  `json:"n"`
	Tie string `json:"tie,omitempty"`
}

// TimeVersion is the version of an event that is ordered by its time.
func TimeVersion(t time.Time, id, source string) Version {
	return Version{N: t.UTC().UnixNano(), Tie: tie(id, source)}
}

// SequenceVersion is the version of an event that is ordered by data.sequence.
func SequenceVersion(sequence int64, id, source string) Version {
	return Version{N: sequence, Tie: tie(id, source)}
}

// tie joins id and source, because CloudEvents promises that only the pair is
// unique: https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/spec.md#id
func tie(id, source string) string { return id + " " + source }

// IsZero reports that no event has stated the fact.
func (v Version) IsZero() bool { return v == Version{} }

// Compare returns -1, 0 or +1 as v is older than, the same as or newer than w.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.N, w.N), cmp.Compare(v.Tie, w.Tie))
}

// After reports whether v is newer than w.
func (v Version) After(w Version) bool { return v.Compare(w) > 0 }
