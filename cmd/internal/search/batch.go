package search

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"atlas/client"
	"atlas/cmd/internal/cli"
)

const (
	// maxBatchRows is the maximum of the sum of the limits in a batch, batchLimit the limit
	// of a search without one.
	maxBatchRows, batchLimit = 1_000, 20
	// maxSearchLine is the maximum length of a line, in bytes: that of a request.
	maxSearchLine = 1 << 20
	// maxBatchSize is the maximum length of the lines of a batch, in bytes.
	maxBatchSize = 512 << 10
)

// batchLine is a line of the file of --batch.
type batchLine struct {
	client.BatchSearch
	Book string `json:"book,omitzero"`
	n    int
}

// workspace reports whether it searches the book or a View.
func (l batchLine) workspace() bool { return l.Book != "" || l.ViewID != "" }

// batchOut is the printed result of a search.
type batchOut struct {
	Line       int                `json:"line"`
	Records    []json.RawMessage  `json:"records,omitempty"`
	Total      int                `json:"total,omitzero"`
	Capped     bool               `json:"total_is_capped,omitzero"`
	Next       string             `json:"next,omitzero"`
	DidYouMean string             `json:"did_you_mean,omitzero"`
	Missing    []string           `json:"missing,omitempty"`
	Highlights []client.Highlight `json:"highlights,omitempty"`
	Error      *batchError        `json:"error,omitzero"`
}

type batchError struct {
	Code    client.Code    `json:"code"`
	Message string         `json:"message"`
	Issues  []client.Issue `json:"issues,omitempty"`
}

// batchRun runs the lines of a file.
type batchRun struct {
	api              *client.Client
	to               *json.Encoder
	searched, failed int
	credits          int
	// outOf is the first error of a search without credits.
	outOf error
}

// runBatches runs the searches of the file of --batch.
func (c *Search) runBatches(ctx context.Context, api *client.Client, s *cli.Streams) error {
	in := io.Reader(os.Stdin)
	if c.Batch != "-" {
		f, err := os.Open(c.Batch)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	run := batchRun{api: api, to: json.NewEncoder(s.Out)}
	err := run.lines(ctx, in)
	_, _ = fmt.Fprintf(
		s.Err, "%s searches, failed: %s, credits: %s\n", cli.Grouped(run.searched), cli.Grouped(run.failed),
		cli.Grouped(run.credits),
	)
	switch {
	case err != nil:
		return apiError(s.Err, err)
	case run.outOf != nil:
		return apiError(s.Err, run.outOf)
	case run.failed > 0:
		return fmt.Errorf("%s of %s searches failed: their lines say why", cli.Grouped(run.failed), cli.Grouped(run.searched))
	}
	return nil
}

// lines sends as many searches of one kind at once as a batch may have.
func (r *batchRun) lines(ctx context.Context, in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxSearchLine)
	var waiting []batchLine
	rows, size, n := 0, 0, 0
	for lines.Scan() {
		n++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		line := batchLine{n: n}
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.DisallowUnknownFields()
		err := d.Decode(&line)
		if _, more := d.Token(); err == nil && more != io.EOF { //nolint:errorlint // as Decode
			err = errors.New("more than one object")
		}
		if err != nil {
			return errors.Join(r.send(ctx, waiting), fmt.Errorf("line %d: %w; a line is one search request with dataset, book or view_id, without dry_run and explain", n, err))
		}
		limit := cmp.Or(line.Limit, batchLimit)
		if len(waiting) == client.MaxSearches ||
			len(waiting) > 0 && (rows+limit > maxBatchRows || size+len(lines.Bytes()) > maxBatchSize || waiting[0].workspace() != line.workspace()) {
			if err := r.send(ctx, waiting); err != nil {
				return err
			}
			waiting, rows, size = nil, 0, 0
		}
		waiting, rows, size = append(waiting, line), rows+limit, size+len(lines.Bytes())
	}
	return cmp.Or(r.send(ctx, waiting), lines.Err())
}

// send runs a batch and prints its results.
func (r *batchRun) send(ctx context.Context, lines []batchLine) error {
	if len(lines) == 0 {
		return nil
	}
	searches := make([]client.BatchSearch, len(lines))
	for i, line := range lines {
		searches[i] = line.BatchSearch
		searches[i].Dataset = cmp.Or(line.Book, line.Dataset)
	}
	run := r.api.SearchBatch
	if lines[0].workspace() {
		run = r.api.SearchWorkspaceBatch
	}
	found, err := run(ctx, searches)
	if err != nil {
		return err
	}
	for i, item := range found.Items {
		out := batchOut{Line: lines[i].n}
		r.searched++
		if e, failed := errors.AsType[*client.Error](item.Err); failed {
			r.failed++
			out.Error = &batchError{e.Code, e.Message, e.Issues}
			if e.Code == client.ErrRateLimited || e.Code == client.ErrKeyBudgetUsed {
				r.outOf = cmp.Or(r.outOf, item.Err)
			}
		} else {
			p := item.Data
			r.credits += p.Credits
			out.Records, out.Total, out.Capped, out.Next = p.Records, p.Total, p.TotalIsCapped, p.Next
			out.DidYouMean, out.Missing, out.Highlights = p.DidYouMean, p.Missing, p.Highlights
		}
		if err := r.to.Encode(out); err != nil {
			return err
		}
	}
	return nil
}
