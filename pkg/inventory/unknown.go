package inventory

import (
	"strings"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
)

// Known is a resource of a stack's state.
type Known = checkpoint.Resource

// Unknown returns those of found that are not in known. A resource is known by
// its ARN or, where its state has none, by type and id.
func Unknown(found []Resource, known []Known) []Resource {
	arns, names := map[string]bool{}, map[name]bool{}

	for _, k := range known {
		if arn := k.ARN(); arn != "" {
			arns[arn] = true

			continue
		}

		if t, ok := types()[k.Type]; ok && k.ID != "" {
			names[t.nameOf(k.ID)] = true
		}
	}

	var unknown []Resource

	for _, r := range found {
		if !arns[r.ARN] && !names[parse(r.ARN)] {
			unknown = append(unknown, r)
		}
	}

	return unknown
}

// Kept reports whether a resource outlives its tenant, or its database, on
// purpose: a snapshot, what is tagged as needed by one, and a key that waits for
// its deletion. What is kept is no orphan.
func Kept(r Resource) bool {
	name := parse(r.ARN)

	return r.PendingDeletion || r.Tags[TagKeptFor] != "" || name.service == serviceRDS && strings.HasSuffix(name.kind, kindSnapshot)
}

// Split parts resources into orphans and what is kept on purpose.
func Split(resources []Resource) (orphans, kept []Resource) {
	for _, r := range resources {
		if Kept(r) {
			kept = append(kept, r)
		} else {
			orphans = append(orphans, r)
		}
	}

	return orphans, kept
}

const arnParts = 6

// name is what tells resources of one region and account apart: the service, the
// kind where ARNs of the service have one, and the id within it.
type name struct{ service, kind, id string }

// parse reads an ARN: arn:partition:service:region:account:[kind(/|:)]id.
// Something else gives the zero name.
func parse(arn string) name {
	parts := strings.SplitN(arn, ":", arnParts)
	if len(parts) != arnParts || parts[0] != "arn" {
		return name{}
	}

	n := name{service: parts[2], id: parts[5]}
	if bare(n.service) {
		return n
	}

	if at := strings.IndexAny(n.id, "/:"); at >= 0 {
		n.kind, n.id = n.id[:at], n.id[at+1:]
	}

	return n
}

// bare services have ARNs without a kind: the rest is the id.
func bare(service string) bool {
	return service == serviceSQS || service == serviceSNS || service == serviceS3
}

// place are the parts of an ARN that an id made by AWS may need.
func place(arn string) (partition, region, account string) {
	parts := strings.SplitN(arn, ":", arnParts)

	return parts[1], parts[3], parts[4]
}
