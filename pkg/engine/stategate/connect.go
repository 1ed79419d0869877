package stategate

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Connect returns the Store of a bucket, with the credentials and the region of
// the environment.
func Connect(ctx context.Context, bucket string) (Store, error) {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("loading the AWS configuration: %w", err)
	}

	return NewStore(NewClient(cfg), bucket), nil
}

// NewClient makes a client for state buckets. An endpoint that is not Amazon's
// seldom has a DNS name for each bucket, and may not know the newer checksums.
func NewClient(cfg aws.Config) *s3.Client {
	return s3.NewFromConfig(cfg, func(o *s3.Options) {
		if o.BaseEndpoint == nil && cfg.BaseEndpoint == nil {
			return
		}

		o.UsePathStyle = true
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	})
}
