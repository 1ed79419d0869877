package e2e_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine/stategate"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// struck waits until a fault has hit.
func (f *fleet) struck(fault string) {
	f.t.Helper()

	f.await("the fault to strike", time.Minute, func() bool {
		faults, err := local.Cloud().Faults(f.t.Context())
		require.NoError(f.t, err)

		for _, one := range faults {
			if one.ID == fault {
				return one.Struck > 0
			}
		}

		return false
	})
}

// processes are those of the fleet's workers, with all that they started.
func (f *fleet) processes() []int {
	f.t.Helper()

	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(f.t, err)

	var found []int

	for _, path := range environments {
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte(f.workDir)) {
			continue
		}

		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		require.NoError(f.t, err)

		found = append(found, pid)
	}

	return found
}

func (f *fleet) signal(s syscall.Signal, pids ...int) {
	f.t.Helper()

	for _, pid := range pids {
		// An error means that it ended in the meantime.
		_ = syscall.Kill(pid, s)
	}
}

// isChild tells the process of one operation.
func isChild(pid int) bool {
	arguments, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")

	return err == nil && bytes.HasSuffix(bytes.TrimRight(arguments, "\x00"), []byte("\x00operation"))
}

func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")

	return err == nil && !bytes.Contains(stat, []byte(") Z "))
}

// stamps say who wrote the state, newest first.
func (f *fleet) stamps(stack tenant.Stack) []stategate.Stamp {
	f.t.Helper()

	store := stategate.NewStore(stategate.NewClient(f.aws), stack.Shard)
	key := stategate.CheckpointKey(stack.Project, stack.Name)

	versions, err := store.Versions(f.t.Context(), key)
	require.NoError(f.t, err)

	var stamps []stategate.Stamp

	for _, v := range versions {
		if v.Key != key || v.Marker {
			continue
		}

		object, err := store.Get(f.t.Context(), key, v.ID)
		require.NoError(f.t, err)

		stamps = append(stamps, object.Stamp)
	}

	return stamps
}

// locks are those of a stack.
func (f *fleet) locks(stack tenant.Stack) []string {
	f.t.Helper()

	out, err := stategate.NewClient(f.aws).ListObjectsV2(f.t.Context(), &s3.ListObjectsV2Input{
		Bucket: aws.String(stack.Shard), Prefix: aws.String(stategate.LockPrefix(stack.Project, stack.Name)),
	})
	require.NoError(f.t, err)

	keys := make([]string, 0, len(out.Contents))
	for _, object := range out.Contents {
		keys = append(keys, *object.Key)
	}

	return keys
}
