package cloudsim

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
)

const (
	// maxInlinePolicies is the size of all inline policies of a role together.
	// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
	maxInlinePolicies = 10240
	roleIDDigits      = 17
	// maxManagedPolicy is the size of a managed policy without white space.
	maxManagedPolicy = 6144
	codeNoEntity     = "NoSuchEntity"
)

func iamKinds() map[string]kind {
	return map[string]kind{
		TypeRole: {
			name:   "name",
			global: true,
			// https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateRole.html
			names: regexp.MustCompile(`^[\w+=,.@-]{1,64}$`),
			badName: func(name string) *Error {
				return badRequest(codeValidation, "1 validation error detected: Value '%s' at 'roleName' failed to satisfy constraint: "+
					"Member must have length less than or equal to 64 and satisfy regular expression pattern: [\\w+=,.@-]+", name)
			},
			taken: func(r *Resource) *Error {
				return conflict("EntityAlreadyExists", "Role with name %s already exists.", r.Text("name"))
			},
			missing: missingRole,
			check:   checkRole,
			fill:    fillRole,
			blocked: roleBlocked,
		},
		TypeRolePolicy: {
			name:  "name",
			scope: "role",
			// https://docs.aws.amazon.com/IAM/latest/APIReference/API_PutRolePolicy.html
			names: regexp.MustCompile(`^[\w+=,.@-]{1,128}$`),
			badName: func(name string) *Error {
				return badRequest(codeValidation,
					"1 validation error detected: Value '%s' at 'policyName' failed to satisfy constraint", name)
			},
			id: func(_ *Cloud, r *Resource) string { return r.Text("role") + ":" + r.Text("name") },
			// A second put replaces the first.
			taken: func(*Resource) *Error { return nil },
			missing: func(id string) *Error {
				_, name, _ := strings.Cut(id, ":")

				return notFound(codeNoEntity, "The role policy with name %s cannot be found.", name).modeled()
			},
			check: checkRolePolicy,
		},
		TypePolicy: {
			name:   "name",
			global: true,
			// https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreatePolicy.html
			names: regexp.MustCompile(`^[\w+=,.@-]{1,128}$`),
			badName: func(name string) *Error {
				return badRequest(codeValidation,
					"1 validation error detected: Value '%s' at 'policyName' failed to satisfy constraint", name)
			},
			id: func(_ *Cloud, r *Resource) string { return policyARN(r) },
			taken: func(r *Resource) *Error {
				return conflict("EntityAlreadyExists", "A policy called %s already exists. Duplicate names are not allowed.",
					r.Text("name"))
			},
			missing: func(id string) *Error {
				return notFound(codeNoEntity, "Policy %s does not exist or is not attachable.", id).modeled()
			},
			check: checkManagedPolicy,
			fill: func(_ *Cloud, r *Resource) {
				r.set("arn", r.ID)

				if r.Text("policyId") == "" {
					r.set("policyId", "ANPA"+strings.ToUpper(randomHex(roleIDDigits)))
				}
			},
		},
	}
}

func missingRole(name string) *Error {
	return notFound(codeNoEntity, "The role with name %s cannot be found.", name).modeled()
}

func conflict(code, format string, args ...any) *Error {
	err := badRequest(code, format, args...).modeled()
	err.Status = http.StatusConflict

	return err
}

// checkRole: a role says who may take it.
// https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateRole.html
func checkRole(_ *Cloud, r, _ *Resource) *Error { return checkPolicy(r.Text("assumeRolePolicy")) }

// checkPolicy: a policy is a JSON object with statements.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html
func checkPolicy(document string) *Error {
	var policy struct {
		Statement json.RawMessage `json:"Statement"` //nolint:tagliatelle // the policy language
	}

	if err := json.Unmarshal([]byte(document), &policy); err != nil || len(policy.Statement) == 0 {
		return badRequest("MalformedPolicyDocument", "Syntax errors in policy.").modeled()
	}

	return nil
}

// checkManagedPolicy: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
func checkManagedPolicy(_ *Cloud, r, _ *Resource) *Error {
	document := r.Text("policy")
	if err := checkPolicy(document); err != nil {
		return err
	}

	if len(strings.Join(strings.Fields(document), "")) > maxManagedPolicy {
		return conflict("LimitExceeded", "Cannot exceed quota for PolicySize: %d", maxManagedPolicy)
	}

	return nil
}

func policyARN(r *Resource) string {
	path := r.Text("path")
	if path == "" {
		path = "/"
	}

	return "arn:aws:iam::" + Account + ":policy" + path + r.Text("name")
}

func fillRole(_ *Cloud, r *Resource) {
	path := r.Text("path")
	if path == "" {
		path = "/"
	}

	r.set("arn", "arn:aws:iam::"+Account+":role"+path+r.ID)

	if r.Text("uniqueId") == "" {
		r.set("uniqueId", "AROA"+strings.ToUpper(randomHex(roleIDDigits)))
		r.set("createDate", r.CreatedAt.UTC().Format("2006-01-02T15:04:05Z"))
	}
}

// roleBlocked: inline policies go first.
// https://docs.aws.amazon.com/IAM/latest/APIReference/API_DeleteRole.html
func roleBlocked(c *Cloud, r, _ *Resource) *Error {
	for _, policy := range c.of(TypeRolePolicy, r.Region) {
		if policy.Text("role") == r.ID {
			return conflict("DeleteConflict", "Cannot delete entity, must delete policies first.")
		}
	}

	return nil
}

// checkRolePolicy: the role is there, and its policies are not too long.
// https://docs.aws.amazon.com/IAM/latest/APIReference/API_PutRolePolicy.html
func checkRolePolicy(c *Cloud, r, _ *Resource) *Error {
	role := r.Text("role")
	if c.find(TypeRole, r.Region, role) == nil {
		return missingRole(role)
	}

	if err := checkPolicy(r.Text("policy")); err != nil {
		return err
	}

	size := len(r.Text("policy"))

	for _, other := range c.of(TypeRolePolicy, r.Region) {
		if other.ID != r.ID && other.Text("role") == role {
			size += len(other.Text("policy"))
		}
	}

	if size > maxInlinePolicies {
		return conflict("LimitExceeded", "Maximum policy size of %d bytes exceeded for role %s", maxInlinePolicies, role)
	}

	return nil
}
