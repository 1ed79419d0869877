package cloudsim

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	codeInvalidParameter = "InvalidParameterException"
	codeClient           = "ClientException"
	fargate              = "FARGATE"
	networkPerTask       = "awsvpc"
)

// ecsNames are those of clusters, services and families of task definitions.
// https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateService.html
var ecsNames = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,255}$`)

func ecsKinds() map[string]kind {
	badName := func(name string) *Error {
		return badRequest(codeInvalidParameter,
			"Invalid identifier: %s. It has up to 255 letters, numbers, underscores, and hyphens.", name).modeled()
	}

	return map[string]kind{
		TypeCluster: {
			name: "name", names: ecsNames, badName: badName,
			id: func(_ *Cloud, r *Resource) string { return arn("ecs", r.Region, "cluster/"+r.Text("name")) },
			// AWS answers with the one that there is.
			// https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateCluster.html
			taken:   func(*Resource) *Error { return nil },
			missing: missingCluster,
			fill:    func(_ *Cloud, r *Resource) { r.set("arn", r.ID) },
			blocked: clusterBlocked,
		},
		TypeTaskDefinition: {
			id: nextRevision,
			missing: func(string) *Error {
				return notFound(codeClient, "Unable to describe task definition.").modeled()
			},
			check: checkTaskDefinition,
			fill:  fillTaskDefinition,
		},
		TypeService: {
			name: "name", scope: "cluster", names: ecsNames, badName: badName,
			id: func(_ *Cloud, r *Resource) string {
				return arn("ecs", r.Region, "service/"+lastPart(r.Text("cluster"))+"/"+r.Text("name"))
			},
			taken: func(*Resource) *Error {
				return badRequest(codeInvalidParameter, "Creation of service was not idempotent.").modeled()
			},
			// https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_DeleteService.html
			leaving: func() *Error {
				return badRequest(codeInvalidParameter, "Unable to Start a service that is still Draining.").modeled()
			},
			missing: func(string) *Error { return notFound("ServiceNotFoundException", "Service not found.").modeled() },
			check:   checkService,
			blocked: serviceBlocked,
		},
	}
}

func missingCluster(string) *Error {
	return notFound("ClusterNotFoundException", "Cluster not found.").modeled()
}

// lastPart is the name in an ARN, or the name itself.
func lastPart(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

// clusterOf is the cluster that an id, an ARN or a name, means.
func (c *Cloud) clusterOf(region, id string) *Resource {
	return c.find(TypeCluster, region, arn("ecs", region, "cluster/"+lastPart(id)))
}

// clusterBlocked: a cluster with services stays.
// https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_DeleteCluster.html
func clusterBlocked(c *Cloud, r, _ *Resource) *Error {
	for _, service := range c.of(TypeService, r.Region) {
		if c.clusterOf(r.Region, service.Text("cluster")) == r {
			return badRequest("ClusterContainsServicesException", "The Cluster cannot be deleted while Services are active.").modeled()
		}
	}

	return nil
}

// nextRevision is the id of a new task definition: a number is never given twice.
// https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RegisterTaskDefinition.html
func nextRevision(c *Cloud, r *Resource) string {
	family := r.Text("family")

	return arn("ecs", r.Region, fmt.Sprintf("task-definition/%s:%d", family, c.revisions[place{r.Region, family}]+1))
}

func fillTaskDefinition(c *Cloud, r *Resource) {
	if r.Text("arn") != "" {
		return
	}

	family := place{r.Region, r.Text("family")}
	c.revisions[family]++

	r.set("arn", r.ID)
	r.set("arnWithoutRevision", r.ID[:strings.LastIndexByte(r.ID, ':')])
	r.set("revision", c.revisions[family])
}

// container is one of a task definition.
type container struct {
	Name         string `json:"name"`
	Image        string `json:"image"`
	PortMappings []struct {
		ContainerPort int `json:"containerPort"`
	} `json:"portMappings"`
	LogConfiguration struct {
		LogDriver string `json:"logDriver"`
	} `json:"logConfiguration"`
}

func (r *Resource) containers() ([]container, bool) {
	var list []container

	err := json.Unmarshal([]byte(r.Text("containerDefinitions")), &list)

	return list, err == nil
}

// checkTaskDefinition: containers have images, and Fargate has rules of its own.
// https://docs.aws.amazon.com/AmazonECS/latest/developerguide/fargate-tasks-services.html
// https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html
func checkTaskDefinition(_ *Cloud, r, _ *Resource) *Error {
	if !ecsNames.MatchString(r.Text("family")) {
		return badRequest(codeClient, "Family contains invalid characters.").modeled()
	}

	containers, ok := r.containers()
	if !ok || len(containers) == 0 {
		return badRequest(codeClient, "TaskDefinition must contain at least one container definition.").modeled()
	}

	for _, each := range containers {
		if each.Name == "" || each.Image == "" {
			return badRequest(codeClient, "Container.image should not be null or empty.").modeled()
		}
	}

	if !slices.Contains(r.texts("requiresCompatibilities"), fargate) {
		return nil
	}

	switch {
	case r.Text("networkMode") != networkPerTask:
		return badRequest(codeClient, "Fargate only supports network mode 'awsvpc'.").modeled()
	case !fargateSize(r.Text("cpu"), r.Text("memory")):
		return badRequest(codeClient, "No Fargate configuration exists for given values: %s CPU, %s memory.",
			r.Text("cpu"), r.Text("memory")).modeled()
	case r.Text("executionRoleArn") == "" && slices.ContainsFunc(containers, container.logs):
		return badRequest(codeClient,
			"Fargate requires task definition to have execution role ARN to support log driver awslogs.").modeled()
	}

	return nil
}

func (c container) logs() bool { return c.LogConfiguration.LogDriver == "awslogs" }

// fargateSize: CPU units and MiB come in pairs.
// https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-cpu-memory-error.html
func fargateSize(cpu, memory string) bool {
	const mib, half = 1024, 512

	// From and to, and the step between, in GiB.
	sizes := map[string][3]int{
		"256": {1, 2, 1}, "512": {1, 4, 1}, "1024": {2, 8, 1}, "2048": {4, 16, 1}, "4096": {8, 30, 1}, "8192": {16, 60, 4},
		"16384": {32, 120, 8},
	}

	size, err := strconv.Atoi(memory)
	limits, known := sizes[cpu]

	if err != nil || !known {
		return false
	}

	low, high, step := limits[0]*mib, limits[1]*mib, limits[2]*mib

	return cpu == "256" && size == half || size >= low && size <= high && (size-low)%step == 0
}

// checkService: all that a service refers to is there, and fits together. What an
// update leaves as it is was judged before, and may be gone by now.
// https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateService.html
// https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_UpdateService.html
// https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-event-messages.html
func checkService(c *Cloud, r, old *Resource) *Error {
	differ := func(name string) bool { return old == nil || !reflect.DeepEqual(old.Inputs[name], r.Inputs[name]) }

	if c.clusterOf(r.Region, r.Text("cluster")) == nil {
		return badRequest("ClusterNotFoundException", "Cluster not found.").modeled()
	}

	task := c.find(TypeTaskDefinition, r.Region, r.Text("taskDefinition"))
	if task == nil && (differ("taskDefinition") || differ("loadBalancers")) {
		return badRequest(codeClient, "Unable to describe task definition.").modeled()
	}

	if task != nil && task.Text("networkMode") == networkPerTask && differ("networkConfiguration") {
		if err := c.checkTaskNetwork(r); err != nil {
			return err
		}
	}

	if !differ("loadBalancers") {
		return nil
	}

	for _, target := range r.parts("loadBalancers") {
		if err := c.checkServiceTarget(r.Region, task, target); err != nil {
			return err
		}
	}

	return nil
}

// checkTaskNetwork: tasks with an interface of their own need a place for it.
// https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_AwsVpcConfiguration.html
func (c *Cloud) checkTaskNetwork(r *Resource) *Error {
	networks := r.parts("networkConfiguration")
	if len(networks) == 0 || len(networks[0].texts("subnets")) == 0 {
		return badRequest(codeInvalidParameter,
			"Network Configuration must be provided when networkMode 'awsvpc' is specified.").modeled()
	}

	for _, id := range networks[0].texts("subnets") {
		if c.find(TypeSubnet, r.Region, id) == nil {
			return badRequest(codeInvalidParameter,
				"Error retrieving subnet information for [%s]: The subnet ID '%s' does not exist", id, id).modeled()
		}
	}

	for _, id := range networks[0].texts("securityGroups") {
		if c.find(TypeSecurityGroup, r.Region, id) == nil {
			return badRequest(codeInvalidParameter,
				"Error retrieving security group information for [%s]: The security group '%s' does not exist", id, id).modeled()
		}
	}

	return nil
}

// checkServiceTarget: a target group is reached from a load balancer, and leads
// to a port of a container.
// https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-load-balancing.html
func (c *Cloud) checkServiceTarget(region string, task, target *Resource) *Error {
	id := target.Text("targetGroupArn")
	group := c.find(TypeTargetGroup, region, id)

	switch {
	case group == nil:
		return badRequest(codeInvalidParameter, "The specified target group does not exist: %s", id).modeled()
	case c.balancerOf(region, id) == "":
		return badRequest(codeInvalidParameter,
			"The target group with targetGroupArn %s does not have an associated load balancer.", id).modeled()
	case task.Text("networkMode") == networkPerTask && group.Text("targetType") != "ip":
		return badRequest(codeInvalidParameter, "The provided target group %s has target type %s, which is incompatible with the "+
			"awsvpc network mode specified in the task definition.", id, group.Text("targetType")).modeled()
	}

	name := target.Text("containerName")
	port, _ := target.number("containerPort")
	containers, _ := task.containers()

	for _, each := range containers {
		if each.Name != name {
			continue
		}

		for _, mapping := range each.PortMappings {
			if mapping.ContainerPort == port {
				return nil
			}
		}

		return badRequest(codeInvalidParameter, "The container %s did not have a container port %d defined.", name, port).modeled()
	}

	return badRequest(codeInvalidParameter, "The container %s does not exist in the task definition.", name).modeled()
}

// serviceBlocked: a service is scaled to zero first.
// https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_DeleteService.html
func serviceBlocked(_ *Cloud, r, _ *Resource) *Error {
	if count, _ := r.number("desiredCount"); count > 0 {
		return badRequest(codeInvalidParameter, "The service cannot be stopped while it is scaled above 0.").modeled()
	}

	return nil
}
