package programs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/cloudwatch"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/engine"
)

// logTerms are for how many days CloudWatch can keep logs. Keeping them for ever
// is possible too, but nobody means to.
// https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html
func logTerms() []int {
	return []int{1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653}
}

func checkLogTerm(name string, days int) error {
	if terms := logTerms(); !slices.Contains(terms, days) {
		return problem(name, "%d is none of %s", days, strings.Trim(fmt.Sprint(terms), "[]"))
	}

	return nil
}

// newLogs declares a log group.
func newLogs(
	ctx *pulumi.Context, topology engine.Topology, part, name string, days int, opts ...pulumi.ResourceOption,
) (*cloudwatch.LogGroup, error) {
	group, err := cloudwatch.NewLogGroup(ctx, topology.Name(part), &cloudwatch.LogGroupArgs{
		Name:            pulumi.String(name),
		RetentionInDays: pulumi.Int(days),
		Tags:            named(topology.PhysicalName(part, maxTagValue)),
	}, opts...)
	if err != nil {
		return nil, fmt.Errorf("log group: %w", err)
	}

	return group, nil
}

// writeLogs lets lines be written to a log group, and none be read.
func writeLogs(group *cloudwatch.LogGroup) Statement {
	return Statement{
		ID:        "Logs",
		Actions:   []string{"logs:CreateLogStream", "logs:PutLogEvents"},
		Resources: []pulumi.StringInput{pulumi.Sprintf("%s:*", group.Arn)},
	}
}
