package catalog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/catalog"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// program refuses "size" unless it is an integer up to 9, "zone" in the words
// of the engine, and every parameter that it does not know.
type program struct{}

var errParameter = errors.New("bad parameter")

func (program) Check(parameters tenant.Parameters) error {
	for name, value := range parameters {
		switch name {
		case "size":
			var n int
			if json.Unmarshal(value, &n) != nil || n > 9 {
				return fmt.Errorf("%w: size must be an integer up to 9", errParameter)
			}
		case "zone":
			return errors.Join(fmt.Errorf("parameters.zone: %w", errParameter), fmt.Errorf("parameters.azs: missing: %w", errParameter))
		case "zones", "labels", "note":
		default:
			return fmt.Errorf("%w: %s is not known", errParameter, name)
		}
	}

	return nil
}

func programs() map[string]catalog.Checker {
	return catalog.Checkers(map[string]program{"pool": {}, "silo": {}})
}

const valid = `
version: 1
tiers:
  free:
    program: pool
  enterprise:
    program: silo
    parameters:
      size: 3
      zones: [a, 'b', 2.5, true]
      labels: {team: core, nested: {deep: [1, null]}}
      note: |
        two
        lines
    wave: 2
    onCreate: keep
    onUpdate: keep
    maxAttempts: 7
    finalSnapshot: true
    roleArn: arn:aws:iam::123456789012:role/path/tenants
`

func TestResolve(t *testing.T) {
	t.Parallel()

	c, err := catalog.Parse([]byte(valid), programs(), []string{"eu-central-1", "us-east-1"})
	require.NoError(t, err)
	require.Equal(t, []string{"enterprise", "free"}, c.Tiers())

	t.Run("defaults", func(t *testing.T) {
		t.Parallel()

		b, err := c.Resolve(tenant.Spec{Tier: "free", Region: "eu-central-1"})
		require.NoError(t, err)
		require.Equal(t, tenant.Blueprint{
			Program:     "pool",
			OnCreate:    tenant.PolicyRollback,
			OnUpdate:    tenant.PolicyRevert,
			MaxAttempts: 5,
		}, b)
	})

	t.Run("everything, the tenant's parameters over the tier's", func(t *testing.T) {
		t.Parallel()

		b, err := c.Resolve(tenant.Spec{
			Tier: "enterprise", Region: "us-east-1",
			Parameters: tenant.Parameters{"size": json.RawMessage("8")},
		})
		require.NoError(t, err)
		require.JSONEq(t, `["a","b",2.5,true]`, string(b.Parameters["zones"]))
		require.JSONEq(t, `{"team":"core","nested":{"deep":[1,null]}}`, string(b.Parameters["labels"]))
		require.JSONEq(t, `"two\nlines\n"`, string(b.Parameters["note"]))
		require.JSONEq(t, "8", string(b.Parameters["size"]))

		b.Parameters = nil
		require.Equal(t, tenant.Blueprint{
			Program:       "silo",
			RoleARN:       "arn:aws:iam::123456789012:role/path/tenants",
			Protect:       true,
			FinalSnapshot: true,
			OnCreate:      tenant.PolicyKeep,
			OnUpdate:      tenant.PolicyKeep,
			MaxAttempts:   7,
		}, b)
	})

	t.Run("the tier keeps its own parameters", func(t *testing.T) {
		t.Parallel()

		spec := tenant.Spec{Tier: "enterprise", Region: "us-east-1", Parameters: tenant.Parameters{"size": json.RawMessage("1")}}
		_, err := c.Resolve(spec)
		require.NoError(t, err)

		spec.Parameters = nil
		b, err := c.Resolve(spec)
		require.NoError(t, err)
		require.JSONEq(t, "3", string(b.Parameters["size"]))
	})

	t.Run("waves", func(t *testing.T) {
		t.Parallel()

		wave, ok := c.Wave("enterprise")
		require.True(t, ok)
		require.Equal(t, 2, wave)

		_, ok = c.Wave("gold")
		require.False(t, ok)
	})
}

