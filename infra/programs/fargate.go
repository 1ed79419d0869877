package programs

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// tasks is the service that takes the roles of tasks.
// https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-iam-roles.html
const tasks = "ecs-tasks.amazonaws.com"

// fargateMemory is how much memory goes with how much CPU: from, to and the step,
// in MiB. https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-cpu-memory-error.html
func fargateMemory() map[int][3]int {
	const gib = 1024

	return map[int][3]int{
		256: {gib, 2 * gib, gib}, 512: {gib, 4 * gib, gib}, 1024: {2 * gib, 8 * gib, gib}, 2048: {4 * gib, 16 * gib, gib},
		4096: {8 * gib, 30 * gib, gib}, 8192: {16 * gib, 60 * gib, 4 * gib}, 16384: {32 * gib, 120 * gib, 8 * gib},
	}
}

// checkFargate refuses sizes that Fargate does not have.
func checkFargate(cpu, memory int) error {
	// The smallest size has half a step more.
	const smallestCPU, smallest = 256, 512
	if cpu == smallestCPU && memory == smallest {
		return nil
	}

	limits, known := fargateMemory()[cpu]
	if !known {
		return problem("cpu", "%d is none of %v", cpu, slices.Sorted(maps.Keys(fargateMemory())))
	}

	low, high, step := limits[0], limits[1], limits[2]
	if memory < low || memory > high || (memory-low)%step != 0 {
		from := strconv.Itoa(low)
		if cpu == smallestCPU {
			from = fmt.Sprintf("%d or %d", smallest, low)
		}

		return problem("memory", "%d does not go with cpu %d: Fargate has %s to %d in steps of %d", memory, cpu, from, high, step)
	}

	return nil
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
