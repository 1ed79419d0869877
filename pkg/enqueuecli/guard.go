package enqueuecli

import (
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// notYetThere refuses to create a tenant that is there, unless it shall be
// stated anew: a creation forgets every parameter that it does not give.
func notYetThere(overwrite bool) guard {
	return func(rec tenant.Record, _ *tenant.Event) error {
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
	return func(rec tenant.Record, _ *tenant.Event) error {
		if allowMissing || rec.Desired.Existence.Value.Created {
			return nil
		}

		return absent(rec, "--allow-missing sends it anyway: it is kept until the tenant is created")
	}
}

// elsewhere refuses to move a tenant to the tier that it is in, or on its way
// to. A change that failed may be tried again.
func elsewhere(allowMissing bool) guard {
	return func(rec tenant.Record, e *tenant.Event) error {
		if err := there(allowMissing)(rec, e); err != nil {
			return err
		}

		spec := rec.Desired.Spec()
		if spec.Tier != e.Tier || spec.Phase == tenant.PhaseAbsent || failed(rec) {
			return nil
		}

		if rec.Applied != nil && rec.Applied.Spec.Phase != tenant.PhaseAbsent && rec.Applied.Spec.Tier != e.Tier {
			return fail(exitConflict, "see how far it is with `enqueue status "+rec.ID.String()+" --watch`",
				"tenant %s is on its way to tier %s already", rec.ID, e.Tier)
		}

		return fail(exitConflict, "change its parameters with `enqueue update`, or apply them once more with `enqueue reprovision`",
			"tenant %s is in tier %s already", rec.ID, e.Tier)
	}
}

// notYet refuses to suspend a tenant that is suspended, and to resume one that
// is active. What failed may be tried again.
func notYet(phase tenant.Phase, allowMissing bool) guard {
	return func(rec tenant.Record, e *tenant.Event) error {
		if err := there(allowMissing)(rec, e); err != nil {
			return err
		}

		if rec.Desired.Spec().Phase != phase || failed(rec) {
			return nil
		}

		return fail(exitConflict, "see `enqueue status "+rec.ID.String()+"`", "tenant %s is %s already", rec.ID, phase)
	}
}

// failed reports that the newest wish was given up on.
func failed(rec tenant.Record) bool { return !rec.NeedsWork() && rec.FailedSeq > rec.AppliedSeq }

// spokenOf refuses to delete a tenant that nobody ever spoke of, or that is
// deleted.
func spokenOf(allowMissing bool) guard {
	return func(rec tenant.Record, _ *tenant.Event) error {
		if allowMissing || rec.Exists() && !gone(rec) {
			return nil
		}

		return absent(rec, "--allow-missing sends it anyway, in case its creation is still on its way")
	}
}

// notGone refuses requests for a tenant that has nothing left to work on. A
// deletion that failed can be tried again.
func notGone(rec tenant.Record, _ *tenant.Event) error {
	if rec.Exists() && !gone(rec) {
		return nil
	}

	return absent(rec, "")
}

// gone reports that a tenant was deleted, or never created, and that nothing is
// left to do.
func gone(rec tenant.Record) bool {
	return rec.Desired.Spec().Phase == tenant.PhaseAbsent && !rec.NeedsWork() && rec.AppliedSeq >= rec.FailedSeq &&
		!rec.Desired.Existence.Version.IsZero()
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
