package platform

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	defaultName              = "lessor"
	defaultStateBuckets      = 2
	defaultMaxReceiveCount   = 100
	defaultVisibilityTimeout = 2 * time.Minute
	// defaultOldestMessage is above what one operation may take, because the
	// message of a running operation counts.
	defaultOldestMessage = 4 * time.Hour
	defaultRetentionDays = 90
	maxVisibilityTimeout = 12 * time.Hour
	maxReceiveCountLimit = 1000
	// maxStateBuckets keeps the worker's policy, which names each bucket,
	// within what IAM allows.
	maxStateBuckets  = 32
	minRetentionDays = archiveDays + 1
	maxRetentionDays = 3650
)

// Names of queues, tables and topics allow more, bucket names do not.
var (
	namePattern         = regexp.MustCompile(`^[a-z][a-z0-9-]{0,29}$`)
	bucketPrefixPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{1,57}[a-z0-9]$`)
	kubernetesName      = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
	oidcProviderPattern = regexp.MustCompile(`^arn:aws[a-z-]*:iam::\d{12}:oidc-provider/[\w.:-]+(/[\w./-]+)?$`)
	clusterPattern      = regexp.MustCompile(`^arn:aws[a-z-]*:eks:[a-z0-9-]+:\d{12}:cluster/[\w-]+$`)
	rolePattern         = regexp.MustCompile(`^arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]+$`)
	queuePattern        = regexp.MustCompile(`^arn:aws[a-z-]*:sqs:[a-z0-9-]+:\d{12}:[\w-]+(\.fifo)?$`)
	sourcePattern       = regexp.MustCompile(`^arn:aws[a-z-]*:(sns:[a-z0-9-]+:\d{12}:[\w-]+|events:[a-z0-9-]+:\d{12}:rule/[\w./-]+)$`)
	arnPattern          = regexp.MustCompile(`^arn:aws[a-z-]*:[a-z0-9-]+:[a-z0-9-]*:(\d{12})?:.+$`)
)

// Results is what result events go to.
type Results string

// The targets of results that the platform can make.
const (
	ResultsNone  Results = "none"
	ResultsTopic Results = "topic"
	ResultsBus   Results = "bus"
)

// ServiceAccount is an identity of a Kubernetes cluster.
type ServiceAccount struct {
	Namespace string
	Name      string
}

// Cluster says how the pods of an EKS cluster prove to AWS who they are. With
// neither OIDCProviderARN nor PodIdentity no role is made.
type Cluster struct {
	// OIDCProviderARN is the IAM OIDC provider of the cluster, for IAM roles
	// for service accounts (IRSA).
	OIDCProviderARN string
	// PodIdentity trusts EKS Pod Identity.
	PodIdentity bool
	// ARN is the cluster's. With PodIdentity, pods of other clusters of the
	// account are refused if it is set.
	ARN string
}

func (c Cluster) trusted() bool { return c.OIDCProviderARN != "" || c.PodIdentity }

// Config says how the fleet's own infrastructure shall be. Its zero value is a
// fleet named lessor that anybody can delete.
type Config struct {
	// Name begins every physical name: 1 to 30 of a-z, 0-9 and hyphens.
	// The default is lessor.
	Name string
	// Region is where everything is made; "" leaves it to AWS_REGION.
	Region string
	// StateBucketPrefix begins the names of the state buckets. Bucket names
	// are unique over all accounts of AWS, so the default is
	// NAME-state-ACCOUNT.
	StateBucketPrefix string
	// StateBuckets is how many state buckets there are, 2 by default and 32 at
	// most. More can be added later: a tenant stays in the bucket its row names.
	StateBuckets int
	// RetentionDays is how long a state that was overwritten or deleted, and
	// the history of operations, can be brought back: 31 to 3650, 90 by default.
	// It should be no less than the largest retainDays of the catalog.
	RetentionDays int
	// MaxReceiveCount is how often a message is received before SQS itself
	// gives it up, 100 by default. It is only a backstop: the worker moves bad
	// messages by itself, with the reason.
	MaxReceiveCount int
	// VisibilityTimeout is the queue's own, 2 minutes by default. The worker
	// extends it while it works.
	VisibilityTimeout time.Duration
	// OldestMessage is the age of a message that raises the alarm, 4 hours by
	// default. Messages in hand count, so it should be above
	// LESSOR_OPERATION_TIMEOUT.
	OldestMessage time.Duration
	// AlarmActions are told when an alarm is raised and when it is over: ARNs
	// of SNS topics or of whatever else CloudWatch takes.
	AlarmActions []string
	// EventSources may send events to the queue besides those who have the
	// producers' policy: ARNs of SNS topics and of EventBridge rules of this
	// account.
	EventSources []string
	// Results is what result events go to: none, which is the default, topic
	// or bus.
	Results Results
	// Cluster is where the workers run.
	Cluster Cluster
	// Worker is the workers' service account, lessor/lessor by default.
	Worker ServiceAccount
	// Scaler is KEDA's service account, keda/keda-operator by default.
	Scaler ServiceAccount
	// TierRoles are the roles that the catalog's tiers name as roleArn. What
	// the programs make is made with their rights.
	TierRoles []string
	// HookQueues are the queues of data hooks that the catalog names: their ARNs.
	HookQueues []string
	// Protect guards everything against a destroy in Pulumi, and what holds
	// data also at AWS. Without it a destroy empties the state buckets.
	Protect bool
	// Tags go on everything, besides managed-by.
	Tags map[string]string
}

// ErrConfig is wrapped by the error of every refused Config.
var ErrConfig = errors.New("platform configuration")

// Validate reports every value that AWS would refuse, all at once.
func (c Config) Validate() error {
	c = c.withDefaults()

	var problems []error

	refuse := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...))
	}

	form := func(field, value string, pattern *regexp.Regexp) {
		if value != "" && !pattern.MatchString(value) {
			refuse("%s %q must match %s", field, value, pattern)
		}
	}

	within := func(field string, value, least, most int) {
		if value < least || value > most {
			refuse("%s is %d; it must be %d to %d", field, value, least, most)
		}
	}

	form("name", c.Name, namePattern)
	form("stateBucketPrefix", c.StateBucketPrefix, bucketPrefixPattern)
	within("stateBuckets", c.StateBuckets, 1, maxStateBuckets)
	within("retentionDays", c.RetentionDays, minRetentionDays, maxRetentionDays)
	within("maxReceiveCount", c.MaxReceiveCount, 1, maxReceiveCountLimit)

	if c.VisibilityTimeout < time.Second || c.VisibilityTimeout > maxVisibilityTimeout {
		refuse("visibilityTimeout is %s; it must be 1s to %s", c.VisibilityTimeout, maxVisibilityTimeout)
	}

	if c.OldestMessage < time.Minute || c.OldestMessage >= messageRetention {
		refuse("oldestMessage is %s; it must be 1m or more and less than %s", c.OldestMessage, messageRetention)
	}

	if !slices.Contains([]Results{ResultsNone, ResultsTopic, ResultsBus}, c.Results) {
		refuse("results is %q; it must be %s, %s or %s", c.Results, ResultsNone, ResultsTopic, ResultsBus)
	}

	form("oidcProviderArn", c.Cluster.OIDCProviderARN, oidcProviderPattern)
	form("clusterArn", c.Cluster.ARN, clusterPattern)

	for field, account := range map[string]ServiceAccount{"worker": c.Worker, "scaler": c.Scaler} {
		form(field+"Namespace", account.Namespace, kubernetesName)
		form(field+"ServiceAccount", account.Name, kubernetesName)
	}

	for _, list := range c.lists() {
		for _, arn := range list.arns {
			if !list.pattern.MatchString(arn) {
				refuse("%s: %q must match %s", list.field, arn, list.pattern)
			}
		}
	}

	return errors.Join(problems...)
}

type arnList struct {
	field   string
	arns    []string
	pattern *regexp.Regexp
}

func (c Config) lists() []arnList {
	return []arnList{
		{"alarmActions", c.AlarmActions, arnPattern},
		{"eventSources", c.EventSources, sourcePattern},
		{"tierRoles", c.TierRoles, rolePattern},
		{"hookQueues", c.HookQueues, queuePattern},
	}
}

func (c Config) withDefaults() Config {
	fallback(&c.Name, defaultName)
	fallback(&c.StateBuckets, defaultStateBuckets)
	fallback(&c.RetentionDays, defaultRetentionDays)
	fallback(&c.MaxReceiveCount, defaultMaxReceiveCount)
	fallback(&c.VisibilityTimeout, defaultVisibilityTimeout)
	fallback(&c.OldestMessage, defaultOldestMessage)
	fallback(&c.Results, ResultsNone)
	fallback(&c.Worker.Namespace, defaultName)
	fallback(&c.Worker.Name, defaultName)
	fallback(&c.Scaler.Namespace, "keda")
	fallback(&c.Scaler.Name, "keda-operator")

	return c
}

func fallback[T comparable](value *T, standard T) {
	var none T
	if *value == none {
		*value = standard
	}
}

// services are the principals of the event sources, in order.
func (c Config) services() []string {
	found := map[string]bool{}

	for _, arn := range c.EventSources {
		found[strings.Split(arn, ":")[arnService]+".amazonaws.com"] = true
	}

	return slices.Sorted(maps.Keys(found))
}
