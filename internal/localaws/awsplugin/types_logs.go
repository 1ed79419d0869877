package awsplugin

import "github.com/lessor-dev/lessor/internal/localaws/cloudsim"

func logsTypes() []resourceType {
	return []resourceType{{
		typ: cloudsim.TypeLogGroup, service: "CloudWatch Logs", noun: "CloudWatch Logs Log Group", taggable: true,
		calls: calls{"CreateLogGroup", "DescribeLogGroups", "PutRetentionPolicy", "DeleteLogGroup"},
		name:  autoName{property: "name", limit: 512},
		inputs: map[string]property{
			"name":            {replace: true},
			"retentionInDays": {fallback: float64(0)},
			"kmsKeyId":        {},
			"logGroupClass":   {computed: true, replace: true},
			"skipDestroy":     {fallback: false},
		},
		outputs: []string{"arn"},
	}}
}
