package awsplugin

import "regexp"

func kmsTypes() []resourceType {
	return []resourceType{
		{
			typ: "aws:kms/key:Key", service: "KMS", noun: "KMS Key", taggable: true, data: keyData(),
			calls: calls{"CreateKey", "DescribeKey", "UpdateKeyDescription", "ScheduleKeyDeletion"},
			inputs: map[string]property{
				"description":                    {computed: true},
				"keyUsage":                       {replace: true, fallback: "ENCRYPT_DECRYPT"},
				"customerMasterKeySpec":          {replace: true, fallback: "SYMMETRIC_DEFAULT"},
				"multiRegion":                    {replace: true, computed: true},
				"policy":                         {computed: true},
				"enableKeyRotation":              {},
				"rotationPeriodInDays":           {computed: true},
				"isEnabled":                      {fallback: true},
				"deletionWindowInDays":           {},
				"bypassPolicyLockoutSafetyCheck": {fallback: false},
			},
			outputs: []string{"arn", "keyId"},
		},
		{
			typ: "aws:kms/alias:Alias", service: "KMS", noun: "KMS Alias", data: aliasData(),
			calls: calls{"CreateAlias", "ListAliases", "UpdateAlias", "DeleteAlias"},
			name:  autoName{property: "name", prefix: "alias/", limit: 256},
			inputs: map[string]property{
				"name": {
					replace: true, form: regexp.MustCompile(`^alias/[a-zA-Z0-9/_-]+$`),
					hint: "it must begin with 'alias/' and be comprised of only [a-zA-Z0-9/_-]",
				},
				"targetKeyId": {required: true},
			},
			outputs: []string{"arn", "targetKeyArn"},
		},
	}
}
