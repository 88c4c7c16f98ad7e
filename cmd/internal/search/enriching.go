package search

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"atlas/client"
	"atlas/cmd/internal/cli"
)

// The status of a row that was not matched.
const (
	skippedRow = "skipped" // no value to find a record by
	refusedRow = "refused" // the service does not accept its values
)

const (
	// batchRows is the maximum number of rows in a request: more than the inputs, because
	// equal rows share one input.
	batchRows = 1000
	// mostRefused is how many refused rows are explained.
	mostRefused = 20
)

// enriching is one run of an enrichment.
type enriching struct {
	budget
	ask       Enrich
	input     *csvInput
	columns   chosenColumns
	dataset   *client.Matchable[json.RawMessage]
	workspace string
	file      *exportFile
	shown     *exportProgress

	rows, findable int    // of the file
	sum            string // SHA-256 of the file
	ahead          *csvRow
	tail           []byte // empty lines after the last row
	ended          bool   // there is no further row
	refused        []string
	complete       bool // already before this run
}

// count reads the file to its end: how many rows it has, and whether each can be read.
func (e *enriching) count(ctx context.Context) error {
	for {
		row, err := e.input.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if e.rows++; e.rows%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if _, findable := e.columns.input(row, e.ask.Dataset); findable {
			e.findable++
		}
	}
}

// price says what the remaining rows cost at most, and asks for confirmation on a terminal.
func (e *enriching) price(ctx context.Context, to io.Writer) error {
	left := e.findable
	for status, n := range e.file.state.Statuses {
		if status != skippedRow {
			left -= n
		}
	}
	most := left
	if e.most > 0 {
		most = min(most, e.most)
	}
	_, _ = fmt.Fprintf(to, "%s: %s rows, columns %s\n%s rows to find, at most %s credits\n",
		e.ask.File, cli.Grouped(e.rows), e.columns.describe(e.input.header), cli.Grouped(left), cli.Grouped(most))
	e.shown.expect(e.rows)
	return e.shown.agree(ctx, most, e.ask.Yes, "")
}

// run sends batches. It writes each before it sends the next.
func (e *enriching) run(ctx context.Context) error {
	if e.file.state.Done {
		e.complete = true
		return nil
	}
	if err := e.skip(); err != nil {
		return err
	}
	e.shown.begin(e.file.state.Rows)
	for !e.file.state.Done {
		if err := e.step(ctx); err != nil {
			return err
		}
		e.shown.page(e.file.state.Rows, e.spent, e.window)
	}
	return nil
}

// skip moves to the first unwritten row.
func (e *enriching) skip() error {
	if err := e.input.rewind(); err != nil {
		return err
	}
	for {
		if err := e.advance(); err != nil || e.ahead == nil || e.ahead.number > e.file.state.Rows {
			return err
		}
	}
}

// advance reads the next row.
func (e *enriching) advance() error {
	row, err := e.input.next()
	switch {
	case errors.Is(err, io.EOF):
		e.ahead, e.tail, e.ended = nil, row.before, true
		if e.input.sum() != e.sum {
			return fmt.Errorf("%s was changed while it was read; --restart begins anew", e.ask.File)
		}
		return nil
	case err != nil:
		return err
	}
	e.ahead = &row
	return nil
}

// batch has the rows of one request.
type batch struct {
	rows []csvRow
	// asks is the index of the input of each row, -1 for none.
	asks   []int
	inputs []client.MatchInput
	lines  []int // of the inputs
}

