package cloudsim

import (
	"encoding/json"
	"regexp"
)

// dataKinds are the types whose data is in the emulator: the simulator keeps
// their names unique and lists them.
func dataKinds() map[string]kind {
	return map[string]kind{
		TypeQueue: {
			name: "name",
			// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html
			names: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,75}([a-zA-Z0-9_-]{0,5}|\.fifo)$`),
			badName: func(string) *Error {
				return badRequest(codeInvalidValue,
					"Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
			},
			taken: func(r *Resource) *Error {
				return badRequest("QueueAlreadyExists",
					"A queue already exists with the same name and a different value for attribute(s): %s", r.Text("name"))
			},
			rests: true,
			// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_DeleteQueue.html
			tired: func() *Error {
				return badRequest("AWS.SimpleQueueService.QueueDeletedRecently",
					"You must wait 60 seconds after deleting a queue before you can create another with the same name.")
			},
			missing: func(string) *Error {
				return notFound("AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist.")
			},
			check: checkQueue,
		},
		TypeRedrivePolicy: partOf("queueUrl", TypeQueue),
		TypeQueuePolicy:   partOf("queueUrl", TypeQueue),
		TypeTable: {
			name: "name",
			// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
			names: regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,255}$`),
			badName: func(name string) *Error {
				return badRequest("ValidationException", "Invalid table/index name.  "+
					"Table/index names must be between 3 and 255 characters long, "+
					"and may contain only the characters a-z, A-Z, 0-9, '_', '-', and '.': %s", name)
			},
			taken: func(r *Resource) *Error {
				return badRequest("ResourceInUseException", "Table already exists: %s", r.Text("name")).modeled()
			},
			missing: func(id string) *Error {
				return notFound("ResourceNotFoundException", "Requested resource not found: Table: %s not found", id).modeled()
			},
			blocked: tableBlocked,
			deleted: tableDeleted,
			fill:    func(_ *Cloud, r *Resource) { r.set("arn", arn("dynamodb", r.Region, "table/"+r.ID)) },
		},
		TypeBackup: {
			missing: func(id string) *Error {
				return notFound("BackupNotFoundException", "Backup not found: %s", id).modeled()
			},
		},
		TypeBucket: {
			name:   "bucket",
			global: true,
			// https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
			names:   regexp.MustCompile(`^[a-z0-9]([a-z0-9-]|\.[a-z0-9]){1,61}[a-z0-9]$`),
			badName: func(string) *Error { return badRequest("InvalidBucketName", "The specified bucket is not valid.") },
			taken: func(*Resource) *Error {
				return badRequest("BucketAlreadyOwnedByYou",
					"Your previous request to create the named bucket succeeded and you already own it.").modeled()
			},
			missing: func(string) *Error {
				return notFound("NoSuchBucket", "The specified bucket does not exist").modeled()
			},
			fill: fillBucket,
		},
		TypeVersioning:   partOf("bucket", TypeBucket),
		TypePublicAccess: partOf("bucket", TypeBucket),
		TypeEncryption:   partOf("bucket", TypeBucket),
		TypeLifecycle:    partOf("bucket", TypeBucket).with(checkLifecycle),
		TypeBucketPolicy: partOf("bucket", TypeBucket).with(checkBucketPolicy),
		TypeTopic: {
			name: "name",
			// https://docs.aws.amazon.com/sns/latest/api/API_CreateTopic.html
			names:   regexp.MustCompile(`^[a-zA-Z0-9_-]{1,251}([a-zA-Z0-9_-]{0,5}|\.fifo)$`),
			badName: func(string) *Error { return badRequest("InvalidParameter", "Invalid parameter: Topic Name") },
			taken: func(r *Resource) *Error {
				return badRequest("InvalidParameter",
					"Invalid parameter: Attributes Reason: Topic already exists with different attributes: %s", r.Text("name"))
			},
			missing: func(string) *Error { return notFound("NotFound", "Topic does not exist") },
		},
	}
}

// partOf is a setting of another resource. There is one of a type for each.
func partOf(property, whole string) kind {
	return kind{
		name:  property,
		taken: func(*Resource) *Error { return nil },
		missing: func(id string) *Error {
			return notFound(CodeNotFound, "%s has no such setting", id)
		},
		check: func(c *Cloud, r, _ *Resource) *Error {
			if c.find(whole, r.Region, r.Text(property)) == nil {
				return c.kinds[whole].missing(r.Text(property))
			}

			return nil
		},
	}
}

// with adds a rule.
func (k kind) with(more func(c *Cloud, r, old *Resource) *Error) kind {
	first := k.check
	k.check = func(c *Cloud, r, old *Resource) *Error {
		if err := first(c, r, old); err != nil {
			return err
		}

		return more(c, r, old)
	}

	return k
}

// checkQueue: a queue is encrypted in one way, and its messages have a bound.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html
func checkQueue(c *Cloud, r, old *Resource) *Error {
	const least, most = 1 << 10, 1 << 20

	if size, given := r.number("maxMessageSize"); given && (size < least || size > most) {
		return badRequest("InvalidAttributeValue", "Invalid value for the parameter MaximumMessageSize.").modeled()
	}

	if r.flag("sqsManagedSseEnabled") && r.Text("kmsMasterKeyId") != "" {
		return badRequest("InvalidAttributeValue",
			"You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE.").modeled()
	}

	return checkRedrive(c, r, old)
}

// checkRedrive: the dead-letter queue must be there.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html
func checkRedrive(c *Cloud, r, _ *Resource) *Error {
	policy := r.Text("redrivePolicy")
	if policy == "" {
		return nil
	}

	var redrive struct {
		Target string `json:"deadLetterTargetArn"`
	}

	if err := json.Unmarshal([]byte(policy), &redrive); err != nil || redrive.Target == "" {
		return badRequest(codeInvalidValue,
			"Value %s for parameter RedrivePolicy is invalid. Reason: Redrive policy is not a valid JSON map.", policy)
	}

	for _, queue := range c.of(TypeQueue, r.Region) {
		if queue.Text("arn") == redrive.Target {
			return nil
		}
	}

	return badRequest(codeInvalidValue,
		"Value %s for parameter RedrivePolicy is invalid. Reason: Dead letter target does not exist.", policy)
}

// tableBlocked: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/WorkingWithTables.Basics.html
func tableBlocked(_ *Cloud, r, _ *Resource) *Error {
	if r.flag("deletionProtectionEnabled") {
		return badRequest("ValidationException",
			"Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
	}

	return nil
}

// tableDeleted: what a table had is kept for 35 days if it could be restored to a
// point in time.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/PointInTimeRecovery_Howitworks.html
func tableDeleted(c *Cloud, r, _ *Resource) {
	for _, recovery := range r.parts("pointInTimeRecovery") {
		if recovery.flag("enabled") {
			backup := &Resource{
				Type: TypeBackup, ID: r.Text("arn") + "/backup/" + newUUID(), Region: r.Region, State: StateAvailable,
				CreatedAt: c.at, UpdatedAt: c.at, Inputs: map[string]any{"tableName": r.Text("name"), "backupType": "SYSTEM"},
			}
			c.put(backup)
			c.note(EventCreated, backup, "", false)
		}
	}
}

func fillBucket(_ *Cloud, r *Resource) {
	r.set("arn", "arn:aws:s3:::"+r.ID)
	r.set("region", r.Region)
	r.set("bucketDomainName", r.ID+".s3.amazonaws.com")
	r.set("bucketRegionalDomainName", r.ID+".s3."+r.Region+".amazonaws.com")
}
