package capacity_test

import (
	"io/fs"
	"math"
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lessor-dev/lessor/pkg/capacity"
)

const (
	mib = capacity.Bytes(1 << 20)
	gib = capacity.Bytes(1 << 30)
)

func TestBytes(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]capacity.Bytes{
		"": 0, "0": 0, "1": 1, "768Mi": 768 * mib, "2Gi": 2 * gib, "1Ki": 1024, "3Ti": 3 * 1024 * gib,
		"5k": 5000, "500M": 500e6, "2G": 2e9, "1T": 1e12, "9223372036854775807": math.MaxInt64,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()

			var b capacity.Bytes
			require.NoError(t, b.UnmarshalText([]byte(text)))
			require.Equal(t, want, b)
		})
	}

	for _, text := range []string{
		"-1", "-1Mi", "1.5Gi", "768MB", "768 Mi", "Mi", "much", "1mi", "1K", "0x10", "1e3", "+1", "9223372036854775808", "9999999999Ti",
	} {
		t.Run("not "+text, func(t *testing.T) {
			t.Parallel()

			var b capacity.Bytes
			require.ErrorIs(t, b.UnmarshalText([]byte(text)), capacity.ErrBytes)
			require.Zero(t, b)
		})
	}
}

func TestBytesRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Min(0).Draw(t, "n") >> rapid.IntRange(0, 40).Draw(t, "shift")
		b := capacity.Bytes(n << rapid.IntRange(0, 20).Draw(t, "back"))

		if b < 0 {
			return
		}

		text, err := b.MarshalText()
		require.NoError(t, err)

		var again capacity.Bytes
		require.NoError(t, again.UnmarshalText(text))
		require.Equal(t, b, again)
	})

	require.Equal(t, "768Mi", (768 * mib).String())
	require.Equal(t, "2Gi", (2 * gib).String())
	require.Equal(t, "1000", capacity.Bytes(1000).String())
	require.Equal(t, "0", capacity.Bytes(0).String())
}

func machine(files map[string]string) fs.FS {
	m := fstest.MapFS{}
	for name, data := range files {
		m[name] = &fstest.MapFile{Data: []byte(data)}
	}

	return m
}

const meminfo = "MemTotal:       16777216 kB\nMemFree:        1 kB\n"

