package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"atlas/client"
)

// exportProgress shows how far an export is: a line that is rewritten on a
// terminal, now and then a line elsewhere.
type exportProgress struct {
	to       io.Writer
	terminal bool

	lock   sync.Mutex // the observer of requests may come at any time
	before int        // rows of earlier runs
	began  time.Time
	last   time.Time
	dirty  bool // the terminal's line is not empty
}

// redrawEvery is how often the line on a terminal changes.
const redrawEvery = 200 * time.Millisecond

func newExportProgress(to io.Writer) *exportProgress {
	p := &exportProgress{to: to}
	if file, ok := to.(*os.File); ok {
		p.terminal = term.IsTerminal(int(file.Fd()))
	}
	return p
}

func (p *exportProgress) begin(rows int) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.before, p.began, p.last = rows, time.Now(), time.Now()
	if rows > 0 {
		_, _ = fmt.Fprintf(p.to, "going on after %s rows\n", grouped(rows))
	}
}

// page shows the state after a page; rows are all there are, spent the credits
// of this run.
func (p *exportProgress) page(rows, spent int, page *client.Page[json.RawMessage]) {
	p.lock.Lock()
	defer p.lock.Unlock()
	every := meterEvery
	if p.terminal {
		every = redrawEvery
	}
	at := time.Now()
	if at.Sub(p.last) < every {
		return
	}
	p.last = at
	line := grouped(rows) + " rows"
	if !page.TotalIsCapped && p.before == 0 {
		line = fmt.Sprintf("%s of %s rows", grouped(rows), grouped(page.Total))
	}
	line += fmt.Sprintf(", %.0f a second, credits: %s spent, %s left", float64(rows-p.before)/max(at.Sub(p.began).Seconds(), 0.001), grouped(spent), grouped(page.Window.Remaining))
	p.show(line)
}

// observe tells of what failed and is tried again, which may take a while.
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

// clear takes the line off the terminal.
func (p *exportProgress) clear() {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.dirty {
		_, _ = fmt.Fprint(p.to, "\r\x1b[K")
		p.dirty = false
	}
}
