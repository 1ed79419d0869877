package engine

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Config is what the engine takes from the environment.
type Config struct {
	// Pulumi is the path of the CLI, "" for `pulumi` on PATH.
	Pulumi string `env:"LESSOR_PULUMI"`
	// PluginDir holds the provider plugins as the CLI keeps them, in
	// directories like resource-aws-v6.83.4. "" is the CLI's own.
	PluginDir string `env:"LESSOR_PLUGIN_DIR"`
	// WorkDir is for scratch files. Workers may share it. "" is a directory of
	// the system's temporary one.
	WorkDir string `env:"LESSOR_WORK_DIR"`
	// SecretsProvider encrypts the secrets in the state of new stacks.
	SecretsProvider string `env:"LESSOR_SECRETS_PROVIDER"`
	// Project is the Pulumi project of new stacks.
	Project string `env:"LESSOR_PROJECT, default=lessor"`
	// OperationTimeout bounds an operation that has no earlier deadline.
	OperationTimeout time.Duration `env:"LESSOR_OPERATION_TIMEOUT, default=2h"`
	// InterruptGrace is how long an interrupted CLI may finish what it does.
	InterruptGrace time.Duration `env:"LESSOR_INTERRUPT_GRACE, default=5m"`
	// Parallel is how many resources an operation works on at once.
	Parallel int `env:"LESSOR_PARALLEL, default=8"`
}

// MaxOperationTimeout is what SQS leaves of the twelve hours for which it lets
// a message be worked on.
const MaxOperationTimeout = 11 * time.Hour

// Validate reports every problem, each with the variable's name and the fix.
func (c Config) Validate() error {
	var problems []error

	complain := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf(format, args...)) //nolint:err113 // Read by people, once, at the start.
	}

	if c.OperationTimeout <= 0 || c.OperationTimeout >= MaxOperationTimeout {
		complain("LESSOR_OPERATION_TIMEOUT is %s: it must be above 0 and below %s, since SQS ends a message's visibility after 12h",
			c.OperationTimeout, MaxOperationTimeout)
	}

	if c.InterruptGrace <= 0 {
		complain("LESSOR_INTERRUPT_GRACE is %s: it must be a positive duration such as 5m", c.InterruptGrace)
	}

	if c.Parallel < 1 {
		complain("LESSOR_PARALLEL is %d: it must be at least 1", c.Parallel)
	}

	if c.Project == "" || strings.ContainsAny(c.Project, "/ ") {
		complain("LESSOR_PROJECT is %q: it must be the name of a Pulumi project such as lessor", c.Project)
	}

	if !strings.Contains(c.SecretsProvider, "://") {
		complain("LESSOR_SECRETS_PROVIDER is %q: it must be the URL of a key such as awskms://alias/lessor?region=eu-west-1",
			c.SecretsProvider)
	}

	return errors.Join(problems...)
}
