package config

import (
	"maps"
	"strconv"
	"strings"

	"github.com/lessor-dev/lessor/pkg/telemetry"
)

// variable says of a variable what its struct tag cannot.
type variable struct {
	about string
	// form completes "set it to …".
	form     string
	required bool
	// check is nil where every value of the type will do.
	check func(value string) error
	// unset is what happens without it, if that is not in a default.
	unset string
}

const (
	maxVisibility = "12h"
	maxBackoff    = "11h"
	maxParallel   = 256
	maxSlots      = 1024

	maxBreakerTenants = 100

	// These begin the form of a value.
	aDuration = "a duration such as "
	anAmount  = "an amount such as "
	aWhole    = "a whole number from 1 to "
)

// variables describes every variable. A test keeps it and the structs together.
func variables() map[string]variable {
	all := queueVariables()
	for _, group := range []map[string]variable{tenantVariables(), stackVariables(), processVariables()} {
		maps.Copy(all, group)
	}

	return all
}

// queueVariables are about how messages are taken.
func queueVariables() map[string]variable {
	return map[string]variable{
		"LESSOR_QUEUE_URL": {
			about: "URL of the queue of events", required: true, check: isURL,
			form: "the URL of an SQS queue",
		},
		"LESSOR_DEAD_LETTER_QUEUE_URL": {
			about: "URL of the queue for messages that can never be served", required: true, check: isURL,
			form: "the URL of an SQS queue",
		},
		"LESSOR_VISIBILITY_TIMEOUT": {
			about: "How long a message in hand is hidden; extended while it is worked on",
			form:  aDuration + "2m, from 10s to " + maxVisibility, check: between("10s", maxVisibility),
		},
		"LESSOR_POLL_WAIT": {
			about: "How long a receive call waits for messages",
			form:  aDuration + "20s, from 1s to 20s", check: between("1s", "20s"),
		},
		"LESSOR_BACKOFF_MIN": {
			about: "Wait after the first failed attempt",
			form:  aDuration + "10s, from 1s to " + maxBackoff,
			check: between("1s", maxBackoff),
		},
		"LESSOR_BACKOFF_MAX": {
			about: "Longest wait after a failed attempt",
			form:  aDuration + "15m, from 1s to " + maxBackoff,
			check: between("1s", maxBackoff),
		},
		"LESSOR_BREAKER_TENANTS": {
			about: "How many tenants of a region and tier must fail alike in a row to pause new operations there; 0: never",
			form:  "a whole number from 2 to " + strconv.Itoa(maxBreakerTenants) + ", or 0",
			check: integer(0, maxBreakerTenants),
		},
		"LESSOR_BREAKER_PAUSE": {
			about: "How long such a pause lasts before one operation is let through to see whether it is over",
			form:  aDuration + "1m, from 1s to 1h",
			check: between("1s", "1h"),
		},
	}
}

// tenantVariables are about what tenants may be and where their rows are.
func tenantVariables() map[string]variable {
	return map[string]variable{
		"LESSOR_TABLE": {
			about: "DynamoDB table of the tenants",
			form:  "the name of a table: 3 to 255 letters, digits, hyphens, dots and underscores",
			check: matches(`^[A-Za-z0-9_.-]{3,255}$`),
		},
		"LESSOR_LEASE_DURATION": {
			about: "How long a lease on a tenant stands without a renewal", form: aDuration + "60s",
		},
		"LESSOR_LEASE_MARGIN": {
			about: "How long before the end of its lease a worker stops by itself, and after it others wait", form: aDuration + "10s",
		},
		"LESSOR_SWEEP_INTERVAL": {
			about: "Time between two looks, by one worker, for tenants whose last message was lost, and for what is due by the clock. " +
				"`0` never looks",
			form: aDuration + "5m, or 0", check: notNegative,
		},
		"LESSOR_SWEEP_AGE": {
			about: "For how long nothing happened to such a tenant; above visibility timeout, lease and margin together",
			form:  aDuration + "15m", check: positive,
		},
		"LESSOR_DRIFT_INTERVAL": {
			about: "Time between two looks at a tenant for what differs in the cloud; spread over the tenants. `0s` never looks",
			form:  aDuration + "24h, or 0", check: notNegative,
		},
		"LESSOR_EVENT_ORDER": {
			about: "What orders the facts of a tenant: the `time` of events or their `data.sequence`; the same in the whole fleet",
			form:  "time or sequence", check: oneOf("time", "sequence"),
		},
		"LESSOR_CATALOG": {
			about: "File with the catalog of tiers", required: true, form: "the path of a YAML file",
		},
		"LESSOR_REGIONS": {
			about: "Regions that tenants may have, with commas", unset: "every region",
			form: "AWS regions with commas, such as eu-central-1,us-east-1", check: each(`^[a-z]{2,}(-[a-z]+)+-\d+$`),
		},
	}
}

