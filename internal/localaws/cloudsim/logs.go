package cloudsim

import (
	"regexp"
	"slices"
)

func logsKinds() map[string]kind {
	return map[string]kind{
		TypeLogGroup: {
			name: "name",
			// https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_CreateLogGroup.html
			names: regexp.MustCompile(`^[.\-_/#A-Za-z0-9]{1,512}$`),
			badName: func(name string) *Error {
				return badRequest(codeInvalidInput,
					"1 validation error detected: Value '%s' at 'logGroupName' failed to satisfy "+
						"constraint: Member must have length of at most 512 and satisfy the pattern: [\\.\\-_/#A-Za-z0-9]+", name)
			},
			taken: func(*Resource) *Error {
				return badRequest("ResourceAlreadyExistsException", "The specified log group already exists").modeled()
			},
			missing: func(string) *Error {
				return notFound("ResourceNotFoundException", "The specified log group does not exist.").modeled()
			},
			check: checkLogGroup,
			fill: func(_ *Cloud, r *Resource) {
				r.set("arn", arn("logs", r.Region, "log-group:"+r.ID))
			},
		},
	}
}

// checkLogGroup: logs are kept for one of a few terms, 0 being for ever.
// https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html
func checkLogGroup(_ *Cloud, r, _ *Resource) *Error {
	terms := []int{
		0, 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
	}

	if days, given := r.number("retentionInDays"); given && !slices.Contains(terms, days) {
		return badRequest(codeInvalidInput,
			"1 validation error detected: Value '%d' at 'retentionInDays' failed to satisfy constraint", days)
	}

	return nil
}
