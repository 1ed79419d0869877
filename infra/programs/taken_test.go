package programs_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/infra/programs"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// everyProgram is a topology of each.
func everyProgram(changes ...func(*engine.Topology)) map[string]engine.Topology {
	all := map[string]engine.Topology{
		programs.NamePool: topology(with("sharedEndpoint", `"x"`)), programs.NameBridge: bridged(),
		programs.NameSilo: peering(with("peerRouteTableIds", `["rtb-0000000a"]`)), programs.NameShared: topology(),
	}
	for name, top := range all {
		for _, change := range changes {
			change(&top)
		}

		all[name] = top
	}

	return all
}

func fresh(top *engine.Topology) { top.Fresh = true }

// naming is where a type has its name at AWS, and what AWS allows of it. Types
// without a name have no property.
type naming struct {
	property string
	limit    int
	form     string
	// function looks the name up that an account and region, or what argument
	// within names, can give once; "" where names are given as often as one likes.
	function, argument, within string
}

// namings are of every type that a program may use, with the pages of names.go.
func namings() map[string]naming {
	const word = `^[A-Za-z0-9_.-]+$`

	return map[string]naming{
		"aws:rds/instance:Instance":             {"identifier", 63, `^[a-z](-?[a-z0-9])*$`, "aws:rds/getInstance:getInstance", "dbInstanceIdentifier", ""},
		"aws:rds/subnetGroup:SubnetGroup":       {"name", 255, `^[a-z0-9 ._-]+$`, "aws:rds/getSubnetGroup:getSubnetGroup", "name", ""},
		"aws:cloudwatch/logGroup:LogGroup":      {"name", 512, `^[A-Za-z0-9_./#-]+$`, "aws:cloudwatch/getLogGroup:getLogGroup", "name", ""},
		"aws:kms/alias:Alias":                   {"name", 256, `^alias/[A-Za-z0-9/_-]+$`, "aws:kms/getAlias:getAlias", "name", ""},
		"aws:ecs/cluster:Cluster":               {"name", 255, `^[A-Za-z0-9_-]+$`, "aws:ecs/getCluster:getCluster", "clusterName", ""},
		"aws:ecs/service:Service":               {"name", 255, `^[A-Za-z0-9_-]+$`, "aws:ecs/getService:getService", "serviceName", "clusterArn"},
		"aws:ecs/taskDefinition:TaskDefinition": {"family", 255, `^[A-Za-z0-9_-]+$`, "", "", ""},
		"aws:lb/loadBalancer:LoadBalancer":      {"name", 32, `^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$`, "aws:lb/getLoadBalancer:getLoadBalancer", "name", ""},
		"aws:lb/targetGroup:TargetGroup":        {"name", 32, `^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$`, "aws:lb/getTargetGroup:getTargetGroup", "name", ""},
		"aws:dynamodb/table:Table":              {"name", 255, word, "aws:dynamodb/getTable:getTable", "name", ""},
		"aws:sqs/queue:Queue":                   {"name", 80, `^[A-Za-z0-9_-]+$`, "aws:sqs/getQueue:getQueue", "name", ""},
		"aws:iam/role:Role":                     {"name", 64, `^[\w+=,.@-]+$`, "aws:iam/getRole:getRole", "name", ""},
		"aws:iam/rolePolicy:RolePolicy":         {"name", 128, `^[\w+=,.@-]+$`, "", "", ""},
		// The name is given once in a VPC, which is new.
		"aws:ec2/securityGroup:SecurityGroup": {"name", 255, `^[a-zA-Z0-9 ._:/()#,@\[\]+=&;{}!$*-]+$`, "", "", ""},

		"aws:ec2/vpc:Vpc": {}, "aws:ec2/subnet:Subnet": {}, "aws:ec2/routeTable:RouteTable": {}, "aws:ec2/route:Route": {},
		"aws:ec2/routeTableAssociation:RouteTableAssociation": {}, "aws:ec2/vpcPeeringConnection:VpcPeeringConnection": {}, "aws:ec2/vpcEndpoint:VpcEndpoint": {},
		"aws:kms/key:Key": {}, "aws:lb/listener:Listener": {}, "aws:lb/listenerRule:ListenerRule": {},
	}
}

