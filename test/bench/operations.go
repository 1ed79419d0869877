package main

import (
	"context"
	_ "embed"

	"github.com/lessor-dev/lessor/test/bench/figure"
)

//go:embed texts/operation.md
var operationText string

// checkOperations counts what an operation takes.
func checkOperations(ctx context.Context, l *lab) (figure.Section, error) {
	section := figure.Section{Title: "One operation", Text: operationText}

	counted, err := compare(ctx, l, true, 1)
	if err != nil {
		return section, err
	}

	addCounts(&section, counted)

	return section, nil
}

func measureOperations(ctx context.Context, l *lab) (figure.Section, error) {
	const rounds = 5

	section := figure.Section{Title: "One operation", Text: operationText}

	for _, delayed := range []bool{false, true} {
		if delayed {
			l.Wire.SetDelay(regionDelay)
			l.say("with %s before each answer of S3, KMS and DynamoDB", regionDelay)
		}

		found, err := compare(ctx, l, false, rounds)
		if err != nil {
			return section, err
		}

		addTimes(&section, found, delayed)
	}

	l.Wire.SetDelay(0)

	counted, err := compare(ctx, l, true, 1)
	if err != nil {
		return section, err
	}

	addCounts(&section, counted)

	return section, nil
}

func addTimes(section *figure.Section, found map[string]*bout, delayed bool) {
	where := "the emulator as it is"
	if delayed {
		where = regionDelay.String() + " before each answer of S3, KMS and DynamoDB"
	}

	t := figure.Table{Columns: []string{where, "plain", "lessor", "ratio", "CPU, plain", "CPU, lessor", "ratio"}}

	for _, program := range []string{bare, pair} {
		b := found[program]

		for a := create; a <= destroy; a++ {
			t.Row(program+": "+a.String(),
				b.plain.times(a), b.ours.times(a), figure.Of(figure.Ratio, b.ours.times(a).Over(b.plain.times(a))),
				b.plain.cpu(a), b.ours.cpu(a), figure.Of(figure.Ratio, b.ours.cpu(a).Over(b.plain.cpu(a))))
		}

		const goal = 0.25

		what := "wall time of a no-change operation ÷ plain Automation API, " + program
		if delayed {
			what += ", with " + regionDelay.String() + " delay"
		}

		ratio := figure.Typically(what, figure.Of(figure.Ratio, b.ours.times(noChange).Over(b.plain.times(noChange))), goal)
		if program == pair {
			ratio.Why = "The provider's process starts once on each side and takes the same time there, as does the start of one CLI.\n" +
				"The program without a provider shows what is lessor's own."
		}

		section.Goals = append(section.Goals, ratio)
	}

	section.Tables = append(section.Tables, t)
}

func addCounts(section *figure.Section, found map[string]*bout) {
	const (
		steadyProcesses, firstProcesses = 1, 2
		steadyRequests, firstRequests   = 8, 16
		operationMemory                 = 160 << 20
	)

	t := figure.Table{Columns: []string{
		"counts, plain / lessor", "CLI processes", "S3", "S3 without writes of the checkpoint", "KMS", "DynamoDB", "SQS", "memory",
	}}

	for _, program := range []string{bare, pair} {
		p, o := found[program].plain, found[program].ours

		for a := create; a <= destroy; a++ {
			t.Row(program+": "+a.String(),
				both(p.processes(a), o.processes(a)), both(p.requests(a, "s3"), o.requests(a, "s3")), both(p.beside(a), o.beside(a)),
				both(p.requests(a, "kms"), o.requests(a, "kms")), both(p.requests(a, "dynamodb"), o.requests(a, "dynamodb")),
				both(p.requests(a, "sqs"), o.requests(a, "sqs")), both(p.memory(a), o.memory(a)))
		}

		section.Goals = append(section.Goals,
			figure.AtMost("CLI processes of a no-change operation, "+program, o.processes(noChange), steadyProcesses),
			figure.AtMost("CLI processes of a changing operation, "+program, o.processes(update), steadyProcesses),
			figure.AtMost("CLI processes of a first provision, "+program, o.processes(create), firstProcesses),
			figure.AtMost("S3 requests of a no-change operation, "+program, o.requests(noChange, "s3"), steadyRequests),
			figure.AtMost("S3 requests of a first provision without its checkpoints, "+program, o.beside(create), firstRequests))
	}

	memory := found[bare].ours.memory(update)
	section.Goals = append(section.Goals,
		figure.Typically("memory of an operation without a provider (PSS over its session)", memory, operationMemory))

	t.Note = "Memory is the highest PSS of all processes of the operation together; the process that stays, worker or plain program,\n" +
		"is not in it. Requests to DynamoDB and SQS that the plain side makes are polls of lessor's idle worker."
	section.Tables = append(section.Tables, t)
}

func both(plain, ours figure.Sample) string { return plain.String() + " / " + ours.String() }
