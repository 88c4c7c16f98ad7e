package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"atlas/client"
	"atlas/cmd/internal/cli"
)

// Enrich is `atlas enrich`.
type Enrich struct {
	apiAccess
	creditLimit

	File          string   `arg:"" type:"existingfile" placeholder:"FILE.csv" help:"CSV file in UTF-8 with a header, separated by commas, semicolons, tabs or |."`
	Dataset       string   `default:"accounts" enum:"accounts,contacts" help:"What the rows are: accounts (firms) or contacts (persons) (default: accounts)."`
	Column        []string `sep:"none" placeholder:"MEMBER=HEADER" help:"Column with the name, domain, email, phone, city or state; may be repeated, see above."`
	Fields        []string `default:"name" placeholder:"NAME,…" help:"Fields of the record to append (default: name)."`
	MinConfidence float64  `default:"0.8" help:"No record below this confidence is taken, 0 to 1 (default: 0.8)."`
	Prefix        string   `default:"atlas_" help:"What the names of the appended columns begin with (default: atlas_)."`
	Out           string   `required:"" type:"path" placeholder:"FILE" help:"File to write, also with .gz or .zst; - is the standard output."`
	CursorFile    string   `type:"path" placeholder:"FILE" help:"File that remembers how far it is (default: the --out file's name and .cursor)."`
	Restart       bool     `help:"Begin anew, and replace what is there."`
	Formulas      bool     `help:"Append texts that begin like a formula as they are, see above."`
	Yes           bool     `short:"y" help:"Do not ask before more than 1,000 credits."`
	JSON          bool     `name:"json" help:"Print a summary as JSON."`

	packing string // as in an Export
}

// Help is shown below the options.
func (Enrich) Help() string {
	return `Finds the record of each row by name, domain, e-mail address, phone number, city and state, and appends its columns: atlas_status (matched, ambiguous, no_match, refused by the service, or skipped: nothing to find it by), atlas_confidence, atlas_id, and --fields. The rows, their order and every byte of them stay.

Columns are found by usual headers. --column name=Firm names one, --column name=#3 the third, --column name= none; several of one member are joined: --column name=First --column name=Last.

Each record that is appended costs a credit, that of an ambiguous row included: look at the status. Equal rows near each other are asked for once. The command says the highest price first; on a terminal it asks before it spends more than 1,000 credits.

Whatever ends it before, kill -9 and the end of the credits included, the same command goes on where it stopped. What was found in the last 24 hours, also by a run whose output is lost, is not charged again, and found as it was then. Rows without a record are looked for anew.

Appended texts that begin with = + - @, perhaps after spaces, get a ' before it, so that no spreadsheet runs them as a formula.

Status: 0 complete, 1 failed, 2 arguments make no sense, 4 stopped at a limit of credits, 130 interrupted; after 1, 4 and 130 the same command goes on.`
}

func (c *Enrich) Check() error {
	var f cli.Problems
	c.apiAccess.Check(&f)
	c.creditLimit.Check(&f)
	for _, pair := range c.Column {
		checkColumnOption(&f, pair)
	}
	if !(c.MinConfidence >= 0 && c.MinConfidence <= 1) { // false for NaN
		f.Add("--min-confidence must be 0 to 1, not %v", c.MinConfidence)
	}
	var name string
	name, c.packing = packingOf(filepath.Base(c.Out))
	switch format := endings[filepath.Ext(name)]; {
	case c.Out == stdout && (c.CursorFile != "" || c.Restart):
		f.Add("--cursor-file and --restart are for files: what went to the standard output cannot go on")
	case c.Out == stdout && c.JSON:
		f.Add("--json and --out - both write to the standard output: give one")
	case c.Out != stdout && (format != "" && format != "csv" || slices.Contains(workbooks, strings.ToLower(filepath.Ext(name)))):
		f.Add("--out: %s is not the name of a CSV file, such as list.csv", filepath.Base(c.Out))
	}
	if c.CursorFile == "" && c.Out != stdout {
		c.CursorFile = c.Out + ".cursor"
	}
	if sameFile(c.Out, c.File) || sameFile(c.Out, c.CursorFile) || sameFile(c.CursorFile, c.File) {
		f.Add("FILE, --out and --cursor-file must be three different files")
	}
	return f.Err()
}

// workbooks are file extensions of spreadsheets that are not CSV.
var workbooks = []string{".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".numbers"}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, other := os.Stat(b)
	return a != "" && a == b || err == nil && other == nil && os.SameFile(x, y)
}

// enrichmentOf identifies an enrichment. A cursor file continues only the same one.
type enrichmentOf struct {
	place
	Input         string        `json:"input"` // SHA-256 of the file
	Dataset       string        `json:"dataset"`
	Columns       chosenColumns `json:"columns"`
	Fields        []string      `json:"fields"`
	MinConfidence float64       `json:"min_confidence"`
	Prefix        string        `json:"prefix"`
	Formulas      bool          `json:"formulas,omitzero"`
	Packing       string        `json:"compression,omitzero"`
}

