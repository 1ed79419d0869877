package awsplugin

import (
	"strings"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

const maxServiceName = 255

func ecsTypes() []resourceType {
	return []resourceType{
		{
			typ: cloudsim.TypeCluster, service: "ECS", noun: "ECS Cluster", taggable: true, idOf: ecsID("cluster"),
			calls: calls{"CreateCluster", "DescribeClusters", "UpdateCluster", "DeleteCluster"},
			name:  autoName{property: "name", limit: maxServiceName},
			inputs: map[string]property{
				"name":                   {replace: true},
				"settings":               {computed: true},
				"configuration":          {},
				"serviceConnectDefaults": {},
			},
			outputs: []string{"arn"},
		},
		{
			typ: cloudsim.TypeService, service: "ECS", noun: "ECS Service", taggable: true, idOf: ecsID("service"),
			calls: calls{"CreateService", "DescribeServices", "UpdateService", "DeleteService"},
			name:  autoName{property: "name", limit: maxServiceName},
			// The real plugin scales a service down before it deletes it.
			drain:  map[string]any{"desiredCount": 0},
			inputs: serviceInputs(),
		},
		{
			// The real plugin's id is the family. Here it is the ARN, which is
			// also its import id, since two revisions can be there at once.
			typ: cloudsim.TypeTaskDefinition, service: "ECS", noun: "ECS Task Definition", taggable: true,
			calls: calls{"RegisterTaskDefinition", "DescribeTaskDefinition", "TagResource", "DeregisterTaskDefinition"},
			inputs: map[string]property{
				"family":                  {required: true, replace: true},
				"containerDefinitions":    {required: true, replace: true},
				"cpu":                     {replace: true},
				"memory":                  {replace: true},
				"networkMode":             {computed: true, replace: true},
				"requiresCompatibilities": {replace: true},
				"executionRoleArn":        {replace: true},
				"taskRoleArn":             {replace: true},
				"runtimePlatform":         {replace: true},
				"ephemeralStorage":        {replace: true},
				"volumes":                 {replace: true},
				"skipDestroy":             {fallback: false},
				"trackLatest":             {fallback: false},
			},
			outputs: []string{"arn", "arnWithoutRevision", "revision"},
		},
	}
}

func serviceInputs() map[string]property {
	const maximumPercent, minimumPercent = float64(200), float64(100)

	return map[string]property{
		"name":                            {replace: true},
		"cluster":                         {computed: true, replace: true},
		"taskDefinition":                  {},
		"desiredCount":                    {},
		"launchType":                      {computed: true, replace: true},
		"platformVersion":                 {computed: true},
		"networkConfiguration":            {},
		"loadBalancers":                   {},
		"deploymentCircuitBreaker":        {},
		"deploymentController":            {replace: true},
		"deploymentMaximumPercent":        {fallback: maximumPercent},
		"deploymentMinimumHealthyPercent": {fallback: minimumPercent},
		"availabilityZoneRebalancing":     {computed: true},
		"healthCheckGracePeriodSeconds":   {},
		"enableEcsManagedTags":            {},
		"enableExecuteCommand":            {},
		"forceDelete":                     {},
		"forceNewDeployment":              {},
		"propagateTags":                   {},
		"schedulingStrategy":              {fallback: "REPLICA", replace: true},
		"triggers":                        {computed: true},
		"waitForSteadyState":              {fallback: false},
	}
}

// ecsID makes the id, an ARN, of an import id: a name, or that of a service after
// its cluster's.
func ecsID(kind string) func(*clients, string) string {
	return func(c *clients, id string) string {
		if strings.HasPrefix(id, "arn:") {
			return id
		}

		return "arn:aws:ecs:" + c.region + ":" + cloudsim.Account + ":" + kind + "/" + id
	}
}
