package cloudsim

import (
	"regexp"
	"slices"
)

const (
	maxAlarmActions = 5
	minutePeriod    = 60
	hour            = 60 * minutePeriod
	day             = 24 * hour
	week            = 7 * day
	codeInvalid     = "ValidationError"
)

// watchKinds are what watches, and where events go.
func watchKinds() map[string]kind {
	return map[string]kind{
		TypeAlarm: {
			name: "name",
			// https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html
			names: regexp.MustCompile(`^[^\x00-\x1f]{1,255}$`),
			badName: func(name string) *Error {
				return badRequest(codeInvalid, "1 validation error detected: Value '%s' at 'alarmName' failed to satisfy constraint: "+
					"Member must have length less than or equal to 255", name)
			},
			// A second put replaces the first.
			taken:   func(*Resource) *Error { return nil },
			missing: func(id string) *Error { return notFound("ResourceNotFound", "Alarm %s does not exist", id).modeled() },
			check:   checkAlarm,
			fill:    func(_ *Cloud, r *Resource) { r.set("arn", arn("cloudwatch", r.Region, "alarm:"+r.ID)) },
		},
		TypeBus: {
			name: "name",
			// https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_CreateEventBus.html
			names: regexp.MustCompile(`^[.\-_A-Za-z0-9]{1,256}$`),
			badName: func(name string) *Error {
				return badRequest("ValidationException", "1 validation error detected: Value '%s' at 'name' failed to satisfy constraint: "+
					"Member must satisfy regular expression pattern: [/\\.\\-_A-Za-z0-9]+", name)
			},
			taken: func(r *Resource) *Error {
				return badRequest("ResourceAlreadyExistsException", "Event bus %s already exists.", r.Text("name")).modeled()
			},
			missing: func(id string) *Error {
				return notFound("ResourceNotFoundException", "Event bus %s does not exist.", id).modeled()
			},
			check: checkBus,
			fill:  func(_ *Cloud, r *Resource) { r.set("arn", arn("events", r.Region, "event-bus/"+r.ID)) },
		},
	}
}

// checkBus: every account has one named default.
// https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_CreateEventBus.html
func checkBus(_ *Cloud, r, _ *Resource) *Error {
	if r.Text("name") == "default" {
		return badRequest("ResourceAlreadyExistsException", "Event bus default already exists.").modeled()
	}

	return nil
}

// checkAlarm: operators and treatments are words of a list, actions are five at
// most, and an alarm looks a day back, or a week by periods of an hour.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html
func checkAlarm(_ *Cloud, r, _ *Resource) *Error {
	operators := []string{
		"GreaterThanOrEqualToThreshold", "GreaterThanThreshold", "LessThanThreshold", "LessThanOrEqualToThreshold",
		"LessThanLowerOrGreaterThanUpperThreshold", "LessThanLowerThreshold", "GreaterThanUpperThreshold",
	}
	treatments := []string{"", "breaching", "notBreaching", "ignore", "missing"}

	for name, values := range map[string][]string{"comparisonOperator": operators, "treatMissingData": treatments} {
		if !slices.Contains(values, r.Text(name)) {
			return badRequest(codeInvalid, "1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: "+
				"Member must satisfy enum value set: %v", r.Text(name), name, values)
		}
	}

	for _, name := range []string{"alarmActions", "okActions", "insufficientDataActions"} {
		if n := len(r.texts(name)); n > maxAlarmActions {
			return badRequest(codeInvalid, "1 validation error detected: Value at '%s' failed to satisfy constraint: "+
				"Member must have length less than or equal to %d", name, maxAlarmActions)
		}
	}

	return checkWindow(r)
}

func checkWindow(r *Resource) *Error {
	period, given := r.number("period")
	if !given {
		return nil
	}

	if !slices.Contains([]int{10, 20, 30}, period) && (period <= 0 || period%minutePeriod != 0) {
		return badRequest(codeInvalid, "Period must be 10, 20, 30 or a multiple of 60")
	}

	periods, _ := r.number("evaluationPeriods")
	if periods < 1 {
		return badRequest(codeInvalid, "1 validation error detected: Value '%d' at 'evaluationPeriods' failed to satisfy constraint: "+
			"Member must have value greater than or equal to 1", periods)
	}

	longest := day
	if period >= hour {
		longest = week
	}

	if period*periods > longest {
		return badRequest(codeInvalid, "Metrics cannot be checked across more than %d seconds (EvaluationPeriods * Period must be <= %d)",
			longest, longest)
	}

	return nil
}
