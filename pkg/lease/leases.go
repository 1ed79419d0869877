package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// API is what is needed of DynamoDB.
type API interface {
	GetItem(ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// Config are the times of a lease.
type Config struct {
	// Duration is how long a lease stands without a renewal.
	Duration time.Duration `env:"LESSOR_LEASE_DURATION, default=60s"`
	// Margin is how long before its end the holder stops by itself, and how
	// long after it others wait.
	Margin time.Duration `env:"LESSOR_LEASE_MARGIN, default=10s"`
}

// minDuration leaves room for renewals over a slow network.
const minDuration = time.Second

// Validate reports every problem, each with the variable's name and the fix.
func (c Config) Validate() error {
	var problems []error

	if c.Duration < minDuration {
		problems = append(problems, fmt.Errorf( //nolint:err113 // for people
			"LESSOR_LEASE_DURATION is %s: it must be at least %s", c.Duration, minDuration))
	}

	if c.Margin <= 0 || c.Margin > c.Duration/2 {
		problems = append(problems, fmt.Errorf( //nolint:err113 // for people
			"LESSOR_LEASE_MARGIN is %s: it must be above 0 and at most half of LESSOR_LEASE_DURATION (%s)", c.Margin, c.Duration))
	}

	return errors.Join(problems...)
}

// The expressions. The acquisition names the fence that was read, so that one
// whose answer was lost cannot land after a later lease was let go.
const (
	acquireUpdate = "SET fence = :next, rvn = :rvn, lease_owner = :mine, lease_ms = :duration, lease_until = :until, " +
		"lease_message = :message"

	freeCondition  = "attribute_not_exists(lease_owner) AND fence = :seen"
	staleCondition = "lease_owner = :owner AND fence = :seen AND rvn = :old"

	renewUpdate    = "SET rvn = :rvn, lease_until = :until"
	renewCondition = "lease_owner = :mine AND fence = :fence"
	// The clean fence stays: nobody knows what of the dead holder is still on
	// its way, so that the next one must fence it.
	endUpdate = "SET fence = :next REMOVE lease_owner, rvn, lease_ms, lease_until, lease_message"
)

// callTimeout bounds one call; a lease has time for several.
const callTimeout = 5 * time.Second

// Leases grants leases on the tenants of one table. It is safe for concurrent
// use.
type Leases struct {
	api    API
	table  string
	config Config
	host   string
	boot   string
	now    func() time.Time
	seen   sightings
	// onRenewal is told "ok", "lost" or "error".
	onRenewal func(outcome string)
}

// Option changes how leases are granted.
type Option func(*Leases)

// WithClock replaces the local monotonic clock by which the own deadline is set
// and leases of others are watched. Keep waits by the clock of the machine.
func WithClock(now func() time.Time) Option { return func(l *Leases) { l.now = now } }

// WithRenewals has f called after every renewal, with "ok", "lost" or "error".
func WithRenewals(f func(outcome string)) Option { return func(l *Leases) { l.onRenewal = f } }

// New makes a Leases. An owner is host, process and lease: no two are alike,
// not even after a restart under the same name.
func New(api API, table string, cfg Config, opts ...Option) *Leases {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown-host"
	}

	l := &Leases{api: api, table: table, config: cfg, host: host, boot: token(), now: time.Now}
	l.seen = sightings{seen: map[tenant.ID]sighting{}}

	for _, opt := range opts {
		opt(l)
	}

	return l
}

// Stale notes a sighting of a row and reports whether its lease has stood still
// for so long that its holder must be dead. A free lease is not stale.
func (l *Leases) Stale(rec tenant.Record) bool {
	if rec.Lease.Owner == "" {
		l.seen.drop(rec.ID)

		return false
	}

	return l.wait(rec) <= 0
}

// Acquire takes the lease of the tenant in rec for the SQS message with the
// given id. It fails with a *HeldError if a live holder has it, and with
// ErrChanged if the row is no longer as in rec.
func (l *Leases) Acquire(ctx context.Context, rec tenant.Record, messageID string) (*Lease, error) {
	values := map[string]types.AttributeValue{":seen": number(rec.Fence)}
	condition := freeCondition

	if rec.Lease.Owner != "" {
		if left := l.wait(rec); left > 0 {
			return nil, heldBy(rec, left)
		}

		condition = staleCondition
		values[":owner"] = text(rec.Lease.Owner)
		values[":old"] = text(rec.Lease.RVN)
	}

	granted := &Lease{
		leases:   l,
		id:       rec.ID,
		token:    registry.Token{Owner: l.host + "/" + l.boot + "/" + token(), Fence: rec.Fence + 1},
		tookOver: rec.Lease.Owner != "",
		clean:    rec.Lease.Owner == "" && rec.CleanFence == rec.Fence,
	}

	began := l.now()
	granted.deadline = began.Add(l.config.Duration - l.config.Margin)

	rvn := token()
	values[":next"] = number(granted.token.Fence)
	values[":rvn"] = text(rvn)
	values[":mine"] = text(granted.token.Owner)
	values[":duration"] = number(l.config.Duration.Milliseconds())
	values[":until"] = number(began.Add(l.config.Duration).UnixMilli())
	values[":message"] = text(messageID)

	row, err := l.update(ctx, rec.ID, acquireUpdate, condition, values)
	if err == nil {
		l.seen.drop(rec.ID)

		granted.row = row

		return granted, nil
	}

	return l.afterFailure(ctx, granted, err)
}

// End takes a dead lease from its holder and leaves it free, for a tenant that
// no message stands for: the next holder comes with a message of its own. It
// fails with a *HeldError if the lease in rec did not stand still for long
// enough, and with ErrChanged if the row is no longer as in rec or the lease is
// free.
func (l *Leases) End(ctx context.Context, rec tenant.Record) error {
	if rec.Lease.Owner == "" {
		return ErrChanged
	}

	if left := l.wait(rec); left > 0 {
		return heldBy(rec, left)
	}

	_, err := l.update(ctx, rec.ID, endUpdate, staleCondition, map[string]types.AttributeValue{
		":next":  number(rec.Fence + 1),
		":owner": text(rec.Lease.Owner),
		":seen":  number(rec.Fence),
		":old":   text(rec.Lease.RVN),
	})

	switch {
	case refused(err):
		return ErrChanged
	case err != nil:
		return fmt.Errorf("ending the lease: %w", err)
	}

	l.seen.drop(rec.ID)

	return nil
}

func heldBy(rec tenant.Record, left time.Duration) *HeldError {
	return &HeldError{
		Owner: rec.Lease.Owner, Fence: rec.Fence, Message: rec.Lease.Message, Until: rec.Lease.Until, WaitAtLeast: left,
	}
}

// wait is how long the lease must still stand where it is.
func (l *Leases) wait(rec tenant.Record) time.Duration {
	duration := rec.Lease.Duration
	if duration <= 0 {
		duration = l.config.Duration
	}

	now := l.now()

	return duration + l.config.Margin - now.Sub(l.seen.since(rec, now))
}

// afterFailure looks whether an acquisition succeeded although its answer did
// not say so: the SDK repeats calls whose answer was lost.
func (l *Leases) afterFailure(ctx context.Context, granted *Lease, cause error) (*Lease, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()

	out, err := l.api.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String(l.table), Key: registry.Key(granted.id), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("acquiring the lease: %w", cause), fmt.Errorf("reading it back: %w", err))
	}

	// The owner is unique to this acquisition.
	if owner, ok := out.Item["lease_owner"].(*types.AttributeValueMemberS); ok && owner.Value == granted.token.Owner {
		granted.row = out.Item

		return granted, nil
	}

	if refused(cause) {
		return nil, ErrChanged
	}

	return nil, fmt.Errorf("acquiring the lease: %w", cause)
}

