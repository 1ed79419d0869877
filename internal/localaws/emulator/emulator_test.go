package emulator_test

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lessor-dev/lessor/internal/localaws/emulator"
	"github.com/lessor-dev/lessor/internal/localaws/emulator/emulatortest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStartAnswersAndStopEnds(t *testing.T) {
	t.Parallel()

	e, err := emulator.Start(t.Context(), emulator.Options{Binary: emulatortest.Binary(t), Dir: t.TempDir()})
	require.NoError(t, err)

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.URL()+"/health", http.NoBody)
	require.NoError(t, err)

	resp, err := client.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)

	e.Stop()
	e.Stop()

	select {
	case <-e.Exited():
	default:
		t.Fatal("the process is still there after Stop")
	}
}

func TestStartWithoutBinaryNamesTheFix(t *testing.T) {
	t.Parallel()

	_, err := emulator.Start(t.Context(), emulator.Options{Binary: filepath.Join(t.TempDir(), "kumo"), Dir: t.TempDir()})
	require.ErrorIs(t, err, emulator.ErrNoBinary)
	require.ErrorContains(t, err, "make tools")
}

func TestStartShowsTheLogOfAProcessThatExits(t *testing.T) {
	t.Parallel()

	binary := filepath.Join(t.TempDir(), "broken")
	require.NoError(t, os.WriteFile(binary, []byte("#!/bin/sh\necho no luck today >&2\nexit 3\n"), 0o700))

	_, err := emulator.Start(t.Context(), emulator.Options{Binary: binary, Dir: t.TempDir()})
	require.ErrorContains(t, err, "no luck today")
}

func TestStartOnATakenPortFails(t *testing.T) {
	t.Parallel()

	var lc net.ListenConfig

	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })

	addr, ok := l.Addr().(*net.TCPAddr)
	require.True(t, ok)

	began := time.Now()
	_, err = emulator.Start(t.Context(), emulator.Options{Binary: emulatortest.Binary(t), Dir: t.TempDir(), Port: addr.Port})
	require.Error(t, err)
	require.Less(t, time.Since(began), 25*time.Second, "it must notice the exit and not wait for an answer")
}
