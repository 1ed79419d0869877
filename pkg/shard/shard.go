// Package shard chooses the state bucket of a tenant.
package shard

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Config names the shards.
type Config struct {
	// Buckets hold the state of the tenants. The choice is recorded in the
	// row, so that adding a bucket moves nobody.
	Buckets []string `env:"LESSOR_STATE_BUCKETS"`
}

// Of returns the bucket for a new tenant by rendezvous hashing: the order of
// buckets does not matter, and a bucket more or less changes the choice only
// for the tenants that go to it or come from it. It returns "" if there are no
// buckets.
func Of(id tenant.ID, buckets []string) string {
	var (
		best  string
		score uint64
	)

	for _, bucket := range buckets {
		// Equal scores go to the smaller name, so that the order of buckets
		// does not matter even then.
		if s := weigh(id, bucket); best == "" || s > score || (s == score && bucket < best) {
			best, score = bucket, s
		}
	}

	return best
}

// weigh hashes bucket and id. Neither can contain the separator.
func weigh(id tenant.ID, bucket string) uint64 {
	sum := sha256.Sum256([]byte(bucket + "/" + string(id)))

	return binary.BigEndian.Uint64(sum[:])
}
