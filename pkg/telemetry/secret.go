package telemetry

import "log/slog"

const redacted = "[redacted]"

// Secret is a text that shows itself to nobody who does not ask for it by
// Reveal: not to logs, not to fmt, not to JSON. Nothing else is redacted: what
// must not be seen has this type.
type Secret string

// Reveal returns the text.
func (s Secret) Reveal() string { return string(s) }

// LogValue hides the text from logs.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// String hides the text from fmt.
func (Secret) String() string { return redacted }

// GoString hides the text from %#v.
func (Secret) GoString() string { return redacted }

// MarshalText hides the text from encoders.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
