package cloudsim

import (
	"regexp"
	"slices"
	"strings"
)

const (
	elb              = "elasticloadbalancing"
	elbDigits        = 16
	maxPort          = 65535
	maxPriority      = 50000
	maxRules         = 100
	maxHostLength    = 128
	codeValidation   = "ValidationError"
	balancerProperty = "loadBalancerArn"
)

// elbNames are those of load balancers and target groups.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateTargetGroup.html
var elbNames = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?$`)

func elbKinds() map[string]kind {
	badName := func(noun string) func(string) *Error {
		return func(name string) *Error {
			return badRequest(codeValidation, "The %s name '%s' cannot be longer than '32' characters, must contain only alphanumeric "+
				"characters or hyphens, and must not begin or end with a hyphen", noun, name)
		}
	}

	return map[string]kind{
		TypeLoadBalancer: {
			name: "name", names: elbNames, badName: badName("load balancer"),
			id: func(_ *Cloud, r *Resource) string {
				return arn(elb, r.Region, "loadbalancer/app/"+r.Text("name")+"/"+randomHex(elbDigits))
			},
			taken: func(r *Resource) *Error {
				return badRequest("DuplicateLoadBalancerName",
					"A load balancer with the same name '%s' exists, but with different settings", r.Text("name")).modeled()
			},
			missing: func(id string) *Error {
				return notFound("LoadBalancerNotFound", "Load balancer '%s' not found", id).modeled()
			},
			check:   checkBalancer,
			fill:    fillBalancer,
			blocked: balancerBlocked,
			deleted: balancerDeleted,
		},
		TypeTargetGroup: {
			name: "name", names: elbNames, badName: badName("target group"),
			id: func(_ *Cloud, r *Resource) string {
				return arn(elb, r.Region, "targetgroup/"+r.Text("name")+"/"+randomHex(elbDigits))
			},
			taken: func(r *Resource) *Error {
				return badRequest("DuplicateTargetGroupName",
					"A target group with the same name '%s' exists, but with different settings", r.Text("name")).modeled()
			},
			missing: func(string) *Error {
				return notFound("TargetGroupNotFound", "One or more target groups not found").modeled()
			},
			check: checkTargetGroup,
			fill: func(_ *Cloud, r *Resource) {
				r.set("arn", r.ID)
				r.set("arnSuffix", suffixOf(r.ID))
			},
			blocked: targetGroupBlocked,
		},
		TypeListener: {
			id: func(_ *Cloud, r *Resource) string {
				return strings.Replace(r.Text(balancerProperty), ":loadbalancer/", ":listener/", 1) + "/" + randomHex(elbDigits)
			},
			missing: missingListener,
			check:   checkListener,
			fill:    func(_ *Cloud, r *Resource) { r.set("arn", r.ID) },
			deleted: func(c *Cloud, r, _ *Resource) { c.dropRules(r) },
		},
		TypeListenerRule: {
			id: func(_ *Cloud, r *Resource) string {
				return strings.Replace(r.Text("listenerArn"), ":listener/", ":listener-rule/", 1) + "/" + randomHex(elbDigits)
			},
			missing: func(string) *Error { return notFound("RuleNotFound", "One or more rules not found").modeled() },
			check:   checkRule,
			fill:    fillRule,
		},
	}
}

func missingListener(string) *Error {
	return notFound("ListenerNotFound", "One or more listeners not found").modeled()
}

// suffixOf is what metrics call a load balancer or a target group.
func suffixOf(id string) string {
	rest := id[strings.LastIndexByte(id, ':')+1:]

	return strings.TrimPrefix(rest, "loadbalancer/")
}

// checkBalancer: an application load balancer stands in two zones of one VPC.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateLoadBalancer.html
func checkBalancer(c *Cloud, r, _ *Resource) *Error {
	if strings.HasPrefix(r.Text("name"), "internal-") {
		return badRequest(codeValidation, "The load balancer name '%s' cannot begin with 'internal-'", r.Text("name"))
	}

	zones, vpcs := map[string]bool{}, map[string]bool{}

	for _, id := range r.texts("subnets") {
		subnet := c.find(TypeSubnet, r.Region, id)
		if subnet == nil {
			return badRequest("SubnetNotFound", "The subnet ID '%s' does not exist", id).modeled()
		}

		zones[subnet.Text("availabilityZone")] = true
		vpcs[subnet.Text("vpcId")] = true
	}

	if len(zones) < minZones || len(zones) < len(r.texts("subnets")) || len(vpcs) > 1 {
		return badRequest(codeValidation, "At least two subnets in two different Availability Zones must be specified")
	}

	for _, id := range r.texts("securityGroups") {
		if group := c.find(TypeSecurityGroup, r.Region, id); group == nil || !vpcs[group.Text("vpcId")] {
			return badRequest("InvalidSecurityGroup", "One or more security groups are invalid").modeled()
		}
	}

	return nil
}

func fillBalancer(c *Cloud, r *Resource) {
	r.set("arn", r.ID)
	r.set("arnSuffix", suffixOf(r.ID))
	r.set("vpcId", c.find(TypeSubnet, r.Region, r.texts("subnets")[0]).Text("vpcId"))
	r.set("zoneId", "Z35SXDOTRQ7X7K")

	host := r.Text("name") + "-" + lastPart(r.ID)[:10] + "." + r.Region + ".elb.amazonaws.com"
	if r.flag("internal") {
		host = "internal-" + host
	}

	r.set("dnsName", host)
}

// balancerBlocked: https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_DeleteLoadBalancer.html
func balancerBlocked(_ *Cloud, r, _ *Resource) *Error {
	if r.flag("enableDeletionProtection") {
		return badRequest("OperationNotPermitted",
			"Load balancer '%s' cannot be deleted because deletion protection is enabled", r.ID).modeled()
	}

	return nil
}

// balancerDeleted: its listeners go with it.
func balancerDeleted(c *Cloud, r, _ *Resource) {
	for _, listener := range c.of(TypeListener, r.Region) {
		if listener.Text(balancerProperty) == r.ID {
			c.dropRules(listener)
			c.lose(listener)
		}
	}
}

func (c *Cloud) dropRules(listener *Resource) {
	for _, rule := range c.of(TypeListenerRule, listener.Region) {
		if rule.Text("listenerArn") == listener.ID {
			c.lose(rule)
		}
	}
}

// checkTargetGroup: targets are in a VPC and have a port.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateTargetGroup.html
func checkTargetGroup(c *Cloud, r, _ *Resource) *Error {
	if vpc := r.Text("vpcId"); c.find(TypeVPC, r.Region, vpc) == nil {
		return badRequest(codeValidation, "The VPC ID '%s' is not found", vpc)
	}

	return checkPort(r)
}

func checkPort(r *Resource) *Error {
	if port, ok := r.number("port"); !ok || port < 1 || port > maxPort {
		return badRequest(codeValidation, "Port '%d' must be between 1 and %d", port, maxPort)
	}

	return nil
}

// targetGroupBlocked: what traffic is sent to stays.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_DeleteTargetGroup.html
func targetGroupBlocked(c *Cloud, r, _ *Resource) *Error {
	if c.balancerOf(r.Region, r.ID) != "" {
		return badRequest("ResourceInUse", "Target group '%s' is currently in use by a listener or a rule", r.ID).modeled()
	}

	return nil
}

// targets are the target groups that a listener or a rule forwards to.
func (r *Resource) targets() []string {
	var targets []string

	for _, action := range append(r.parts("defaultActions"), r.parts("actions")...) {
		if id := action.Text("targetGroupArn"); id != "" {
			targets = append(targets, id)
		}

		for _, forward := range action.parts("forward") {
			for _, group := range forward.parts("targetGroups") {
				targets = append(targets, group.Text("arn"))
			}
		}
	}

	return targets
}

// balancerOf is the load balancer that sends traffic to a target group, or "".
func (c *Cloud) balancerOf(region, group string) string {
	for _, listener := range c.of(TypeListener, region) {
		if slices.Contains(listener.targets(), group) {
			return listener.Text(balancerProperty)
		}
	}

	for _, rule := range c.of(TypeListenerRule, region) {
		if listener := c.find(TypeListener, region, rule.Text("listenerArn")); listener != nil && slices.Contains(rule.targets(), group) {
			return listener.Text(balancerProperty)
		}
	}

	return ""
}

// checkTargets: target groups are there, and of one load balancer only.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-target-groups.html
func (c *Cloud) checkTargets(r *Resource, balancer string) *Error {
	for _, id := range r.targets() {
		if c.find(TypeTargetGroup, r.Region, id) == nil {
			return badRequest("TargetGroupNotFound", "One or more target groups not found").modeled()
		}

		if other := c.balancerOf(r.Region, id); other != "" && other != balancer {
			return badRequest("TargetGroupAssociationLimit",
				"The following target groups cannot be associated with more than one load balancer: %s", id).modeled()
		}
	}

	return nil
}

// checkListener: a port has one listener, and an encrypted one has a certificate.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateListener.html
func checkListener(c *Cloud, r, _ *Resource) *Error {
	balancer := r.Text(balancerProperty)
	if c.find(TypeLoadBalancer, r.Region, balancer) == nil {
		return badRequest("LoadBalancerNotFound", "One or more load balancers not found").modeled()
	}

	if err := checkPort(r); err != nil {
		return err
	}

	port, _ := r.number("port")

	for _, other := range c.of(TypeListener, r.Region) {
		taken, _ := other.number("port")
		if other.ID != r.ID && taken == port && other.Text(balancerProperty) == balancer {
			return badRequest("DuplicateListener", "A listener already exists on this port for this load balancer '%s'", balancer).modeled()
		}
	}

	if r.Text("protocol") == "HTTPS" && r.Text("certificateArn") == "" {
		return badRequest(codeValidation, "A certificate must be specified for HTTPS listeners")
	}

	return c.checkTargets(r, balancer)
}

// checkRule: a priority is given once in a listener, a rule has conditions, and a
// load balancer has so many rules.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateRule.html
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html
func checkRule(c *Cloud, r, old *Resource) *Error {
	listener := c.find(TypeListener, r.Region, r.Text("listenerArn"))
	if listener == nil {
		return badRequest("ListenerNotFound", "One or more listeners not found").modeled()
	}

	if old == nil && c.rulesBehind(listener.Text(balancerProperty), r.Region) >= maxRules {
		return badRequest("TooManyRules", "The maximum number of rules on load balancer '%s' has been reached",
			listener.Text(balancerProperty)).modeled()
	}

	if priority, given := r.number("priority"); given {
		if priority < 1 || priority > maxPriority {
			return badRequest(codeValidation, "'%d' is not a valid priority; it must be between 1 and %d", priority, maxPriority)
		}

		for _, other := range c.rulesOf(listener) {
			if other.ID != r.ID && other.priority() == priority {
				return badRequest("PriorityInUse", "Priority '%d' is currently in use", priority).modeled()
			}
		}
	}

	if err := checkConditions(r); err != nil {
		return err
	}

	return c.checkTargets(r, listener.Text(balancerProperty))
}

// checkConditions: https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_RuleCondition.html
func checkConditions(r *Resource) *Error {
	conditions := r.parts("conditions")
	if len(conditions) == 0 {
		return badRequest(codeValidation, "A condition must be specified")
	}

	for _, condition := range conditions {
		for _, header := range condition.parts("hostHeader") {
			for _, host := range header.texts("values") {
				if host == "" || len(host) > maxHostLength {
					return badRequest(codeValidation,
						"The value '%s' of condition 'host-header' must have 1 to %d characters", host, maxHostLength)
				}
			}
		}
	}

	return nil
}

// rulesBehind counts the rules of all listeners of a load balancer.
func (c *Cloud) rulesBehind(balancer, region string) int {
	n := 0

	for _, listener := range c.of(TypeListener, region) {
		if listener.Text(balancerProperty) == balancer {
			n += len(c.rulesOf(listener))
		}
	}

	return n
}

func (c *Cloud) rulesOf(listener *Resource) []*Resource {
	return slices.DeleteFunc(c.of(TypeListenerRule, listener.Region), func(rule *Resource) bool {
		return rule.Text("listenerArn") != listener.ID
	})
}

// priority is the one that was asked for, or that fillRule chose.
func (r *Resource) priority() int {
	if n, given := r.number("priority"); given {
		return n
	}

	switch n := r.Outputs["priority"].(type) {
	case int:
		return n
	case float64:
		return int(n)
	default:
		return 0
	}
}

// fillRule chooses the next priority where none is asked for, as the real plugin
// does. https://www.pulumi.com/registry/packages/aws/api-docs/lb/listenerrule/
func fillRule(c *Cloud, r *Resource) {
	r.set("arn", r.ID)

	if r.priority() != 0 {
		return
	}

	highest := 0
	for _, other := range c.rulesOf(&Resource{ID: r.Text("listenerArn"), Region: r.Region}) {
		highest = max(highest, other.priority())
	}

	r.set("priority", highest+1)
}
