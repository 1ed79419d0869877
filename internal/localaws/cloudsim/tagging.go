package cloudsim

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// TaggingTarget begins the header X-Amz-Target of requests to the Resource Groups
// Tagging API, which Handler answers beside its own.
const TaggingTarget = "ResourceGroupsTaggingAPI_20170126."

const (
	targetHeader     = "X-Amz-Target"
	defaultPage      = 50
	maxPage          = 100
	maxFilters       = 50
	maxFilterValues  = 20
	maxTagKey        = 128
	maxTypeFilters   = 100
	tokenPatience    = 15 * time.Minute
	codeInvalidInput = "InvalidParameterException"
)

// taggable are the types that carry tags and that the API covers, with the name
// that it filters them by.
// https://docs.aws.amazon.com/resourcegroupstagging/latest/APIReference/supported-services.html
func taggable() map[string]string {
	return map[string]string{
		TypeVPC:           "ec2:vpc",
		TypeSubnet:        "ec2:subnet",
		TypeSecurityGroup: "ec2:security-group",
		TypePeering:       "ec2:vpc-peering-connection",
		TypeEndpoint:      "ec2:vpc-endpoint",
		TypeRouteTable:    "ec2:route-table",
		TypeKey:           "kms:key",
		TypeSubnetGroup:   "rds:subgrp",
		TypeInstance:      "rds:db",
		TypeSnapshot:      "rds:snapshot",
		TypeQueue:         "sqs:queue",
		TypeTable:         "dynamodb:table",
		TypeBucket:        "s3:bucket",
		TypeTopic:         "sns:topic",
		TypeBus:           "events:event-bus",
		TypeAlarm:         "cloudwatch:alarm",

		// Roles carry tags, but this API does not cover them.
		TypeCluster:        "ecs:cluster",
		TypeService:        "ecs:service",
		TypeTaskDefinition: "ecs:task-definition",
		TypeLoadBalancer:   "elasticloadbalancing:loadbalancer",
		TypeTargetGroup:    "elasticloadbalancing:targetgroup",
		TypeListener:       "elasticloadbalancing:listener",
		TypeListenerRule:   "elasticloadbalancing:listener-rule",
		TypeLogGroup:       "logs:log-group",
	}
}

// ARN is the resource's name in all of AWS.
func (r *Resource) ARN() string {
	switch {
	case r.Type == TypeSnapshot:
		return r.Text("dbSnapshotArn")
	case strings.HasPrefix(r.ID, "arn:"):
		return r.ID
	default:
		return r.Text("arn")
	}
}

// tagSearch is a request for GetResources.
// https://docs.aws.amazon.com/resourcegroupstagging/latest/APIReference/API_GetResources.html
type tagSearch struct {
	Filters []tagFilter `json:"TagFilters"`
	Types   []string    `json:"ResourceTypeFilters"`
	PerPage *int        `json:"ResourcesPerPage"`
	Token   string      `json:"PaginationToken"`
}

type tagFilter struct {
	Key    string   `json:"Key"`
	Values []string `json:"Values"`
}

type tagPage struct {
	Token    string       `json:"PaginationToken"`
	Mappings []tagMapping `json:"ResourceTagMappingList"`
}

type tagMapping struct {
	ARN  string    `json:"ResourceARN"`
	Tags []tagPair `json:"Tags"`
}

type tagPair struct {
	Key   string `json:"Key"`
	Value string `json:"Value"`
}

func (c *Cloud) serveTagging(w http.ResponseWriter, r *http.Request) {
	operation := strings.TrimPrefix(r.Header.Get(targetHeader), TaggingTarget)
	if operation != "GetResources" {
		amazonJSON.refuse(w, badRequest("UnknownOperationException", "the cloud simulator does not have the operation %q", operation))

		return
	}

	region := signedRegion(r)
	if region == "" {
		amazonJSON.refuse(w, badRequest("MissingAuthenticationTokenException", "Missing Authentication Token"))

		return
	}

	var search tagSearch

	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()

	if err := decoder.Decode(&search); err != nil {
		amazonJSON.refuse(w, badRequest(codeInvalidInput, "the cloud simulator does not understand the request: %v", err))

		return
	}

	subject := &Resource{Region: region, Tags: map[string]string{TagTenant: search.tenant()}}

	c.serveIn(amazonJSON, w, r, OperationList, subject, anytime, func(string) (any, *Error) {
		return c.search(region, search)
	})
}

// signedRegion is the region in the scope of the signature: it, and not the
// endpoint, says where the caller looks.
func signedRegion(r *http.Request) string {
	const parts, region = 5, 2

	_, credential, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	credential, _, _ = strings.Cut(credential, ",")

	if scope := strings.Split(credential, "/"); len(scope) == parts {
		return scope[region]
	}

	return ""
}

