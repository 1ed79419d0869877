package enqueuecli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sethvargo/go-envconfig"
	"github.com/spf13/pflag"

	"github.com/lessor-dev/lessor/pkg/event"
)

const (
	envQueueURL      = "LESSOR_QUEUE_URL"
	envDeadLetterURL = "LESSOR_DEAD_LETTER_QUEUE_URL"
	envTable         = "LESSOR_TABLE"
	envEventOrder    = "LESSOR_EVENT_ORDER"
	envCatalog       = "LESSOR_CATALOG"
	envRegions       = "LESSOR_REGIONS"
)

// globalFlags are the flags of every command.
type globalFlags struct {
	output choice
	// overrides are the flags that stand above an environment variable.
	overrides map[string]*string
	profile   string
	awsRegion string
	set       *pflag.FlagSet
}

// override is a flag that stands above an environment variable.
type override struct{ flag, env, usage string }

func overrides() []override {
	return []override{
		{"queue-url", envQueueURL, "URL of the queue of events"},
		{"dead-letter-queue-url", envDeadLetterURL, "URL of the dead-letter queue"},
		{"table", envTable, "name of the table of tenants"},
		{"event-order", envEventOrder, "how the fleet orders facts: `time|sequence`"},
	}
}

func (f *globalFlags) register(set *pflag.FlagSet) {
	f.set = set
	f.output = choice{value: outputText, allowed: []string{outputText, outputJSON}}
	f.overrides = map[string]*string{}

	set.VarP(&f.output, "output", "o", "form of the data on standard output")

	for _, o := range overrides() {
		f.overrides[o.flag] = set.String(o.flag, "", o.usage+" ($"+o.env+")")
	}

	set.StringVar(&f.profile, "profile", "", "profile of the AWS credentials ($AWS_PROFILE)")
	set.StringVar(&f.awsRegion, "aws-region", "", "region of queue and table ($AWS_REGION)")
}

// settings are the configuration of one run: flags above environment above
// defaults.
type settings struct {
	lookuper  envconfig.Lookuper
	profile   string
	awsRegion string
}

func (a *app) settings() settings {
	flags := map[string]string{}

	for _, o := range overrides() {
		if a.flags.set.Changed(o.flag) {
			flags[o.env] = *a.flags.overrides[o.flag]
		}
	}

	return settings{
		lookuper:  envconfig.MultiLookuper(envconfig.MapLookuper(flags), a.lookuper),
		profile:   a.flags.profile,
		awsRegion: a.flags.awsRegion,
	}
}

// load fills a configuration struct. Its error names the variable and the flag.
func (s settings) load(ctx context.Context, into any) error {
	err := envconfig.ProcessWith(ctx, &envconfig.Config{Target: into, Lookuper: s.lookuper})
	if err == nil {
		return nil
	}

	if errors.Is(err, envconfig.ErrMissingRequired) {
		for _, o := range overrides() {
			if strings.Contains(err.Error(), o.env) {
				return usageError("set "+o.env+" or give --"+o.flag, "the %s is not known", o.usage)
			}
		}
	}

	return usageError("see `enqueue help environment`", "reading the configuration: %w", err)
}

// need is an error if a variable has no value.
func (s settings) need(env string) error {
	if value, _ := s.lookuper.Lookup(env); value != "" {
		return nil
	}

	for _, o := range overrides() {
		if o.env == env {
			return usageError("set "+o.env+" or give --"+o.flag, "the %s is not known", o.usage)
		}
	}

	return usageError("set "+env, "%s is not set", env)
}

// order is how the fleet orders facts.
func (s settings) order() (event.Order, error) {
	value, _ := s.lookuper.Lookup(envEventOrder)

	if value == "" {
		return event.OrderTime, nil
	}

	order := event.Order(value)
	if order.Validate() != nil {
		return "", usageError(fmt.Sprintf("set %s (or --event-order) to %s or %s", envEventOrder, event.OrderTime, event.OrderSequence),
			"the event order %q does not exist", value)
	}

	return order, nil
}

// choice is a flag that takes one of a few words.
type choice struct {
	value   string
	allowed []string
}

func (c *choice) String() string { return c.value }

func (c *choice) Type() string { return strings.Join(c.allowed, "|") }

func (c *choice) Set(value string) error {
	if !slices.Contains(c.allowed, value) {
		return fmt.Errorf("%w %s", errChoice, strings.Join(c.allowed, ", "))
	}

	c.value = value

	return nil
}

var errChoice = errors.New("must be one of")