func TestResolveRefuses(t *testing.T) {
	t.Parallel()

	c, err := catalog.Parse([]byte(valid), programs(), []string{"eu-central-1"})
	require.NoError(t, err)

	for name, tc := range map[string]struct {
		spec                 tenant.Spec
		field, message, hint string
	}{
		"no tier": {
			tenant.Spec{Region: "eu-central-1"},
			"tier", "has no tier", "one of enterprise, free",
		},
		"unknown tier": {
			tenant.Spec{Tier: "gold", Region: "eu-central-1"},
			"tier", `no tier "gold"`, "known: enterprise, free",
		},
		"tier with a typo": {
			tenant.Spec{Tier: "entreprise", Region: "eu-central-1"},
			"tier", `no tier "entreprise"`, `did you mean "enterprise"?`,
		},
		"no region": {
			tenant.Spec{Tier: "free"},
			"region", "has no region", "created event",
		},
		"region not allowed": {
			tenant.Spec{Tier: "free", Region: "us-east-1"},
			"region", `"us-east-1" is not allowed`, "LESSOR_REGIONS",
		},
		"wrong type": {
			tenant.Spec{Tier: "free", Region: "eu-central-1", Parameters: tenant.Parameters{"size": json.RawMessage(`"big"`)}},
			"parameters.size", `program "pool" of tier "free" refuses: bad parameter: size must be`, "updated event",
		},
		"unknown parameter": {
			tenant.Spec{Tier: "free", Region: "eu-central-1", Parameters: tenant.Parameters{"colour": json.RawMessage(`1`)}},
			"parameters.colour", "colour is not known", "null",
		},
		"two at once": {
			tenant.Spec{Tier: "free", Region: "eu-central-1", Parameters: tenant.Parameters{"zone": json.RawMessage(`1`)}},
			"parameters", `refuses: zone: bad parameter; azs: missing: bad parameter`, "updated event",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, err := c.Resolve(tc.spec)

			var invalid *catalog.InvalidError
			require.ErrorAs(t, err, &invalid)
			require.Equal(t, tc.field, invalid.Field)
			require.Contains(t, invalid.Message, tc.message)
			require.Contains(t, invalid.Advice(), tc.hint)
			require.NotContains(t, err.Error(), invalid.Hint)
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()

	// Each line is one problem, in the order of the document.
	for name, tc := range map[string]struct {
		yaml string
		want []string
	}{
		"empty":            {"", []string{"line 1: the catalog is empty; begin with"}},
		"only a comment":   {"# nothing\n", []string{"line 1: the catalog is empty"}},
		"not YAML":         {"version: 1\ntiers: [\n", []string{"line 2: not valid YAML"}},
		"a tab":            {"tiers:\n\tfree: 1\n", []string{"line 2: not valid YAML"}},
		"key twice":        {"version: 1\nversion: 1\n", []string{`line 2: not valid YAML: mapping key "version" already defined`}},
		"a list":           {"- a\n", []string{"line 1: is sequence"}},
		"two documents":    {"version: 1\ntiers: {free: {program: pool}}\n---\nversion: 1\n", []string{"more than one YAML document"}},
		"nothing in it":    {"{}\n", []string{"version: missing; add `version: 1`", "tiers: missing; add at least one"}},
		"another version":  {"version: 2\ntiers: {free: {program: pool}}\n", []string{"line 1: version: version 2 is not known"}},
		"no tiers":         {"version: 1\ntiers: {}\n", []string{"line 2: tiers: empty"}},
		"tiers is null":    {"version: 1\ntiers:\n", []string{"line 2: tiers: is nothing; give a mapping"}},
		"tier is a string": {"version: 1\ntiers:\n  free: pool\n", []string{`line 3: tiers.free: is string ("pool"); give a mapping`}},
		"name of a tier": {
			"version: 1\ntiers:\n  Free Tier: {program: pool}\n",
			[]string{"line 3: tiers.Free Tier: a tier's name must match"},
		},
		"number as a name": {"version: 1\ntiers:\n  1: {program: pool}\n", []string{"line 3: tiers: the key 1 is not a string"}},
		"typo in a key": {
			"version: 1\ntiers:\n  free:\n    programm: pool\n",
			[]string{
				"line 3: tiers.free.program: missing; name one of the worker's programs [\"pool\" \"silo\"]",
				`line 4: tiers.free.programm: unknown key "programm"; did you mean "program"? Known:`,
			},
		},
		"typo at the top": {
			"version: 1\ntier: {}\ntiers: {free: {program: pool}}\n",
			[]string{`line 2: tier: unknown key "tier"; did you mean "tiers"?`},
		},
		"unknown program": {
			"version: 1\ntiers:\n  free:\n    program: bridge\n",
			[]string{`line 4: tiers.free.program: unknown program "bridge"; use one of pool, silo`},
		},
		"program is a list": {
			"version: 1\ntiers:\n  free:\n    program: [pool]\n",
			[]string{"line 4: tiers.free.program: is sequence"},
		},
		"parameter of the wrong type": {
			"version: 1\ntiers:\n  free:\n    program: pool\n    parameters:\n      note: x\n      size: big\n",
			[]string{`line 7: tiers.free.parameters.size: program "pool" refuses: bad parameter: size must be an integer`},
		},
		"two parameters, one of them missing": {
			"version: 1\ntiers:\n  free:\n    program: pool\n    parameters:\n      note: x\n      zone: b\n",
			[]string{
				`line 5: tiers.free.parameters.azs: program "pool" refuses: missing: bad parameter`,
				`line 7: tiers.free.parameters.zone: program "pool" refuses: bad parameter`,
			},
		},
		"unknown parameter": {
			"version: 1\ntiers:\n  free:\n    program: pool\n    parameters: {colour: red}\n",
			[]string{`line 5: tiers.free.parameters.colour: program "pool" refuses`},
		},
		"parameter without a value": {
			"version: 1\ntiers:\n  free:\n    program: pool\n    parameters:\n      size:\n",
			[]string{"line 6: tiers.free.parameters.size: has no value"},
		},
		"parameter that JSON cannot say": {
			"version: 1\ntiers:\n  free:\n    program: pool\n    parameters:\n      size: .nan\n",
			[]string{"line 6: tiers.free.parameters.size: is nan"},
		},
		"anchors": {
			"version: 1\ntiers:\n  free:\n    program: pool\n    parameters:\n      zones: &z [a]\n      labels: *z\n",
			[]string{"line 6: tiers.free.parameters.zones: is an anchor or alias", "line 7: tiers.free.parameters.labels: is an anchor"},
		},
		"anchor deep in a list": {
			"version: 1\ntiers:\n  free:\n    program: pool\n    parameters:\n      zones: [a, [&z b]]\n",
			[]string{"line 6: tiers.free.parameters.zones[1][0]: is an anchor"},
		},
		"values out of range or of the wrong kind": {
			`version: 1
tiers:
  free:
    program: pool
    wave: -1
    maxAttempts: 101
    onCreate: revert
    onUpdate: kepe
    finalSnapshot: "yes"
    dataLoss: 1
    protect: on
    roleArn: arn:aws:iam::12:role/x
`,
			[]string{
				"line 5: tiers.free.wave: -1 is out of range; give an integer from 0 to 1000",
				"line 6: tiers.free.maxAttempts: 101 is out of range; give an integer from 1 to 100",
				`line 7: tiers.free.onCreate: unknown policy "revert"; use one of rollback, keep`,
				`line 8: tiers.free.onUpdate: unknown policy "kepe"; did you mean "keep"?`,
				`line 9: tiers.free.finalSnapshot: is string ("yes"); give true or false`,
				"line 10: tiers.free.dataLoss: is int",
				"line 11: tiers.free.protect: is string",
				"line 12: tiers.free.roleArn: \"arn:aws:iam::12:role/x\" is not the ARN of an IAM role",
			},
		},
		"snapshot and data loss": {
			"version: 1\ntiers:\n  free:\n    program: pool\n    finalSnapshot: true\n    dataLoss: true\n",
			[]string{"line 6: tiers.free.dataLoss: a tier that keeps a final snapshot loses no data"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			c, err := catalog.Parse([]byte(tc.yaml), programs(), nil)
			require.Error(t, err)
			require.Nil(t, c)

			var joined interface{ Unwrap() []error }
			require.ErrorAs(t, err, &joined)

			found := joined.Unwrap()
			require.Len(t, found, len(tc.want), "%v", err)

			for i, want := range tc.want {
				require.ErrorContains(t, found[i], want)

				var problem *catalog.ProblemError
				require.ErrorAs(t, found[i], &problem)
				require.NotEmpty(t, problem.Fix)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()

	path := filepath.Join(t.TempDir(), "catalog.yaml")

	_, err := catalog.Load(path, programs(), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "reading the catalog")

	require.NoError(t, os.WriteFile(path, []byte("version: 1\n"), 0o600))

	_, err = catalog.Load(path, programs(), nil)
	require.ErrorContains(t, err, path+":1: tiers: missing")

	require.NoError(t, os.WriteFile(path, []byte(valid), 0o600))

	c, err := catalog.Load(path, programs(), nil)
	require.NoError(t, err)

	_, err = c.Resolve(tenant.Spec{Tier: "free", Region: "anywhere-1"})
	require.NoError(t, err, "without regions every region is allowed")
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(valid))
	f.Add([]byte("version: 1\ntiers:\n  free:\n    <<: {program: pool}\n"))
	f.Add([]byte("? [a]\n: b\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := catalog.Parse(data, programs(), nil)
		require.NotEqual(t, c == nil, err == nil, "either a catalog or an error")
	})
}

func ExampleParse() {
	_, err := catalog.Parse([]byte("version: 1\ntiers:\n  free:\n    program: pol\n    parameters: none\n"), programs(), nil)
	fmt.Println(err)
	// Output:
	// line 4: tiers.free.program: unknown program "pol"; did you mean "pool"? Known: pool, silo
	// line 5: tiers.free.parameters: is string ("none"); give a mapping
}
