package telemetry

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestLoggerHidesSecrets(t *testing.T) {
	t.Parallel()
	const key, checked = "atlas_01a1fe17-93c2-7d3b-9a51-0b7a3f1c2d4e", "atlas_k1_0AbCdEfGhIjKlMnOpQrStU"
	for _, text := range []bool{false, true} {
		var out bytes.Buffer
		log := NewLogger(&out, slog.LevelInfo, text).With("base", "redis://user:hunter2@redis:6379/0")
		log.Info("to anna.b+c@example.com",
			"error", errors.New("550 5.1.1 <bob@mail.example.org>: no such mailbox"),
			"key", key+"_S3cret-S3cret_S3cret", "checked", checked+strings.Repeat("S3cret", 8)+"x",
			"header", "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
			"link", "https://app.example/accept?token=abcdef123456",
			slog.Group("nested", "url", "postgres://atlas_app:pa%3Dss@db.example:5432/atlas"),
			"database", "atlas_test", "plain", "nothing to hide")
		for _, secret := range []string{"anna", "bob@", "S3cret", "eyJ", "c2lnbmF0dXJl", "abcdef123456", "hunter2", "pa%3Dss"} {
			if strings.Contains(out.String(), secret) {
				t.Errorf("text %v: %q is in %s", text, secret, out.String())
			}
		}
		for _, kept := range []string{
			key, checked, "no such mailbox", "redis:6379/0", "db.example:5432/atlas", "atlas_test", "nothing to hide",
			"https://app.example/accept",
		} {
			if !strings.Contains(out.String(), kept) {
				t.Errorf("text %v: %q is missing in %s", text, kept, out.String())
			}
		}
	}
}

func TestLoggerLevel(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := NewLogger(&out, slog.LevelWarn, false)
	log.Info("no")
	log.Warn("yes")
	if got := out.String(); strings.Contains(got, "no") || !strings.Contains(got, `"msg":"yes"`) {
		t.Error(got)
	}
}

// BenchmarkRequestLine measures the search for secrets in a request's line.
func BenchmarkRequestLine(b *testing.B) {
	for name, log := range map[string]*slog.Logger{
		"hiding": NewLogger(&bytes.Buffer{}, slog.LevelInfo, false),
		"plain":  slog.New(slog.NewJSONHandler(&bytes.Buffer{}, nil)),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				log.LogAttrs(b.Context(), slog.LevelInfo, "request", slog.String("operation", "search_accounts"),
					slog.String("path", "/api/v1/data/accounts/search"), slog.Int("status", 200), slog.Float64("duration_ms", 5.1),
					slog.String("workspace", "01a1fe17-93c2-7d3b-9a51-0b7a3f1c2d4e"), slog.Int64("credits", 25))
			}
		})
	}
}
