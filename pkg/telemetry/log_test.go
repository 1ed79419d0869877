package telemetry_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/telemetry"
)

func TestNewLogger(t *testing.T) {
	t.Parallel()

	t.Run("json", func(t *testing.T) {
		t.Parallel()

		var out bytes.Buffer

		log, err := telemetry.NewLogger(&out, telemetry.Config{LogLevel: "info", LogFormat: "json"})
		require.NoError(t, err)

		berlin := time.FixedZone("Berlin", 3600)

		log.Debug("unseen")
		log.Info("seen", telemetry.KeyTenant, "acme", "took", 1500*time.Millisecond,
			"at", time.Date(2026, 1, 2, 3, 4, 5, 0, berlin))
		log.WithGroup("g").Info("grouped", "d", time.Second)

		var line map[string]any

		first, second, _ := strings.Cut(out.String(), "\n")
		require.Contains(t, second, `"g":{"d":"1s"}`)
		require.NoError(t, json.Unmarshal([]byte(first), &line), first)
		require.Equal(t, "seen", line["msg"])
		require.Equal(t, "INFO", line["level"])
		require.Equal(t, "acme", line["tenant_id"])
		require.Equal(t, "1.5s", line["took"])
		require.Equal(t, "2026-01-02T02:04:05Z", line["at"])
		require.Regexp(t, `Z$`, line["time"])
	})

	t.Run("text", func(t *testing.T) {
		t.Parallel()

		var out bytes.Buffer

		log, err := telemetry.NewLogger(&out, telemetry.Config{LogLevel: "error", LogFormat: "text"})
		require.NoError(t, err)
		log.Warn("unseen")
		log.Error("seen", telemetry.KeyFence, 7)
		require.Regexp(t, `^time=\S+Z level=ERROR msg=seen fence=7\n$`, out.String())
	})

	for name, c := range map[string]struct {
		cfg  telemetry.Config
		want string
	}{
		"level":  {telemetry.Config{LogLevel: "loud", LogFormat: "json"}, "LESSOR_LOG_LEVEL"},
		"format": {telemetry.Config{LogLevel: "info", LogFormat: "xml"}, `LESSOR_LOG_FORMAT: unknown format "xml"; use one of json, text`},
	} {
		t.Run("wrong "+name, func(t *testing.T) {
			t.Parallel()

			_, err := telemetry.NewLogger(nil, c.cfg)
			require.ErrorContains(t, err, c.want)
		})
	}

	t.Run("every level and format that is offered exists", func(t *testing.T) {
		t.Parallel()

		for _, level := range telemetry.LogLevels() {
			for _, format := range telemetry.LogFormats() {
				_, err := telemetry.NewLogger(nil, telemetry.Config{LogLevel: level, LogFormat: format})
				require.NoError(t, err)
			}
		}
	})
}
