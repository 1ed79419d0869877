package main

import (
	"context"

	"github.com/lessor-dev/lessor/test/bench/figure"
)

const memoryText = `
The worker is the one of ` + "`cmd/worker`" + ` with the catalog that lessor ships, and has two slots. What counts for it is memory
that no file backs: the rest are pages of its executable, which the kernel can drop and which its operations share. Operations are measured
as PSS over all their processes, which counts what these share once, and half of what they share with the worker. The provider here is a
small stand-in for pulumi-aws, which is larger by hundreds of MiB on both sides: docs/operations.md says how to find out what operations
take. The plain side runs its programs in the process that stays.`

// checkMemory counts what the slots promise.
func checkMemory(ctx context.Context, l *lab) (figure.Section, error) {
	// About what an operation of pair takes, and a quarter.
	const operationMemory = 544 << 20

	section := figure.Section{Title: "Memory", Text: memoryText}

	err := addSlots(ctx, l, &section, operationMemory)

	return section, err
}

func measureMemory(ctx context.Context, l *lab) (figure.Section, error) {
	section := figure.Section{Title: "Memory", Text: memoryText}

	if err := addSupervisor(ctx, l, &section); err != nil {
		return section, err
	}

	most, err := addParts(ctx, l, &section)
	if err != nil {
		return section, err
	}

	if err := addSlots(ctx, l, &section, budgetFor(most)); err != nil {
		return section, err
	}

	err = addPlainAtOnce(l, &section)

	return section, err
}

// budgetFor is what docs/operations.md advises for LESSOR_OPERATION_MEMORY: what
// operations take, and a quarter.
func budgetFor(most figure.Sample) int64 {
	const quarter, step = 1.25, 16 << 20

	return (int64((most.Worst()+ballastMemory)*quarter)/step + 1) * step
}