// Run enriches to the end of the file or of the credits.
func (c *Enrich) Run(ctx context.Context, s *cli.Streams) error {
	shown := newExportProgress(s.Err)
	api, err := c.open(shown.observe)
	if err != nil {
		return err
	}
	in, err := openCSV(c.File)
	if err != nil {
		return err
	}
	defer in.file.Close() //nolint:errcheck // only read
	e := enriching{budget: c.budget(), input: in, shown: shown, dataset: api.Matchable(client.DatasetName(c.Dataset)), ask: *c}
	if e.columns, err = chooseColumns(in.header, c.Column, c.Dataset); err != nil {
		return err
	}
	if err := c.checkFields(ctx, api, in.header); err != nil {
		return apiError(s.Err, err)
	}
	if err := e.count(ctx); err != nil {
		return err
	}
	at, err := c.place(ctx, api)
	if err != nil {
		return apiError(s.Err, err)
	}
	if e.workspace = at.Workspace; e.workspace != "" {
		// The workspace is always in the request, named or not, because the idempotency key
		// is computed from it.
		e.dataset = api.In(e.workspace).Matchable(client.DatasetName(c.Dataset))
	}
	e.sum = in.sum()
	of, err := json.Marshal(enrichmentOf{at, e.sum, c.Dataset, e.columns, c.Fields, c.MinConfidence, c.Prefix, c.Formulas, c.packing})
	if err != nil {
		return err
	}
	if e.file, err = openOutput("enrichment", s.Out, c.Out, c.CursorFile, of, c.Restart); err != nil {
		return err
	}
	defer e.file.close()
	e.file.pack = packings[c.packing]
	if !e.file.state.Done {
		err = e.price(ctx, s.Err)
	}
	if err == nil {
		err = e.run(ctx)
	}
	return c.finish(s, &e, err)
}

// checkFields refuses misspelt --fields, and columns that the file already has.
func (c *Enrich) checkFields(ctx context.Context, api *client.Client, header []string) error {
	t := target{fields: client.DatasetName(c.Dataset), record: dataRecords[c.Dataset]}
	for _, name := range c.Fields {
		if err := t.checkNear("--fields", name, t.described(ctx, api)); err != nil {
			return err
		}
	}
	var f cli.Problems
	for i, name := range c.appended() {
		if slices.Contains(header, name) || slices.Contains(c.appended()[:i], name) {
			f.Add("the file has a column %q already: give another --prefix or other --fields", name)
		}
	}
	return f.Err()
}

// appended are the headers of the columns.
func (c *Enrich) appended() []string {
	names := []string{c.Prefix + "status", c.Prefix + "confidence", c.Prefix + "id"}
	for _, name := range c.Fields {
		names = append(names, c.Prefix+name)
	}
	return names
}

// enrichmentSummary is what --json prints.
type enrichmentSummary struct {
	Out      string `json:"out"`
	Complete bool   `json:"complete"`
	// Rows counts the rows written in all runs, Of the rows of the file.
	Rows     int            `json:"rows"`
	Of       int            `json:"of"`
	Statuses map[string]int `json:"statuses"`
	// Credits are those of this run, CreditsInAll of all runs.
	Credits      int      `json:"credits"`
	CreditsInAll int      `json:"credits_in_all"`
	Refused      []string `json:"refused,omitempty"`
}

// finish prints how the run ended and returns its exit status.
func (c *Enrich) finish(s *cli.Streams, e *enriching, err error) error {
	e.shown.clear()
	state := e.file.state
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(s.Err, format+"\n", args...) }
	for _, why := range e.refused {
		say("note: %s", why)
	}
	if c.JSON {
		if err := cli.PrintJSON(s.Out, enrichmentSummary{
			c.Out, state.Done, state.Rows, e.rows, state.Statuses, e.spent, state.Credits, e.refused,
		}); err != nil {
			return err
		}
	}
	done, spent := cli.Grouped(state.Rows)+" rows", e.spending(state.Credits)
	var parts []string
	for _, status := range []string{"matched", "ambiguous", "no_match", refusedRow, skippedRow} {
		if n := state.Statuses[status]; n > 0 {
			parts = append(parts, cli.Grouped(n)+" "+status)
		}
	}
	if len(parts) > 0 {
		done += " (" + strings.Join(parts, ", ") + ")"
	}
	switch {
	case err == nil && e.complete:
		say("complete already: %s in %s (--restart enriches them anew)", done, c.Out)
	case err == nil:
		say("complete: %s in %s; %s", done, shownOut(c.Out), spent)
	case errors.Is(err, errDeclined):
		say("nothing was asked")
		return cli.ExitError(1)
	case c.Out == stdout:
		return stoppedForGood(s.Err, err, done, spent)
	default:
		return stopped(s.Err, err, done, spent)
	}
	return nil
}
