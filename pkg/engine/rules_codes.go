package engine

import "github.com/lessor-dev/lessor/pkg/tenant"

// codeRules judge AWS's error codes. The first that matches counts.
//
//nolint:gochecknoglobals // compiled tables that nobody writes to
var codeRules = []rule{
	{kind: tenant.KindThrottled, pattern: codes(`throttl`, `\bRequestLimitExceeded$`, `^TooManyRequests`, `^SlowDown$`,
		`^BandwidthLimitExceeded$`, `^PriorRequestNotComplete$`, `^TransactionInProgressException$`, `^ProvisionedThroughputExceeded`,
		`^RequestThrottled`)},
	{
		kind: tenant.KindTransient, hint: hintExpired, weight: weighsExpired,
		pattern: exactly(`ExpiredToken`, `ExpiredTokenException`, `RequestExpired`, `TokenRefreshRequired`, `ExpiredIdentityToken`),
	},
	{
		kind: tenant.KindDenied, hint: hintCredentials,
		pattern: codes(`^InvalidClientTokenId`, `^UnrecognizedClient`, `^InvalidAccessKeyId`, `^SignatureDoesNotMatch`, `^AuthFailure$`,
			`^InvalidIdentityToken`, `^IDPCommunicationError`, `^InvalidSignature`, `^IncompleteSignature`, `^MissingAuthenticationToken`,
			`^InvalidToken$`),
	},
	{
		kind: tenant.KindDenied, hint: hintKey,
		pattern: codes(`^KMSInvalidState`, `^KMSNotFound`, `^KMSKeyNotAccessible`, `^KMSAccessDenied`, `^KMSDisabled`,
			`^DisabledException$`, `^KMSOptInRequired`, `^InaccessibleEncryption`),
	},
	{kind: tenant.KindDenied, pattern: codes(`AccessDenied`, `UnauthorizedOperation`, `^Unauthorized`, `^AuthFailure`, `^OptInRequired$`,
		`^Forbidden`, `NotAuthorized`, `AuthorizationError`, `^OperationNotPermitted`, `^AllAccessDisabled`, `^SubscriptionRequired`)},
	{kind: tenant.KindTransient, hint: hintCapacity, pattern: codes(`^Insufficient.*Capacity`, `StorageTypeNotAvailable`,
		`^CapacityUnavailable`, `^Insufficient(Host|ReservedInstance)`)},
	{kind: tenant.KindQuota, pattern: codes(`LimitExceeded`, `QuotaExceeded`, `^TooMany`, `^MaxSpotInstance`, `LimitReached`,
		`^InsufficientFreeAddressesInSubnet$`, `^QuotaExceeded`, `CountExceeded$`)},
	{kind: tenant.KindConflict, hint: hintFull, pattern: codes(`^BucketNotEmpty$`, `NotEmptyException$`)},
	{kind: tenant.KindTransient, hint: hintInUse, pattern: exactly(`DependencyViolation`, `ResourceInUse`, `ResourceInUseException`,
		`ResourceInUseFault`, `DeleteConflict`, `DeleteConflictException`, `InvalidDBSubnetGroupStateFault`, `InvalidDBSubnetGroupState`,
		`InvalidDBParameterGroupState(Fault)?`, `\w+\.InUse`, `InUseException`, `ResourceNotReady`,
		`Cluster(ContainsServices|ContainsTasks|ContainsContainerInstances)Exception`, `TargetNotConnectedException`)},
	{kind: tenant.KindConflict, hint: hintExists, pattern: codes(`AlreadyExist`, `AlreadyOwnedByYou`, `^Duplicate`, `\.Duplicate$`,
		`^BucketAlready`, `^QueueNameExists`, `^PriorityInUse`, `\.AlreadyAssociated$`, `^NameAlready`)},
	{kind: tenant.KindTransient, hint: hintBusy, pattern: codes(`^InvalidDB\w+State(Fault)?$`, `^Incorrect(Instance)?State$`,
		`^InvalidState(Exception)?$`, `^ResourceConflictException$`, `^EntityTemporarilyUnmodifiable`, `^OperationAborted$`,
		`^Concurrent`, `^ConflictException$`, `QueueDeletedRecently$`, `InProgress(Exception|Fault)?$`, `^ResourceBusy`,
		`^ServiceNot(Active|Found)Exception$`, `^PendingVerification$`, `^IncorrectStateException$`, `^InvalidInstanceState`,
		`^SnapshotCreationPerVolumeRateExceeded$`)},
	{kind: tenant.KindTransient, pattern: codes(`^Internal(Error|Failure|Server(Error|Exception)|Service(Error|Exception|Fault))$`,
		`^(Service)?Unavailable(Exception)?$`, `^Service(Unavailable|Failure)`, `^RequestTimeout(Exception)?$`, `^KMSInternalException$`,
		`^DependencyTimeout(Exception)?$`, `^KeyUnavailableException$`, `^ServerException$`, `^ClientException$`)},
	{kind: tenant.KindTransient, hint: hintYoung, pattern: codes(`\.NotFound$`, `^NoSuch(Entity|Bucket)`, `NotFound(Fault|Exception)?$`,
		`^InvalidVpcID`, `NonExistentQueue$`, `^QueueDoesNotExist`, `\.NotAttached$`)},
	{kind: tenant.KindInvalid, pattern: codes(`^InvalidParameter`, `^InvalidInput`, `^Validation`, `^Malformed`,
		`^Missing(Parameter|Required)`, `^Invalid.*(Range|Value|Type|Version|Format|Id)(Exception|Fault)?$`, `^UnknownParameter`,
		`DoesNotCoverEnoughAZs`, `^InvalidSubnet`, `^InvalidVPCNetworkState`, `^InvalidArgument`, `^SerializationException`,
		`^StorageTypeNotSupported`, `^Unsupported(Operation)?$`, `^InvalidBucketName`, `^InvalidConfigurationRequest`,
		`^InvalidRequest$`, `^InvalidAttribute`)},
}
