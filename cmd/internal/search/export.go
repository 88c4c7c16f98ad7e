package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"atlas/client"
	"atlas/cmd/internal/cli"
)

// Export is `atlas export`.
type Export struct {
	apiAccess
	searchOptions
	joinOptions
	nameOptions
	creditLimit

	Format     string   `default:"" enum:",ndjson,csv,parquet" help:"ndjson, each record as it came; csv; or parquet (default: by the ending of the file, else ndjson)."`
	Out        string   `required:"" type:"path" placeholder:"FILE" help:"File to write: .ndjson, .csv, also with .gz or .zst, or .parquet; - is the standard output."`
	CursorFile string   `type:"path" placeholder:"FILE" help:"File that remembers how far the export is (default: the --out file's name and .cursor)."`
	Restart    bool     `help:"Begin anew, and replace what is there."`
	Columns    []string `placeholder:"NAME,…" help:"Columns of a csv or parquet file (default: those of --fields, else all)."`
	Fields     []string `placeholder:"NAME,…" help:"Members of the records to fetch, beside the id (default: all; of --book and --view some of the record's)."`
	Formulas   bool     `help:"Write texts of a csv file that begin like a formula as they are, see above."`
	BOM        bool     `help:"Begin a csv file with a byte order mark, by which Excel knows that it is UTF-8."`
	Yes        bool     `short:"y" help:"Do not ask before more than 1,000 credits."`

	packing string // the extension of a compressed file, or ""
}

// Help is shown below the options.
func (Export) Help() string {
	return filterHelp + `

Goes to the end of a search. Whatever ends it before, kill -9 and the end of the credits included, the same command goes on where it stopped: no record is lost and none is in the file twice. Without --sort the order is that of created_at, which stays while a record changes.

On a terminal it asks before it spends more than 1,000 credits, and shows percent and remaining time. What goes to the standard output (--out -) cannot go on after an end.

In a csv file a list is written as a;b, with \ before a ; or \ of an element, an unknown value as nothing, and a text that begins with = + - @, perhaps after spaces, gets a ' before it, so that no spreadsheet runs it as a formula. Numbers are left as they are. Excel takes a csv file for UTF-8 if it begins with a byte order mark: --bom.

A parquet file has the types of the records: texts, lists of texts, 64-bit integers, doubles and times in UTC with milliseconds; an unknown value is null. It is compressed with zstd. While the export goes on, its rows are in FILE.ndjson.

Status: 0 complete, 1 failed, 2 arguments make no sense, 4 stopped at a limit of credits, 130 interrupted; after 1, 4 and 130 the same command goes on.`
}

func (c *Export) Check() error {
	var f cli.Problems
	c.apiAccess.Check(&f)
	c.searchOptions.Check(&f)
	if sort, err := c.sort(); err == nil && sort != nil && sort.Field == "relevance" {
		f.Add("--sort relevance moves with the data, so records would be lost or come twice: sort by a field")
	}
	c.creditLimit.Check(&f)
	c.joinOptions.Check(&f, c.conditions)
	c.resolveFormat(&f)
	if c.Format == "ndjson" && len(c.Columns) > 0 {
		f.Add("--columns is for --format csv and parquet")
	}
	checkAmong(&f, c.Columns, c.Fields)
	if c.Format != "csv" && c.Formulas {
		f.Add("--formulas is for --format csv")
	}
	if c.Format != "csv" && c.BOM {
		f.Add("--bom is for --format csv")
	}
	c.nameOptions.Check(&f, c.conditions, c.Join, c.columns())
	c.join, c.flat = c.joinOptions, c.Format != "ndjson"
	c.names, c.conditions.columns = c.nameOptions, c.columns()
	if c.CursorFile == "" && c.Out != stdout {
		c.CursorFile = c.Out + ".cursor"
	}
	if c.CursorFile == c.Out || c.Format == "parquet" && c.CursorFile == spoolOf(c.Out) {
		f.Add("--cursor-file must be another file than --out, and than FILE.ndjson of a Parquet file")
	}
	return f.Err()
}

// place is the service and workspace that a command reads.
type place struct {
	Service string `json:"service"` // base URL
	// Workspace is the id of the workspace; "" when none is given and the key may not read
	// its own, so that it only reads global data.
	Workspace string `json:"workspace,omitzero"`
}

// exportOf identifies an export. A cursor file continues only the same one.
type exportOf struct {
	place
	Dataset    string          `json:"dataset,omitzero"`
	Book       string          `json:"book,omitzero"`
	View       string          `json:"view,omitzero"`
	Definition json.RawMessage `json:"view_definition,omitzero"` // an export ends when it changes
	Join       bool            `json:"join,omitzero"`
	ProjectBy  string          `json:"project_by,omitzero"`
	Names      bool            `json:"names,omitzero"`
	Search     client.Search   `json:"search"`
	Format     string          `json:"format,omitzero"`
	Columns    []string        `json:"columns,omitzero"`
	Formulas   bool            `json:"formulas,omitzero"`
	BOM        bool            `json:"bom,omitzero"`
	Packing    string          `json:"compression,omitzero"` // ".gz" or ".zst"
}

