package awsplugin

import (
	"time"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

const (
	balancerTimeout = 10 * time.Minute
	// maxLBName is that of load balancers and target groups.
	maxLBName  = 32
	serviceELB = "Elastic Load Balancing v2"
)

func lbTypes() []resourceType {
	return []resourceType{
		{
			typ: cloudsim.TypeLoadBalancer, service: serviceELB, noun: "ELBv2 Load Balancer", taggable: true, timeout: balancerTimeout,
			calls:  calls{"CreateLoadBalancer", "DescribeLoadBalancers", "ModifyLoadBalancerAttributes", "DeleteLoadBalancer"},
			name:   autoName{property: "name", limit: maxLBName},
			inputs: balancerInputs(),
			outputs: []string{
				"arn", "arnSuffix", "dnsName", "vpcId", "zoneId",
			},
		},
		{
			typ: cloudsim.TypeTargetGroup, service: serviceELB, noun: "ELBv2 Target Group", taggable: true,
			calls:   calls{"CreateTargetGroup", "DescribeTargetGroups", "ModifyTargetGroup", "DeleteTargetGroup"},
			name:    autoName{property: "name", limit: maxLBName},
			inputs:  targetGroupInputs(),
			outputs: []string{"arn", "arnSuffix"},
		},
		{
			typ: cloudsim.TypeListener, service: serviceELB, noun: "ELBv2 Listener", taggable: true,
			calls: calls{"CreateListener", "DescribeListeners", "ModifyListener", "DeleteListener"},
			inputs: map[string]property{
				"loadBalancerArn": {required: true, replace: true},
				"port":            {},
				"protocol":        {computed: true},
				"sslPolicy":       {computed: true},
				"certificateArn":  {},
				"alpnPolicy":      {},
				"defaultActions":  {required: true},
			},
			outputs: []string{"arn"},
		},
		{
			typ: cloudsim.TypeListenerRule, service: serviceELB, noun: "ELBv2 Listener Rule", taggable: true,
			calls: calls{"CreateRule", "DescribeRules", "ModifyRule", "DeleteRule"},
			inputs: map[string]property{
				"listenerArn": {required: true, replace: true},
				"priority":    {computed: true},
				"actions":     {required: true},
				"conditions":  {required: true},
			},
			outputs: []string{"arn"},
		},
	}
}

func balancerInputs() map[string]property {
	const idle, keepAlive = float64(60), float64(3600)

	return map[string]property{
		"name":                         {replace: true},
		"internal":                     {computed: true, replace: true},
		"loadBalancerType":             {fallback: "application", replace: true},
		"ipAddressType":                {computed: true},
		"subnets":                      {computed: true},
		"securityGroups":               {computed: true},
		"accessLogs":                   {},
		"clientKeepAlive":              {fallback: keepAlive},
		"idleTimeout":                  {fallback: idle},
		"desyncMitigationMode":         {fallback: "defensive"},
		"dropInvalidHeaderFields":      {fallback: false},
		"enableDeletionProtection":     {fallback: false},
		"enableHttp2":                  {fallback: true},
		"enableCrossZoneLoadBalancing": {},
		"preserveHostHeader":           {fallback: false},
		"xffHeaderProcessingMode":      {fallback: "append"},
	}
}

func targetGroupInputs() map[string]property {
	const delay = float64(300)

	return map[string]property{
		"name":                       {replace: true},
		"port":                       {replace: true},
		"protocol":                   {replace: true},
		"protocolVersion":            {computed: true, replace: true},
		"targetType":                 {fallback: "instance", replace: true},
		"vpcId":                      {replace: true},
		"ipAddressType":              {computed: true, replace: true},
		"deregistrationDelay":        {fallback: delay},
		"slowStart":                  {fallback: float64(0)},
		"loadBalancingAlgorithmType": {computed: true},
		"healthCheck":                {computed: true},
		"stickiness":                 {computed: true},
	}
}
