package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// A message that is wrong in itself goes to the dead-letter queue with the
// reason. A message behind it is served.
func TestInvalidMessages(t *testing.T) {
	t.Parallel()

	f := newFleet(t, 1)
	valid := string(f.event(tenant.EventCreated, "fine", time.Now(), nil))

	bad := map[string]string{ // by the word that the reason must hold
		"JSON":        "{not json",
		"specversion": strings.Replace(valid, `"1.0"`, `"0.3"`, 1),
		"type":        strings.Replace(valid, "lessor.tenant.created.v1", "lessor.tenant.craeted.v1", 1),
		"tier":        strings.Replace(valid, `"tier":"free",`, "", 1),
		"subject":     strings.Replace(valid, `"subject":"fine"`, `"subject":"fi/ne"`, 1),
	}
	for reason, body := range bad {
		require.NotEqual(t, valid, body, reason)
		f.send([]byte(body))
	}

	f.send([]byte(valid))
	require.Equal(t, int64(1), f.settled("fine").AppliedSeq)
	f.idle(time.Minute)

	letters, err := f.dead.List(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, letters, len(bad))

	for reason := range bad {
		found := false
		for _, letter := range letters {
			found = found || strings.Contains(letter.Reason, reason)
		}

		require.True(t, found, "no reason names %q: %+v", reason, letters)
	}
}

// What makes sense as a message but not to the catalog fails the tenant, which
// a later event makes right.
func TestInvalidTenants(t *testing.T) {
	t.Parallel()

	f := newFleet(t, 1, "LESSOR_REGIONS=us-east-1,eu-west-1")

	tests := map[string]struct {
		tier   string
		region string
		want   string
	}{
		"wrong-tier":   {tier: "platinum", want: "platinum"},
		"bad-argument": {tier: "free", want: "nosuch"},
		"too-bulky":    {tier: "bulky", want: "65536"},
		"wrong-region": {tier: "free", region: "eu-north-1", want: "eu-north-1"},
	}

	for name, tt := range tests {
		f.send(f.event(tenant.EventCreated, tenant.ID(name), time.Now(), func(e *tenant.Event) {
			e.Tier = tt.tier
			if tt.region != "" {
				e.Region = tt.region
			}

			if name == "bad-argument" {
				e.Parameters = tenant.Parameters{"nosuch": []byte("1")}
			}
		}))
	}

	for name, tt := range tests {
		rec := f.settled(tenant.ID(name))
		require.Equal(t, rec.DesiredSeq, rec.FailedSeq, name)
		require.Equal(t, tenant.KindInvalid, rec.Last.Failure.Kind, name)
		require.Contains(t, rec.Last.Failure.Message+rec.Last.Failure.Hint, tt.want, name)
	}

	f.send(f.event(tenant.EventTierChanged, "wrong-tier", time.Now(), func(e *tenant.Event) { e.Tier = "free" }))
	f.await("the tier to be made right", time.Minute, func() bool {
		return f.settled("wrong-tier").AppliedSeq == 2
	})

	letters, err := f.dead.List(t.Context(), 10)
	require.NoError(t, err)
	require.Empty(t, letters, "a tenant's failure is not the message's")
}

// A failure that may pass is tried again, as often as the tier says, and the
// waiting cannot be cut short by other messages of the tenant.
func TestBackoffIsKept(t *testing.T) {
	t.Parallel()

	f := newFleet(t, 1, "LESSOR_BACKOFF_MIN=8s")
	created := f.event(tenant.EventCreated, "unlucky", time.Now(), func(e *tenant.Event) { e.Tier = "failing" })
	f.send(created)

	var rec tenant.Record

	f.await("the first attempt to fail", time.Minute, func() bool {
		var err error

		rec, err = f.rows.Get(t.Context(), "unlucky")
		require.NoError(t, err)

		return rec.Attempts == 1 && rec.Lease.Owner == ""
	})

	for range 5 {
		f.send(created)
	}

	rec = f.settled("unlucky")
	require.Equal(t, rec.DesiredSeq, rec.FailedSeq)

	ups := slicesOf(started(f.operations("unlucky")), "up")
	require.Len(t, ups, 2, "maxAttempts is 2")
	require.GreaterOrEqual(t, ups[1].Time.Sub(ups[0].Time), 6*time.Second, "the backoff was cut short")
}

func slicesOf(ops []operation, steps string) []operation {
	var found []operation

	for _, op := range ops {
		if op.Steps == steps {
			found = append(found, op)
		}
	}

	return found
}

// A secret output appears nowhere: not in logs, the row, events or metrics.
func TestSecretsStayInState(t *testing.T) {
	t.Parallel()

	f := newFleet(t, 1)
	f.create("discreet", "secretive")
	rec := f.settled("discreet")
	require.Equal(t, int64(1), rec.AppliedSeq)
	require.Contains(t, rec.Outputs, "endpoint")

	events, err := f.results.Receive(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, events, 1)

	texts := map[string]string{
		"log":     string(f.workers[0].log.bytes()),
		"row":     rawRow(t, f, "discreet"),
		"metrics": get(t, f.workers[0].admin+"/metrics"),
		"event":   string(events[0].Body),
		"debug":   get(t, f.workers[0].admin+"/debug/operations"),
	}
	for where, text := range texts {
		require.NotEmpty(t, text, where)
		require.NotContains(t, text, secretValue, where)
	}
}

// What is wrong with the configuration is said in one go, with the fix, before
// anything is taken from the queue.
func TestWrongConfiguration(t *testing.T) {
	t.Parallel()

	// The binary that users get, since the plugins that it needs are read from
	// its build information, which test binaries do not have.
	binary := filepath.Join(root(), ".bin", "worker")

	good := append(local.Environ(), "PATH="+os.Getenv("PATH"), "HOME="+os.Getenv("HOME"),
		"LESSOR_WORK_DIR="+t.TempDir())
	oldCLI := filepath.Join(t.TempDir(), "pulumi")
	require.NoError(t, os.WriteFile(oldCLI, []byte("#!/bin/sh\necho v3.100.0\n"), 0o700))

	tests := map[string]struct {
		set  string
		want string
	}{
		"no queue":                   {"LESSOR_QUEUE_URL=", "LESSOR_QUEUE_URL"},
		"negative duration":          {"LESSOR_DRAIN_TIMEOUT=-1s", "LESSOR_DRAIN_TIMEOUT"},
		"deadline above 11 h":        {"LESSOR_OPERATION_TIMEOUT=11h30m", "LESSOR_OPERATION_TIMEOUT"},
		"memory below one slot":      {"LESSOR_MEMORY_LIMIT=300Mi", "LESSOR_MEMORY_LIMIT"},
		"no CLI":                     {"LESSOR_PULUMI=" + filepath.Join(t.TempDir(), "nowhere"), "LESSOR_PULUMI"},
		"old CLI":                    {"LESSOR_PULUMI=" + oldCLI, "3.100.0"},
		"no permission on the table": {"AWS_ACCESS_KEY_ID=" + deniedKey, "the role needs dynamodb:GetItem"},
		"no plugin":                  {"LESSOR_PLUGIN_DIR=" + t.TempDir(), "LESSOR_PLUGIN_DIR"},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()

			cmd := exec.CommandContext(ctx, binary, "check")

			cmd.Env = append(append([]string{}, good...), tt.set)

			out, err := cmd.CombinedOutput()
			require.Error(t, err, string(out))
			require.Contains(t, string(out), tt.want)
			require.NotContains(t, string(out), "panic")
		})
	}
}