func (l *Leases) renew(ctx context.Context, lease *Lease) error {
	_, err := l.update(ctx, lease.id, renewUpdate, renewCondition, map[string]types.AttributeValue{
		":rvn":   text(token()),
		":until": number(l.now().Add(l.config.Duration).UnixMilli()),
		":mine":  text(lease.token.Owner),
		":fence": number(lease.token.Fence),
	})
	if refused(err) {
		return ErrLost
	}

	return err
}

// update writes to a row, and returns it as it is then.
func (l *Leases) update(
	ctx context.Context, id tenant.ID, update, condition string, values map[string]types.AttributeValue,
) (map[string]types.AttributeValue, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()

	out, err := l.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                 aws.String(l.table),
		Key:                       registry.Key(id),
		UpdateExpression:          aws.String(update),
		ConditionExpression:       aws.String(condition),
		ExpressionAttributeValues: values,
		ReturnValues:              types.ReturnValueAllNew,
	})
	if err != nil {
		return nil, registry.Explain(err, l.table, "writing to", "dynamodb:UpdateItem")
	}

	return out.Attributes, nil
}

func refused(err error) bool {
	var failed *types.ConditionalCheckFailedException

	return errors.As(err, &failed)
}

func (l *Leases) renewed(outcome string) {
	if l.onRenewal != nil {
		l.onRenewal(outcome)
	}
}

// interval is the time to the next renewal.
func (l *Leases) interval() time.Duration {
	third := float64(l.config.Duration / renewalsPerDuration)
	spread := 1 + jitterShare*(2*mathrand.Float64()-1) //nolint:gosec // jitter in [-1, 1)

	return time.Duration(third * spread)
}

// token is text that nobody else makes.
func token() string { return rand.Text() }

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
