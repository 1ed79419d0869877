package result

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/arn"
)

// Config says where results go.
type Config struct {
	// Target is the ARN of an SNS topic, of an EventBridge bus or of an SQS
	// queue, or the URL of an SQS queue. Nothing is sent where it is empty.
	Target string `env:"LESSOR_RESULT_TARGET"`
}

// ErrTarget is wrapped by every error about LESSOR_RESULT_TARGET.
var ErrTarget = errors.New("invalid LESSOR_RESULT_TARGET")

// Validate reports a target that is none, with the forms that there are.
func (c Config) Validate() error {
	_, err := parseTarget(c.Target)

	return err
}

type service int

const (
	serviceNone service = iota
	serviceTopic
	serviceBus
	serviceQueue
)

// target is where results go, taken apart.
type target struct {
	service service
	// address is the target as it was configured.
	address string
	// region and account are empty where the address does not say.
	region, account string
	name            string
}

const (
	forms = "set it to an SNS topic (arn:aws:sns:<region>:<account>:<topic>), " +
		"an EventBridge bus (arn:aws:events:<region>:<account>:event-bus/<bus>), " +
		"an SQS queue (its URL or arn:aws:sqs:<region>:<account>:<queue>), or leave it empty"
	fifoSuffix = ".fifo"
	busPrefix  = "event-bus/"
)

func parseTarget(address string) (target, error) {
	if address == "" {
		return target{}, nil
	}

	parse := parseURL
	if strings.HasPrefix(address, "arn:") {
		parse = parseARN
	}

	t, ok := parse(address)
	if !ok {
		return target{}, fmt.Errorf("%w: %s names nothing that results can be sent to; %s", ErrTarget, quote(address), forms)
	}

	if strings.HasSuffix(t.name, fifoSuffix) {
		return target{}, fmt.Errorf("%w: %s is FIFO, which is not supported; use a standard one", ErrTarget, quote(address))
	}

	return t, nil
}

func parseARN(address string) (target, bool) {
	a, err := arn.Parse(address)
	if err != nil || a.Region == "" || a.AccountID == "" {
		return target{}, false
	}

	t := target{address: address, region: a.Region, account: a.AccountID, name: a.Resource}

	switch a.Service {
	case "sns":
		t.service = serviceTopic
	case "events":
		t.service = serviceBus

		name, ok := strings.CutPrefix(a.Resource, busPrefix)
		if !ok {
			return target{}, false
		}

		t.name = name
	case "sqs":
		t.service = serviceQueue
	default:
		return target{}, false
	}

	// A subscription, a rule or a queue in a path is something else.
	return t, t.name != "" && !strings.ContainsAny(t.name, ":/ ")
}

func parseURL(address string) (target, bool) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return target{}, false
	}

	name := path.Base(u.Path)
	if name == "/" || name == "." || !slices.Contains([]string{"https", "http"}, u.Scheme) {
		return target{}, false
	}

	t := target{service: serviceQueue, address: address, name: name}

	// AWS puts the region into the host; others do not.
	if host := strings.Split(u.Hostname(), "."); host[0] == "sqs" && strings.Contains(u.Hostname(), ".amazonaws.") {
		t.region = host[1]
	}

	return t, true
}

// quote repeats what was configured, shortened and without a password.
func quote(s string) string {
	const limit = 80

	if u, err := url.Parse(s); err == nil {
		s = u.Redacted()
	}

	if len(s) > limit {
		return strconv.Quote(strings.ToValidUTF8(s[:limit], "")) + "…"
	}

	return strconv.Quote(s)
}
