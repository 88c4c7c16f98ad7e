package main

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
)

// exportCmd is `atlas export`.
type exportCmd struct {
	apiAccess
	searchOptions

	Format     string   `default:"ndjson" enum:"ndjson,csv" help:"ndjson, each record as it came; or csv (default: ndjson)."`
	Out        string   `required:"" type:"path" placeholder:"FILE" help:"File to write."`
	CursorFile string   `type:"path" placeholder:"FILE" help:"File that remembers how far the export is (default: the --out file's name and .cursor)."`
	Restart    bool     `help:"Begin anew, and replace what is there."`
	MaxCredits *int     `placeholder:"N" help:"Stop after this many credits, 1 or more (default: at the workspace's ceiling)."`
	Columns    []string `placeholder:"NAME,…" help:"Columns of a csv file (default: all)."`
	Formulas   bool     `help:"Write texts of a csv file that begin like a formula as they are, see below."`
}

// Help is shown below the options.
func (exportCmd) Help() string {
	return filterHelp + `

Goes to the end of a search. Whatever ends it before, kill -9 and the end of the credits included, the same command goes on where it stopped: no record is lost and none is in the file twice. Without --sort the order is that of created_at, which stays while a record changes.

In a csv file a list is written as a;b, with \ before a ; or \ of an element, an unknown value as nothing, and a text that begins with = + - @, perhaps after spaces, gets a ' before it, so that no spreadsheet runs it as a formula. Numbers are left as they are.

Status: 0 complete, 1 failed, 2 arguments make no sense, 4 stopped at a limit of credits, 130 interrupted; after 1, 4 and 130 the same command goes on.`
}

func (c *exportCmd) check() error {
	var f faults
	c.apiAccess.check(&f)
	c.searchOptions.check(&f)
	if sort, err := c.sort(); err == nil && sort != nil && sort.Field == "relevance" {
		f.add("--sort relevance moves with the data, so records would be lost or come twice: sort by a field")
	}
	if c.MaxCredits != nil && *c.MaxCredits < 1 {
		f.add("--max-credits must be 1 or more")
	}
	if c.Format != "csv" && (len(c.Columns) > 0 || c.Formulas) {
		f.add("--columns and --formulas are for --format csv")
	}
	if c.CursorFile == "" {
		c.CursorFile = c.Out + ".cursor"
	}
	if c.CursorFile == c.Out {
		f.add("--cursor-file must be another file than --out")
	}
	return f.err()
}

// exportOf says what an export is of: a cursor file goes on with nothing else.
type exportOf struct {
	Service string `json:"service"` // base URL
	// Workspace is the id of the one acted in; "" where the key may not ask for it
	// and none is named: such a key reads nothing but what is the same in all.
	Workspace  string          `json:"workspace,omitzero"`
	Dataset    string          `json:"dataset,omitzero"`
	Book       string          `json:"book,omitzero"`
	View       string          `json:"view,omitzero"`
	Definition json.RawMessage `json:"view_definition,omitzero"` // so that a file is of one
	Search     client.Search   `json:"search"`
	Format     string          `json:"format"`
	Columns    []string        `json:"columns,omitzero"`
	Formulas   bool            `json:"formulas,omitzero"`
}

// describe makes the cursor file's description of what is exported.
func (c *exportCmd) describe(ctx context.Context, api *client.Client, t target, q client.Search) (json.RawMessage, error) {
	of := exportOf{
		Service: strings.TrimRight(c.URL, "/"), Workspace: c.Workspace, Dataset: c.Dataset, Book: c.Book, View: c.View,
		Definition: t.definition, Search: q, Format: c.Format, Columns: c.Columns, Formulas: c.Formulas,
	}
	if u, err := url.Parse(of.Service); err == nil {
		u.User = nil // a password is not for a file
		of.Service = u.String()
	}
	w, err := api.Workspace(ctx)
	switch {
	case err == nil:
		of.Workspace = w.ID
	case !errors.Is(err, client.ErrForbidden):
		return nil, err
	}
	return json.Marshal(of)
}

