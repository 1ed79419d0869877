package enqueuecli

import (
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// notYetThere refuses to create a tenant that is there, unless it shall be
// stated anew: a creation forgets every parameter that it does not give.
func notYetThere(overwrite bool) guard {
	return func(rec tenant.Record) error {
		spec := rec.Desired.Spec()
		if overwrite || spec.Phase == tenant.PhaseAbsent {
			return nil
		}

		return fail(exitConflict,
			"change it with `enqueue update` or `enqueue tier`; --overwrite states it anew and forgets parameters that are not given",
			"tenant %s exists already (tier %s, %s)", rec.ID, spec.Tier, spec.Phase)
	}
}

// there refuses facts about a tenant that nobody created, or that is deleted:
// most likely the id is wrong.
func there(allowMissing bool) guard {
	return func(rec tenant.Record) error {
		if allowMissing || rec.Desired.Existence.Value.Created {
			return nil
		}

		return absent(rec, "--allow-missing sends it anyway: it is kept until the tenant is created")
	}
}

// spokenOf refuses to delete a tenant that nobody ever spoke of.
func spokenOf(allowMissing bool) guard {
	return func(rec tenant.Record) error {
		if allowMissing || rec.Exists() {
			return nil
		}

		return absent(rec, "--allow-missing sends it anyway, in case its creation is still on its way")
	}
}

// notGone refuses requests for a tenant that has nothing left to work on. A
// deletion that failed can be tried again.
func notGone(rec tenant.Record) error {
	gone := rec.Desired.Spec().Phase == tenant.PhaseAbsent && !rec.NeedsWork() && rec.AppliedSeq >= rec.FailedSeq
	if rec.Exists() && !gone {
		return nil
	}

	return absent(rec, "")
}

// absent is the error for a tenant that is not there.
func absent(rec tenant.Record, alternative string) error {
	hint := "check the id with `enqueue list`, or create the tenant with `enqueue provision " + rec.ID.String() + "`"
	if alternative != "" {
		hint += "; " + alternative
	}

	if rec.Exists() && !rec.Desired.Existence.Version.IsZero() {
		return fail(exitNotFound, hint, "tenant %s is deleted", rec.ID)
	}

	return fail(exitNotFound, hint, "there is no tenant %s", rec.ID)
}
