package registry

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

const (
	// sweepKey is the item that says who sweeps.
	sweepKey = "sweep"

	claimExpression = "SET sweep_owner = :mine, sweep_until = :until"
	claimCondition  = "attribute_not_exists(sweep_owner) OR sweep_owner = :mine OR sweep_until <= :now"
	yieldExpression = "REMOVE sweep_owner, sweep_until"
	yieldCondition  = "sweep_owner = :mine"

	// surveyProjection leaves out what makes rows large.
	surveyProjection = "pk, layout_version, desired, desired_seq, applied_seq, failed_seq, fence, clean_fence, hold_reason, not_before, " +
		"attempts, approval_pending, result_pending, due_at, looked_at, created_at, updated_at, " +
		"lease_owner, rvn, lease_ms, lease_until, lease_message"
)

// ClaimSweep makes owner the one who sweeps, for d by the wall clock, and
// reports whether it is. It is again if it was. The claim only spares double
// work: with clocks that differ two may sweep at once, which harms nothing.
func (r *Registry) ClaimSweep(ctx context.Context, owner string, d time.Duration) (bool, error) {
	now := r.now()

	_, err := r.write(ctx, sweepKey, update{expression: claimExpression, condition: claimCondition, values: item{
		":mine": text(owner), ":until": number(now.Add(d).UnixMilli()), nowValue: number(now.UnixMilli()),
	}})
	if refused(err) {
		return false, nil
	}

	return err == nil, err
}

// YieldSweep ends the claim of owner, if it has it.
func (r *Registry) YieldSweep(ctx context.Context, owner string) error {
	_, err := r.write(ctx, sweepKey, update{expression: yieldExpression, condition: yieldCondition, values: item{":mine": text(owner)}})
	if refused(err) {
		return nil
	}

	return err
}

const (
	scheduleExpression   = "SET drift_ms = :every, drift_since = :now"
	unscheduleExpression = "REMOVE drift_ms, drift_since"
)

// DriftSince is since when the fleet looks for drift as often as that: since the
// first call with this interval after one with another. It is zero for 0, no
// looks. The calls of workers that differ begin anew each time.
func (r *Registry) DriftSince(ctx context.Context, every time.Duration) (time.Time, error) {
	row, err := r.get(ctx, sweepKey)
	if err != nil {
		return time.Time{}, err
	}

	known := &reader{row: row}
	milliseconds, since := known.number("drift_ms"), known.time("drift_since")

	switch {
	case known.err != nil:
		return time.Time{}, fmt.Errorf("reading since when drift is looked for: %w", known.err)
	case milliseconds == every.Milliseconds():
		return since, nil
	case every == 0:
		_, err = r.write(ctx, sweepKey, update{expression: unscheduleExpression})

		return time.Time{}, err
	}

	now := r.now().UTC().Truncate(time.Millisecond)
	_, err = r.write(ctx, sweepKey, update{expression: scheduleExpression, values: item{
		":every": number(every.Milliseconds()), nowValue: number(now.UnixMilli()),
	}})

	return now, err
}

// Survey is List at less than half the cost: the records have no Applied, Stack,
// Outputs, Progress, Last and History, which make rows large, and may be older
// than the newest write. What is done by them takes a condition.
func (r *Registry) Survey(ctx context.Context, yield func(tenant.Record) bool) error {
	return r.scan(ctx, &dynamodb.ScanInput{
		TableName: aws.String(r.table), ProjectionExpression: aws.String(surveyProjection),
	}, yield)
}