// Whatever the tenant's id, every name and tag of every program keeps to what AWS
// allows, and no two tenants or topologies have one in common.
func TestEveryNameKeepsToItsLimit(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("x", 62)
	seen := map[string]string{}

	for _, id := range []tenant.ID{"a", "0", tenant.ID(long + "x"), tenant.ID(long + "_"), tenant.ID(strings.ToUpper(long) + "x")} {
		for _, generation := range []int{1, 2, 12345} {
			tops := everyProgram(func(top *engine.Topology) {
				top.Tenant, top.Generation, top.RoleARN = id, generation, "arn:aws:iam::123456789012:role/tenants"
			})
			for program, top := range tops {
				for name, r := range must(t, programs.All()[program], top).resources {
					who := fmt.Sprintf("%s of t%d of %s", name, generation, id)

					if physical := requireNamed(t, who, r); physical != "" {
						key := program + " " + r.TypeToken + " " + physical
						require.NotContains(t, seen, key, who)
						seen[key] = who
					}
				}
			}
		}
	}
}

// requireNamed returns the name of a resource, "" if that may be given again.
func requireNamed(t *testing.T, who string, r pulumi.MockResourceArgs) string {
	t.Helper()

	const maxTag, maxSession = 256, 64

	inputs := r.Inputs.Mappable()

	tags, _ := inputs["tags"].(map[string]any)
	for key, value := range tags {
		text, _ := value.(string)
		require.LessOrEqual(t, len(text), maxTag, "tag %s of %s", key, who)
	}

	if r.TypeToken == "pulumi:providers:aws" {
		role, _ := inputs["assumeRole"].(map[string]any)
		session, _ := role["sessionName"].(string)
		require.NotEmpty(t, session)
		require.LessOrEqual(t, len(session), maxSession, who)
	}

	if !strings.HasPrefix(r.TypeToken, "aws:") {
		return ""
	}

	rule, known := namings()[r.TypeToken]
	require.True(t, known, "say what AWS allows of the names of %s", r.TypeToken)

	if rule.property == "" {
		return ""
	}

	physical, _ := inputs[rule.property].(string)
	require.LessOrEqual(t, len(physical), rule.limit, who)
	require.Regexp(t, rule.form, physical, who)

	if rule.function == "" {
		return ""
	}

	return physical
}

// A new topology looks up all names that can be given once before it makes anything.
func TestNewTopologiesLookUpTheirNames(t *testing.T) {
	t.Parallel()

	for program, top := range everyProgram(fresh) {
		out := must(t, programs.All()[program], top)

		want := map[string]bool{}

		for name, r := range out.resources {
			rule := namings()[r.TypeToken]
			if rule.function == "" {
				continue
			}

			inputs := out.inputs(name)
			arguments := []string{fmt.Sprintf("%s=%v", rule.argument, inputs[rule.property])}

			if rule.within != "" {
				arguments = append(arguments, fmt.Sprintf("%s=%v", rule.within, inputs["cluster"]))
			}

			slices.Sort(arguments)
			want[rule.function+" "+strings.Join(arguments, " ")] = true
		}

		require.Equal(t, want, out.calls, program)

		stands := top
		stands.Fresh = false
		require.Empty(t, must(t, programs.All()[program], stands).calls, "%s that stands looks for nothing", program)

		for call := range want {
			refused, err := deploy(t, programs.All()[program], top, call)

			var taken *engine.TakenError

			require.ErrorAs(t, err, &taken, call)
			require.Contains(t, call, "="+taken.Name)
			require.Equal(t, []string{"t1-aws"}, slices.Collect(maps.Keys(refused.resources)), "%s: nothing is made", call)
		}
	}
}

func TestEveryNameThatIsTakenIsNamed(t *testing.T) {
	t.Parallel()

	_, err := deploy(t, programs.Silo(), topology(fresh),
		"aws:rds/getInstance:getInstance dbInstanceIdentifier=acme-t1-db", "aws:kms/getAlias:getAlias name=alias/acme-t1-key")
	require.ErrorContains(t, err, "there is a DB instance named acme-t1-db already, which is not in the tenant's state")
	require.ErrorContains(t, err, "there is a key alias named alias/acme-t1-key already")
}
