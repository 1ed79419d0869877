package inventory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/inventory"
)

func TestUnknownIsWhatNoStateHas(t *testing.T) {
	t.Parallel()

	withARN := func(arn string) inventory.Known {
		return inventory.Known{Type: "aws:any/thing:Thing", ID: "x", Outputs: map[string]any{"arn": arn}}
	}

	for name, c := range map[string]struct {
		found string
		known inventory.Known
		same  bool
	}{
		"by ARN":                     {ec2 + "vpc/vpc-1", withARN(ec2 + "vpc/vpc-1"), true},
		"another ARN":                {ec2 + "vpc/vpc-1", withARN(ec2 + "vpc/vpc-2"), false},
		"the ARN beats the id":       {ec2 + "vpc/vpc-1", inventory.Known{Type: "aws:ec2/vpc:Vpc", ID: "vpc-1", Outputs: map[string]any{"arn": "arn:other"}}, false},
		"vpc":                        {ec2 + "vpc/vpc-1", inventory.Known{Type: "aws:ec2/vpc:Vpc", ID: "vpc-1"}, true},
		"another vpc":                {ec2 + "vpc/vpc-1", inventory.Known{Type: "aws:ec2/vpc:Vpc", ID: "vpc-2"}, false},
		"another kind of one id":     {ec2 + "subnet/x-1", inventory.Known{Type: "aws:ec2/vpc:Vpc", ID: "x-1"}, false},
		"subnet":                     {ec2 + "subnet/subnet-1", inventory.Known{Type: "aws:ec2/subnet:Subnet", ID: "subnet-1"}, true},
		"security group":             {ec2 + "security-group/sg-1", inventory.Known{Type: "aws:ec2/securityGroup:SecurityGroup", ID: "sg-1"}, true},
		"key":                        {key + "1-2", inventory.Known{Type: "aws:kms/key:Key", ID: "1-2"}, true},
		"database":                   {rds + "db:acme", inventory.Known{Type: "aws:rds/instance:Instance", ID: "acme"}, true},
		"subnet group of one name":   {rds + "subgrp:acme", inventory.Known{Type: "aws:rds/instance:Instance", ID: "acme"}, false},
		"subnet group":               {rds + "subgrp:acme", inventory.Known{Type: "aws:rds/subnetGroup:SubnetGroup", ID: "acme"}, true},
		"table":                      {"arn:aws:dynamodb:eu-west-1:1:table/acme", inventory.Known{Type: "aws:dynamodb/table:Table", ID: "acme"}, true},
		"bucket":                     {"arn:aws:s3:::acme", inventory.Known{Type: "aws:s3/bucketV2:BucketV2", ID: "acme"}, true},
		"queue":                      {sqs + "acme", inventory.Known{Type: "aws:sqs/queue:Queue", ID: "https://sqs.eu-west-1.amazonaws.com/123456789012/acme"}, true},
		"topic":                      {sns + "acme", inventory.Known{Type: "aws:sns/topic:Topic", ID: sns + "acme"}, true},
		"a setting is not the whole": {"arn:aws:s3:::acme", inventory.Known{Type: "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock", ID: "acme"}, false},
		"no id":                      {ec2 + "vpc/", inventory.Known{Type: "aws:ec2/vpc:Vpc"}, false},
		"not in the table":           {ec2 + "vpc/vpc-1", inventory.Known{Type: "aws:any/thing:Thing", ID: "vpc-1"}, false},
		"no ARN at all":              {"vpc-1", inventory.Known{Type: "aws:kms/alias:Alias", ID: "vpc-1"}, false},
	} {
		found := []inventory.Resource{{ARN: c.found}}

		want := found
		if c.same {
			want = nil
		}

		require.Equal(t, want, inventory.Unknown(found, []inventory.Known{c.known}), name)
	}
}

func TestTypeIsThatOfTheARN(t *testing.T) {
	t.Parallel()

	for arn, want := range map[string]string{
		ec2 + "security-group/sg-1": "ec2:security-group", rds + "db:acme": "rds:db", sqs + "acme": "sqs",
		"arn:aws:s3:::acme": "s3", "nonsense": "",
	} {
		require.Equal(t, want, inventory.Resource{ARN: arn}.Type())
	}
}

func TestKeptOnPurpose(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		resource inventory.Resource
		kept     bool
	}{
		"final snapshot":        {inventory.Resource{ARN: rds + "snapshot:acme-t1-final"}, true},
		"snapshot RDS took":     {inventory.Resource{ARN: rds + "snapshot:rds:acme-t1-db-2026-11-30-04-10"}, true},
		"snapshot of a cluster": {inventory.Resource{ARN: rds + "cluster-snapshot:acme"}, true},
		"database":              {inventory.Resource{ARN: rds + "db:snapshot"}, false},
		"volume's snapshot":     {inventory.Resource{ARN: ec2 + "snapshot/snap-1"}, false},
		"key":                   {inventory.Resource{ARN: key + "1-2"}, false},
		"key of a snapshot":     {inventory.Resource{ARN: key + "1-2", Tags: tags{"kept-for": "acme-t1-final"}}, true},
		"dying key":             {inventory.Resource{ARN: key + "1-2", PendingDeletion: true}, true},
	} {
		require.Equal(t, c.kept, inventory.Kept(c.resource), name)
	}
}
