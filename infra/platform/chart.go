package platform

import (
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Ways of charts/lessor for a pod to get its rights.
const (
	identityIRSA = "irsa"
	identityPods = "podIdentity"
	identityNone = "none"
)

// chartValues are what charts/lessor needs of this stack. The rest of the chart's
// values is up to whoever runs the fleet.
func (p parts) chartValues(outputs pulumi.Map) pulumi.Map {
	aws := pulumi.Map{
		"region":   p.queues.Events.Arn.ApplyT(regionOf),
		"identity": pulumi.String(p.identity()),
	}
	if p.access.Worker != nil {
		aws["roleArn"] = outputs[OutputWorkerRoleARN]
	}

	values := pulumi.Map{
		"aws": aws,
		"queue": pulumi.Map{
			"url":               outputs[OutputQueueURL],
			"deadLetterUrl":     outputs[OutputDeadLetterQueueURL],
			"visibilityTimeout": pulumi.String(p.cfg.VisibilityTimeout.String()),
		},
		"state": pulumi.Map{
			"buckets":         outputs[OutputStateBuckets],
			"secretsProvider": outputs[OutputSecretsProvider],
		},
		"registry": pulumi.Map{"table": outputs[OutputTableName]},
		"serviceAccount": pulumi.Map{
			"create": pulumi.Bool(true),
			"name":   pulumi.String(p.cfg.Worker.Name),
		},
	}

	if p.results != nil {
		values["results"] = pulumi.Map{"target": p.results.ARN}
	}

	return values
}

func (p parts) identity() string {
	switch {
	case p.cfg.Cluster.OIDCProviderARN != "":
		return identityIRSA
	case p.cfg.Cluster.PodIdentity:
		return identityPods
	default:
		return identityNone
	}
}

func regionOf(arn string) string {
	if parts := strings.Split(arn, ":"); len(parts) > arnRegion {
		return parts[arnRegion]
	}

	return ""
}
