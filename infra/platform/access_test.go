package platform_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/infra/platform"
)

const (
	roleType       = "aws:iam/role:Role"
	rolePolicyType = "aws:iam/rolePolicy:RolePolicy"
	oidc           = "arn:aws:iam::" + owner + ":oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/EXAMPLE"
	cluster        = "arn:aws:eks:eu-west-1:" + owner + ":cluster/prod"
	tierRole       = "arn:aws:iam::" + owner + ":role/lessor-tenants"
	hookQueue      = "arn:aws:sqs:eu-west-1:" + owner + ":hook"
	eventTopic     = "arn:aws:sns:eu-west-1:" + owner + ":signups"
	eventRule      = "arn:aws:events:eu-west-1:" + owner + ":rule/billing/plans"
)

// full is a platform with everything that it can have.
func full() platform.Config {
	return platform.Config{
		StateBucketPrefix: "acme-state",
		Results:           platform.ResultsTopic,
		Cluster:           platform.Cluster{OIDCProviderARN: oidc, PodIdentity: true, ARN: cluster},
		TierRoles:         []string{tierRole},
		HookQueues:        []string{hookQueue},
		AlarmActions:      []string{"arn:aws:sns:eu-west-1:" + owner + ":pager"},
		EventSources:      []string{eventTopic, eventRule},
		Protect:           true,
	}
}

// statement as IAM reads it.
type statement struct {
	ID        string                    `json:"Sid"`
	Effect    string                    `json:"Effect"`
	Principal any                       `json:"Principal"`
	Actions   []string                  `json:"Action"`
	Resources []string                  `json:"Resource"`
	Condition map[string]map[string]any `json:"Condition"`
}

func (r *recorder) policy(t *testing.T, token, name, property string) map[string]statement {
	t.Helper()

	text, ok := r.one(t, token, name)[property].(string)
	require.True(t, ok)

	var document struct {
		Version    string      `json:"Version"`
		Statements []statement `json:"Statement"`
	}

	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&document))
	require.Equal(t, "2012-10-17", document.Version)

	statements := map[string]statement{}

	for _, s := range document.Statements {
		require.NotContains(t, statements, s.ID)
		statements[s.ID] = s
	}

	return statements
}

// right is an action on one kind of thing.
type right struct{ action, on string }

