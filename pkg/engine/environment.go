package engine

import (
	"slices"
	"strings"
)

// passedOn are the variables of the worker that its children may see, upper
// case. Everything else stays behind: credentials of other systems, and above
// all a passphrase, with which the CLI would silently encrypt a stack anew.
func passedOn(name string) bool {
	upper := strings.ToUpper(name)

	switch upper {
	case "PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TZ",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY":
		return true
	}

	return strings.HasPrefix(upper, "AWS_") || strings.HasPrefix(upper, "SSL_")
}

// filterEnvironment keeps what children may see.
func filterEnvironment(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")

		return !passedOn(name)
	})
}

// cliEnvironment is the environment of a CLI process. Later entries win.
func cliEnvironment(environ []string, s slot, backend string) []string {
	return append(filterEnvironment(environ),
		"TMPDIR="+s.Temp,
		"PULUMI_HOME="+s.Home,
		"PULUMI_BACKEND_URL="+backend,
		"PULUMI_AUTOMATION_API=true",
		// The state knows which key encrypts it. Without this the CLI falls
		// back to a passphrase.
		"PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER=true",
		"PULUMI_SKIP_UPDATE_CHECK=true",
		"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true",
		"PULUMI_DISABLE_REGISTRY_RESOLVE=true",
		"PULUMI_SUPPRESS_NEO_LINK=true",
		// Each of these saves requests or files.
		"PULUMI_DIY_BACKEND_NO_LEGACY_WARNING=true",
		"PULUMI_DIY_BACKEND_DISABLE_CHECKPOINT_BACKUPS=true",
		"PULUMI_LOG_ROTATION_MAX_TOTAL_MB=8",
		"PULUMI_LOG_ROTATION_MAX_AGE_DAYS=1",
	)
}