// tenant is the one that the search is for, if it is for one: faults know
// tenants.
func (s tagSearch) tenant() string {
	for _, f := range s.Filters {
		if f.Key == TagTenant && len(f.Values) == 1 {
			return f.Values[0]
		}
	}

	return ""
}

func (s tagSearch) check() *Error {
	switch {
	case s.PerPage != nil && (*s.PerPage < 1 || *s.PerPage > maxPage):
		return badRequest(codeInvalidInput, "ResourcesPerPage must be between 1 and %d, inclusive", maxPage)
	case len(s.Filters) > maxFilters:
		return badRequest(codeInvalidInput, "a request has at most %d TagFilters", maxFilters)
	case len(s.Types) > maxTypeFilters:
		return badRequest(codeInvalidInput, "a request has at most %d ResourceTypeFilters", maxTypeFilters)
	}

	for _, f := range s.Filters {
		if f.Key == "" || len(f.Key) > maxTagKey || len(f.Values) > maxFilterValues {
			return badRequest(codeInvalidInput,
				"a TagFilter has a key of 1 to %d characters and at most %d values", maxTagKey, maxFilterValues)
		}
	}

	return nil
}

func (s tagSearch) matches(r *Resource, typ string) bool {
	service, _, _ := strings.Cut(typ, ":")
	if len(s.Types) > 0 && !slices.Contains(s.Types, typ) && !slices.Contains(s.Types, service) {
		return false
	}

	return !slices.ContainsFunc(s.Filters, func(f tagFilter) bool {
		value, tagged := r.Tags[f.Key]

		return !tagged || len(f.Values) > 0 && !slices.Contains(f.Values, value)
	})
}

// search returns a page. A key that waits for its deletion still has its tags.
func (c *Cloud) search(region string, s tagSearch) (tagPage, *Error) {
	if err := s.check(); err != nil {
		return tagPage{}, err
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	c.settle()

	after, err := c.resume(s)
	if err != nil {
		return tagPage{}, err
	}

	size := defaultPage
	if s.PerPage != nil {
		size = *s.PerPage
	}

	// An empty list and an empty token are what AWS sends, not null.
	page := tagPage{Mappings: []tagMapping{}}

	for _, r := range c.tagged(region, s) {
		if r.ARN() <= after {
			continue
		}

		if len(page.Mappings) == size {
			page.Token = c.token(s, page.Mappings[size-1].ARN)

			break
		}

		page.Mappings = append(page.Mappings, mappingOf(r))
	}

	return page, nil
}

// tagged are the resources that a search selects, by ARN.
func (c *Cloud) tagged(region string, s tagSearch) []*Resource {
	var list []*Resource

	for typ, name := range taggable() {
		for _, r := range c.of(typ, region) {
			if !r.claim() && len(r.Tags) > 0 && s.matches(r, name) {
				list = append(list, r)
			}
		}
	}

	slices.SortFunc(list, func(a, b *Resource) int { return strings.Compare(a.ARN(), b.ARN()) })

	return list
}

func mappingOf(r *Resource) tagMapping {
	m := tagMapping{ARN: r.ARN(), Tags: []tagPair{}}
	for key, value := range r.Tags {
		m.Tags = append(m.Tags, tagPair{key, value})
	}

	slices.SortFunc(m.Tags, func(a, b tagPair) int { return strings.Compare(a.Key, b.Key) })

	return m
}

// pageToken is what a token says: where the page before ended, of which search,
// and when.
type pageToken struct {
	After  string            `json:"after"`
	Search [sha256.Size]byte `json:"search"`
	At     time.Time         `json:"at"`
}

func (c *Cloud) token(s tagSearch, after string) string {
	// These types always marshal.
	raw, _ := json.Marshal(pageToken{After: after, Search: s.digest(), At: c.now()}) //nolint:errchkjson // as said

	return base64.StdEncoding.EncodeToString(raw)
}

// digest is of what must be the same on all pages.
func (s tagSearch) digest() [sha256.Size]byte {
	s.Token, s.PerPage = "", nil
	raw, _ := json.Marshal(s) //nolint:errchkjson // plain strings

	return sha256.Sum256(raw)
}

// resume returns the ARN after which the page begins.
func (c *Cloud) resume(s tagSearch) (string, *Error) {
	if s.Token == "" {
		return "", nil
	}

	var token pageToken

	raw, err := base64.StdEncoding.DecodeString(s.Token)
	if err == nil {
		err = json.Unmarshal(raw, &token)
	}

	switch {
	case err != nil || token.Search != s.digest():
		return "", badRequest(codeInvalidInput, "The pagination token is not valid for this request")
	case c.now().Sub(token.At) > tokenPatience:
		return "", badRequest("PaginationTokenExpiredException", "The pagination token has expired")
	default:
		return token.After, nil
	}
}
