package platform

import (
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Outputs of the stack.
const (
	OutputQueueURL           = "queueUrl"
	OutputDeadLetterQueueURL = "deadLetterQueueUrl"
	OutputTableName          = "tableName"
	OutputStateBuckets       = "stateBuckets"
	OutputSecretsProvider    = "secretsProvider"
	OutputResultTarget       = "resultTarget"
	OutputWorkerRoleARN      = "workerRoleArn"
	OutputScalerRoleARN      = "scalerRoleArn"
	OutputProducerPolicyARN  = "producerPolicyArn"
	// OutputEnvironment is a map from the worker's and enqueue's variables to
	// the values that they have in this stack.
	OutputEnvironment = "environment"
	// OutputChartValues are values of the chart, as `helm install -f` takes them.
	OutputChartValues = "chartValues"
)

// parts are all that there is.
type parts struct {
	cfg     Config
	keys    *Keys
	queues  *Queues
	table   *Table
	buckets []*Bucket
	results *ResultsTarget
	access  *Access
}

func (p parts) outputs() pulumi.Map {
	names := make(pulumi.StringArray, 0, len(p.buckets))
	for _, bucket := range p.buckets {
		names = append(names, bucket.Name)
	}

	outputs := pulumi.Map{
		OutputQueueURL:           p.queues.Events.Url,
		OutputDeadLetterQueueURL: p.queues.DeadLetters.Url,
		OutputTableName:          p.table.Tenants.Name,
		OutputStateBuckets:       names,
		OutputSecretsProvider:    secretsProviderURL(p.keys.State),
		OutputProducerPolicyARN:  p.access.Producers.Arn,
	}
	environment := pulumi.Map{
		"LESSOR_QUEUE_URL":             outputs[OutputQueueURL],
		"LESSOR_DEAD_LETTER_QUEUE_URL": outputs[OutputDeadLetterQueueURL],
		"LESSOR_TABLE":                 outputs[OutputTableName],
		"LESSOR_STATE_BUCKETS":         joined(names),
		"LESSOR_SECRETS_PROVIDER":      outputs[OutputSecretsProvider],
	}

	if p.results != nil {
		outputs[OutputResultTarget] = p.results.ARN
		environment["LESSOR_RESULT_TARGET"] = p.results.ARN
	}

	if p.access.Worker != nil {
		outputs[OutputWorkerRoleARN] = p.access.Worker.Arn
		outputs[OutputScalerRoleARN] = p.access.Scaler.Arn
	}

	outputs[OutputEnvironment] = environment
	outputs[OutputChartValues] = p.chartValues(outputs)

	return outputs
}

func joined(names pulumi.StringArray) pulumi.Output {
	return names.ToStringArrayOutput().ApplyT(func(all []string) string { return strings.Join(all, ",") })
}
