// Command platform is the Pulumi program of infra/platform; run it with
// `pulumi up` in that folder.
package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"

	"github.com/lessor-dev/lessor/infra/platform"
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		cfg, err := configuration(ctx)
		if err != nil {
			return err
		}

		return platform.Program(cfg)(ctx)
	})
}

// configuration reads what Pulumi.yaml describes.
func configuration(ctx *pulumi.Context) (platform.Config, error) {
	values := config.New(ctx, "")
	cfg := platform.Config{
		Name:              values.Get("name"),
		Region:            config.New(ctx, "aws").Get("region"),
		StateBucketPrefix: values.Get("stateBucketPrefix"),
		Results:           platform.Results(values.Get("results")),
		Cluster: platform.Cluster{
			OIDCProviderARN: values.Get("oidcProviderArn"),
			ARN:             values.Get("clusterArn"),
		},
		Worker: platform.ServiceAccount{Namespace: values.Get("workerNamespace"), Name: values.Get("workerServiceAccount")},
		Scaler: platform.ServiceAccount{Namespace: values.Get("scalerNamespace"), Name: values.Get("scalerServiceAccount")},
	}

	var problems []error

	for name, value := range map[string]any{
		"stateBuckets":    &cfg.StateBuckets,
		"retentionDays":   &cfg.RetentionDays,
		"maxReceiveCount": &cfg.MaxReceiveCount,
		"podIdentity":     &cfg.Cluster.PodIdentity,
		"protect":         &cfg.Protect,
		"alarmActions":    &cfg.AlarmActions,
		"eventSources":    &cfg.EventSources,
		"tierRoles":       &cfg.TierRoles,
		"hookQueues":      &cfg.HookQueues,
		"tags":            &cfg.Tags,
	} {
		if err := values.TryObject(name, value); err != nil && !errors.Is(err, config.ErrMissingVar) {
			problems = append(problems, fmt.Errorf("reading the configuration: %s: %w", name, err))
		}
	}

	for name, value := range map[string]*time.Duration{
		"visibilityTimeout": &cfg.VisibilityTimeout,
		"oldestMessage":     &cfg.OldestMessage,
	} {
		if err := duration(values, name, value); err != nil {
			problems = append(problems, err)
		}
	}

	return cfg, errors.Join(problems...)
}

func duration(values *config.Config, name string, value *time.Duration) error {
	text := values.Get(name)
	if text == "" {
		return nil
	}

	var err error

	if *value, err = time.ParseDuration(text); err != nil {
		return fmt.Errorf("reading the configuration: %s: %w; write it as 2m or 4h", name, err)
	}

	return nil
}
