package enqueuecli_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	lineSuspend = `{"specversion":"1.0","id":"a","source":"/x","type":"lessor.tenant.suspended.v1",` +
		`"subject":"acme","time":"2026-03-01T11:00:00Z"}`
	lineResume = `{"specversion":"1.0","id":"b","source":"/x","type":"lessor.tenant.resumed.v1",` +
		`"subject":"globex","time":"2026-03-01T11:01:00Z"}`
)

func TestSend(t *testing.T) {
	t.Parallel()

	input := func(lines ...string) func() *world {
		return with(newWorld, func(w *world) { w.stdin = strings.Join(lines, "\n") })
	}
	pretty := strings.NewReplacer(`{`, "{\n  ", `,"`, ",\n  \"", "}", "\n}").Replace
	args := []string{"send", "-f", "-"}

	runCases(t, []runCase{
		{name: "one line", sent: 1, args: args, world: input(lineSuspend)},
		{name: "lines", sent: 2, args: args, world: input("", lineSuspend, "", lineResume, "")},
		{name: "lines as json", sent: 2, args: append(args, "-o", "json"), world: input(lineSuspend, lineResume)},
		{
			name: "one event over many lines is sent as it is", sent: 1, args: args, world: input(pretty(lineSuspend)),
			check: func(t *testing.T, w *world) {
				t.Helper()
				require.Equal(t, pretty(lineSuspend), string(w.sent[0]))
			},
		},
		{name: "events over many lines", sent: 2, args: args, world: input(pretty(lineSuspend), pretty(lineResume))},
		{name: "dry run", args: append(args, "--dry-run"), world: input(lineSuspend, lineResume)},
		{
			name: "a wrong line stops all", code: 3, args: args,
			world: input(lineSuspend, strings.Replace(lineResume, "resumed", "resume", 1), lineSuspend),
		},
		{
			name: "every wrong line is told", code: 3, args: args,
			world: input(lineSuspend, "oops", strings.Replace(lineResume, `"id":"b",`, "", 1)),
		},
		{name: "a broken first line", code: 3, args: args, world: input("", "{oops", lineSuspend)},
		{
			name: "the second of events over many lines is wrong", code: 3, args: args,
			world: input(pretty(lineSuspend), strings.Replace(pretty(lineResume), "globex", "glo/bex", 1)),
		},
		{name: "nothing", code: 3, args: args, world: input("", " ")},
		{name: "no such file", code: 1, args: []string{"send", "-f", "testdata/no-such-file.json"}},
		{name: "no file", code: 2, args: []string{"send"}},
		{
			name: "needs no table", sent: 1, args: args,
			world: with(input(lineSuspend), func(w *world) { w.fail["get"], w.fail["connect"] = errBroken, errBroken }),
		},
		{
			name: "a sequence where the fleet orders by it", code: 3, args: append(args, "--event-order", "sequence"),
			world: input(lineSuspend),
		},
		{
			name: "a failure at the first", code: 1, args: args,
			world: with(input(lineSuspend, lineResume), func(w *world) { w.fail["send"] = errBroken }),
		},
	})
}

func TestSendStopsInTheMiddle(t *testing.T) {
	t.Parallel()

	w := newWorld()
	w.stdin = lineSuspend + "\n\n" + lineResume
	w.failAfter(1)

	got := w.run(t.Context(), "send", "-f", "-")
	require.Equal(t, 1, got.code)
	require.Equal(t, "acme: lessor.tenant.suspended.v1 sent, event a\n", got.stdout)
	require.Contains(t, got.stderr, "1 of 2 events are sent, the one in line 3 is not")
	require.Contains(t, got.stderr, "hint: send the file again")
}

func TestSendFromFile(t *testing.T) {
	t.Parallel()

	w := newWorld()
	path := t.TempDir() + "/event.json"
	write(t, path, lineSuspend)

	got := w.run(t.Context(), "send", "-f", path)
	require.Zero(t, got.code, got.stderr)
	require.Equal(t, [][]byte{[]byte(lineSuspend)}, w.sent)

	write(t, path, "")

	got = w.run(t.Context(), "send", "-f", path)
	require.Equal(t, 3, got.code)
	require.Contains(t, got.stderr, path+" holds no event")
}