// fill takes rows until there are most different inputs.
func (e *enriching) fill(most int) (batch, error) {
	var b batch
	known := map[client.MatchInput]int{}
	for e.ahead != nil && len(b.rows) < batchRows {
		in, findable := e.columns.input(*e.ahead, e.ask.Dataset)
		at, asked := known[in]
		switch {
		case !findable:
			at = -1
		case !asked && len(b.inputs) == most:
			return b, nil
		case !asked:
			at = len(b.inputs)
			known[in] = at
			in.Ref = strconv.Itoa(at + 1)
			b.inputs, b.lines = append(b.inputs, in), append(b.lines, e.ahead.line)
		}
		b.rows, b.asks = append(b.rows, *e.ahead), append(b.asks, at)
		if err := e.advance(); err != nil {
			return b, err
		}
	}
	return b, nil
}

// unpaid are the errors after which no attempt of a batch was charged: the next run may
// send another batch. After any other error it sends the same one.
var unpaid = []client.Code{client.ErrRateLimited, client.ErrKeyBudgetUsed, client.ErrInvalidInput, client.ErrBadRequest}

// step sends a batch and writes its rows. The cursor file records the batch first, so that
// a run after a kill sends the same one.
func (e *enriching) step(ctx context.Context) error {
	most := e.file.state.Asking
	if most == 0 {
		most, _ = e.limit(client.MaxMatchInputs, 1) // 0 at --max-credits
	}
	b, err := e.fill(most)
	if err != nil {
		return err
	}
	if len(b.rows) == 0 && !e.ended {
		return errBudget
	}
	next := e.file.state
	answers := make([]enriched, len(b.inputs))
	if len(b.inputs) > 0 {
		if err := e.file.asking(len(b.inputs)); err != nil {
			return err
		}
		if answered, err := e.match(ctx, b, answers, &next.Credits); err != nil {
			if refused, ok := errors.AsType[*client.Error](err); ok && !answered && slices.Contains(unpaid, refused.Code) {
				if failed := e.file.asking(0); failed != nil {
					return failed
				}
			}
			return err
		}
	}
	return e.write(b, answers, next)
}

// enriched is what is appended to a row.
type enriched struct {
	status     string
	confidence float64
	record     map[string]json.RawMessage
}

// mostRepeats bounds how often a batch is repeated because an earlier run had sent it.
const mostRepeats = 100

// match requests matches for the inputs. Inputs that the service refuses are left out, and
// the rest is sent again. Inputs for which an earlier run found no record are sent again
// too: that was free, and the record may have been loaded since. answered is true when the
// service answered some, perhaps for credits.
func (e *enriching) match(ctx context.Context, b batch, answers []enriched, credits *int) (answered bool, err error) {
	open := make([]int, len(b.inputs))
	for i := range open {
		open[i] = i
	}
	for repeat := 0; len(open) > 0; {
		q := client.MatchRequest{MinConfidence: &e.ask.MinConfidence, Fields: e.ask.Fields}
		for _, i := range open {
			q.Inputs = append(q.Inputs, b.inputs[i])
		}
		found, err := e.dataset.Match(client.WithIdempotencyKey(ctx, e.key(q, repeat)), q)
		if refused := refusedInputs(err); len(refused) > 0 {
			if open, err = e.refuse(b, open, refused, answers, err); err != nil {
				return answered, err
			}
			continue
		}
		if repeat++; errors.Is(err, client.ErrIdempotencyConflict) && repeat < mostRepeats {
			continue // another version sent this key with another request
		}
		if err != nil {
			return answered, err
		}
		answered = true
		e.charge(found.Credits, found.Window)
		*credits += found.Credits
		missed, err := take(found, open, answers)
		if err != nil || !found.Replayed || repeat == mostRepeats {
			return answered, err
		}
		open = missed
	}
	return answered, nil
}

// refuse records which of the open inputs the service refuses, and returns the others.
func (e *enriching) refuse(b batch, open []int, refused map[int]string, answers []enriched, err error) ([]int, error) {
	for _, i := range slices.Backward(slices.Sorted(maps.Keys(refused))) {
		if i >= len(open) {
			return nil, err
		}
		answers[open[i]].status = refusedRow
		e.explain(b.lines[open[i]], refused[i])
		open = slices.Delete(open, i, i+1)
	}
	return open, nil
}

