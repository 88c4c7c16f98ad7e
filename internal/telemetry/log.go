package telemetry

import (
	"io"
	"log/slog"
	"regexp"
	"strings"
)

// NewLogger returns a logger that writes lines of JSON, or of text. In all lines it masks
// what looks like an API key, a token, an e-mail address or the password in a URL: code
// that logs avoids these, but errors of backends and mail servers may contain them.
func NewLogger(w io.Writer, level slog.Level, text bool) *slog.Logger {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr { return withoutSecrets(a) }}
	if text {
		return slog.New(withTrace{slog.NewTextHandler(w, options)})
	}
	return slog.New(withTrace{slog.NewJSONHandler(w, options)})
}

func withoutSecrets(a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindString:
		if s := a.Value.String(); suspicious(s) {
			return slog.String(a.Key, redact(s))
		}
	case slog.KindAny:
		if err, ok := a.Value.Any().(error); ok {
			return slog.String(a.Key, redact(err.Error()))
		}
	}
	return a
}

// suspicious is a cheap first check: most values are numbers, ids and fixed words.
func suspicious(s string) bool {
	return strings.ContainsAny(s, "@") || strings.Contains(s, "atlas_") || strings.Contains(s, "eyJ") ||
		strings.Contains(s, "earer ") || strings.Contains(s, "oken=")
}

var secrets = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`://[^/\s@]+@`), "://[hidden]@"},
	{regexp.MustCompile(`(?i)\bbearer\s+\S+`), "Bearer [hidden]"},
	// Keep the key's id, which identifies it. The rest is the secret.
	{regexp.MustCompile(`\b(atlas_[0-9a-fA-F-]{36})_[A-Za-z0-9_-]*`), "${1}_[hidden]"},
	{regexp.MustCompile(`\b(atlas_[ks]1_[0-9A-Za-z]{22})[0-9A-Za-z]+`), "${1}[hidden]"},
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]*)*`), "[token hidden]"},
	{regexp.MustCompile(`(?i)([?&;]token=)[^&\s"']+`), "${1}[hidden]"},
	{regexp.MustCompile(`[A-Za-z0-9.!#$%&'*+/=?^_{|}~-]+@[A-Za-z0-9.-]+\.[A-Za-z0-9]+`), "[address hidden]"},
}

func redact(s string) string {
	if !suspicious(s) {
		return s
	}
	for _, secret := range secrets {
		s = secret.pattern.ReplaceAllString(s, secret.with)
	}
	return s
}