// otherExport says how what a cursor file was written for differs from what is
// asked for; "" when it does not.
func otherExport(was, is json.RawMessage) string {
	type source struct {
		Service    string          `json:"service"`
		Workspace  string          `json:"workspace"`
		View       string          `json:"view"`
		Definition json.RawMessage `json:"view_definition"`
	}
	var before, now source
	var rest [2]map[string]json.RawMessage
	for i, raw := range []json.RawMessage{was, is} {
		if json.Unmarshal(raw, []*source{&before, &now}[i]) != nil || json.Unmarshal(raw, &rest[i]) != nil {
			return compact(was)
		}
		delete(rest[i], "workspace") // it is not always known
	}
	switch {
	case before.Service != now.Service:
		return fmt.Sprintf("it is of the service %s, not %s", before.Service, now.Service)
	case before.Workspace != now.Workspace && before.Workspace != "" && now.Workspace != "":
		return fmt.Sprintf("it is of the workspace %s, not %s", before.Workspace, now.Workspace)
	case before.View == now.View && compact(before.Definition) != compact(now.Definition):
		return fmt.Sprintf("the View has been changed since it began, from %s to %s", compact(before.Definition), compact(now.Definition))
	case !maps.EqualFunc(rest[0], rest[1], func(a, b json.RawMessage) bool { return compact(a) == compact(b) }):
		return compact(was)
	}
	return ""
}

// Run exports to the end of the search, or to the end of the credits.
func (c *exportCmd) Run(ctx context.Context, s *streams) error {
	if err := c.check(); err != nil {
		return err
	}
	shown := newExportProgress(s.err)
	api, err := c.open(shown.observe)
	if err != nil {
		return err
	}
	t, err := c.find(ctx, api)
	if err != nil {
		return apiError(s.err, err)
	}
	q, err := c.request(ctx, api, t)
	if err != nil {
		return apiError(s.err, err)
	}
	if q.Sort == nil {
		q.Sort = client.Asc("created_at")
	}
	if err := t.checkColumns(c.Columns); err != nil {
		return err
	}
	of, err := c.describe(ctx, api, t, q)
	if err != nil {
		return apiError(s.err, err)
	}
	file, err := openExport(c.Out, c.CursorFile, of, c.Restart)
	if err != nil {
		return err
	}
	defer file.close()
	e := exporting{target: t, request: q, file: file, shown: shown, rows: ndjsonRows{}}
	if c.MaxCredits != nil {
		e.maxCredits = *c.MaxCredits
	}
	if c.View != "" {
		e.unchanged = func(ctx context.Context) error {
			again, err := c.find(ctx, api)
			if err == nil && !slices.Equal(again.definition, t.definition) {
				err = errViewChanged
			}
			return err
		}
	}
	if c.Format == "csv" {
		e.rows = &csvRows{columns: c.Columns, members: t.members(), formulas: c.Formulas}
	}
	return c.finish(s, &e, e.run(ctx))
}

