package awsplugin

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// dataPlane makes a resource in the emulator. A nil function does nothing.
type dataPlane struct {
	// create returns the id and the outputs that the emulator chose, or "".
	create func(ctx context.Context, c *clients, p part) (string, map[string]any, error)
	update func(ctx context.Context, c *clients, p part) error
	// vacate runs before the deletion, and may refuse it.
	vacate func(ctx context.Context, c *clients, p part) error
	remove func(ctx context.Context, c *clients, p part) error
}

// part is the resource as a data plane sees it.
type part struct {
	id     string
	inputs bag
	tags   map[string]string
}

// clients speak to the emulator.
type clients struct {
	endpoint string
	region   string
	sqs      *sqs.Client
	dynamodb *dynamodb.Client
	s3       *s3.Client
	kms      *kms.Client
	sns      *sns.Client
	events   *eventbridge.Client
	idle     func()
}

// newClients uses made-up credentials: the emulator asks for none, and nobody's
// own should be sent.
func newClients(s settings) *clients {
	transport := &http.Transport{}
	cfg := aws.Config{
		HTTPClient:   &http.Client{Transport: transport},
		Region:       s.region,
		BaseEndpoint: &s.endpoint,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	}

	return &clients{
		endpoint: strings.TrimRight(s.endpoint, "/"),
		region:   s.region,
		sqs:      sqs.NewFromConfig(cfg),
		dynamodb: dynamodb.NewFromConfig(cfg),
		s3:       s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true }),
		kms:      kms.NewFromConfig(cfg),
		sns:      sns.NewFromConfig(cfg),
		events:   eventbridge.NewFromConfig(cfg),
		idle:     transport.CloseIdleConnections,
	}
}

// leftOver reports whether err says that the name is taken. The simulator has
// granted the name, so what has it in the emulator is what a plugin left that died
// between the two: no such resource exists.
func leftOver[Taken error](err error) bool {
	_, taken := errors.AsType[Taken](err)

	return taken
}

// absent reports whether err says that there is no such thing, in the words of
// any service.
func absent(err error) bool {
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) && response.HTTPStatusCode() == http.StatusNotFound {
		return true
	}

	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}

	for _, word := range []string{"NotFound", "NonExistent", "NoSuch"} {
		if strings.Contains(api.ErrorCode(), word) {
			return true
		}
	}

	return false
}
