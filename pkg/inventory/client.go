package inventory

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/schemas"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"
)

// sessionName is how the look-ups of a role show up in CloudTrail.
const sessionName = "lessor-inventory"

// Open returns the Inventory of a region, with the credentials of cfg.
//
// They need tag:GetResources and, for keys that wait for their deletion,
// kms:DescribeKey.
func Open(cfg aws.Config, region string) *Inventory {
	cfg.Region = region

	return New(tagging.NewFromConfig(cfg, func(o *tagging.Options) {
		// AWS answers both protocols, and what stands in for it this one.
		o.Protocol = awsjson.New11(schemas.ResourceGroupsTaggingAPI_20170126)
	})).WithKeys(kms.NewFromConfig(cfg))
}

// Assume returns cfg with the credentials of a role, which are fetched with
// those of cfg when they are first needed. Without a role it is cfg.
func Assume(cfg aws.Config, role string) aws.Config {
	if role == "" {
		return cfg
	}

	provider := stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), role, func(o *stscreds.AssumeRoleOptions) {
		o.RoleSessionName = sessionName
	})
	assumed := cfg.Copy()
	assumed.Credentials = aws.NewCredentialsCache(provider)

	return assumed
}
