package server

import (
	"log/slog"
	"os"

	"atlas/indexer/delta"
	"atlas/indexer/eraser"
	"atlas/indexer/feed"
	"atlas/indexer/removal"
	"atlas/internal/elastic"
	"atlas/internal/mail"
	"atlas/mappings"
	"atlas/search"
	"atlas/service/delivery"
	"atlas/workspace/jobs"
	"atlas/workspace/postgres"
	"atlas/workspace/projection"
)

// wireErasures lets people have contacts erased by links, if there is a key of the list of
// suppressions. Letters are sent if a mail server and an address for the links are
// configured.
func wireErasures(c Config, w *wired, es *elastic.Client, system *postgres.System, options jobs.Options, log *slog.Logger) error {
	keys, err := c.SuppressionKeys()
	if err != nil || len(keys) == 0 {
		return err
	}
	cursors, err := c.Cursors()
	if err != nil {
		return err
	}
	// Its content may be lost: the list of erasures is in Postgres.
	dir, err := os.MkdirTemp("", "atlas-erasure-")
	if err != nil {
		return err
	}
	w.backends = append(w.backends, func() { _ = os.RemoveAll(dir) })
	engine := func(names mappings.Names) *search.Engine {
		return &search.Engine{Elastic: es, Names: names, Timeout: c.SearchTimeout}
	}
	links := &removal.Links{Store: system, Cursors: cursors, Now: options.Now, Eraser: &eraser.Eraser{
		Store: system, Keys: keys, Elastic: es, Names: c.Names(), Lease: system, WorkDir: dir, Now: options.Now,
		Listener: &projection.Projector{System: system, Elastic: es, Names: c.Names()},
		Feed:     &feed.Feed{Store: system, Elastic: es, Names: c.Names(), Live: engine(c.Names())},
		Live:     func(names mappings.Names) delta.Live { return engine(names) },
		Note:     func(text string) { log.Warn("an erasure", "note", text) },
	}}
	worker := &removal.Worker{Links: links, Busy: isBusy, Log: log}
	w.server.Erasures = worker
	w.jobs = append(w.jobs, inBackground(worker.Run, log))
	if !c.mail().Enabled() || c.PublicURL == "" {
		return nil
	}
	post, err := mail.NewPost(c.mail())
	if err != nil {
		return err
	}
	letters := delivery.Erasures{Letters: links, Post: post, PublicURL: c.PublicURL, Log: log}
	w.jobs = append(w.jobs, inBackground(jobs.NewRunner(system.ErasureLetters(), letters.Handler(), options).Run, log))
	requests := &removal.Requests{Links: links, Store: system, Secrets: c.cursorKeys()}
	if c.ErasureForm {
		w.server.ErasureForm = requests
	}
	// Also without the form: what another server took, or this one before, is answered.
	answers := delivery.RequestHandler(requests, log)
	w.jobs = append(w.jobs, inBackground(jobs.NewRunner(system.ErasureRequests(), answers, options).Run, log))
	return nil
}