func TestLimit(t *testing.T) {
	t.Parallel()

	const (
		self  = "proc/self/cgroup"
		info  = "proc/meminfo"
		pod   = "sys/fs/cgroup/kubepods/pod1"
		first = "sys/fs/cgroup/memory"
		top   = "sys/fs/cgroup/memory.max"
		oneGi = "1073741824\n"
		twoGi = "2147483648\n"
	)

	for name, c := range map[string]struct {
		files    map[string]string
		override capacity.Bytes
		want     capacity.Bytes
		source   string
	}{
		"override": {
			map[string]string{self: "0::/\n", top: oneGi, info: meminfo}, 3 * gib, 3 * gib, capacity.SourceOverride,
		},
		"v2, own namespace": {
			map[string]string{self: "0::/\n", top: oneGi, info: meminfo},
			0, gib, "memory.max of cgroup v2 /",
		},
		"v2, nested, the limit of the pod around it": {
			map[string]string{
				self: "0::/kubepods/pod1/container\n", pod + "/memory.max": twoGi, pod + "/container/memory.max": "max\n", info: meminfo,
			}, 0, 2 * gib, "memory.max of cgroup v2 /kubepods/pod1",
		},
		"v2, nested, the lowest wins": {
			map[string]string{
				self: "0::/kubepods/pod1/container\n", pod + "/memory.max": twoGi,
				pod + "/container/memory.max": "3221225472\n", info: meminfo,
			}, 0, 2 * gib, "memory.max of cgroup v2 /kubepods/pod1",
		},
		"v2, memory.high below memory.max": {
			map[string]string{
				self: "0::/a\n", "sys/fs/cgroup/a/memory.max": twoGi, "sys/fs/cgroup/a/memory.high": oneGi, info: meminfo,
			},
			0, gib, "memory.high of cgroup v2 /a",
		},
		"v2, the path of the host is not there": {
			map[string]string{self: "0::/../../host/path\n", top: oneGi, info: meminfo},
			0, gib, "memory.max of cgroup v2 /",
		},
		"v2, max": {
			map[string]string{
				self: "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n", "sys/fs/cgroup/a/memory.high": "max\n", info: meminfo,
			},
			0, 16 * gib, "memory of the machine",
		},
		"v2, more than the machine has": {
			map[string]string{self: "0::/\n", top: "99999999999999\n", info: meminfo},
			0, 16 * gib, "memory of the machine",
		},
		"v1, nested": {
			map[string]string{
				self: "12:cpu,cpuacct:/x\n4:memory:/docker/a:b\n", first + "/docker/a:b/memory.limit_in_bytes": oneGi,
				first + "/memory.limit_in_bytes": "9223372036854771712\n", info: meminfo,
			}, 0, gib, "memory.limit_in_bytes of cgroup v1 /docker/a:b",
		},
		"v1, the path of the host is not there": {
			map[string]string{self: "4:memory:/docker/abc\n", first + "/memory.limit_in_bytes": oneGi, info: meminfo},
			0, gib, "memory.limit_in_bytes of cgroup v1 /",
		},
		"v1, unlimited": {
			map[string]string{self: "4:memory:/\n", first + "/memory.limit_in_bytes": "9223372036854771712\n", info: meminfo},
			0, 16 * gib, "memory of the machine",
		},
		"both versions, memory in the first": {
			map[string]string{
				self: "4:hugetlb,memory:/\n0::/\n", first + "/memory.limit_in_bytes": oneGi, top: "1\n", info: meminfo,
			}, 0, gib, "memory.limit_in_bytes of cgroup v1 /",
		},
		"nonsense": {
			map[string]string{self: "what\n\n", top: "-5\n", info: meminfo},
			0, 16 * gib, "memory of the machine",
		},
		"no control groups": {map[string]string{info: meminfo}, 0, 16 * gib, "memory of the machine"},
		"no machine":        {map[string]string{top: oneGi}, 0, gib, "memory.max of cgroup v2 /"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			limit, source, err := capacity.Limit(machine(c.files), c.override)
			require.NoError(t, err)
			require.Equal(t, c.want, limit)
			require.Equal(t, c.source, source)
		})
	}

	t.Run("nothing is known", func(t *testing.T) {
		t.Parallel()

		for _, files := range []map[string]string{nil, {info: "MemTotal: much\n"}, {info: "MemFree: 1 kB\n"}} {
			_, _, err := capacity.Limit(machine(files), 0)
			require.ErrorIs(t, err, capacity.ErrUnknown)
			require.ErrorContains(t, err, "LESSOR_MEMORY_LIMIT")
		}
	})

	t.Run("this machine", func(t *testing.T) {
		t.Parallel()

		if _, err := os.Stat("/proc/meminfo"); err != nil {
			t.Skip("not Linux")
		}

		limit, source, err := capacity.Limit(os.DirFS("/"), 0)
		require.NoError(t, err)
		require.Greater(t, limit, 16*mib)
		require.NotEmpty(t, source)
	})
}

func TestSlots(t *testing.T) {
	t.Parallel()

	cfg := capacity.Config{MaxSlots: 4, OperationMemory: 768 * mib, MemoryReserve: 256 * mib}

	for name, c := range map[string]struct {
		limit capacity.Bytes
		want  int
	}{
		"exactly one":       {gib, 1},
		"one and a bit":     {gib + 767*mib, 1},
		"two":               {gib + 768*mib, 2},
		"capped":            {64 * gib, 4},
		"as much as can be": {math.MaxInt64, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			slots, err := capacity.Slots(c.limit, cfg)
			require.NoError(t, err)
			require.Equal(t, c.want, slots)
		})
	}

	for name, limit := range map[string]capacity.Bytes{"one byte less": gib - 1, "below the reserve": 100 * mib, "nothing": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, err := capacity.Slots(limit, cfg)
			require.ErrorIs(t, err, capacity.ErrNoSlot)

			for _, part := range []string{
				"LESSOR_MEMORY_RESERVE=256Mi", "LESSOR_OPERATION_MEMORY=768Mi", "need 1Gi", "LESSOR_MEMORY_LIMIT", "pod",
			} {
				require.ErrorContains(t, err, part)
			}
		})
	}

	for name, bad := range map[string]capacity.Config{
		"no operation memory": {MaxSlots: 1},
		"no slots":            {OperationMemory: mib},
		"negative reserve":    {MaxSlots: 1, OperationMemory: mib, MemoryReserve: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, err := capacity.Slots(gib, bad)
			require.ErrorIs(t, err, capacity.ErrNoSlot)
		})
	}
}
