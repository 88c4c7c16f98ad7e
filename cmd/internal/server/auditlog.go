package server

import (
	"cmp"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"atlas/cmd/internal/cli"
	"atlas/indexer/generation"
	"atlas/search"
	"atlas/workspace/auditlog"
	"atlas/workspace/postgres"
)

// AuditLog has the options of the audit log.
type AuditLog struct {
	AuditRetention time.Duration `name:"audit-retention" env:"ATLAS_AUDIT_RETENTION" default:"9600h" help:"How long events of the audit log and its counts are stored, 24h to 87600h (default: 9600h, 400 days)."`
	AuditKey       string        `name:"audit-key" env:"ATLAS_AUDIT_KEY" type:"path" placeholder:"FILE" help:"Ed25519 key in PEM, as openssl genpkey -algorithm ed25519 makes it: it signs where the stored part of the audit log begins (default: nothing is signed)."`
	ReadsThreshold int64         `name:"reads-threshold" env:"ATLAS_READS_THRESHOLD" default:"50000" help:"Records of a person or a key in an hour above which the audit log reports it, 0 to 1000000000 (default: 50000); 0: none."`
}

func (c AuditLog) auditRetention() time.Duration { return cmp.Or(c.AuditRetention, 9600*time.Hour) }

func (c AuditLog) Check(f *cli.Problems) {
	f.Duration("--audit-retention (ATLAS_AUDIT_RETENTION)", c.auditRetention(), 24*time.Hour, 10*365*24*time.Hour)
	if _, err := c.auditKey(); err != nil {
		f.Add("--audit-key (ATLAS_AUDIT_KEY): %v", err)
	}
	if c.ReadsThreshold < 0 || c.ReadsThreshold > 1_000_000_000 {
		f.Add("--reads-threshold (ATLAS_READS_THRESHOLD) must be 0 to 1000000000, not %d", c.ReadsThreshold)
	}
}

// auditKey is nil without a key.
func (c AuditLog) auditKey() (ed25519.PrivateKey, error) {
	if c.AuditKey == "" {
		return nil, nil
	}
	text, err := os.ReadFile(c.AuditKey)
	if err != nil {
		return nil, err
	}
	private, _, err := auditlog.ReadKey(text)
	if err == nil && private == nil {
		err = errors.New("it is a public key: servers sign with the private one")
	}
	return private, err
}

// wireAuditLog wires the sealing of the audit log, its counters and its reading.
func wireAuditLog(
	c Config,
	w *wired,
	store *postgres.Store,
	system *postgres.System,
	cursors *search.Cursors,
	now func() time.Time,
	log *slog.Logger,
) error {
	key, err := c.auditKey()
	if err != nil {
		return err
	}
	counter := &auditlog.Counter{Store: system, Threshold: c.ReadsThreshold, Retention: c.auditRetention(), Now: now, Log: log}
	sealer := &auditlog.Sealer{
		Store: system, Who: fmt.Sprintf("%s, process %d", generation.Host(), os.Getpid()), Busy: isBusy,
		Retention: c.auditRetention(), Key: key, Now: now, Log: log,
	}
	w.server.AuditLog = &auditlog.Reader{Store: store, Cursors: cursors}
	w.server.SignInLog, w.server.Counts = system, counter
	w.jobs = append(w.jobs, inBackground(sealer.Run, log))
	// Requests are counted until the last one has ended; the pools close after it.
	w.backends = append(w.backends, inBackground(counter.Run, log))
	return nil
}
