package platform

import "github.com/pulumi/pulumi/sdk/v3/go/pulumi"

const (
	policyVersion = "2012-10-17"
	allow         = "Allow"
	deny          = "Deny"
	everybody     = "*"
)

// Statement is one of a policy. Without Deny it allows.
type Statement struct {
	ID        string
	Deny      bool
	Principal pulumi.Input
	Actions   []string
	Resources pulumi.StringArray
	Condition pulumi.Input
}

// document makes the JSON of a policy. A statement of an identity's policy that
// names no resource is left out: it would be about nothing.
func document(statements ...Statement) pulumi.StringOutput {
	list := make(pulumi.Array, 0, len(statements))

	for _, s := range statements {
		if len(s.Resources) == 0 && s.Principal == nil {
			continue
		}

		list = append(list, s.document())
	}

	return pulumi.JSONMarshal(pulumi.Map{"Version": pulumi.String(policyVersion), "Statement": list})
}

func (s Statement) document() pulumi.Map {
	effect := allow
	if s.Deny {
		effect = deny
	}

	made := pulumi.Map{
		"Sid":    pulumi.String(s.ID),
		"Effect": pulumi.String(effect),
		"Action": pulumi.ToStringArray(s.Actions),
	}

	if s.Principal != nil {
		made["Principal"] = s.Principal
	}

	if len(s.Resources) > 0 {
		made["Resource"] = s.Resources
	}

	if s.Condition != nil {
		made["Condition"] = s.Condition
	}

	return made
}

// tlsOnly refuses whoever does not encrypt what is sent.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html#condition-keys-securetransport
func tlsOnly(action string, resources ...pulumi.StringInput) Statement {
	return Statement{
		ID: "TLSOnly", Deny: true, Principal: pulumi.String(everybody), Actions: []string{action}, Resources: resources,
		Condition: pulumi.Map{"Bool": pulumi.StringMap{"aws:SecureTransport": pulumi.String("false")}},
	}
}
