package enqueuecli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/logging"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
	"github.com/lessor-dev/lessor/pkg/engine/stategate"
	"github.com/lessor-dev/lessor/pkg/inventory"
	"github.com/lessor-dev/lessor/pkg/queue"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// awsConnector opens the real ports.
type awsConnector struct{}

var _ connector = awsConnector{}

// Sender opens the queue of events.
func (awsConnector) Sender(ctx context.Context, s settings) (sender, error) {
	client, cfg, err := openQueue(ctx, s)
	if err != nil {
		return nil, err
	}

	return queue.New(client, cfg), nil
}

// DeadLetters opens the dead-letter queue. Its configuration names the queue of
// events too, since a redrive sends there.
func (awsConnector) DeadLetters(ctx context.Context, s settings) (deadLetters, error) {
	if err := s.need(envDeadLetterURL); err != nil {
		return nil, err
	}

	client, cfg, err := openQueue(ctx, s)
	if err != nil {
		return nil, err
	}

	return deadLetterPort{queue.NewDeadLetters(client, cfg)}, nil
}

// Rows opens the table of tenants.
func (awsConnector) Rows(ctx context.Context, s settings) (rows, error) {
	table, err := openTable(ctx, s)
	if err != nil {
		return nil, err
	}

	return rowPort{table}, nil
}

// Fleet opens the row that stops and restarts all work.
func (awsConnector) Fleet(ctx context.Context, s settings) (fleet, error) {
	table, err := openTable(ctx, s)
	if err != nil {
		return nil, err
	}

	return fleetPort{table}, nil
}

// Cloud opens the inventory of a place.
func (awsConnector) Cloud(ctx context.Context, s settings, at place) (cloud, error) {
	awsConfig, err := s.aws(ctx)
	if err != nil {
		return nil, err
	}

	return inventory.Open(inventory.Assume(awsConfig, at.role), at.region), nil
}

// States opens the state buckets.
func (awsConnector) States(ctx context.Context, s settings) (states, error) {
	awsConfig, err := s.aws(ctx)
	if err != nil {
		return nil, err
	}

	return statePort{stategate.NewClient(awsConfig)}, nil
}

func openQueue(ctx context.Context, s settings) (*sqs.Client, queue.Config, error) {
	var cfg queue.Config
	if err := s.load(ctx, &cfg); err != nil {
		return nil, cfg, err
	}

	awsConfig, err := s.aws(ctx)
	if err != nil {
		return nil, cfg, err
	}

	return sqs.NewFromConfig(awsConfig), cfg, nil
}

func openTable(ctx context.Context, s settings) (*registry.Registry, error) {
	var cfg registry.Config
	if err := s.load(ctx, &cfg); err != nil {
		return nil, err
	}

	awsConfig, err := s.aws(ctx)
	if err != nil {
		return nil, err
	}

	return registry.New(dynamodb.NewFromConfig(awsConfig), cfg, time.Now), nil
}

// aws is the SDK's own configuration, with flags above it.
func (s settings) aws(ctx context.Context) (aws.Config, error) {
	// The SDK's own warnings would break into the line that shows progress,
	// and tell users nothing that an error does not.
	options := []func(*config.LoadOptions) error{config.WithLogger(logging.Nop{})}
	if s.profile != "" {
		options = append(options, config.WithSharedConfigProfile(s.profile))
	}

	if s.awsRegion != "" {
		options = append(options, config.WithRegion(s.awsRegion))
	}

	loaded, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return aws.Config{}, usageError("check AWS_PROFILE (or --profile) and the files of the AWS SDK",
			"reading the configuration of AWS: %w", err)
	}

	if loaded.Region == "" {
		return aws.Config{}, usageError("set AWS_REGION or give --aws-region", "the AWS region is not known")
	}

	return loaded, nil
}

// absentError is a port's own word for a thing that is not there.
type absentError struct{ error }

func (e absentError) Unwrap() error { return e.error }

func (absentError) Is(target error) bool { return target == errAbsent }

// translate makes a port's sentinel the one of this package.
func translate(err, sentinel error) error {
	if errors.Is(err, sentinel) {
		return absentError{err}
	}

	return err
}

type rowPort struct{ *registry.Registry }

func (p rowPort) SetHold(ctx context.Context, id tenant.ID, reason string) error {
	return translate(p.Registry.SetHold(ctx, id, reason), registry.ErrNotFound)
}

func (p rowPort) ClearHold(ctx context.Context, id tenant.ID) error {
	return translate(p.Registry.ClearHold(ctx, id), registry.ErrNotFound)
}

type fleetPort struct{ *registry.Registry }

func (p fleetPort) State(ctx context.Context) (fleetState, error) {
	state, err := p.Fleet(ctx)
	if err != nil {
		return fleetState{}, err
	}

	return fleetState(state), nil
}

type deadLetterPort struct{ letters *queue.DeadLetters }

func (p deadLetterPort) List(ctx context.Context, limit int) ([]deadLetter, error) {
	found, err := p.letters.List(ctx, limit)
	if err != nil {
		return nil, err
	}

	letters := make([]deadLetter, 0, len(found))
	for _, f := range found {
		letters = append(letters, letterOf(f))
	}

	return letters, nil
}

func (p deadLetterPort) Show(ctx context.Context, id string) (deadLetter, error) {
	found, err := p.letters.Show(ctx, id)
	if err != nil {
		return deadLetter{}, translate(err, queue.ErrNotFound)
	}

	return letterOf(found), nil
}

func (p deadLetterPort) Redrive(ctx context.Context, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return p.letters.RedriveAll(ctx)
	}

	done, err := p.letters.Redrive(ctx, ids...)

	return done, translate(err, queue.ErrNotFound)
}

func (p deadLetterPort) Drop(ctx context.Context, ids []string) ([]string, error) {
	done, err := p.letters.Drop(ctx, ids...)

	return done, translate(err, queue.ErrNotFound)
}

type statePort struct{ bucket *s3.Client }

// Read reads the checkpoint from its place in the CLI's own layout.
func (p statePort) Read(ctx context.Context, stack tenant.Stack) ([]byte, error) {
	got, err := p.bucket.GetObject(ctx, &s3.GetObjectInput{
		Bucket: &stack.Shard, Key: aws.String(".pulumi/stacks/" + stack.Project + "/" + stack.Name + ".json"),
	})

	if _, missing := errors.AsType[*s3types.NoSuchKey](err); missing {
		return nil, absentError{err}
	}

	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", stack.Shard, err)
	}

	defer got.Body.Close()

	// One byte more than is allowed shows that it is too long.
	data, err := io.ReadAll(io.LimitReader(got.Body, checkpoint.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", stack.Shard, err)
	}

	return data, nil
}

func letterOf(d queue.DeadLetter) deadLetter {
	return deadLetter{
		ID: d.ID, ReasonCode: d.ReasonCode, Reason: d.Reason, OriginalID: d.OriginalID, SentAt: d.SentAt,
		ReceiveCount: d.ReceiveCount, Body: d.Body,
	}
}
