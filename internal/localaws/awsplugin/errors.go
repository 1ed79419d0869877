package awsplugin

import (
	"errors"
	"fmt"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

var (
	errUnknownType     = errors.New("unknown resource type")
	errUnknownFunction = errors.New("unknown function")
	errArgument        = errors.New("missing argument")
	errNothing         = errors.New("couldn't find resource")
	errNotConfigured   = errors.New("the provider is not configured")
	errNoEndpoint      = errors.New("AWS_ENDPOINT_URL is not set: the local AWS plugin works with local mode only (make local); " +
		"for AWS itself install the real plugin with `pulumi plugin install resource aws " + Version + "`")
	errVanished  = errors.New("the resource is gone")
	errCancelled = errors.New("the operation was cancelled")
)

// explain puts an error in the words of the real plugin.
func (t *resourceType) explain(doing, id, call string, err error) error {
	if refusal, ok := errors.AsType[*cloudsim.Error](err); ok {
		err = fmt.Errorf("operation error %s: %s, https response error StatusCode: %d, RequestID: %s, %w",
			t.service, call, refusal.Status, refusal.RequestID, refusal)
	}

	return fmt.Errorf("1 error occurred:\n\t* %s %s: %w\n\n", doing, t.subject(id), err) //nolint:revive,staticcheck // its form
}

func code(err error) string {
	if refusal, ok := errors.AsType[*cloudsim.Error](err); ok {
		return refusal.Code
	}

	return ""
}

// scripted reports whether the simulator's script ends the plugin here.
func scripted(err error) bool { return code(err) == cloudsim.CodeCrash }

// throttled reports whether the AWS SDK would try again.
func throttled(err error) bool {
	switch code(err) {
	case "RequestLimitExceeded", "Throttling", "ThrottlingException", "TooManyRequestsException", "RequestThrottled", "SlowDown":
		return true
	default:
		return false
	}
}

// resting reports whether a name is free again soon, for which the real plugin
// waits.
func resting(err error) bool { return code(err) == "AWS.SimpleQueueService.QueueDeletedRecently" }

// inUse reports whether a deletion may succeed once others are through.
func inUse(err error) bool {
	switch code(err) {
	case "DependencyViolation", "InvalidDBSubnetGroupStateFault", "InvalidDBInstanceState",
		"ResourceInUse", "ClusterContainsServicesException", "DeleteConflict":
		return true
	default:
		return false
	}
}
