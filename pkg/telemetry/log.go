// Package telemetry is what the worker shows of itself: logs, metrics and the
// admin server.
package telemetry

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"
)

// Config says what is shown, and where.
type Config struct {
	// LogLevel is debug, info, warn or error.
	LogLevel string `env:"LESSOR_LOG_LEVEL, default=info"`
	// LogFormat is json or text.
	LogFormat string `env:"LESSOR_LOG_FORMAT, default=json"`
	// AdminAddress is where the admin server listens.
	AdminAddress string `env:"LESSOR_ADMIN_ADDRESS, default=:9090"`
	// PProf adds the profiles of net/http/pprof to the admin server.
	PProf bool `env:"LESSOR_PPROF, default=false"`
}

// The keys of log attributes. They are a contract with whoever searches logs.
const (
	KeyTenant      = "tenant_id"
	KeyTier        = "tier"
	KeyOperation   = "operation"
	KeyOperationID = "operation_id"
	KeyEvent       = "event_id"
	KeyFence       = "fence"
	KeySequence    = "sequence"
	KeyShard       = "shard"
	KeyKind        = "kind"
)

// LogFormats are the values of Config.LogFormat.
func LogFormats() []string { return []string{formatJSON, formatText} }

// LogLevels are the values of Config.LogLevel.
func LogLevels() []string { return []string{"debug", "info", "warn", "error"} }

const (
	formatJSON = "json"
	formatText = "text"
)

var errFormat = errors.New("unknown format")

// NewLogger makes the logger that everybody is handed. It writes times in UTC
// and durations as people read them.
func NewLogger(w io.Writer, cfg Config) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.LogLevel)); err != nil {
		return nil, fmt.Errorf("LESSOR_LOG_LEVEL: %w; use one of %s", err, strings.Join(LogLevels(), ", "))
	}

	options := &slog.HandlerOptions{Level: level, ReplaceAttr: plain}

	switch cfg.LogFormat {
	case formatJSON:
		return slog.New(slog.NewJSONHandler(w, options)), nil
	case formatText:
		return slog.New(slog.NewTextHandler(w, options)), nil
	default:
		return nil, fmt.Errorf("LESSOR_LOG_FORMAT: %w %q; use one of %s", errFormat, cfg.LogFormat, strings.Join(LogFormats(), ", "))
	}
}

func plain(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindDuration:
		return slog.String(a.Key, a.Value.Duration().String())
	case slog.KindTime:
		return slog.String(a.Key, a.Value.Time().UTC().Format(time.RFC3339Nano))
	case slog.KindAny, slog.KindBool, slog.KindFloat64, slog.KindInt64, slog.KindString, slog.KindUint64,
		slog.KindGroup, slog.KindLogValuer:
	}

	return a
}
