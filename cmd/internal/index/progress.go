package index

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/schollz/progressbar/v3"

	"atlas/cmd/internal/cli"
	"atlas/indexer"
	"atlas/indexer/delta"
	"atlas/indexer/duplicates"
	"atlas/indexer/verify"
)

// loadProgress shows the phases of a load: a bar for each on a terminal,
// otherwise a line of JSON at the start of a phase and every few seconds.
type loadProgress struct {
	to    io.Writer
	phase indexer.Phase
	bar   *progressbar.ProgressBar // nil unless the stream is a terminal
	last  time.Time
}

var phaseNames = map[indexer.Phase]string{
	indexer.Reading: "reading", indexer.Indexing: "indexing", indexer.Ending: "finishing", verify.Building: "building",
	verify.Comparing: "comparing", duplicates.Reading: "reading records", duplicates.Comparing: "comparing pairs",
	delta.Applying: "applying", delta.Publishing: "publishing",
}

func (l *loadProgress) show(p indexer.Progress) {
	began := p.Phase != l.phase
	if began {
		l.clear()
		l.phase = p.Phase
		if cli.IsTerminal(l.to) {
			total := p.Total
			if total == 0 {
				total = -1 // a spinner
			}
			l.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(l.to),
				progressbar.OptionSetDescription(phaseNames[p.Phase]), progressbar.OptionShowBytes(p.Phase == indexer.Reading),
				progressbar.OptionSetItsString("records"), progressbar.OptionShowIts(), progressbar.OptionShowCount(),
				progressbar.OptionSetPredictTime(true), progressbar.OptionFullWidth(), progressbar.OptionClearOnFinish())
		}
	}
	if l.bar != nil {
		if p.Total > 0 {
			_ = l.bar.Set64(min(p.Done, p.Total))
		} else {
			_ = l.bar.Add(1)
		}
		return
	}
	if at := time.Now(); began || at.Sub(l.last) >= cli.ProgressInterval {
		l.last = at
		line, _ := json.Marshal(newProgressLine(p)) // numbers and a string: it cannot fail
		_, _ = fmt.Fprintf(l.to, "%s\n", line)
	}
}

// progressLine is the progress of a load for a program that reads the error
// stream.
type progressLine struct {
	Phase indexer.Phase `json:"phase"`
	// Share of the phase that is done, 0 to 1; nil when unknown.
	Share *float64 `json:"share"`
	// Done and Total are bytes of input in the phase "read", records in the
	// others.
	Done  int64 `json:"done"`
	Total int64 `json:"total"`
	// Records and Rate (records per second) count this process in this phase.
	Records int64   `json:"records"`
	Rate    float64 `json:"rate"`
	// Seconds since the start of the phase, and the remaining ones; nil when
	// unknown.
	Seconds float64  `json:"seconds"`
	Left    *float64 `json:"seconds_left"`
	// The following count all phases.
	Documents   int64 `json:"documents"`
	Retries     int64 `json:"retries"`
	DeadLetters int64 `json:"dead_letters"`
	BatchBytes  int64 `json:"batch_bytes"`
}

func newProgressLine(p indexer.Progress) progressLine {
	line := progressLine{
		Phase: p.Phase, Done: p.Done, Total: p.Total, Records: p.Records,
		Rate: rounded(float64(p.Records)/max(p.Elapsed.Seconds(), 0.001), 1), Seconds: rounded(p.Elapsed.Seconds(), 10),
		Documents: p.Documents, Retries: p.Retries, DeadLetters: p.DeadLetters, BatchBytes: p.BatchBytes,
	}
	if p.Total > 0 {
		share := rounded(float64(p.Done)/float64(p.Total), 10_000)
		line.Share = &share
	}
	if left := p.Left(); left > 0 {
		seconds := rounded(left.Seconds(), 1)
		line.Left = &seconds
	}
	return line
}

// rounded rounds n to a multiple of 1/parts.
func rounded(n, parts float64) float64 { return math.Round(n*parts) / parts }

func (l *loadProgress) clear() {
	if l.bar != nil {
		_ = l.bar.Clear()
		l.bar = nil
	}
}
