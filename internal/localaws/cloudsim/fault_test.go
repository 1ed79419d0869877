package cloudsim_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

func TestFaultStrikesTheNthOfATenant(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())

	_, err := a.SetFault(t.Context(), cloudsim.Fault{
		Effect: cloudsim.EffectFail, Operation: cloudsim.OperationCreate, Type: cloudsim.TypeKey, Tenant: "acme",
		Nth: 2, Times: 2, Code: "AccessDeniedException", Message: "User is not authorized to perform: kms:CreateKey",
	})
	require.NoError(t, err)

	create := func(tenant string) error {
		_, err := a.Create(t.Context(), cloudsim.Creation{
			Type: cloudsim.TypeKey, Region: region, Tags: map[string]string{cloudsim.TagTenant: tenant},
		})

		return err
	}

	require.NoError(t, create("acme"))
	require.NoError(t, create("globex"))
	refused(t, create("acme"), "AccessDeniedException", "kms:CreateKey")
	require.NoError(t, create("globex"))
	refused(t, create("acme"), "AccessDeniedException", "kms:CreateKey")
	require.NoError(t, create("acme"))

	faults, err := a.Faults(t.Context())
	require.NoError(t, err)
	require.Len(t, faults, 1)
	require.Equal(t, 4, faults[0].Seen)
	require.Equal(t, 2, faults[0].Struck)

	entries, err := a.Log(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, faults[0].ID, entries[2].Fault)
	require.Equal(t, "AccessDeniedException", entries[2].Code)
}

func TestFaultsOfOtherOperationsFollowTheTenant(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())

	key, err := a.Create(t.Context(), cloudsim.Creation{
		Type: cloudsim.TypeKey, Region: region, Tags: map[string]string{cloudsim.TagTenant: "acme"},
	})
	require.NoError(t, err)

	for _, op := range []cloudsim.Operation{cloudsim.OperationRead, cloudsim.OperationUpdate, cloudsim.OperationDelete} {
		_, err = a.SetFault(t.Context(), cloudsim.Fault{Effect: cloudsim.EffectThrottle, Operation: op, Tenant: "acme"})
		require.NoError(t, err)
	}

	_, err = a.Get(t.Context(), key.Type, region, key.ID)
	refused(t, err, "RequestLimitExceeded", "Request limit exceeded.")
	refused(t, a.change(key, nil), "RequestLimitExceeded", "")
	refused(t, a.remove(key, nil), "RequestLimitExceeded", "")
	require.NoError(t, a.remove(key, nil))
}

func TestFaultsAfterTheFact(t *testing.T) {
	t.Parallel()

	for effect, check := range map[cloudsim.Effect]func(t *testing.T, err error){
		cloudsim.EffectFail:  func(t *testing.T, err error) { t.Helper(); refused(t, err, "InternalFailure", "") },
		cloudsim.EffectCrash: func(t *testing.T, err error) { t.Helper(); refused(t, err, cloudsim.CodeCrash, "") },
		cloudsim.EffectDrop: func(t *testing.T, err error) {
			t.Helper()

			var refusal *cloudsim.Error

			require.NotErrorAs(t, err, &refusal, "there was no answer")
			require.Error(t, err)
		},
	} {
		t.Run(string(effect), func(t *testing.T) {
			t.Parallel()

			a := newAccount(t, instant())

			_, err := a.SetFault(t.Context(), cloudsim.Fault{Effect: effect, Code: "InternalFailure", After: true})
			require.NoError(t, err)

			_, err = a.create(cloudsim.TypeTable, props{"name": "acme"})
			check(t, err)

			_, err = a.Get(t.Context(), cloudsim.TypeTable, region, "acme")
			require.NoError(t, err, "the resource exists all the same")
		})
	}
}

func TestHangEndsWithItsFault(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())

	fault, err := a.SetFault(t.Context(), cloudsim.Fault{Effect: cloudsim.EffectHang, Times: -1})
	require.NoError(t, err)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()

	_, err = a.Create(ctx, cloudsim.Creation{Type: cloudsim.TypeKey, Region: region})
	require.ErrorIs(t, err, context.DeadlineExceeded)

	done := make(chan error, 1)

	go func() {
		_, err := a.create(cloudsim.TypeTable, props{"name": "acme"})
		done <- err
	}()

	require.Eventually(t, func() bool {
		faults, err := a.Faults(t.Context())

		return err == nil && faults[0].Struck == 2
	}, 5*time.Second, time.Millisecond)

	require.NoError(t, a.ClearFaults(t.Context(), fault.ID))
	require.NoError(t, <-done)

	faults, err := a.Faults(t.Context())
	require.NoError(t, err)
	require.Empty(t, faults)
}

func TestDelay(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())

	const delay = 30 * time.Millisecond

	_, err := a.SetFault(t.Context(), cloudsim.Fault{Effect: cloudsim.EffectDelay, Delay: delay})
	require.NoError(t, err)

	began := time.Now()

	a.must(cloudsim.TypeKey, nil)
	require.GreaterOrEqual(t, time.Since(began), delay)
}
