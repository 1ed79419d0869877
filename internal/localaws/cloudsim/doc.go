// Package cloudsim simulates the control plane of AWS for local mode and for
// tests: it keeps resources and refuses what AWS refuses, with AWS's error codes
// and texts, so that names that are taken, address ranges that overlap, one
// availability zone too few or a network still in use show up on a laptop and
// not in production. It moves no data: the services whose data matters (queues,
// tables, buckets, keys, topics) are in the emulator beside it, and are only
// listed here, so that one inventory by tag knows every resource of a tenant.
//
// Faults can be scripted: see Fault. Every mutation that was asked for is in an
// append-only log, see Entry, and every step in the life of a resource in a
// journal, see Transition. Everything is bounded, in memory, and served to this
// machine only.
package cloudsim
