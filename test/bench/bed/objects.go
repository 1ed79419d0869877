package bed

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"
)

// writers is how many requests fill the stand-in at the same time: it takes one
// write at a time, so that more would only wait.
const writers = 8

// Object is what a bucket has under a key.
type Object struct {
	Key  string
	Body []byte
}

// NewBucket makes one more state bucket, with versions as the platform's has.
func (b *Bed) NewBucket(ctx context.Context) (string, error) {
	name := b.Name("state-of-bench")
	client := b.objects()

	if _, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &name}); err != nil {
		return "", fmt.Errorf("making a bucket: %w", err)
	}

	_, err := client.PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{
		Bucket: &name, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	})
	if err != nil {
		return "", fmt.Errorf("making a bucket with versions: %w", err)
	}

	return name, nil
}

// objects is a client for S3 that is neither counted nor delayed.
func (b *Bed) objects() *s3.Client {
	return s3.NewFromConfig(b.AWS(), func(o *s3.Options) {
		o.UsePathStyle = true
		// The stand-in keeps the framing of streamed checksums as content.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	})
}

// Keys are those in a bucket that begin with a prefix.
func (b *Bed) Keys(ctx context.Context, bucket, prefix string) ([]string, error) {
	var keys []string

	pages := s3.NewListObjectsV2Paginator(b.objects(), &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", bucket, err)
		}

		for _, object := range page.Contents {
			keys = append(keys, aws.ToString(object.Key))
		}
	}

	return keys, nil
}

// Objects are those whose keys have a text in them.
func (b *Bed) Objects(ctx context.Context, bucket, within string) ([]Object, error) {
	keys, err := b.Keys(ctx, bucket, "")
	if err != nil {
		return nil, err
	}

	var found []Object

	for _, key := range keys {
		if !strings.Contains(key, within) {
			continue
		}

		body, err := b.object(ctx, bucket, key)
		if err != nil {
			return nil, err
		}

		found = append(found, Object{Key: key, Body: body})
	}

	return found, nil
}

func (b *Bed) object(ctx context.Context, bucket, key string) ([]byte, error) {
	out, err := b.objects().GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	defer out.Body.Close()

	body, err := io.ReadAll(out.Body)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}

	return body, nil
}

// PutObjects writes objects into a bucket.
func (b *Bed) PutObjects(ctx context.Context, bucket string, objects iter.Seq[Object]) error {
	client := b.objects()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)

	for o := range objects {
		if ctx.Err() != nil {
			break
		}

		group.Go(func() error {
			_, err := client.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: &o.Key, Body: bytes.NewReader(o.Body)})
			if err != nil {
				return fmt.Errorf("writing %s: %w", o.Key, err)
			}

			return nil
		})
	}

	return group.Wait() //nolint:wrapcheck // the group returns what its functions did
}
