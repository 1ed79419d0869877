package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
)

func TestUnguard(t *testing.T) {
	t.Parallel()

	type object = map[string]any

	secret := object{"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "x"}

	for name, tt := range map[string]struct {
		typ            string
		inputs         object
		snapshot, kept string
		want           unguarded
	}{
		"a database with a final snapshot": {
			"aws:rds/instance:Instance",
			object{
				"__defaults": []any{}, "deletionProtection": true, "finalSnapshotIdentifier": "old", "identifier": "a", "password": secret,
				"skipFinalSnapshot": true,
			},
			"last-db", "last",
			unguarded{set: object{
				"deletionProtection": false, "skipFinalSnapshot": false, "finalSnapshotIdentifier": "last-db",
			}, kept: []string{"identifier", "password"}},
		},
		"a database whose data goes": {
			"aws:docdb/cluster:Cluster",
			object{"deletionProtection": true, "finalSnapshotIdentifier": "old", "skipFinalSnapshot": false},
			"", "",
			unguarded{set: object{"deletionProtection": false, "skipFinalSnapshot": true}},
		},
		"a replica": {
			"aws:rds/instance:Instance",
			object{"replicateSourceDb": "a"},
			"", "last",
			unguarded{set: object{"skipFinalSnapshot": true}, kept: []string{"replicateSourceDb"}},
		},
		"a guard that is off or nowhere": {
			"aws:lb/loadBalancer:LoadBalancer",
			object{"enableDeletionProtection": false, "a.b": 1},
			"", "last",
			unguarded{set: object{}, kept: []string{`["a.b"]`, "enableDeletionProtection"}},
		},
		"a guard that is a secret": {
			"aws:lb/loadBalancer:LoadBalancer",
			object{"enableDeletionProtection": secret},
			"", "",
			unguarded{set: object{"enableDeletionProtection": false}},
		},
		"a guard with a word": {
			"aws:cognito/userPool:UserPool",
			object{"deletionProtection": "ACTIVE"},
			"", "",
			unguarded{set: object{"deletionProtection": "INACTIVE"}},
		},
		"a table with a backup": {
			"aws:dynamodb/table:Table",
			object{
				"deletionProtectionEnabled": true, "name": "a",
				"pointInTimeRecovery": object{"__defaults": []any{}, "enabled": false, "recoveryPeriodInDays": 9},
			},
			"", "last",
			unguarded{
				set:  object{"deletionProtectionEnabled": false, "pointInTimeRecovery": object{"enabled": true}},
				kept: []string{"name", "pointInTimeRecovery.recoveryPeriodInDays"},
			},
		},
		"a table whose data goes": {
			"aws:dynamodb/table:Table",
			object{"pointInTimeRecovery": object{"enabled": true}},
			"", "",
			unguarded{set: object{}, kept: []string{"pointInTimeRecovery"}},
		},
		"a key of what is kept": {
			"aws:kms/key:Key",
			object{"description": "a", "tags": object{"Name": "a", "kept-for": "old"}, "tagsAll": object{"Name": "a"}},
			"", "last",
			unguarded{
				set: object{"tags": object{"kept-for": "last"}}, kept: []string{"description", "tags.Name"}, retain: true,
			},
		},
		"a key whose tags nobody can read": {
			"aws:kms/key:Key",
			object{"tags": secret},
			"", "last",
			unguarded{set: object{"tags": object{"kept-for": "last"}}, retain: true},
		},
		"a key of nothing": {
			"aws:kms/key:Key", object{"tags": object{"Name": "a"}}, "", "", unguarded{set: object{}, kept: []string{"tags"}},
		},
		"what has no guard": {
			"aws:sqs/queue:Queue",
			object{"name": "a", "deletionProtection": true},
			"", "last",
			unguarded{set: object{}, kept: []string{"deletionProtection", "name"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			require.Equal(t, tt.want, unguard(checkpoint.Resource{Type: tt.typ, Inputs: tt.inputs}, tt.snapshot, tt.kept))
		})
	}
}

const (
	testStack    = "urn:pulumi:a::p::pulumi:pulumi:Stack::p-a"
	testProvider = "urn:pulumi:a::p::pulumi:providers:aws::t1-aws"
	testDefault  = "urn:pulumi:a::p::pulumi:providers:aws::default_6_83_4"
	testGroup    = "urn:pulumi:a::p::x:y:Group::t1-group"
	testDatabase = "urn:pulumi:a::p::x:y:Group$aws:rds/instance:Instance::t1-db"
)

func testState() []checkpoint.Resource {
	return []checkpoint.Resource{
		{URN: testStack, Type: stackType},
		{URN: testDefault, Type: "pulumi:providers:aws", Custom: true, ID: "0", Inputs: map[string]any{
			"version": "6.83.4", "pluginDownloadURL": "https://x",
		}},
		{URN: testProvider, Type: "pulumi:providers:aws", Custom: true, ID: "1", Parent: testStack},
		{URN: testGroup, Type: "x:y:Group", Parent: testStack},
		{URN: testDatabase, Type: "aws:rds/instance:Instance", Custom: true, ID: "db", Parent: testGroup, Provider: testProvider + "::1", Protect: true},
		{
			URN: "urn:pulumi:a::p::x:y:Group$aws:rds/instance:Instance::Second", Type: "aws:rds/instance:Instance", Custom: true, ID: "2",
			Parent: testGroup, Provider: testProvider + "::1",
		},
		{
			URN: "urn:pulumi:a::p::aws:sqs/queue:Queue::t12-queue", Type: "aws:sqs/queue:Queue", Custom: true, ID: "q", Parent: testStack,
			Provider: testDefault + "::0",
		},
	}
}

func TestDeclarations(t *testing.T) {
	t.Parallel()

	one, twelve := Topology{Generation: 1, FinalSnapshot: "last"}, Topology{Generation: 12}

	t.Run("of one topology of two", func(t *testing.T) {
		t.Parallel()

		list, err := declarations(testState(), []Topology{one}, false)
		require.NoError(t, err)
		require.Equal(t, []string{"t1-aws", "t1-group", "t1-db", "Second"}, namesOf(list), "by name, or by what it is a part of")
		require.Equal(t, "last", list[2].set["finalSnapshotIdentifier"])
		require.Equal(t, "last-second", list[3].set["finalSnapshotIdentifier"])
		require.Empty(t, list[2].version)
	})

	t.Run("of both", func(t *testing.T) {
		t.Parallel()

		list, err := declarations(testState(), []Topology{one, twelve}, true)
		require.NoError(t, err)
		require.Equal(t, []string{"t1-aws", "t1-group", "t1-db", "Second", "t12-queue"}, namesOf(list))
		require.Equal(t, "6.83.4", list[4].version)
		require.Equal(t, "https://x", list[4].downloadURL)
	})

	t.Run("what belongs to none goes with the last", func(t *testing.T) {
		t.Parallel()

		list, err := declarations(testState(), []Topology{twelve, {Generation: 2, FinalSnapshot: "other"}}, true)
		require.NoError(t, err)
		require.Len(t, list, 5)
		require.Equal(t, "other", list[2].set["finalSnapshotIdentifier"])
	})

	t.Run("nothing that a program did not declare", func(t *testing.T) {
		t.Parallel()

		for name, change := range map[string]func(*checkpoint.Resource){
			"deleted with the next up": func(r *checkpoint.Resource) { r.Delete = true },
			"read":                     func(r *checkpoint.Resource) { r.External = true },
			"not there":                func(r *checkpoint.Resource) { r.PendingReplacement = true },
			"of a provider":            func(r *checkpoint.Resource) { r.ViewOf = testGroup },
		} {
			state := testState()
			change(&state[4])

			list, err := declarations(state, []Topology{one}, false)
			require.NoError(t, err, name)
			require.Equal(t, []string{"t1-aws", "t1-group", "Second"}, namesOf(list), name)
			require.Equal(t, "last", list[2].set["finalSnapshotIdentifier"], name)
		}
	})
}

func namesOf(list []declaration) []string {
	names := make([]string, 0, len(list))
	for _, d := range list {
		names = append(names, d.name)
	}

	return names
}

// What would get another URN would be made a second time.
func TestUndeclarable(t *testing.T) {
	t.Parallel()

	for want, change := range map[string]func(state []checkpoint.Resource){
		"its parent is not":     func(state []checkpoint.Resource) { state[3].External = true },
		"its parent is another": func(state []checkpoint.Resource) { state[4].Parent = testStack },
		"its provider is not": func(state []checkpoint.Resource) {
			state[2].URN = "urn:pulumi:a::p::pulumi:providers:aws::t12-aws"
			state[4].Provider = state[2].URN + "::1"
		},
	} {
		state := testState()
		change(state)

		_, err := declarations(state, []Topology{{Generation: 1}}, false)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "aws:rds/instance:Instance t1-db cannot be declared from the state")
	}
}

func TestSeconds(t *testing.T) {
	t.Parallel()

	require.Empty(t, seconds(0))
	require.Equal(t, "1h30m0.5s", seconds(5400.5))
}