// documented are the rights in docs/safety.md, "What a worker must be allowed": a
// row has a service, actions in code, and what they are on.
func documented(t *testing.T) map[right]bool {
	t.Helper()

	text, err := os.ReadFile("../../docs/safety.md")
	require.NoError(t, err)

	_, section, found := strings.Cut(string(text), "## What a worker must be allowed\n")
	require.True(t, found)

	section, _, _ = strings.Cut(section, "\n## ")
	prefixes := map[string][]string{
		"SQS": {"sqs"}, "DynamoDB": {"dynamodb"}, "S3": {"s3"}, "KMS": {"kms"}, "SNS or EventBridge": {"sns", "events"},
		"Resource Groups Tagging API": {"tag"}, "STS": {"sts"},
	}
	code := regexp.MustCompile("`([A-Za-z:]+)`")
	rights := map[right]bool{}

	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$`).FindAllStringSubmatch(section, -1)[1:] {
		service, ok := prefixes[row[1]]
		require.True(t, ok, "a row about %s", row[1])

		actions := code.FindAllStringSubmatch(row[2], -1)
		require.NotEmpty(t, actions, row[0])

		for i, action := range actions {
			// One service each, or one action of each service.
			name := service[min(i, len(service)-1)] + ":" + action[1]
			rights[right{name, thing(t, row[3])}] = true
		}
	}

	return rights
}

// listed makes rights that read well where they differ.
func listed(rights map[right]bool) []string {
	list := make([]string, 0, len(rights))
	for r := range rights {
		list = append(list, r.action+" on "+r.on)
	}

	slices.Sort(list)

	return list
}

// thing is what a row of the table is about.
func thing(t *testing.T, text string) string {
	t.Helper()

	for _, known := range []struct{ words, name string }{
		{"encrypts queues", "data"},
		{"LESSOR_SECRETS_PROVIDER", "state"},
		{"queue of events", "events"},
		{"dead-letter queue", "dead-letters"},
		{"queues of data hooks", "hooks"},
		{"table of tenants", "tenants"},
		{"state buckets", "buckets"},
		{"target of results", "results"},
		{"roles of tiers", "tiers"},
		{"everything", "*"},
	} {
		if strings.Contains(text, known.words) {
			return known.name
		}
	}

	require.Fail(t, "nothing is known of", text)

	return ""
}

// granted are the rights in a policy.
func granted(t *testing.T, statements map[string]statement) map[right]bool {
	t.Helper()

	rights := map[right]bool{}
	bucket := regexp.MustCompile(`^arn:aws:x:eu-west-1:\d+:state-[01](/\.pulumi/\*)?$`)

	for _, s := range statements {
		require.Equal(t, "Allow", s.Effect)
		require.Nil(t, s.Principal)
		require.Empty(t, s.Condition)
		require.NotEmpty(t, s.Actions)
		require.NotEmpty(t, s.Resources)

		for _, resource := range s.Resources {
			on := strings.TrimPrefix(resource, arnOf(""))

			switch {
			case resource == tierRole:
				on = "tiers"
			case resource == hookQueue:
				on = "hooks"
			case bucket.MatchString(resource):
				on = "buckets"
			}

			for _, action := range s.Actions {
				require.NotContains(t, action, "*")
				rights[right{action, on}] = true
			}
		}
	}

	return rights
}

// TestWorkerMayDoWhatIsDocumentedAndNothingMore compares the worker's role with
// the table in docs/safety.md.
func TestWorkerMayDoWhatIsDocumentedAndNothingMore(t *testing.T) {
	t.Parallel()

	want := documented(t)
	require.Len(t, want, 28, "every row was read")

	got := map[right]bool{}

	for _, results := range []platform.Results{platform.ResultsTopic, platform.ResultsBus} {
		cfg := full()
		cfg.Results = results
		maps.Copy(got, granted(t, deploy(t, cfg).policy(t, rolePolicyType, "worker", "policy")))
	}

	require.Equal(t, listed(want), listed(got))
}

func TestWorkerReachesEveryBucketAndNoOther(t *testing.T) {
	t.Parallel()

	statements := deploy(t, full()).policy(t, rolePolicyType, "worker", "policy")
	require.Equal(t, []string{arnOf("state-0"), arnOf("state-1")}, statements["Shards"].Resources)
	require.Equal(t, []string{arnOf("state-0") + "/.pulumi/*", arnOf("state-1") + "/.pulumi/*"}, statements["State"].Resources)
}

// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
func TestPolicyOfTheLargestFleetFitsIntoARole(t *testing.T) {
	t.Parallel()

	cfg := full()
	cfg.StateBuckets = 32
	cfg.StateBucketPrefix = strings.Repeat("b", 59)

	policy, ok := deploy(t, cfg).one(t, rolePolicyType, "worker")["policy"].(string)
	require.True(t, ok)

	const longestARN = len("arn:aws-us-gov:s3:::") + 59 + len("-31")

	grows := 2 * cfg.StateBuckets * (longestARN - len(arnOf("state-31")))
	require.LessOrEqual(t, len(policy)+grows, 10240)
}

func TestRightsAreLeftOutWithWhatTheyAreOn(t *testing.T) {
	t.Parallel()

	cfg := platform.Config{StateBucketPrefix: "acme-state", Cluster: platform.Cluster{PodIdentity: true}}
	statements := deploy(t, cfg).policy(t, rolePolicyType, "worker", "policy")
	require.Equal(t,
		[]string{"Data", "DeadLetters", "Events", "Inventory", "Secrets", "Shards", "State", "Tenants"}, slices.Sorted(maps.Keys(statements)))
}

func TestProducersSendAndNothingElse(t *testing.T) {
	t.Parallel()

	r := deploy(t, full())
	require.Equal(t, map[right]bool{
		{"sqs:SendMessage", "events"}: true, {"kms:GenerateDataKey", "data"}: true, {"kms:Decrypt", "data"}: true,
	}, granted(t, r.policy(t, "aws:iam/policy:Policy", "producers", "policy")))
	require.Equal(t, map[right]bool{{"sqs:GetQueueAttributes", "events"}: true},
		granted(t, r.policy(t, rolePolicyType, "scaler", "policy")))
	require.Equal(t, "lessor-producers", r.one(t, "aws:iam/policy:Policy", "producers")["name"])
}

func TestRolesTrustOneServiceAccountEach(t *testing.T) {
	t.Parallel()

	const issuer = "oidc.eks.eu-west-1.amazonaws.com/id/EXAMPLE"

	irsa := func(subject string) statement {
		return statement{
			ID: "ServiceAccount", Effect: "Allow", Principal: map[string]any{"Federated": oidc},
			Actions: []string{"sts:AssumeRoleWithWebIdentity"},
			Condition: map[string]map[string]any{"StringEquals": {
				issuer + ":aud": "sts.amazonaws.com", issuer + ":sub": "system:serviceaccount:" + subject,
			}},
		}
	}
	pods := func(more map[string]any) statement {
		return statement{
			ID: "PodIdentity", Effect: "Allow", Principal: map[string]any{"Service": "pods.eks.amazonaws.com"},
			Actions: []string{"sts:AssumeRole", "sts:TagSession"}, Condition: map[string]map[string]any{"StringEquals": more},
		}
	}

	both := deploy(t, full())
	require.Equal(t, map[string]statement{
		"ServiceAccount": irsa("lessor:lessor"),
		"PodIdentity": pods(map[string]any{
			"aws:RequestTag/kubernetes-namespace": "lessor", "aws:RequestTag/kubernetes-service-account": "lessor",
			"aws:RequestTag/eks-cluster-arn": cluster,
		}),
	}, both.policy(t, roleType, "worker", "assumeRolePolicy"))
	require.Equal(t, irsa("keda:keda-operator"), both.policy(t, roleType, "scaler", "assumeRolePolicy")["ServiceAccount"])

	cfg := platform.Config{
		Cluster: platform.Cluster{PodIdentity: true},
		Worker:  platform.ServiceAccount{Namespace: "fleet", Name: "worker"},
	}
	require.Equal(t, map[string]statement{"PodIdentity": pods(map[string]any{
		"aws:RequestTag/kubernetes-namespace": "fleet", "aws:RequestTag/kubernetes-service-account": "worker",
	})}, deploy(t, cfg).policy(t, roleType, "worker", "assumeRolePolicy"))
}

func TestStoresRefuseClearText(t *testing.T) {
	t.Parallel()

	r := deploy(t, full())

	for _, tc := range []struct {
		token, name, action string
		resources           []string
	}{
		{"aws:s3/bucketPolicy:BucketPolicy", "state-1", "s3:*", []string{arnOf("state-1"), arnOf("state-1") + "/*"}},
		{"aws:sqs/queuePolicy:QueuePolicy", "events", "sqs:*", []string{arnOf("events")}},
		{"aws:sqs/queuePolicy:QueuePolicy", "dead-letters", "sqs:*", []string{arnOf("dead-letters")}},
	} {
		require.Equal(t, statement{
			ID: "TLSOnly", Effect: "Deny", Principal: "*", Actions: []string{tc.action}, Resources: tc.resources,
			Condition: map[string]map[string]any{"Bool": {"aws:SecureTransport": "false"}},
		}, r.policy(t, tc.token, tc.name, "policy")["TLSOnly"])
	}
}

func TestSourcesOfEventsMaySendToTheEncryptedQueue(t *testing.T) {
	t.Parallel()

	r := deploy(t, full())
	services := map[string]any{"Service": []any{"events.amazonaws.com", "sns.amazonaws.com"}}

	require.Equal(t, statement{
		ID: "EventSources", Effect: "Allow", Principal: services, Actions: []string{"sqs:SendMessage"}, Resources: []string{arnOf("events")},
		Condition: map[string]map[string]any{"ArnEquals": {"aws:SourceArn": []any{eventTopic, eventRule}}},
	}, r.policy(t, "aws:sqs/queuePolicy:QueuePolicy", "events", "policy")["EventSources"])

	root := statement{
		ID: "LeaveItToIAM", Effect: "Allow", Principal: map[string]any{"AWS": "arn:aws:iam::" + owner + ":root"},
		Actions: []string{"kms:*"}, Resources: []string{"*"},
	}
	require.Equal(t, map[string]statement{"LeaveItToIAM": root, "EventSources": {
		ID: "EventSources", Effect: "Allow", Principal: services, Actions: []string{"kms:GenerateDataKey", "kms:Decrypt"},
		Resources: []string{"*"}, Condition: map[string]map[string]any{"StringEquals": {"aws:SourceAccount": owner}},
	}}, r.policy(t, keyType, "data", "policy"))
	require.Equal(t, map[string]statement{"LeaveItToIAM": root}, r.policy(t, keyType, "state", "policy"), "nobody else sees secrets")

	without := deploy(t, platform.Config{})
	require.NotContains(t, without.policy(t, "aws:sqs/queuePolicy:QueuePolicy", "events", "policy"), "EventSources")
	require.NotContains(t, without.policy(t, keyType, "data", "policy"), "EventSources")
}
