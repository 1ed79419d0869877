package platform

import (
	"errors"
	"fmt"
	"regexp"
	"time"
)

const (
	defaultName              = "lessor"
	defaultStateBuckets      = 2
	defaultMaxReceiveCount   = 100
	defaultVisibilityTimeout = 2 * time.Minute
	maxVisibilityTimeout     = 12 * time.Hour
	maxReceiveCountLimit     = 1000
	maxStateBuckets          = 64
)

// Names of queues, tables and topics allow more, bucket names do not.
var (
	namePattern         = regexp.MustCompile(`^[a-z][a-z0-9-]{0,29}$`)
	bucketPrefixPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{1,57}[a-z0-9]$`)
)

// Config says how the fleet's own infrastructure shall be. Its zero value, with
// a StateBucketPrefix, is a fleet named lessor that anybody can delete.
type Config struct {
	// Name begins every physical name: 1 to 30 of a-z, 0-9 and hyphens.
	// The default is lessor.
	Name string
	// Region is where everything is made; "" leaves it to AWS_REGION.
	Region string
	// StateBucketPrefix begins the names of the state buckets. Bucket names
	// are unique over all accounts of AWS, so it should hold the account's id.
	StateBucketPrefix string
	// StateBuckets is how many state buckets there are, 2 by default. More can
	// be added later: a tenant stays in the bucket its row names.
	StateBuckets int
	// MaxReceiveCount is how often a message is received before SQS itself
	// gives it up, 100 by default. It is only a backstop: the worker moves bad
	// messages by itself, with the reason.
	MaxReceiveCount int
	// VisibilityTimeout is the queue's own, 2 minutes by default. The worker
	// extends it while it works.
	VisibilityTimeout time.Duration
	// Protect guards what holds data against deletion, at AWS and in Pulumi.
	// Without it a destroy also empties the state buckets.
	Protect bool
	// ResultsTopic adds an SNS topic for result events.
	ResultsTopic bool
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

	if !namePattern.MatchString(c.Name) {
		refuse("name %q must match %s", c.Name, namePattern)
	}

	if !bucketPrefixPattern.MatchString(c.StateBucketPrefix) {
		refuse("stateBucketPrefix %q must match %s", c.StateBucketPrefix, bucketPrefixPattern)
	}

	if c.StateBuckets < 1 || c.StateBuckets > maxStateBuckets {
		refuse("stateBuckets is %d; it must be 1 to %d", c.StateBuckets, maxStateBuckets)
	}

	if c.MaxReceiveCount < 1 || c.MaxReceiveCount > maxReceiveCountLimit {
		refuse("maxReceiveCount is %d; it must be 1 to %d", c.MaxReceiveCount, maxReceiveCountLimit)
	}

	if c.VisibilityTimeout < time.Second || c.VisibilityTimeout > maxVisibilityTimeout {
		refuse("visibilityTimeout is %s; it must be 1s to %s", c.VisibilityTimeout, maxVisibilityTimeout)
	}

	return errors.Join(problems...)
}

func (c Config) withDefaults() Config {
	if c.Name == "" {
		c.Name = defaultName
	}

	if c.StateBuckets == 0 {
		c.StateBuckets = defaultStateBuckets
	}

	if c.MaxReceiveCount == 0 {
		c.MaxReceiveCount = defaultMaxReceiveCount
	}

	if c.VisibilityTimeout == 0 {
		c.VisibilityTimeout = defaultVisibilityTimeout
	}

	return c
}
