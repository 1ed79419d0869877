package platform

import (
	"fmt"
	"time"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/cloudwatch"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/sqs"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// alarmPeriod is how often SQS itself reports.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-monitoring-using-cloudwatch.html
const alarmPeriod = 5 * time.Minute

// AlarmsArgs say what is watched and who is told.
type AlarmsArgs struct {
	Name   string
	Queues *Queues
	// OldestMessage is the age that is too old.
	OldestMessage time.Duration
	Actions       []string
}

// Alarms watch the queues from outside: they go off even if there is no worker
// and no Prometheus left.
type Alarms struct {
	pulumi.ResourceState
}

type alarm struct {
	name, description string
	queue             *sqs.Queue
	metric            string
	above             float64
}

// NewAlarms declares the alarms.
func NewAlarms(ctx *pulumi.Context, name string, args AlarmsArgs, opts ...pulumi.ResourceOption) (*Alarms, error) {
	alarms := &Alarms{}
	if err := ctx.RegisterComponentResource("lessor:platform:Alarms", name, alarms, opts...); err != nil {
		return nil, fmt.Errorf("alarms: %w", err)
	}

	for _, a := range args.all() {
		if err := a.declare(ctx, args, pulumi.Parent(alarms)); err != nil {
			return nil, err
		}
	}

	return alarms, nil
}

// all of the alarms. What SQS moves to the dead-letter queue by itself is not in
// NumberOfMessagesSent, so what is there is counted.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html
func (args AlarmsArgs) all() []alarm {
	return []alarm{
		{
			"dead-letters", "Messages that no worker could use are in the dead-letter queue: enqueue dlq list",
			args.Queues.DeadLetters, "ApproximateNumberOfMessagesVisible", 0,
		},
		{
			"oldest-message",
			fmt.Sprintf("A tenant's event waits for more than %s: is there a worker, and is the fleet paused?", args.OldestMessage),
			args.Queues.Events, "ApproximateAgeOfOldestMessage", args.OldestMessage.Seconds(),
		},
	}
}

func (a alarm) declare(ctx *pulumi.Context, args AlarmsArgs, opts ...pulumi.ResourceOption) error {
	actions := pulumi.ToArray(toAny(args.Actions))

	_, err := cloudwatch.NewMetricAlarm(ctx, a.name, &cloudwatch.MetricAlarmArgs{
		Name:               pulumi.String(args.Name + "-" + a.name),
		AlarmDescription:   pulumi.String(a.description),
		Namespace:          pulumi.String("AWS/SQS"),
		MetricName:         pulumi.String(a.metric),
		Dimensions:         pulumi.StringMap{"QueueName": a.queue.Name},
		Statistic:          pulumi.String("Maximum"),
		ComparisonOperator: pulumi.String("GreaterThanThreshold"),
		Threshold:          pulumi.Float64(a.above),
		Period:             seconds(alarmPeriod),
		EvaluationPeriods:  pulumi.Int(1),
		// SQS reports nothing of a queue that nobody used for six hours.
		TreatMissingData: pulumi.String("notBreaching"),
		AlarmActions:     actions,
		OkActions:        actions,
	}, opts...)
	if err != nil {
		return fmt.Errorf("alarm %s: %w", a.name, err)
	}

	return nil
}

func toAny(texts []string) []any {
	list := make([]any, 0, len(texts))
	for _, text := range texts {
		list = append(list, text)
	}

	return list
}
