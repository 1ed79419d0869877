package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// meet is a program that makes the resources of pair, and then waits until as
// many operations are as far.
const meet = "meet"

const meetCatalog = `version: 1
tiers:
  meet: {program: meet}
`

// The parameters of meet: the directory that the operations meet in, and how many
// there will be.
const (
	parameterRoom   = "room"
	parameterGuests = "guests"
)

type meetingParameters struct {
	Room   string `json:"room"`
	Guests string `json:"guests"`
}

type meeting struct{}

func (meeting) Check(given tenant.Parameters) error {
	return engine.Decode(given, &meetingParameters{})
}

func (meeting) Deploy(ctx *pulumi.Context, t engine.Topology) (pulumi.Map, error) {
	var given meetingParameters
	if err := engine.Decode(t.Parameters, &given); err != nil {
		return nil, err
	}

	made, err := deployPair(ctx, t, parameters{Color: "blue"})
	if err != nil {
		return nil, err
	}

	// Once these are known, every process of the operation is there.
	made["met"] = pulumi.All(made["queue"], made["table"]).ApplyT(func([]any) (string, error) {
		return "met", given.wait(ctx.Context(), t.Tenant)
	})

	return made, nil
}

var errAlone = errors.New("the other operations do not run at the same time")

// wait returns when everybody is in the room.
func (p meetingParameters) wait(ctx context.Context, id tenant.ID) error {
	const (
		often   = 20 * time.Millisecond
		private = 0o600
	)

	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errAlone)
	defer cancel()

	guests, err := strconv.Atoi(p.Guests)
	if err != nil {
		return fmt.Errorf("reading how many operations there will be: %w", err)
	}

	if err := os.WriteFile(filepath.Join(p.Room, id.String()), nil, private); err != nil {
		return fmt.Errorf("entering the room: %w", err)
	}

	ticker := time.NewTicker(often)
	defer ticker.Stop()

	for {
		there, err := os.ReadDir(p.Room)
		if err != nil {
			return fmt.Errorf("looking around the room: %w", err)
		}

		if len(there) >= guests {
			return nil
		}

		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}
