package cloudsim_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

func alarm(more props) props {
	return merged(props{
		"name": "old", "comparisonOperator": "GreaterThanThreshold", "evaluationPeriods": 1, "period": 300, "treatMissingData": "notBreaching",
	}, more)
}

func rules(more ...props) props {
	list := make([]any, 0, len(more))
	for i, rule := range more {
		list = append(list, merged(props{"id": strconv.Itoa(i), "status": "Enabled", "filter": props{}}, rule))
	}

	return props{"bucket": "acme", "rules": list}
}

func about(resource string) props {
	return props{"bucket": "acme", "policy": fmt.Sprintf(`{"Statement":[{"Effect":"Deny","Resource":["arn:aws:s3:::acme",%q]}]}`, resource)}
}

// What the platform of the fleet has and tenants do not. The pages of AWS are
// beside the rules.
func TestPlatformIsRefusedAsByAWS(t *testing.T) {
	t.Parallel()

	large := props{"objectSizeGreaterThan": 131072}
	document := func(size int) string {
		return `{"Statement":[{"Sid":"` + strings.Repeat("s", size-len(`{"Statement":[{"Sid":""}]}`)) + `"}]}`
	}

	for name, tc := range map[string]struct {
		typ       string
		good, bad props
		code      string
		text      string
	}{
		"alarm with a long name": {
			cloudsim.TypeAlarm, alarm(props{"name": strings.Repeat("a", 255)}), alarm(props{"name": strings.Repeat("a", 256)}),
			"ValidationError", "less than or equal to 255",
		},
		"alarm with an operator of its own": {
			cloudsim.TypeAlarm, alarm(nil), alarm(props{"comparisonOperator": ">"}), "ValidationError", "'>' at 'comparisonOperator'",
		},
		"alarm that treats silence in a way of its own": {
			cloudsim.TypeAlarm, alarm(props{"treatMissingData": nil}), alarm(props{"treatMissingData": "ok"}),
			"ValidationError", "'ok' at 'treatMissingData'",
		},
		"alarm with many actions": {
			cloudsim.TypeAlarm, alarm(props{"okActions": []any{"a", "b", "c", "d", "e"}}),
			alarm(props{"okActions": []any{"a", "b", "c", "d", "e", "f"}}), "ValidationError", "'okActions'",
		},
		"alarm with an odd period": {
			cloudsim.TypeAlarm, alarm(props{"period": 30}), alarm(props{"period": 90}), "ValidationError", "multiple of 60",
		},
		"alarm without a period": {
			cloudsim.TypeAlarm, alarm(nil), alarm(props{"evaluationPeriods": 0}), "ValidationError", "'evaluationPeriods'",
		},
		"alarm that looks back further than a day": {
			cloudsim.TypeAlarm, alarm(props{"evaluationPeriods": 288}), alarm(props{"evaluationPeriods": 289}), "ValidationError", "86400",
		},
		"alarm that looks back further than a week": {
			cloudsim.TypeAlarm, alarm(props{"period": 3600, "evaluationPeriods": 168}),
			alarm(props{"period": 3600, "evaluationPeriods": 169}), "ValidationError", "604800",
		},
		"bus with a slash": {
			cloudsim.TypeBus, props{"name": "acme-results"}, props{"name": "acme/results"}, "ValidationException", "'name'",
		},
		"bus named default": {
			cloudsim.TypeBus, props{"name": "acme"}, props{"name": "default"}, "ResourceAlreadyExistsException", "default",
		},
		"managed policy with a long name": {
			cloudsim.TypePolicy,
			props{"name": strings.Repeat("p", 128), "policy": policy},
			props{"name": strings.Repeat("p", 129), "policy": policy},
			"ValidationError", "policyName",
		},
		"managed policy without statements": {
			cloudsim.TypePolicy,
			props{"name": "acme", "policy": policy},
			props{"name": "bad", "policy": "{}"},
			"MalformedPolicyDocument", "Syntax errors",
		},
		"managed policy that is too long": {
			cloudsim.TypePolicy,
			props{"name": "acme", "policy": document(6144)},
			props{"name": "bad", "policy": document(6145)},
			"LimitExceeded", "PolicySize: 6144",
		},
		"bucket policy about another bucket": {
			cloudsim.TypeBucketPolicy, about("arn:aws:s3:::acme/*"), about("arn:aws:s3:::acme-other/*"), "MalformedPolicy", "invalid resource",
		},
		"bucket policy about nothing": {
			cloudsim.TypeBucketPolicy, about("arn:aws:s3:::acme/*"),
			props{"bucket": "acme", "policy": `{"Statement":[{"Effect":"Deny"}]}`},
			"MalformedPolicy", "Missing required field Resource",
		},
		"bucket policy that is none": {
			cloudsim.TypeBucketPolicy, about("arn:aws:s3:::acme/*"), props{"bucket": "acme", "policy": "x"}, "MalformedPolicy", "valid JSON",
		},
		"bucket policy that is too long": {
			cloudsim.TypeBucketPolicy, about("arn:aws:s3:::acme/*"), about("arn:aws:s3:::acme/" + strings.Repeat("x", 20<<10)),
			"PolicyTooLarge", "20480",
		},
		"lifecycle with one id twice": {
			cloudsim.TypeLifecycle, rules(props{}, props{}), rules(props{}, props{"id": "0"}), "InvalidArgument", "unique",
		},
		"lifecycle without a filter": {
			cloudsim.TypeLifecycle, rules(props{"filter": nil, "prefix": ""}), rules(props{"filter": nil}), "MalformedXML", "well-formed",
		},
		"lifecycle with two filters": {
			cloudsim.TypeLifecycle, rules(props{"filter": props{"prefix": "a"}}),
			rules(props{"filter": props{"prefix": "a", "objectSizeLessThan": 1}}), "MalformedXML", "well-formed",
		},
		"lifecycle that ends large uploads": {
			cloudsim.TypeLifecycle, rules(props{"abortIncompleteMultipartUpload": props{"daysAfterInitiation": 1}}),
			rules(props{"filter": large, "abortIncompleteMultipartUpload": props{"daysAfterInitiation": 1}}),
			"InvalidRequest", "AbortIncompleteMultipartUpload",
		},
		"lifecycle that removes large markers": {
			cloudsim.TypeLifecycle, rules(props{"expiration": props{"expiredObjectDeleteMarker": true}}),
			rules(props{"filter": large, "expiration": props{"expiredObjectDeleteMarker": true}}), "InvalidRequest", "ExpiredObjectDeleteMarker",
		},
		"lifecycle that archives what is gone": {
			cloudsim.TypeLifecycle,
			rules(props{
				"noncurrentVersionTransitions": []any{props{"noncurrentDays": 30}}, "noncurrentVersionExpiration": props{"noncurrentDays": 31},
			}),
			rules(props{
				"noncurrentVersionTransitions": []any{props{"noncurrentDays": 30}}, "noncurrentVersionExpiration": props{"noncurrentDays": 30},
			}),
			"InvalidArgument", "must be greater",
		},
		"queue that is encrypted twice": {
			cloudsim.TypeQueue,
			props{"name": "one", "kmsMasterKeyId": "k"},
			props{"name": "two", "kmsMasterKeyId": "k", "sqsManagedSseEnabled": true},
			"InvalidAttributeValue", "one type of server-side encryption",
		},
		"queue for small messages": {
			cloudsim.TypeQueue,
			props{"name": "one", "maxMessageSize": 1024},
			props{"name": "two", "maxMessageSize": 1023},
			"InvalidAttributeValue", "MaximumMessageSize",
		},
		"queue for large messages": {
			cloudsim.TypeQueue,
			props{"name": "one", "maxMessageSize": 1048576},
			props{"name": "two", "maxMessageSize": 1048577},
			"InvalidAttributeValue", "MaximumMessageSize",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			a := newAccount(t, instant())
			a.must(cloudsim.TypeBucket, props{"bucket": "acme"})

			_, err := a.create(tc.typ, tc.bad)
			refused(t, err, tc.code, tc.text)
			a.must(tc.typ, tc.good)
		})
	}
}

func TestNamesOfThePlatformAreUnique(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())

	for typ, tc := range map[string]struct {
		inputs props
		code   string
		arn    string
	}{
		cloudsim.TypeBus: {props{"name": "acme"}, "ResourceAlreadyExistsException", "arn:aws:events:us-east-1:000000000000:event-bus/acme"},
		cloudsim.TypePolicy: {
			props{"name": "acme", "path": "/fleet/", "policy": policy}, "EntityAlreadyExists", "arn:aws:iam::000000000000:policy/fleet/acme",
		},
	} {
		made := a.must(typ, tc.inputs)
		require.Equal(t, tc.arn, made.ARN())

		_, err := a.create(typ, tc.inputs)
		refused(t, err, tc.code, "acme")
	}

	first := a.must(cloudsim.TypeAlarm, alarm(nil))
	require.Equal(t, "arn:aws:cloudwatch:us-east-1:000000000000:alarm:old", first.ARN())
	require.Equal(t, first.ID, a.must(cloudsim.TypeAlarm, alarm(props{"period": 60})).ID, "a second put replaces the first")
}
