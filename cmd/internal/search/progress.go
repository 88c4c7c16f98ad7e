package search

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"atlas/client"
	"atlas/cmd/internal/cli"
)

// exportProgress shows the progress of an export: a line that is rewritten on a
// terminal, otherwise a line every ProgressInterval.
type exportProgress struct {
	to       io.Writer
	terminal bool

	lock   sync.Mutex // the client calls observe from its own goroutine
	before int        // rows of earlier runs
	total  int        // rows that are expected; 0: unknown
	began  time.Time
	last   time.Time
	dirty  bool // the line on the terminal is not empty
}

// redrawEvery is the refresh interval of the line on a terminal.
const redrawEvery = 200 * time.Millisecond

func newExportProgress(to io.Writer) *exportProgress {
	return &exportProgress{to: to, terminal: cli.IsTerminal(to)}
}

func (p *exportProgress) begin(rows int) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.before, p.began = rows, time.Now()
	p.last = p.began
	if rows > 0 {
		_, _ = fmt.Fprintf(p.to, "going on after %s rows\n", cli.Grouped(rows))
	}
}

// page shows the state after a page. rows counts all runs, spent the credits of
// this run.
func (p *exportProgress) page(rows, spent int, window client.Window) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if !p.due() {
		return
	}
	perSecond := float64(rows-p.before) / max(p.last.Sub(p.began).Seconds(), 0.001)
	line := cli.Grouped(rows) + " rows"
	if p.total > 0 {
		left := time.Duration(float64(max(p.total-rows, 0)) / max(perSecond, 0.001) * float64(time.Second))
		line = fmt.Sprintf(
			"%d %%, %s of %s rows, %s left", 100*min(rows, p.total)/p.total, cli.Grouped(rows), cli.Grouped(p.total),
			left.Round(time.Second),
		)
	}
	line += fmt.Sprintf(", %.0f a second, credits: %s spent, %s left", perSecond, cli.Grouped(spent), cli.Grouped(window.Remaining))
	p.show(line)
}

// expect sets how many rows all runs together will have.
func (p *exportProgress) expect(rows int) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.total = rows
}

// asks reports whether somebody at a terminal can answer.
func (p *exportProgress) asks() bool { return p.terminal && cli.IsTerminal(os.Stdin) }

// agree prints a message and asks for confirmation on a terminal before more than asksFrom
// credits are spent, unless yes. Errors: those of confirm.
func (p *exportProgress) agree(ctx context.Context, credits int, yes bool, what string) error {
	if credits <= asksFrom || yes || !p.asks() {
		return nil
	}
	_, _ = fmt.Fprint(p.to, what)
	return confirm(ctx, os.Stdin, p.to)
}

// changes shows the state after changes, like page.
func (p *exportProgress) changes(rows, changes int, spent int, window client.Window) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.due() {
		p.show(fmt.Sprintf(
			"%s rows and %s changes, credits: %s spent, %s left", cli.Grouped(rows), cli.Grouped(changes),
			cli.Grouped(spent), cli.Grouped(window.Remaining),
		))
	}
}

// converted shows how many of all rows are in the Parquet file.
func (p *exportProgress) converted(rows, all int) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.due() {
		p.show(fmt.Sprintf("%s of %s rows written as Parquet", cli.Grouped(rows), cli.Grouped(all)))
	}
}

// due reports whether it is time to update the display. The lock is held.
func (p *exportProgress) due() bool {
	every := cli.ProgressInterval
	if p.terminal {
		every = redrawEvery
	}
	at := time.Now()
	if at.Sub(p.last) < every {
		return false
	}
	p.last = at
	return true
}

// observe reports failures that are retried, which may take a while.
func (p *exportProgress) observe(a client.Answer) {
	if a.Err == nil || a.Attempt%5 != 1 || errors.Is(a.Err, context.Canceled) {
		return
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	if a.Status == 0 || a.Status == 502 || a.Status == 503 || a.Status == 504 {
		p.show(fmt.Sprintf("the service does not answer (attempt %d): %s", a.Attempt, withoutName(a.Err)))
	}
}

func (p *exportProgress) show(line string) {
	if p.terminal {
		_, _ = fmt.Fprintf(p.to, "\r\x1b[K%s", line)
		p.dirty = true
		return
	}
	_, _ = fmt.Fprintln(p.to, line)
}

// note prints a permanent line.
func (p *exportProgress) note(line string) {
	p.clear()
	p.lock.Lock()
	defer p.lock.Unlock()
	_, _ = fmt.Fprintln(p.to, line)
}

// clear removes the line from the terminal.
func (p *exportProgress) clear() {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.dirty {
		_, _ = fmt.Fprint(p.to, "\r\x1b[K")
		p.dirty = false
	}
}
