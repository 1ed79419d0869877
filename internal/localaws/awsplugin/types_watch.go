package awsplugin

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

func watchTypes() []resourceType {
	return []resourceType{
		{
			typ: cloudsim.TypeAlarm, service: "CloudWatch", noun: "CloudWatch Metric Alarm", taggable: true,
			calls: calls{"PutMetricAlarm", "DescribeAlarms", "PutMetricAlarm", "DeleteAlarms"},
			name:  autoName{property: "name", limit: 255},
			inputs: map[string]property{
				"name":               {replace: true},
				"comparisonOperator": {required: true},
				"evaluationPeriods":  {required: true},
				"actionsEnabled":     {fallback: true},
				"alarmActions":       {},
				"alarmDescription":   {},
				"datapointsToAlarm":  {},
				"dimensions":         {},
				"metricName":         {},
				"namespace":          {},
				"okActions":          {},
				"period":             {},
				"statistic":          {},
				"threshold":          {},
				"treatMissingData":   {fallback: "missing"},
				"unit":               {},

				"insufficientDataActions":           {},
				"evaluateLowSampleCountPercentiles": {computed: true},
			},
			outputs: []string{"arn"},
		},
		{
			typ: cloudsim.TypeBus, service: "EventBridge", noun: "EventBridge Event Bus", taggable: true, data: busData(),
			calls: calls{"CreateEventBus", "DescribeEventBus", "UpdateEventBus", "DeleteEventBus"},
			name:  autoName{property: "name", limit: 256},
			inputs: map[string]property{
				"name":             {replace: true},
				"description":      {},
				"kmsKeyIdentifier": {},
			},
			outputs: []string{"arn"},
		},
	}
}

func busData() *dataPlane {
	return &dataPlane{
		create: func(ctx context.Context, c *clients, p part) (string, map[string]any, error) {
			_, err := c.events.CreateEventBus(ctx, &eventbridge.CreateEventBusInput{Name: aws.String(p.inputs.text("name"))})
			if leftOver[*eventtypes.ResourceAlreadyExistsException](err) {
				return "", nil, nil
			}

			return "", nil, err //nolint:wrapcheck // explained by the caller
		},
		remove: func(ctx context.Context, c *clients, p part) error {
			_, err := c.events.DeleteEventBus(ctx, &eventbridge.DeleteEventBusInput{Name: &p.id})

			return err //nolint:wrapcheck // explained by the caller
		},
	}
}
