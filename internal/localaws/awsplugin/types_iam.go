package awsplugin

import "github.com/lessor-dev/lessor/internal/localaws/cloudsim"

const (
	maxRoleName   = 64
	maxPolicyName = 128
)

func iamTypes() []resourceType {
	const hour = float64(3600)

	return []resourceType{
		{
			typ: cloudsim.TypeRole, service: "IAM", noun: "IAM Role", taggable: true,
			calls: calls{"CreateRole", "GetRole", "UpdateRole", "DeleteRole"},
			name:  autoName{property: "name", limit: maxRoleName},
			inputs: map[string]property{
				"name":                {replace: true},
				"assumeRolePolicy":    {required: true},
				"description":         {},
				"forceDetachPolicies": {fallback: false},
				"maxSessionDuration":  {fallback: hour},
				"path":                {fallback: "/", replace: true},
				"permissionsBoundary": {},
			},
			outputs: []string{"arn", "uniqueId", "createDate"},
		},
		{
			typ: cloudsim.TypeRolePolicy, service: "IAM", noun: "IAM Role Policy",
			calls: calls{"PutRolePolicy", "GetRolePolicy", "PutRolePolicy", "DeleteRolePolicy"},
			name:  autoName{property: "name", limit: maxPolicyName},
			inputs: map[string]property{
				"name":   {replace: true},
				"role":   {required: true, replace: true},
				"policy": {required: true},
			},
		},
		{
			typ: cloudsim.TypePolicy, service: "IAM", noun: "IAM Policy", taggable: true,
			calls: calls{"CreatePolicy", "GetPolicy", "CreatePolicyVersion", "DeletePolicy"},
			name:  autoName{property: "name", limit: maxPolicyName},
			inputs: map[string]property{
				"name":        {replace: true},
				"description": {replace: true, fallback: managed},
				"path":        {fallback: "/", replace: true},
				"policy":      {required: true},
			},
			outputs: []string{"arn", "policyId"},
		},
	}
}
