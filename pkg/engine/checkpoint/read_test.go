package checkpoint_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
)

// fixture returns a checkpoint that the CLI wrote.
func fixture(tb testing.TB, name string) []byte {
	tb.Helper()

	data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	require.NoError(tb, err)

	return data
}

func TestReadWhatTheCLIWrote(t *testing.T) {
	t.Parallel()

	const (
		silo     = "urn:pulumi:full::lessor::lessor:infra:Silo::t1"
		vpc      = "urn:pulumi:full::lessor::lessor:infra:Silo$aws:ec2/vpc:Vpc::t1-vpc"
		provider = "urn:pulumi:full::lessor::pulumi:providers:aws::eu::11111111-2222-3333-4444-555555555555"
	)

	s, err := checkpoint.Read(fixture(t, "full"))
	require.NoError(t, err)
	require.Equal(t, "organization/lessor/full", s.Stack)
	require.Equal(t, "passphrase", s.SecretsProvider)
	require.Empty(t, s.Pending)
	require.False(t, s.Empty())
	require.Len(t, s.Resources, 8)

	require.Equal(t, checkpoint.Resource{
		URN: vpc, Type: "aws:ec2/vpc:Vpc", ID: "vpc-1", Parent: silo, Provider: provider, Custom: true, Protect: true,
		Inputs:  map[string]any{"cidrBlock": "10.0.0.0/16", "tags": map[string]any{"tenant-id": "full"}},
		Outputs: map[string]any{"cidrBlock": "10.0.0.0/16", "arn": "arn:aws:ec2:eu-central-1:000000000000:vpc/vpc-1"},
	}, s.Resources[3])

	subnet := s.Resources[4]
	require.Equal(t, []string{vpc}, subnet.Dependencies)
	require.Equal(t, map[string][]string{"vpcId": {vpc}}, subnet.PropertyDependencies)
	require.Equal(t, vpc, subnet.DeletedWith)
	require.True(t, s.Resources[5].Delete)
	require.True(t, s.Resources[6].PendingReplacement)
	require.True(t, s.Resources[7].External)

	var cloud, arns []string

	for _, r := range s.Resources {
		if r.Cloud() {
			cloud = append(cloud, r.ID)
		}

		if arn := r.ARN(); arn != "" {
			arns = append(arns, arn)
		}
	}

	require.Equal(t, []string{"vpc-1", "subnet-1", "subnet-0", "sg-1", "alias/shared"}, cloud)
	require.Equal(t, []string{
		"arn:aws:ec2:eu-central-1:000000000000:vpc/vpc-1",
		"arn:aws:ec2:eu-central-1:000000000000:subnet/subnet-1",
		"arn:aws:ec2:eu-central-1:000000000000:subnet/subnet-0",
	}, arns, "a secret ARN is none")
}

func TestReadPendingOperations(t *testing.T) {
	t.Parallel()

	s, err := checkpoint.Read(fixture(t, "pending"))
	require.NoError(t, err)
	require.Len(t, s.Pending, 1)
	require.Equal(t, "creating", s.Pending[0].Operation)
	require.Equal(t, "urn:pulumi:full::lessor::aws:sqs/queue:Queue::t1-queue", s.Pending[0].Resource.URN)
	require.Equal(t, map[string]any{"name": "t1-queue"}, s.Pending[0].Resource.Inputs)
	require.False(t, s.Pending[0].Resource.Cloud(), "it has no ID yet")
}

func TestReadAStackWithoutResources(t *testing.T) {
	t.Parallel()

	s, err := checkpoint.Read(fixture(t, "fresh"))
	require.NoError(t, err)
	require.Equal(t, "organization/lessor/fresh", s.Stack)
	require.Equal(t, "passphrase", s.SecretsProvider)
	require.Empty(t, s.Resources)
	require.True(t, s.Empty())

	for _, half := range []string{
		`{"version":0,"checkpoint":{"stack":"organization/lessor/half"}}`,
		`{"version":3,"checkpoint":{"stack":"organization/lessor/half"}}`,
		`{"version":3,"checkpoint":{"stack":"organization/lessor/half","latest":null}}`,
		`{"version":4,"features":["taint"],"checkpoint":{"stack":"organization/lessor/half","latest":{}}}`,
	} {
		s, err := checkpoint.Read([]byte(half))
		require.NoError(t, err)
		require.Equal(t, checkpoint.State{Stack: "organization/lessor/half"}, s)
	}
}

func TestBlankIsReadable(t *testing.T) {
	t.Parallel()

	blank := checkpoint.Blank("lessor", `a"b`)
	require.JSONEq(t, `{"version":3,"checkpoint":{"stack":"organization/lessor/a\"b"}}`, string(blank))
	require.True(t, bytes.HasSuffix(blank, []byte("}\n")), "people look at it with cat")

	s, err := checkpoint.Read(blank)
	require.NoError(t, err)
	require.Equal(t, checkpoint.State{Stack: `organization/lessor/a"b`}, s)
	require.True(t, s.Empty())
}

