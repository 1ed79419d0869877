// Package catalog reads the YAML file that says what each tier is made of, and
// turns a tenant's spec into the blueprint that an operation needs.
//
// A catalog looks like this:
//
//	version: 1
//	tiers:
//	  enterprise:
//	    program: silo          # one of the programs that the worker was built with
//	    parameters: {azs: 2}   # of the program; a tenant's own parameters override them
//	    addresses:             # a block of its own for each network, so that none overlap
//	      range: 10.64.0.0/10  # private; apart from those of other tiers, or the same
//	      prefix: 20           # the length of a block, 16 to 24
//	    wave: 3                # rollouts go through the waves in order, from 0
//	    onCreate: rollback     # or keep: what a failed first provision leaves behind
//	    onUpdate: revert       # or keep: what a failed update leaves behind
//	    maxAttempts: 5         # until an operation is given up
//	    finalSnapshot: true    # a deletion keeps a last snapshot of the data
//	    dataLoss: false        # true: a deletion needs acceptDataLoss
//	    protect: true          # guard what holds data against deletion
//	    roleArn: arn:aws:iam::123456789012:role/tenants
//	    tierChange:            # of tenants that move into this tier
//	      bake: 24h            # how long what they left still stands; 0 by default
//	      hook:                # who moves their data, see docs/contract.md
//	        url: https://mover.internal/cutover   # or queueUrl, of an SQS queue
//	        timeout: 1h        # until the change is taken back, an hour by default
//	    guard:                 # what an update may do without `enqueue approve`
//	      maxDeletes: 0
//	      maxReplaces: 0
//	      protectedTypes: ["aws:rds/instance:Instance"]
//	    retainDays: 30         # how long a deleted tenant's state history is kept
//	    release: "2026-11"     # a name for these parameters, shown with the tenant
//	  free:
//	    program: pool
//	    pool: pool-free        # the tenants live in the pool of this tier, in their region
//	    poolParameters: [sharedEndpoint]
//	  pool-free:
//	    program: shared
//
// Only version, tiers and program are required. Without the others a tier is
// in wave 0, rolls back and reverts, is given up after 5 attempts, keeps no
// snapshot, may be deleted at once, is deployed with the worker's own role, and
// is protected if finalSnapshot or dataLoss is set. Nothing bakes, moves data or
// needs approval, and the history of a deleted tenant goes at once.
//
// A topology that is made takes a block of its tier's addresses and keeps it until
// it is gone, whatever becomes of the tier. One that was made before the tier had
// addresses keeps the range that it has: another would replace the network and all
// that is in it. A change of tier makes a new topology. The range and prefix of
// addresses cannot be changed, but a tier can be given another range.
//
// A tier whose name begins with "pool-" is one of pools. Its tenants are what the
// tenants of other tiers share, one in each region: pool-free-eu-west-1 is the
// pool of tier pool-free in eu-west-1, and no other tenant may have such an id or
// be in such a tier. A tier that names a pool takes parameters from the pool's
// outputs: those of the same name where poolParameters is a list, or as a mapping
// says ({sharedEndpoint: databaseEndpoint}). A parameter of the tenant's own wins
// over the pool's.
package catalog
