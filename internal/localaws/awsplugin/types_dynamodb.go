package awsplugin

func dynamoTypes() []resourceType {
	return []resourceType{{
		typ: "aws:dynamodb/table:Table", service: "DynamoDB", noun: "DynamoDB Table", taggable: true, data: tableData(),
		calls: calls{"CreateTable", "DescribeTable", "UpdateTable", "DeleteTable"},
		name:  autoName{property: "name", limit: 255},
		inputs: map[string]property{
			"name":                      {replace: true},
			"attributes":                {required: true},
			"hashKey":                   {required: true, replace: true},
			"rangeKey":                  {replace: true},
			"billingMode":               {fallback: "PROVISIONED"},
			"readCapacity":              {computed: true},
			"writeCapacity":             {computed: true},
			"globalSecondaryIndexes":    {},
			"localSecondaryIndexes":     {replace: true},
			"ttl":                       {},
			"pointInTimeRecovery":       {computed: true},
			"serverSideEncryption":      {computed: true},
			"streamEnabled":             {},
			"streamViewType":            {computed: true},
			"tableClass":                {},
			"deletionProtectionEnabled": {},
		},
		outputs: []string{"arn", "streamArn", "streamLabel"},
	}}
}