// stackVariables are about the stacks and the operations on them.
func stackVariables() map[string]variable {
	return map[string]variable{
		"LESSOR_STATE_BUCKETS": {
			about: "S3 buckets that hold the state, with commas", required: true,
			form: "the names of S3 buckets with commas", check: each(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`),
		},
		"LESSOR_SECRETS_PROVIDER": {
			about: "Key for the secrets in the state of new stacks", required: true,
			form: "the URL of a key such as awskms://alias/lessor?region=eu-central-1", check: matches(`^[a-z0-9]+://`),
		},
		"LESSOR_PROJECT":    {about: "Pulumi project of new stacks", form: "the name of a Pulumi project such as lessor"},
		"LESSOR_PULUMI":     {about: "Path of the Pulumi CLI", form: "the path of an executable", unset: "`pulumi` on PATH"},
		"LESSOR_PLUGIN_DIR": {about: "Directory with the provider plugins", form: "the path of a directory", unset: "the CLI's own"},
		"LESSOR_WORK_DIR": {
			about: "Directory for scratch files",
			form:  "the path of a directory",
			unset: "one in the system's temporary directory",
		},
		"LESSOR_OPERATION_TIMEOUT": {
			about: "How long one operation may take", form: aDuration + "2h, below 11h", check: positive,
		},
		"LESSOR_INTERRUPT_GRACE": {
			about: "How long an interrupted CLI may finish what it has begun", form: aDuration + "5m", check: positive,
		},
		"LESSOR_PARALLEL": {
			about: "Resources that one operation works on at once",
			form:  aWhole + strconv.Itoa(maxParallel),
			check: integer(1, maxParallel),
		},
	}
}

// processVariables are about the process of the worker.
func processVariables() map[string]variable {
	return map[string]variable{
		"LESSOR_MAX_SLOTS": {
			about: "Operations at once, however much memory there is",
			form:  aWhole + strconv.Itoa(maxSlots),
			check: integer(1, maxSlots),
		},
		"LESSOR_OPERATION_MEMORY": {
			about: "Memory that one operation may take with all its processes; one that takes more is stopped",
			form:  anAmount + "768Mi",
			check: someMemory,
		},
		"LESSOR_MEMORY_RESERVE": {
			about: "Memory for the worker itself, and for the process that waits for the next operation",
			form:  anAmount + "256Mi",
		},
		"LESSOR_MEMORY_LIMIT": {
			about: "Memory for everything",
			form:  anAmount + "4Gi",
			check: someMemory,
			unset: "what the control group allows, or the machine has",
		},
		"LESSOR_DRAIN_TIMEOUT": {
			about: "How long operations may go on after SIGTERM before they are interrupted",
			form:  aDuration + "30m",
			check: notNegative,
		},
		"LESSOR_RESULT_TARGET": {
			about: "Where results go: ARN of an SNS topic, of an EventBridge bus or of an SQS queue, or URL of an SQS queue",
			form:  "an ARN or a URL", unset: "results are not sent",
		},
		"LESSOR_ADMIN_ADDRESS": {
			about: "Where the admin server listens", form: "host:port or :port", check: isAddress,
		},
		"LESSOR_PPROF": {about: "Serve profiles on the admin server", form: "true or false"},
		"LESSOR_LOG_LEVEL": {
			about: "Least level that is logged: " + words(telemetry.LogLevels()),
			form:  words(telemetry.LogLevels()), check: oneOf(telemetry.LogLevels()...),
		},
		"LESSOR_LOG_FORMAT": {
			about: "Form of the log: " + words(telemetry.LogFormats()),
			form:  words(telemetry.LogFormats()), check: oneOf(telemetry.LogFormats()...),
		},
	}
}

func words(list []string) string {
	return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
}