// finish says how an export ended and makes it the command's status.
func (c *exportCmd) finish(s *streams, e *exporting, err error) error {
	e.shown.clear()
	state := e.file.state
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(s.err, format+"\n", args...) }
	if note := e.rows.note(); note != "" {
		say("note: %s", note)
	}
	spent := fmt.Sprintf("credits: %s now, %s in all", grouped(e.spent), grouped(state.Credits))
	if e.window.Ceiling > 0 {
		spent += fmt.Sprintf(", %s left", grouped(e.window.Remaining))
	}
	const goesOn = "the same command goes on"
	out, outOfCredits := errors.AsType[*client.OutOfCreditsError](err)
	switch {
	case err == nil && e.complete:
		say("complete already: %s rows of %s in %s (--restart exports them anew)", grouped(state.Rows), e.target.name, c.Out)
	case err == nil:
		say("complete: %s rows of %s in %s; %s", grouped(state.Rows), e.target.name, c.Out, spent)
	case errors.Is(err, errBudget):
		say("stopped after %s rows at --max-credits; %s; %s", grouped(state.Rows), spent, goesOn)
		return exitError{outOfCreditsStatus}
	case outOfCredits:
		say("stopped after %s rows, the credits are used up%s; %s; %s", grouped(state.Rows), whenBack(out), spent, goesOn)
		return exitError{outOfCreditsStatus}
	case errors.Is(err, errViewChanged):
		say("stopped after %s rows, the View was changed meanwhile; %s; --restart exports it as it is now", grouped(state.Rows), spent)
		return exitError{1}
	case errors.Is(err, context.Canceled):
		say("interrupted after %s rows; %s; %s", grouped(state.Rows), spent, goesOn)
		return exitError{interruptedStatus}
	case errors.Is(err, client.ErrBadRequest) && state.SearchAfter != "":
		say("after %s rows the service does not know the cursor of %s any more; --restart exports anew", grouped(state.Rows), c.CursorFile)
		return apiError(s.err, err)
	case errors.Is(err, client.ErrInvalidInput):
		return apiError(s.err, err)
	default:
		say("stopped after %s rows; %s; %s", grouped(state.Rows), spent, goesOn)
		return apiError(s.err, err)
	}
	return nil
}

// exporting is one run of an export.
type exporting struct {
	target     target
	request    client.Search
	file       *exportFile
	rows       rowFormat
	shown      *exportProgress
	maxCredits int // of this run; 0: no limit
	// unchanged tells whether a View still is what the file has rows of; nil
	// elsewhere.
	unchanged func(context.Context) error

	spent    int
	window   client.Window
	complete bool // before this run
}

// rowFormat writes records. begin is called once, before a new file's first
// records, and returns what stands before them; goOn instead, with what begin
// had decided, when the file has rows already.
type rowFormat interface {
	begin(first []json.RawMessage) (head []byte, columns []string, err error)
	goOn(columns []string)
	append(b []byte, record json.RawMessage) ([]byte, error)
	note() string
}

var (
	errBudget      = errors.New("the credits that this run may spend are spent")
	errViewChanged = errors.New("the View was changed")
)

// run fetches page after page; each is in the file, and the file in step with
// its cursor, before the next is asked for.
func (e *exporting) run(ctx context.Context) error {
	state := &e.file.state
	if state.Done {
		e.complete = true
		return nil
	}
	if state.Bytes > 0 {
		e.rows.goOn(state.Columns)
	}
	e.shown.begin(state.Rows)
	for {
		q := e.request
		q.SearchAfter, q.Limit = state.SearchAfter, client.MaxPage
		if e.maxCredits > 0 {
			if q.Limit = min(q.Limit, e.maxCredits-e.spent); q.Limit <= 0 {
				return errBudget
			}
		}
		page, err := e.target.source.Search(ctx, q)
		if err != nil {
			return err
		}
		if page.Next != "" && page.Next == q.SearchAfter {
			return errors.New("the service answered the same cursor again")
		}
		e.spent, e.window = e.spent+page.Credits, page.Window
		if e.unchanged != nil {
			// A cursor does not notice another definition: after the page, so that it is
			// known to be of this one.
			if err := e.unchanged(ctx); err != nil {
				return err
			}
		}
		if err := e.write(page); err != nil {
			return err
		}
		e.shown.page(state.Rows, e.spent, page)
		if state.Done {
			return nil
		}
	}
}

// write puts a page into the file.
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

// ndjsonRows writes records as the bytes that came, one a line.
type ndjsonRows struct{}

func (ndjsonRows) begin([]json.RawMessage) ([]byte, []string, error) { return nil, nil, nil }
func (ndjsonRows) goOn([]string)                                     {}
func (ndjsonRows) note() string                                      { return "" }

func (ndjsonRows) append(b []byte, record json.RawMessage) ([]byte, error) {
	// JSON has no line break but between its tokens, and there it means nothing.
	for _, c := range record {
		if c != '\n' && c != '\r' {
			b = append(b, c)
		}
	}
	return append(b, '\n'), nil
}
