package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// meet is a program that makes the resources of pair, takes some memory, and waits
// until as many operations are as far.
const meet = "meet"

const meetCatalog = `version: 1
tiers:
  meet: {program: meet}
`

// The parameters of meet: the directory that the operations meet in, how many
// there will be, and how much memory each takes, in bytes.
const (
	parameterRoom    = "room"
	parameterGuests  = "guests"
	parameterBallast = "ballast"
)

type meetingParameters struct {
	Room    string `json:"room"`
	Guests  string `json:"guests"`
	Ballast string `json:"ballast"`
}

// meetingOf are the parameters of all operations of one meeting.
func meetingOf(room string) map[string]string {
	return map[string]string{
		parameterRoom: room, parameterGuests: strconv.Itoa(filledSlots), parameterBallast: strconv.Itoa(ballastMemory),
	}
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

	ballast, err := p.load()
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(ballast)

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

// load takes the memory, every page of it.
func (p meetingParameters) load() ([]byte, error) {
	n, err := strconv.Atoi(p.Ballast)
	if err != nil {
		return nil, fmt.Errorf("reading how much memory to take: %w", err)
	}

	ballast := make([]byte, n)
	for i := 0; i < n; i += os.Getpagesize() {
		ballast[i] = 1
	}

	return ballast, nil
}
