package cloudsim

import (
	"regexp"
	"strings"
)

const (
	minDeletionWindow = 7
	maxDeletionWindow = 30
)

func kmsKinds() map[string]kind {
	return map[string]kind{
		TypeKey: {
			missing:  missingKey,
			check:    checkKey,
			fill:     fillKey,
			blocked:  keyBlocked,
			deleted:  keyDeleted,
			retained: StatePendingDeletion,
		},
		TypeAlias: {
			name: "name",
			// https://docs.aws.amazon.com/kms/latest/APIReference/API_CreateAlias.html
			names: regexp.MustCompile(`^alias/[a-zA-Z0-9/_-]{1,250}$`),
			badName: func(name string) *Error {
				return badRequest("ValidationException", "1 validation error detected: "+
					"Value '%s' at 'aliasName' failed to satisfy constraint: "+
					"Member must satisfy regular expression pattern: ^alias/[a-zA-Z0-9/_-]+$", name)
			},
			taken: func(r *Resource) *Error {
				return badRequest("AlreadyExistsException", "An alias with the name %s already exists",
					arn("kms", r.Region, r.Text("name"))).modeled()
			},
			missing: func(id string) *Error {
				return notFound("NotFoundException", "Alias %s is not found.", id).modeled()
			},
			check: checkAlias,
			fill:  fillAlias,
		},
	}
}

func missingKey(id string) *Error {
	return notFound("NotFoundException", "Key '%s' does not exist", id).modeled()
}

// checkKey: the waiting period before deletion is a week to a month.
// https://docs.aws.amazon.com/kms/latest/APIReference/API_ScheduleKeyDeletion.html
func checkKey(_ *Cloud, r, old *Resource) *Error {
	if old != nil && old.State == StatePendingDeletion {
		return badRequest("KMSInvalidStateException", "%s is pending deletion.", r.Text("arn")).modeled()
	}

	return checkDeletionWindow(r)
}

func checkDeletionWindow(r *Resource) *Error {
	window, ok := r.number("deletionWindowInDays")
	if ok && (window < minDeletionWindow || window > maxDeletionWindow) {
		return badRequest("ValidationException", "1 validation error detected: "+
			"Value '%d' at 'pendingWindowInDays' failed to satisfy constraint: "+
			"Member must have value between %d and %d", window, minDeletionWindow, maxDeletionWindow)
	}

	return nil
}

func fillKey(_ *Cloud, r *Resource) {
	r.set("keyId", r.ID)
	r.set("arn", arn("kms", r.Region, "key/"+r.ID))

	if r.Text("policy") == "" {
		r.set("policy", `{"Version":"2012-10-17","Statement":[{"Sid":"Enable IAM User Permissions","Effect":"Allow",`+
			`"Principal":{"AWS":"arn:aws:iam::`+Account+`:root"},"Action":"kms:*","Resource":"*"}]}`)
	}
}

func keyBlocked(_ *Cloud, r, arguments *Resource) *Error {
	if r.State == StatePendingDeletion {
		return badRequest("KMSInvalidStateException", "%s is pending deletion.", r.Text("arn")).modeled()
	}

	return checkDeletionWindow(arguments)
}

func keyDeleted(c *Cloud, r, arguments *Resource) {
	window, ok := arguments.number("deletionWindowInDays")
	if !ok {
		window = maxDeletionWindow
	}

	r.set("deletionDate", c.at.AddDate(0, 0, window).UTC().Format("2006-01-02T15:04:05Z"))
}

// checkAlias: alias/aws/ is Amazon's, and the key must be there.
// https://docs.aws.amazon.com/kms/latest/APIReference/API_CreateAlias.html
func checkAlias(c *Cloud, r, _ *Resource) *Error {
	if strings.HasPrefix(r.Text("name"), "alias/aws/") {
		return badRequest("NotAuthorizedException", "Aliases that begin with alias/aws/ are reserved.")
	}

	key := c.key(r.Region, r.Text("targetKeyId"))
	if key == nil {
		return badRequest("NotFoundException", "Key '%s' does not exist", r.Text("targetKeyId")).modeled()
	}

	if key.State == StatePendingDeletion {
		return badRequest("KMSInvalidStateException", "%s is pending deletion.", key.Text("arn")).modeled()
	}

	return nil
}

func fillAlias(c *Cloud, r *Resource) {
	r.set("arn", arn("kms", r.Region, r.ID))

	if key := c.key(r.Region, r.Text("targetKeyId")); key != nil {
		r.set("targetKeyArn", key.Text("arn"))
	}
}

// key finds a key by id or ARN.
func (c *Cloud) key(region, idOrARN string) *Resource {
	if i := strings.LastIndexByte(idOrARN, '/'); i >= 0 {
		idOrARN = idOrARN[i+1:]
	}

	return c.find(TypeKey, region, idOrARN)
}
