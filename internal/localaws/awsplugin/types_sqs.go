package awsplugin

func sqsTypes() []resourceType {
	const (
		maxMessage = float64(262144)
		retention  = float64(345600)
		visibility = float64(30)
		reuse      = float64(300)
		// SQS takes 1 MiB; the provider that this version is made from does not:
		// https://github.com/pulumi/pulumi-aws/issues/6321
		minMessage = float64(1024)
	)

	return []resourceType{
		{
			typ: "aws:sqs/queue:Queue", service: "SQS", noun: "SQS Queue", taggable: true, data: queueData(), idOf: (*clients).reachable,
			calls: calls{"CreateQueue", "GetQueueAttributes", "SetQueueAttributes", "DeleteQueue"},
			name:  autoName{property: "name", limit: 80},
			inputs: map[string]property{
				"name":                         {replace: true},
				"fifoQueue":                    {replace: true, fallback: false},
				"contentBasedDeduplication":    {fallback: false},
				"deduplicationScope":           {computed: true},
				"fifoThroughputLimit":          {computed: true},
				"delaySeconds":                 {fallback: float64(0)},
				"maxMessageSize":               {fallback: maxMessage, least: minMessage, most: maxMessage},
				"messageRetentionSeconds":      {fallback: retention},
				"receiveWaitTimeSeconds":       {fallback: float64(0)},
				"visibilityTimeoutSeconds":     {fallback: visibility},
				"policy":                       {computed: true},
				"redrivePolicy":                {computed: true},
				"redriveAllowPolicy":           {computed: true},
				"kmsMasterKeyId":               {},
				"kmsDataKeyReusePeriodSeconds": {fallback: reuse},
				"sqsManagedSseEnabled":         {computed: true},
			},
			outputs: []string{"arn", "url"},
		},
		{
			typ: "aws:sqs/redrivePolicy:RedrivePolicy", service: "SQS", noun: "SQS Queue Redrive Policy",
			data: queueSetting("RedrivePolicy", "redrivePolicy"), idOf: (*clients).reachable,
			calls: calls{"SetQueueAttributes", "GetQueueAttributes", "SetQueueAttributes", "SetQueueAttributes"},
			inputs: map[string]property{
				"queueUrl":      {required: true, replace: true},
				"redrivePolicy": {required: true},
			},
		},
		{
			typ: "aws:sqs/queuePolicy:QueuePolicy", service: "SQS", noun: "SQS Queue Policy",
			data: queueSetting("Policy", "policy"), idOf: (*clients).reachable,
			calls: calls{"SetQueueAttributes", "GetQueueAttributes", "SetQueueAttributes", "SetQueueAttributes"},
			inputs: map[string]property{
				"queueUrl": {required: true, replace: true},
				"policy":   {required: true},
			},
		},
	}
}
