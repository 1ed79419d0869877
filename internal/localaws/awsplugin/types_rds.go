package awsplugin

import (
	"regexp"
	"time"
)

const (
	instanceTimeout = 60 * time.Minute
	maxInstanceName = 63
)

func rdsTypes() []resourceType {
	return []resourceType{
		{
			typ: "aws:rds/subnetGroup:SubnetGroup", service: "RDS", noun: "RDS DB Subnet Group", taggable: true,
			calls: calls{"CreateDBSubnetGroup", "DescribeDBSubnetGroups", "ModifyDBSubnetGroup", "DeleteDBSubnetGroup"},
			name:  autoName{property: "name", limit: 255},
			inputs: map[string]property{
				"name": {
					replace: true, form: regexp.MustCompile(`^[0-9a-z_ .-]{1,255}$`),
					hint: "only lowercase alphanumeric characters, hyphens, underscores, periods, and spaces are allowed",
				},
				"description": {fallback: managed},
				"subnetIds":   {required: true},
			},
			outputs: []string{"arn", "vpcId", "supportedNetworkTypes"},
		},
		{
			typ: "aws:rds/instance:Instance", service: "RDS", noun: "RDS DB Instance", taggable: true, timeout: instanceTimeout,
			calls:  calls{"CreateDBInstance", "DescribeDBInstances", "ModifyDBInstance", "DeleteDBInstance"},
			name:   autoName{property: "identifier", limit: maxInstanceName},
			inputs: instanceInputs(),
			outputs: []string{
				"arn", "address", "endpoint", "resourceId", "hostedZoneId", "engineVersionActual", "masterUserSecrets",
				"status", "latestRestorableTime",
			},
		},
	}
}

func instanceInputs() map[string]property {
	return map[string]property{
		// The simulator does not rename a database, AWS can.
		"identifier": {
			replace: true, form: regexp.MustCompile(`^[a-z](-?[0-9a-z])*$`),
			hint: "it must begin with a lowercase letter, hold only lowercase alphanumeric characters and single hyphens, " +
				"and not end with one",
		},
		"instanceClass":               {required: true},
		"engine":                      {replace: true, computed: true},
		"engineVersion":               {computed: true},
		"allocatedStorage":            {computed: true},
		"maxAllocatedStorage":         {},
		"storageType":                 {computed: true},
		"iops":                        {computed: true},
		"storageThroughput":           {computed: true},
		"storageEncrypted":            {replace: true},
		"kmsKeyId":                    {replace: true, computed: true},
		"dbName":                      {replace: true, computed: true},
		"username":                    {replace: true, computed: true},
		"password":                    {secret: true},
		"manageMasterUserPassword":    {},
		"masterUserSecretKmsKeyId":    {computed: true},
		"port":                        {computed: true},
		"dbSubnetGroupName":           {computed: true},
		"vpcSecurityGroupIds":         {computed: true},
		"availabilityZone":            {replace: true, computed: true},
		"multiAz":                     {computed: true},
		"publiclyAccessible":          {fallback: false},
		"networkType":                 {computed: true},
		"caCertIdentifier":            {computed: true},
		"parameterGroupName":          {computed: true},
		"optionGroupName":             {computed: true},
		"backupRetentionPeriod":       {computed: true},
		"backupWindow":                {computed: true},
		"maintenanceWindow":           {computed: true},
		"copyTagsToSnapshot":          {fallback: false},
		"deleteAutomatedBackups":      {fallback: true},
		"deletionProtection":          {},
		"skipFinalSnapshot":           {fallback: false},
		"finalSnapshotIdentifier":     {},
		"snapshotIdentifier":          {replace: true, computed: true},
		"applyImmediately":            {computed: true},
		"allowMajorVersionUpgrade":    {},
		"autoMinorVersionUpgrade":     {fallback: true},
		"monitoringInterval":          {fallback: float64(0)},
		"performanceInsightsEnabled":  {fallback: false},
		"performanceInsightsKmsKeyId": {computed: true},

		"enabledCloudwatchLogsExports":     {},
		"iamDatabaseAuthenticationEnabled": {},
	}
}
