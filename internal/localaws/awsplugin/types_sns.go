package awsplugin

func snsTypes() []resourceType {
	return []resourceType{{
		typ: "aws:sns/topic:Topic", service: "SNS", noun: "SNS Topic", taggable: true, data: topicData(),
		calls: calls{"CreateTopic", "GetTopicAttributes", "SetTopicAttributes", "DeleteTopic"},
		name:  autoName{property: "name", limit: 256},
		inputs: map[string]property{
			"name":                      {replace: true},
			"displayName":               {},
			"fifoTopic":                 {replace: true, fallback: false},
			"contentBasedDeduplication": {fallback: false},
			"policy":                    {computed: true},
			"kmsMasterKeyId":            {},
			"tracingConfig":             {computed: true},
			"signatureVersion":          {computed: true},
		},
		outputs: []string{"arn", "owner", "beginningArchiveTime"},
	}}
}
