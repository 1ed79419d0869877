package engine

import (
	"maps"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
	"github.com/lessor-dev/lessor/pkg/inventory"
)

// guards are what keeps resources of a type from being deleted, and what they hold
// from being lost. The names are those of pulumi-aws 6.
type guards struct {
	// off are the properties that have AWS refuse a deletion, each with the value
	// that does not.
	off map[string]any
	// snapshot is the property that names the snapshot which a deletion takes, and
	// skip the one that does without.
	snapshot, skip string
	// backup is the property that has AWS keep a backup of what is deleted.
	backup string
	// key is set of what encrypts the snapshots of others.
	key bool
}

// guardsOf is the table of what is known. AWS says so here:
//   - https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/USER_DeleteInstance.html
//   - https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/USER_DeleteCluster.html
//   - https://docs.aws.amazon.com/documentdb/latest/developerguide/db-cluster-delete.html
//   - https://docs.aws.amazon.com/neptune/latest/userguide/manage-console-instances-delete.html
//   - https://docs.aws.amazon.com/redshift/latest/APIReference/API_DeleteCluster.html
//   - https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/WorkingWithTables.Basics.html
//   - https://docs.aws.amazon.com/elasticloadbalancing/latest/application/application-load-balancers.html
//   - https://docs.aws.amazon.com/cognito/latest/developerguide/user-pool-settings-deletion-protection.html
//   - https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_ChangingDisableAPITermination.html
//   - https://docs.aws.amazon.com/network-firewall/latest/APIReference/API_UpdateFirewallDeleteProtection.html
func guardsOf(typ string) guards {
	const protection, snapshot, skip = "deletionProtection", "finalSnapshotIdentifier", "skipFinalSnapshot"

	switch typ {
	case "aws:rds/instance:Instance", "aws:rds/cluster:Cluster", "aws:docdb/cluster:Cluster", "aws:neptune/cluster:Cluster":
		return guards{off: map[string]any{protection: false}, snapshot: snapshot, skip: skip}
	case "aws:redshift/cluster:Cluster":
		return guards{snapshot: snapshot, skip: skip}
	case "aws:rds/globalCluster:GlobalCluster", "aws:docdb/globalCluster:GlobalCluster", "aws:neptune/globalCluster:GlobalCluster",
		"aws:neptunegraph/graph:Graph", "aws:qldb/ledger:Ledger":
		return guards{off: map[string]any{protection: false}}
	case "aws:dynamodb/table:Table":
		return guards{off: map[string]any{"deletionProtectionEnabled": false}, backup: "pointInTimeRecovery"}
	case "aws:dynamodb/tableReplica:TableReplica", "aws:dsql/cluster:Cluster":
		return guards{off: map[string]any{"deletionProtectionEnabled": false}}
	case "aws:lb/loadBalancer:LoadBalancer", "aws:alb/loadBalancer:LoadBalancer":
		return guards{off: map[string]any{"enableDeletionProtection": false}}
	case "aws:cognito/userPool:UserPool":
		return guards{off: map[string]any{protection: "INACTIVE"}}
	case "aws:ec2/instance:Instance":
		return guards{off: map[string]any{"disableApiTermination": false}}
	case "aws:networkfirewall/firewall:Firewall":
		return guards{off: map[string]any{"deleteProtection": false}}
	case "aws:kms/key:Key", "aws:kms/replicaKey:ReplicaKey", "aws:kms/externalKey:ExternalKey",
		"aws:kms/replicaExternalKey:ReplicaExternalKey":
		return guards{key: true}
	}

	return guards{}
}

const (
	// defaultsKey is where bridged providers note which inputs they chose. They do
	// so anew for every declaration.
	defaultsKey = "__defaults"
	// allTags are the tags with those of the provider, which it adds itself.
	tagsKey, allTags = "tags", "tagsAll"
	// source is set of a read replica, of which RDS takes no final snapshot.
	// https://docs.aws.amazon.com/AmazonRDS/latest/APIReference/API_DeleteDBInstance.html
	source = "replicateSourceDb"
)

// takesSnapshot reports whether the deletion of a resource can take a snapshot that
// has a name.
func takesSnapshot(r checkpoint.Resource) bool {
	return guardsOf(r.Type).snapshot != "" && r.Inputs[source] == nil
}

// unguarded is how a resource is declared so that it can be deleted.
type unguarded struct {
	// set are the inputs that are given.
	set map[string]any
	// kept are the paths of those that stay as the state has them, whatever they
	// are: secrets as well, which nobody here can read.
	kept []string
	// retain keeps the resource at AWS when it is deleted from the state.
	retain bool
}

// unguard takes the guards from a resource. Its deletion, and that of a topology
// with a final snapshot, keep what they have to of its data: snapshot names what
// the resource takes, kept what the topology does. Both are "" where the data is
// to go.
func unguard(r checkpoint.Resource, snapshot, kept string) unguarded {
	g := guardsOf(r.Type)
	u := unguarded{set: map[string]any{}}
	left := []string{defaultsKey}

	for name, off := range g.off {
		if is, found := r.Inputs[name]; found && is != off {
			u.set[name] = off
		}
	}

	if g.skip != "" {
		u.set[g.skip] = snapshot == ""
		left = append(left, g.snapshot)
	}

	if g.snapshot != "" && snapshot != "" {
		u.set[g.snapshot] = snapshot
	}

	if g.backup != "" && kept != "" {
		u.set[g.backup] = map[string]any{"enabled": true}
	}

	if g.key && kept != "" {
		u.set[tagsKey], u.retain = map[string]any{inventory.TagKeptFor: kept}, true

		// They are those of the provider and these.
		left = append(left, allTags)
	}

	u.kept = stays(r.Inputs, u.set, left)

	return u
}

// stays lists the paths of inputs that are neither set nor left to the provider.
func stays(inputs, set map[string]any, left []string) []string {
	var paths []string

	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		value, given := set[name]
		nested, inner := value.(map[string]any)

		switch {
		case slices.Contains(left, name):
		case !given:
			paths = append(paths, resource.PropertyPath{name}.String())
		case inner:
			paths = append(paths, staysWithin(name, inputs[name], nested)...)
		}
	}

	return paths
}

// staysWithin are those inside of a property. Of a secret nobody knows what is in it.
func staysWithin(name string, value any, set map[string]any) []string {
	is, known := value.(map[string]any)
	if _, secret := is[resource.SigKey]; !known || secret {
		return nil
	}

	var paths []string

	for _, key := range slices.Sorted(maps.Keys(is)) {
		if _, given := set[key]; !given && key != defaultsKey {
			paths = append(paths, resource.PropertyPath{name, key}.String())
		}
	}

	return paths
}