// take puts the results of the open inputs into answers, and returns the inputs without a
// record.
func take(found *client.Matches[json.RawMessage], open []int, answers []enriched) (missed []int, err error) {
	if len(found.Results) != len(open) {
		return nil, fmt.Errorf("the service answered %d results for %d rows", len(found.Results), len(open))
	}
	for j, i := range open {
		result := found.Results[j]
		answers[i].status = string(result.Status)
		if len(result.Candidates) == 0 {
			missed = append(missed, i)
			continue
		}
		best := result.Candidates[0]
		answers[i].confidence = best.Confidence
		if answers[i].record, err = membersOf(best.Record); err != nil {
			return nil, err
		}
	}
	return missed, nil
}

// explain records why a row is refused.
func (e *enriching) explain(line int, why string) {
	switch {
	case len(e.refused) < mostRefused:
		e.refused = append(e.refused, fmt.Sprintf("line %d is refused: %s", line, why))
	case len(e.refused) == mostRefused:
		e.refused = append(e.refused, "… and more lines")
	}
}

// refusedInputs maps the inputs that an error is about to the reasons; nil if it is about
// anything else too.
func refusedInputs(err error) map[int]string {
	refused, ok := errors.AsType[*client.Error](err)
	if !ok || refused.Code != client.ErrInvalidInput {
		return nil
	}
	inputs := map[int]string{}
	for _, issue := range refused.Issues {
		if len(issue.Path) < 2 || issue.Path[0] != "inputs" {
			return nil
		}
		i, err := strconv.Atoi(issue.Path[1])
		if err != nil || i < 0 {
			return nil
		}
		why := issue.Message
		if len(issue.Path) > 2 {
			why = issue.Path[2] + " " + why
		}
		inputs[i] = why
	}
	return inputs
}

// key is the Idempotency-Key of a request: the same for equal requests, and a new one for
// each repetition that replaces an answer of an earlier run.
func (e *enriching) key(q client.MatchRequest, repeat int) string {
	body, _ := json.Marshal(q) // texts and numbers
	text := fmt.Appendf(nil, "%s\n%s\n%s", e.workspace, e.ask.Dataset, body)
	if repeat > 0 {
		text = fmt.Appendf(text, "\n%d", repeat)
	}
	sum := sha256.Sum256(text)
	return "enrich-" + hex.EncodeToString(sum[:])
}

// write adds the rows of a batch to the output.
func (e *enriching) write(b batch, answers []enriched, next cursorFile) error {
	var text []byte
	if next.Rows == 0 && next.Bytes == 0 {
		text = e.input.appended(text, e.input.head, e.ask.appended())
	}
	next.Statuses = maps.Clone(next.Statuses)
	if next.Statuses == nil {
		next.Statuses = map[string]int{}
	}
	for i, row := range b.rows {
		answer := enriched{status: skippedRow}
		if b.asks[i] >= 0 {
			answer = answers[b.asks[i]]
		}
		next.Statuses[answer.status]++
		text = e.input.appended(text, row, e.cells(answer))
	}
	next.Rows += len(b.rows)
	next.Asking = 0
	if e.ended {
		text, next.Done = append(text, e.tail...), true
	}
	next.UpdatedAt = time.Now().UTC().Truncate(time.Second)
	return e.file.commit(text, next)
}

func (e *enriching) cells(answer enriched) []string {
	cells := make([]string, 3+len(e.ask.Fields))
	cells[0] = answer.status
	if answer.record == nil {
		return cells
	}
	rows := csvRows{formulas: e.ask.Formulas}
	cells[1] = strconv.FormatFloat(answer.confidence, 'f', 4, 64)
	cells[2] = rows.cell(answer.record["id"])
	for i, name := range e.ask.Fields {
		cells[3+i] = rows.cell(answer.record[name])
	}
	return cells
}
