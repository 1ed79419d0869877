package cloudsim

import (
	"encoding/json"
	"slices"
	"strings"
)

const maxBucketPolicy = 20 << 10

// checkLifecycle: what is archived is archived before it is gone, and rules by
// size know neither uploads nor delete markers.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/intro-lifecycle-rules.html
func checkLifecycle(_ *Cloud, r, _ *Resource) *Error {
	var ids []string

	for _, rule := range r.parts("rules") {
		if id := rule.Text("id"); slices.Contains(ids, id) {
			return badRequest("InvalidArgument", "Rule ID must be unique. Found same ID for more than one rule")
		}

		ids = append(ids, rule.Text("id"))

		if err := checkLifecycleRule(rule); err != nil {
			return err
		}
	}

	return nil
}

func checkLifecycleRule(rule *Resource) *Error {
	if _, given := rule.Inputs["filter"]; !given {
		if _, given := rule.Inputs["prefix"]; !given {
			return malformed()
		}
	}

	bySize := false

	for _, filter := range rule.parts("filter") {
		_, above := filter.number("objectSizeGreaterThan")
		_, below := filter.number("objectSizeLessThan")
		bySize = above || below

		// One criterion; more of them go into And.
		if len(filter.Inputs) > 1 {
			return malformed()
		}
	}

	if bySize && len(rule.parts("abortIncompleteMultipartUpload")) > 0 {
		return badRequest("InvalidRequest", "AbortIncompleteMultipartUpload cannot be specified with Object Size.")
	}

	if bySize && slices.ContainsFunc(rule.parts("expiration"), func(e *Resource) bool { return e.flag("expiredObjectDeleteMarker") }) {
		return badRequest("InvalidRequest", "ExpiredObjectDeleteMarker cannot be specified with Object Size.")
	}

	for _, expiration := range rule.parts("noncurrentVersionExpiration") {
		gone, _ := expiration.number("noncurrentDays")

		for _, transition := range rule.parts("noncurrentVersionTransitions") {
			if days, _ := transition.number("noncurrentDays"); gone <= days {
				return badRequest("InvalidArgument",
					"'NoncurrentDays' in the NoncurrentVersionExpiration action must be greater than 'NoncurrentDays' in the "+
						"NoncurrentVersionTransition action")
			}
		}
	}

	return nil
}

func malformed() *Error {
	return badRequest("MalformedXML",
		"The XML you provided was not well-formed or did not validate against our published schema")
}

// checkBucketPolicy: it speaks of its own bucket only, in 20 KB.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucket-policies.html
func checkBucketPolicy(_ *Cloud, r, _ *Resource) *Error {
	document := r.Text("policy")
	if len(document) > maxBucketPolicy {
		return badRequest("PolicyTooLarge", "Normalized policy document exceeds the maximum allowed size of %d bytes.", maxBucketPolicy)
	}

	var policy struct {
		Statement []struct {
			Resource any `json:"Resource"` //nolint:tagliatelle // the policy language
		} `json:"Statement"` //nolint:tagliatelle // the policy language
	}

	if err := json.Unmarshal([]byte(document), &policy); err != nil || len(policy.Statement) == 0 {
		return badRequest("MalformedPolicy", "Policies must be valid JSON and the first byte must be '{'")
	}

	own := "arn:aws:s3:::" + r.Text("bucket")

	for _, statement := range policy.Statement {
		about := &Resource{Inputs: map[string]any{"resource": statement.Resource}}
		named := about.texts("resource")

		if one := about.Text("resource"); one != "" {
			named = append(named, one)
		}

		if len(named) == 0 {
			return badRequest("MalformedPolicy", "Missing required field Resource")
		}

		for _, resource := range named {
			if resource != own && !strings.HasPrefix(resource, own+"/") {
				return badRequest("MalformedPolicy", "Policy has invalid resource")
			}
		}
	}

	return nil
}
