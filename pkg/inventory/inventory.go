package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	taggingtypes "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// The tags by which resources are found. The programs set them on all that
// they make.
const (
	TagTenant    = "tenant-id"
	TagManagedBy = "managed-by"
	ManagedBy    = "lessor"
	// TagName is the deterministic physical name, on resources whose id AWS
	// makes up.
	TagName = "Name"
	// TagKeptFor is on what a deletion leaves behind on purpose. Its value is
	// the final snapshot that needs it.
	TagKeptFor = "kept-for"
)

// pageSize is the largest that the API allows.
const pageSize = 100

// errEndless is returned for an answer that would be asked for again and again.
var errEndless = errors.New("the Resource Groups Tagging API returned the same page token twice")

// Resource is something that carries lessor's tags.
type Resource struct {
	ARN  string            `json:"arn"`
	Tags map[string]string `json:"tags,omitempty"`
	// PendingDeletion is set for a KMS key that waits out the days before its
	// deletion. Only FindUnknown and Inspect know.
	PendingDeletion bool `json:"pendingDeletion,omitempty"`
}

// Tenant is whose the resource is, as its tag says.
func (r Resource) Tenant() tenant.ID { return tenant.ID(r.Tags[TagTenant]) }

// Type names the kind of resource as its ARN does: ec2:vpc, rds:db, sqs.
func (r Resource) Type() string {
	n := parse(r.ARN)
	if n.kind == "" {
		return n.service
	}

	return n.service + ":" + n.kind
}

// API is the part of the Resource Groups Tagging API that is needed.
type API interface {
	GetResources(ctx context.Context, in *tagging.GetResourcesInput, opts ...func(*tagging.Options)) (*tagging.GetResourcesOutput, error)
}

// Inventory looks into one region of one account. It is safe for concurrent use.
type Inventory struct {
	api  API
	keys Keys
}

// New returns an Inventory that does not know which KMS keys wait for their
// deletion: they count as existing.
func New(api API) *Inventory { return &Inventory{api: api} }

// WithKeys returns an Inventory that asks KMS about keys.
func (i *Inventory) WithKeys(keys Keys) *Inventory { return &Inventory{api: i.api, keys: keys} }

// Find returns what is tagged with the tenant and as managed by lessor, sorted
// by ARN. Errors are those of AWS.
func (i *Inventory) Find(ctx context.Context, id tenant.ID) ([]Resource, error) {
	return i.find(ctx, tag(TagTenant, id.String()), tag(TagManagedBy, ManagedBy))
}

// FindAll returns all that is tagged with any tenant and as managed by lessor,
// sorted by ARN. What has no tenant is the fleet's own: queues, table, buckets.
func (i *Inventory) FindAll(ctx context.Context) ([]Resource, error) {
	return i.find(ctx, tag(TagTenant), tag(TagManagedBy, ManagedBy))
}

// FindUnknown returns what is tagged with the tenant and is not among known, the
// resources of its state, as Inspect sees it. Split tells which of it are
// orphans.
func (i *Inventory) FindUnknown(ctx context.Context, id tenant.ID, known []Known) ([]Resource, error) {
	found, err := i.Find(ctx, id)
	if err != nil {
		return nil, err
	}

	return i.Inspect(ctx, Unknown(found, known))
}

func (i *Inventory) find(ctx context.Context, filters ...taggingtypes.TagFilter) ([]Resource, error) {
	in := &tagging.GetResourcesInput{TagFilters: filters, ResourcesPerPage: aws.Int32(pageSize)}
	found := map[string]Resource{}

	for {
		page, err := i.api.GetResources(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("looking for resources by tag: %w", err)
		}

		for _, mapping := range page.ResourceTagMappingList {
			r := Resource{ARN: aws.ToString(mapping.ResourceARN), Tags: make(map[string]string, len(mapping.Tags))}
			for _, t := range mapping.Tags {
				r.Tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
			}

			found[r.ARN] = r
		}

		next := aws.ToString(page.PaginationToken)
		if next == "" {
			return sorted(found), nil
		}

		if next == aws.ToString(in.PaginationToken) {
			return nil, errEndless
		}

		in.PaginationToken = &next
	}
}

func sorted(found map[string]Resource) []Resource {
	list := make([]Resource, 0, len(found))
	for _, r := range found {
		list = append(list, r)
	}

	slices.SortFunc(list, func(a, b Resource) int { return strings.Compare(a.ARN, b.ARN) })

	return list
}

// tag selects what has the tag with any of the values, or with any at all.
func tag(key string, values ...string) taggingtypes.TagFilter {
	return taggingtypes.TagFilter{Key: &key, Values: values}
}