// place requests the workspace of the key.
func (a apiAccess) place(ctx context.Context, api *client.Client) (place, error) {
	at := place{strings.TrimRight(a.URL, "/"), a.Workspace}
	if u, err := url.Parse(at.Service); err == nil {
		u.User = nil // no password in the file
		at.Service = u.String()
	}
	w, err := api.Workspace(ctx)
	switch {
	case err == nil:
		at.Workspace = w.ID
	case !errors.Is(err, client.ErrForbidden):
		return at, err
	}
	return at, nil
}

// describe adds the place to an exportOf, and returns it as JSON.
func (a apiAccess) describe(ctx context.Context, api *client.Client, of exportOf) (json.RawMessage, error) {
	at, err := a.place(ctx, api)
	if err != nil {
		return nil, err
	}
	of.place = at
	return json.Marshal(of)
}

// otherExport describes how a cursor file's export differs from the requested
// one; "" when they are equal.
func otherExport(was, is json.RawMessage) string {
	type source struct {
		Service    string          `json:"service"`
		Workspace  string          `json:"workspace"`
		View       string          `json:"view"`
		Definition json.RawMessage `json:"view_definition"`
		Input      string          `json:"input"`
	}
	var before, now source
	var rest [2]map[string]json.RawMessage
	for i, raw := range []json.RawMessage{was, is} {
		if json.Unmarshal(raw, []*source{&before, &now}[i]) != nil || json.Unmarshal(raw, &rest[i]) != nil {
			return compact(was)
		}
		delete(rest[i], "workspace") // it is not always known, and compared below
	}
	switch {
	case before.Service != now.Service:
		return fmt.Sprintf("it is of the service %s, not %s", before.Service, now.Service)
	case before.Workspace != now.Workspace && before.Workspace != "" && now.Workspace != "":
		return fmt.Sprintf("it is of the workspace %s, not %s", before.Workspace, now.Workspace)
	case before.View == now.View && compact(before.Definition) != compact(now.Definition):
		return fmt.Sprintf("the View has been changed since it began, from %s to %s", compact(before.Definition), compact(now.Definition))
	case before.Input != now.Input:
		return "the file that is read has been changed since it began"
	case !maps.EqualFunc(rest[0], rest[1], func(a, b json.RawMessage) bool { return compact(a) == compact(b) }):
		return compact(was)
	}
	return ""
}

// Run exports to the end of the search or of the credits.
func (c *Export) Run(ctx context.Context, s *cli.Streams) error {
	shown := newExportProgress(s.Err)
	api, err := c.open(shown.observe)
	if err != nil {
		return err
	}
	t, q, err := c.resolve(ctx, api, c.Columns, c.Fields)
	if err != nil {
		return apiError(s.Err, err)
	}
	if q.Sort == nil {
		q.Sort = client.Asc("created_at")
	}
	of, err := c.describe(ctx, api, exportOf{
		Dataset: c.Dataset, Book: c.Book, View: c.View, Definition: t.definition,
		Join: c.Join, ProjectBy: c.ProjectBy, Names: c.Names, Search: q, Format: c.Format, Columns: c.Columns, Formulas: c.Formulas,
		BOM: c.BOM, Packing: c.packing,
	})
	if err != nil {
		return apiError(s.Err, err)
	}
	rows := c.Out
	if c.Format == "parquet" {
		rows = spoolOf(c.Out)
		if err := c.mayReplace(); err != nil {
			return err
		}
	}
	file, err := openOutput("export", s.Out, rows, c.CursorFile, of, c.Restart)
	if err != nil {
		return err
	}
	defer file.close()
	file.pack = packings[c.packing]
	e := exporting{target: t, request: q, file: file, shown: shown, rows: ndjsonRows{}, budget: c.budget()}
	if c.View != "" {
		e.unchanged = func(ctx context.Context) error {
			current, err := c.find(ctx, api)
			if err == nil && !slices.Equal(current.definition, t.definition) {
				err = errViewChanged
			}
			return err
		}
	}
	if c.Format == "csv" {
		e.rows = &csvRows{columns: c.columns(), members: t.members(), formulas: c.Formulas, bom: c.BOM}
	}
	if !file.state.Done {
		err = e.price(ctx, c.Yes)
	}
	if err == nil {
		err = e.run(ctx)
	}
	if err == nil && c.Format == "parquet" {
		err = c.convert(&e)
	}
	return c.finish(s, &e, err)
}

// columns are those of the file, nil for all.
func (c *Export) columns() []string {
	if len(c.Columns) > 0 {
		return c.Columns
	}
	return c.Fields
}