func TestReadLeavesAStampAlone(t *testing.T) {
	t.Parallel()

	want, err := checkpoint.Read(fixture(t, "full"))
	require.NoError(t, err)

	got, err := checkpoint.Read(append(fixture(t, "full"), " \t\r\n \t\t \n"...))
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// withoutProperties is what an outline has of a state.
func withoutProperties(s checkpoint.State) checkpoint.State {
	s.Resources, s.Pending = slices.Clone(s.Resources), slices.Clone(s.Pending)
	for i := range s.Resources {
		s.Resources[i].Inputs, s.Resources[i].Outputs = nil, nil
	}

	for i := range s.Pending {
		s.Pending[i].Resource.Inputs, s.Pending[i].Resource.Outputs = nil, nil
	}

	return s
}

func TestAnOutlineLacksThePropertiesAndNothingElse(t *testing.T) {
	t.Parallel()

	for _, name := range []string{"fresh", "full", "pending"} {
		whole, err := checkpoint.Read(fixture(t, name))
		require.NoError(t, err)

		got, err := checkpoint.Outline(fixture(t, name))
		require.NoError(t, err)
		require.Equal(t, withoutProperties(whole), got, name)
	}

	for _, properties := range []string{`"inputs":[]`, `"outputs":"secret"`} {
		_, err := checkpoint.Outline([]byte(`{"version":3,"checkpoint":{"latest":{"resources":[{` + properties + `}]}}}`))
		require.ErrorIs(t, err, checkpoint.ErrUnreadable)
		require.ErrorContains(t, err, "has the wrong type")
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestUnreadable(t *testing.T) {
	t.Parallel()

	full := string(fixture(t, "full"))
	wrap := func(resource string) string {
		return `{"version":3,"checkpoint":{"stack":"organization/lessor/a","latest":{"resources":[` + resource + `]}}}`
	}

	for name, tt := range map[string]struct{ data, want string }{
		"nothing":           {"", "no JSON at byte 0 of 0"},
		"white space":       {" \n", "no JSON at byte 2 of 2"},
		"cut":               {full[:1000], "no JSON at byte 1000 of 1000"},
		"trailing garbage":  {full + "\n secret-garbage", fmt.Sprintf("no JSON at byte %d of %d", len(full)+3, len(full)+16)},
		"two documents":     {full + full, fmt.Sprintf("no JSON at byte %d of %d", len(full)+1, 2*len(full))},
		"null":              {"null", "its version is 0"},
		"some JSON":         {`{"hello":"secret-world"}`, "its version is 0, not 3 or 4"},
		"an old deployment": {`{"version":0,"checkpoint":{"stack":"s","latest":{}}}`, "its version is 0"},
		"an old version":    {`{"version":2,"checkpoint":{}}`, "its version is 2"},
		"a future version":  {`{"version":5,"checkpoint":{}}`, "its version is 5"},
		"no checkpoint":     {`{"version":3}`, `it has no "checkpoint"`},
		"null checkpoint":   {`{"version":3,"checkpoint":null}`, `it has no "checkpoint"`},
		"a list":            {`["secret"]`, `has the wrong type, want struct`},
		"mistyped":          {wrap(`{"urn":123456}`), `the value of "checkpoint.latest.resources.urn" at byte 95 of 100 has the wrong type, want string`},
		"mistyped property": {wrap(`{"outputs":["secret"]}`), `the value of "checkpoint.latest.resources.outputs"`},
		"nested too deep":   {wrap(`{"inputs":{"a":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}}`), "no JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s, err := checkpoint.Read([]byte(tt.data))
			require.ErrorIs(t, err, checkpoint.ErrUnreadable)
			require.NotErrorIs(t, err, checkpoint.ErrIntegrity)
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), "secret")
			require.NotContains(t, err.Error(), "123456")
			require.Zero(t, s)
		})
	}
}

func TestReadHasALimit(t *testing.T) {
	t.Parallel()

	blank := checkpoint.Blank("lessor", "a")

	data := bytes.Repeat([]byte{' '}, checkpoint.MaxBytes+1)
	copy(data, blank)

	_, err := checkpoint.Read(data)
	require.ErrorIs(t, err, checkpoint.ErrUnreadable)
	require.ErrorContains(t, err, "67108865 bytes, more than 67108864")

	_, err = checkpoint.Read(data[:checkpoint.MaxBytes])
	require.NoError(t, err)
}

func TestEmpty(t *testing.T) {
	t.Parallel()

	stack := checkpoint.Resource{Type: "pulumi:pulumi:Stack"}
	provider := checkpoint.Resource{Type: "pulumi:providers:aws", Custom: true, ID: "1"}
	component := checkpoint.Resource{Type: "lessor:infra:Silo"}
	waiting := checkpoint.Resource{Type: "aws:ec2/vpc:Vpc", Custom: true, ID: "vpc-1", Delete: true}
	pending := []checkpoint.Pending{{Operation: "creating", Resource: waiting}}

	for name, tt := range map[string]struct {
		state checkpoint.State
		want  bool
	}{
		"nothing":               {checkpoint.State{}, true},
		"stack and providers":   {checkpoint.State{Resources: []checkpoint.Resource{stack, provider}}, true},
		"a component":           {checkpoint.State{Resources: []checkpoint.Resource{stack, component}}, false},
		"a resource":            {checkpoint.State{Resources: []checkpoint.Resource{provider, waiting}}, false},
		"no provider but alike": {checkpoint.State{Resources: []checkpoint.Resource{{Type: "pulumi:providers:"}}}, false},
		"an operation":          {checkpoint.State{Resources: []checkpoint.Resource{stack}, Pending: pending}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			require.Equal(t, tt.want, tt.state.Empty())
		})
	}

	require.False(t, provider.Cloud())
	require.False(t, stack.Cloud())
	require.False(t, checkpoint.Resource{Type: "aws:ec2/vpc:Vpc", Custom: true}.Cloud())
	require.False(t, checkpoint.Resource{Type: "lessor:infra:Silo", ID: "1"}.Cloud())
	require.False(t, checkpoint.Resource{Type: "pulumi:pulumi:Stack", ID: "1", Custom: true}.Cloud())
}
