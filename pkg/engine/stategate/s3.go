package stategate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
)

// The metadata in which a stamp is kept: docs/safety.md names them.
const (
	metaFence     = "lessor-fence"
	metaOperation = "lessor-operation"
	metaWrite     = "lessor-write"
)

// MaxObject bounds what is read or written, in bytes. A stack with a thousand
// resources has some 2 MB.
const MaxObject = 64 << 20

var errTooLarge = errors.New("the object is too large")

// bucket is a Store at S3.
type bucket struct {
	client *s3.Client
	name   string
}

// NewStore makes a Store of an S3 bucket.
func NewStore(client *s3.Client, name string) Store { return &bucket{client: client, name: name} }

// Get reads an object.
func (b *bucket) Get(ctx context.Context, key, version string) (Object, error) {
	in := &s3.GetObjectInput{Bucket: &b.name, Key: &key}
	if version != "" {
		in.VersionId = &version
	}

	out, err := b.client.GetObject(ctx, in)
	if err != nil {
		return Object{}, b.explain("reading", key, err)
	}

	body, err := io.ReadAll(io.LimitReader(out.Body, MaxObject+1))
	if err = errors.Join(err, out.Body.Close()); err != nil {
		return Object{}, b.explain("reading", key, err)
	}

	if len(body) > MaxObject {
		return Object{}, fmt.Errorf("reading s3://%s/%s: %w: more than %d bytes", b.name, key, errTooLarge, MaxObject)
	}

	return Object{Body: body, ETag: aws.ToString(out.ETag), Stamp: stampOf(out.Metadata)}, nil
}

func stampOf(metadata map[string]string) Stamp {
	// What cannot be read was not written by a gate.
	fence, _ := strconv.ParseInt(metadata[metaFence], 10, 64)
	write, _ := strconv.ParseInt(metadata[metaWrite], 10, 64)

	return Stamp{Fence: fence, Operation: metadata[metaOperation], Write: write}
}

// Put writes an object.
func (b *bucket) Put(ctx context.Context, key string, body []byte, stamp Stamp, condition Condition) (string, error) {
	in := &s3.PutObjectInput{
		Bucket: &b.name, Key: &key, Body: bytes.NewReader(body), ContentType: aws.String("application/json"),
		Metadata: map[string]string{
			metaFence:     strconv.FormatInt(stamp.Fence, 10),
			metaOperation: stamp.Operation,
			metaWrite:     strconv.FormatInt(stamp.Write, 10),
		},
	}

	if condition.Absent {
		in.IfNoneMatch = aws.String("*")
	} else if condition.ETag != "" {
		in.IfMatch = &condition.ETag
	}

	out, err := b.client.PutObject(ctx, in)
	if err != nil {
		return "", b.explain("writing", key, err)
	}

	return aws.ToString(out.ETag), nil
}

// List returns the keys under a prefix.
func (b *bucket) List(ctx context.Context, prefix string) ([]string, error) {
	var keys []string

	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: &b.name, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, b.explain("listing", prefix, err)
		}

		for _, object := range page.Contents {
			keys = append(keys, aws.ToString(object.Key))
		}
	}

	return keys, nil
}

// Delete removes an object.
func (b *bucket) Delete(ctx context.Context, key string) error {
	if _, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: &key}); err != nil {
		return b.explain("deleting", key, err)
	}

	return nil
}

// Versions returns the versions under a prefix. S3 lists each key's newest
// first.
func (b *bucket) Versions(ctx context.Context, prefix string) ([]Version, error) {
	var versions []Version

	pages := s3.NewListObjectVersionsPaginator(b.client, &s3.ListObjectVersionsInput{Bucket: &b.name, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, b.explain("listing versions of", prefix, err)
		}

		for _, v := range page.Versions {
			versions = append(versions, Version{
				Key: aws.ToString(v.Key), ID: aws.ToString(v.VersionId), ETag: aws.ToString(v.ETag), Latest: aws.ToBool(v.IsLatest),
			})
		}

		for _, m := range page.DeleteMarkers {
			versions = append(versions, Version{
				Key: aws.ToString(m.Key), ID: aws.ToString(m.VersionId), Latest: aws.ToBool(m.IsLatest), Marker: true,
			})
		}
	}

	return versions, nil
}

// maxBatch is what DeleteObjects takes.
const maxBatch = 1000

// DeleteVersions removes versions, up to a thousand with one request.
func (b *bucket) DeleteVersions(ctx context.Context, versions []Version) error {
	for len(versions) > 0 {
		batch := versions[:min(len(versions), maxBatch)]
		versions = versions[len(batch):]

		identifiers := make([]types.ObjectIdentifier, 0, len(batch))
		for _, v := range batch {
			identifiers = append(identifiers, types.ObjectIdentifier{Key: aws.String(v.Key), VersionId: aws.String(v.ID)})
		}

		out, err := b.client.DeleteObjects(ctx, &s3.DeleteObjectsInput{
			Bucket: &b.name, Delete: &types.Delete{Objects: identifiers, Quiet: aws.Bool(true)},
		})
		if err != nil {
			return b.explain("deleting versions of", batch[0].Key, err)
		}

		for _, failed := range out.Errors {
			return b.explain("deleting a version of", aws.ToString(failed.Key),
				&smithy.GenericAPIError{Code: aws.ToString(failed.Code), Message: aws.ToString(failed.Message)})
		}
	}

	return nil
}

// explain turns an error of the SDK into one that callers can tell apart.
func (b *bucket) explain(doing, key string, err error) error {
	var kind error

	var response interface{ HTTPStatusCode() int }
	if errors.As(err, &response) {
		switch response.HTTPStatusCode() {
		case http.StatusNotFound:
			kind = ErrNotFound
		case http.StatusPreconditionFailed:
			kind = ErrPrecondition
		case http.StatusConflict:
			kind = ErrRaced
		case http.StatusForbidden:
			kind = ErrDenied
		}
	}

	if api, ok := errors.AsType[smithy.APIError](err); ok {
		switch api.ErrorCode() {
		case "NoSuchBucket":
			kind = ErrDenied
		case "AccessDenied":
			kind = ErrDenied
		case "RequestTimeTooSkewed", "ExpiredToken", "ExpiredTokenException", "SlowDown":
			// A later try may do.
			kind = nil
		}
	}

	if kind != nil {
		return fmt.Errorf("%s s3://%s/%s: %w (%w)", doing, b.name, key, kind, err)
	}

	return fmt.Errorf("%s s3://%s/%s: %w", doing, b.name, key, err)
}