// finish prints how the export ended and returns its exit status.
func (c *Export) finish(s *cli.Streams, e *exporting, err error) error {
	e.shown.clear()
	state := e.file.state
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(s.Err, format+"\n", args...) }
	if note := e.rows.note(); note != "" {
		say("note: %s", note)
	}
	spent, rows := e.spending(state.Credits), cli.Grouped(state.Rows)+" rows"
	out := shownOut(c.Out)
	switch {
	case err == nil && e.complete:
		say("complete already: %s rows of %s in %s (--restart exports them anew)", cli.Grouped(state.Rows), e.target.name, out)
	case err == nil:
		say("complete: %s rows of %s in %s; %s", cli.Grouped(state.Rows), e.target.name, out, spent)
	case errors.Is(err, errDeclined):
		say("nothing was read")
		return cli.ExitError(1)
	case errors.Is(err, errViewChanged):
		say("stopped after %s rows, the View was changed meanwhile; %s; --restart exports it as it is now", cli.Grouped(state.Rows), spent)
		return cli.ExitError(1)
	case errors.Is(err, client.ErrBadRequest) && state.SearchAfter != "":
		say("after %s rows the service does not know the cursor of %s any more; --restart exports anew", cli.Grouped(state.Rows), c.CursorFile)
		return apiError(s.Err, err)
	case c.Out == stdout:
		return stoppedForGood(s.Err, err, rows, spent)
	default:
		return stopped(s.Err, err, rows, spent)
	}
	return nil
}

// price finds the number of rows, which is free, and asks for confirmation on a terminal
// before credits are spent for the missing ones.
func (e *exporting) price(ctx context.Context, yes bool) error {
	q := e.request
	q.Limit = 1
	cost, err := e.target.source.Cost(ctx, q)
	if err != nil {
		return err
	}
	e.shown.expect(cost.Count)
	left := max(cost.Count-e.file.state.Rows, 0)
	credits := left * e.target.each
	if e.target.atMost != nil {
		credits = e.target.atMost(left)
	}
	if e.most > 0 {
		credits = min(credits, e.most)
	}
	return e.shown.agree(
		ctx, credits, yes,
		fmt.Sprintf("exporting %s %s costs %s%s credits\n", cli.Grouped(cost.Count), e.target.name, upTo(e.target.each), cli.Grouped(credits)),
	)
}

// upTo says that a row can cost less than each.
func upTo(each int) string {
	if each > 1 {
		return "up to "
	}
	return ""
}

// exporting is one run of an export.
type exporting struct {
	budget
	target  target
	request client.Search
	file    *exportFile
	rows    rowFormat
	shown   *exportProgress
	// unchanged returns errViewChanged when the definition of the View has
	// changed; nil for other searches.
	unchanged func(context.Context) error

	complete bool // already before this run
}

// rowFormat formats records. begin is called once, before the first records of a new file,
// and returns the header and the columns. resume replaces it when the file already has
// rows, and takes those columns.
type rowFormat interface {
	begin(first []json.RawMessage) (head []byte, columns []string, err error)
	resume(columns []string)
	append(b []byte, record json.RawMessage) ([]byte, error)
	note() string
}

var errViewChanged = errors.New("the View was changed")

// run fetches pages. It writes each page and its cursor before it requests the
// next.
func (e *exporting) run(ctx context.Context) error {
	state := &e.file.state
	if state.Done {
		e.complete = true
		return nil
	}
	if state.Bytes > 0 {
		e.rows.resume(state.Columns)
	}
	e.shown.begin(state.Rows)
	for {
		page, err := e.search(ctx, e.target, e.request, state.SearchAfter)
		if err != nil {
			return err
		}
		if e.unchanged != nil {
			// A cursor does not depend on the definition, so the definition is checked
			// after the page: then the page belongs to it.
			if err := e.unchanged(ctx); err != nil {
				return err
			}
		}
		if err := e.write(page); err != nil {
			return err
		}
		e.shown.page(state.Rows, e.spent, page.Window)
		if state.Done {
			return nil
		}
	}
}

// write adds a page to the file.
func (e *exporting) write(page *client.Page[json.RawMessage]) error {
	next := e.file.state
	var b []byte
	if next.Bytes == 0 {
		var err error
		if b, next.Columns, err = e.rows.begin(page.Records); err != nil {
			return err
		}
	}
	for _, record := range page.Records {
		var err error
		if b, err = e.rows.append(b, record); err != nil {
			return err
		}
	}
	next.Rows += len(page.Records)
	next.Credits += page.Credits
	next.SearchAfter, next.Done = page.Next, page.Next == ""
	next.UpdatedAt = time.Now().UTC().Truncate(time.Second)
	return e.file.commit(b, next)
}

// ndjsonRows writes records as received, one per line.
type ndjsonRows struct{}

func (ndjsonRows) begin([]json.RawMessage) ([]byte, []string, error) { return nil, nil, nil }
func (ndjsonRows) resume([]string)                                   {}
func (ndjsonRows) note() string                                      { return "" }

func (ndjsonRows) append(b []byte, record json.RawMessage) ([]byte, error) {
	// Line breaks in JSON occur only between tokens and can be removed.
	for _, c := range record {
		if c != '\n' && c != '\r' {
			b = append(b, c)
		}
	}
	return append(b, '\n'), nil
}
