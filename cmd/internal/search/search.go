package search

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"atlas/client"
	"atlas/cmd/internal/cli"
)

// Search is `atlas search`.
type Search struct {
	apiAccess
	searchOptions

	Output string `enum:"table,json,csv,parquet" default:"table" help:"Form of what is printed: table, json, csv, parquet (default: table)."`
	JSON   bool   `name:"json" help:"The same as --output json."`

	Limit   int      `default:"25" help:"Records to show, 1 to 10000 (default: 25). Each costs a credit."`
	DryRun  bool     `name:"dry-run" help:"Print how many records match and what the search would cost, and charge nothing."`
	Explain bool     `help:"Print how --query is read and what raises a record, and charge nothing."`
	Columns []string `placeholder:"NAME,…" help:"Columns of the table."`
	Fields  []string `placeholder:"NAME,…" help:"Members of the records to fetch, beside the id (default: all; of --book and --view some of the record's)."`
	Batch   string   `placeholder:"FILE" help:"Run the searches of an NDJSON file (- is standard input), many in a request, and print the result of each as a line."`
}

// Help is shown below the options.
func (Search) Help() string {
	return filterHelp + `

With --batch each line of the file is a search request as docs/api.md has it, with "dataset",
"book" or "view_id" beside it: {"dataset":"projects","query":"garage","limit":5}

Status: 0 searched (perhaps without a find), 1 failed, 2 arguments make no sense, 4 the credits are used up.`
}

const maxShownRecords = 10_000

// AfterApply sets JSON to match Output.
func (c *Search) AfterApply() error {
	as := cli.Output{Output: c.Output, JSON: c.JSON}
	err := as.AfterApply()
	c.Output, c.JSON = as.Output, as.JSON
	return err
}

func (c *Search) Check() error {
	var f cli.Problems
	c.apiAccess.Check(&f)
	if c.Batch != "" {
		if c.Dataset+c.Book+c.View+c.Query+c.Sort != "" ||
			len(c.Filter)+len(c.Any)+len(c.None)+len(c.Columns)+len(c.Fields) > 0 || c.Typos || c.DryRun || c.Explain {
			f.Add("--batch takes all of a search from the lines of the file: leave out DATASET and the other options")
		}
		return f.Err()
	}
	c.searchOptions.Check(&f)
	if c.Limit < 1 || c.Limit > maxShownRecords {
		f.Add("--limit must be 1 to %d", maxShownRecords)
	}
	checkAmong(&f, c.Columns, c.Fields)
	if c.Explain && c.Query == "" {
		f.Add("--explain needs --query")
	}
	return f.Err()
}

// Run searches and prints the records.
func (c *Search) Run(ctx context.Context, s *cli.Streams) error {
	if c.Output == "parquet" && cli.IsTerminal(s.Out) {
		return errors.New("--output parquet writes a file that is none for a terminal: > FILE.parquet")
	}
	api, err := c.open((&exportProgress{to: s.Err}).observe)
	if err != nil {
		return err
	}
	if c.Batch != "" {
		return c.runBatches(ctx, api, s)
	}
	t, q, err := c.resolve(ctx, api, c.Columns, c.Fields)
	if err != nil {
		return apiError(s.Err, err)
	}
	if c.Explain {
		return c.printExplanation(ctx, s, t, q)
	}
	if c.DryRun {
		return c.printCost(ctx, s, t, q)
	}
	q.Highlight = q.Query != "" && c.Output == "table" && marksShown(s.Out)
	found, err := gather(ctx, t, q, c.Limit)
	if err == nil && len(found.records) == 0 && found.didYouMean != "" && c.Output == "table" {
		_, _ = fmt.Fprintf(s.Err, "nothing for %q; this is for %q:\n", q.Query, found.didYouMean)
		q.Query = found.didYouMean
		found, err = gather(ctx, t, q, c.Limit)
	}
	if err == nil || len(found.records) > 0 { // print paid records, whatever failed later
		if printErr := c.print(s, t, found); printErr != nil {
			return printErr
		}
	}
	if err != nil {
		return apiError(s.Err, err)
	}
	total := cli.Grouped(found.total)
	if found.capped {
		total = "more than " + total
	}
	_, _ = fmt.Fprintf(s.Err, "%s of %s %s, credits: %s, left: %s\n",
		cli.Grouped(len(found.records)), total, t.name, cli.Grouped(found.credits), cli.Grouped(found.window.Remaining))
	for _, hint := range found.hints {
		_, _ = fmt.Fprintln(s.Err, hint)
	}
	if found.missing != nil {
		_, _ = fmt.Fprintf(s.Err, "no record that meets the other conditions has %s\n", strings.Join(found.missing, ", "))
	}
	if found.didYouMean != "" {
		_, _ = fmt.Fprintf(s.Err, "did you mean %q?\n", found.didYouMean)
	}
	return nil
}

// printCost prints what the search would cost.
func (c *Search) printCost(ctx context.Context, s *cli.Streams, t target, q client.Search) error {
	q.Limit = 1
	cost, err := t.source.Cost(ctx, q)
	if err != nil {
		return apiError(s.Err, err)
	}
	cost.Credits = min(c.Limit, cost.Count)
	if c.JSON {
		return json.NewEncoder(s.Out).Encode(cost)
	}
	_, err = fmt.Fprintf(s.Out, "%s %s match; this search would cost %s credits\n", cli.Grouped(cost.Count), t.name, cli.Grouped(cost.Credits))
	return err
}

// printExplanation prints how the query is read.
func (c *Search) printExplanation(ctx context.Context, s *cli.Streams, t target, q client.Search) error {
	explanation, err := t.source.Explain(ctx, q)
	if err != nil {
		return apiError(s.Err, err)
	}
	if c.JSON {
		return json.NewEncoder(s.Out).Encode(explanation)
	}
	for _, sentence := range explanation.Sentences {
		if _, err := fmt.Fprintln(s.Out, sentence); err != nil {
			return err
		}
	}
	var rows [][]string
	for _, w := range explanation.Weights {
		rows = append(rows, []string{fmt.Sprint(w.Score), w.For})
	}
	if rows == nil {
		return nil
	}
	return cli.PrintTable(s.Out, "SCORE FOR", rows)
}

// found is the result of a search.
type found struct {
	records []json.RawMessage
	// highlights are what matches, by record.
	highlights map[string]client.Highlight
	total      int
	capped     bool
	credits    int
	window     client.Window
	// didYouMean is a query that finds records, if this one found none.
	didYouMean string
	// missing are the words of the query that no record has.
	missing, hints []string
}

// gather fetches pages up to limit records. The last page is no larger than
// needed: every record costs a credit.
func gather(ctx context.Context, t target, q client.Search, limit int) (found, error) {
	var f found
	for {
		q.Limit = min(client.MaxPage, limit-len(f.records))
		page, err := t.source.Search(ctx, q)
		if err != nil {
			return f, err
		}
		f.records = append(f.records, page.Records...)
		for _, h := range page.Highlights {
			if f.highlights == nil {
				f.highlights = map[string]client.Highlight{}
			}
			f.highlights[h.ID] = h
		}
		f.credits += page.Credits
		f.total, f.capped, f.window = page.Total, page.TotalIsCapped, page.Window
		f.didYouMean, f.missing, f.hints = page.DidYouMean, page.Missing, page.Hints
		if q.SearchAfter = page.Next; page.Next == "" || len(f.records) >= limit {
			return f, nil
		}
	}
}

func (c *Search) print(s *cli.Streams, t target, f found) error {
	records := f.records
	if c.JSON {
		for _, r := range records {
			if _, err := fmt.Fprintf(s.Out, "%s\n", r); err != nil {
				return err
			}
		}
		return nil
	}
	columns := c.Columns
	switch {
	case len(columns) > 0:
	case len(c.Fields) > 0:
		columns = c.Fields
	case c.Output == "csv", c.Output == "parquet": // as atlas export writes it
	default:
		columns = t.shown()
	}
	if c.Output == "csv" {
		return printCSV(s.Out, &csvRows{columns: columns, members: t.members()}, records)
	}
	if c.Output == "parquet" {
		var lines bytes.Buffer
		for _, r := range records {
			lines.Write(r)
			lines.WriteByte('\n')
		}
		return parquetFile{columns: columns, record: t.record}.print(s.Out, bytes.NewReader(lines.Bytes()), func(int) {})
	}
	rows := make([][]marked, len(records))
	for i, r := range records {
		members, err := membersOf(r)
		if err != nil {
			return err
		}
		for _, name := range columns {
			rows[i] = append(rows[i], marked{shownCell(members[name]), f.highlights[plainText(members["id"], "")].Fields[name]})
		}
	}
	return printMarked(s.Out, strings.ToUpper(strings.Join(columns, " ")), rows)
}

// printCSV prints records as atlas export writes them.
func printCSV(to io.Writer, rows *csvRows, records []json.RawMessage) error {
	text, _, err := rows.begin(records)
	for i := 0; i < len(records) && err == nil; i++ {
		text, err = rows.append(text, records[i])
	}
	if err != nil {
		return err
	}
	_, err = to.Write(text)
	return err
}

// shown are the default columns of the table.
func (t target) shown() []string {
	glance := []string{
		"id", "signal_type", "title", "name", "project_name", "email", "account_name", "city", "stage", "account_types",
		"icp_tier",
		"atlas_score", "workspace_status", "tags", "cost", "projects_count", "last_signal_at", "occurred_at",
	}
	own := t.members()
	return slices.DeleteFunc(glance, func(name string) bool { return !slices.Contains(own, name) })
}

// membersOf splits a record into its fields.
func membersOf(record json.RawMessage) (map[string]json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(record, &members); err != nil {
		return nil, fmt.Errorf("the service answered a record that is no JSON object: %w", err)
	}
	return members, nil
}

// shownCell formats a value for a terminal.
func shownCell(raw json.RawMessage) string {
	return cli.ShownText(strings.TrimSuffix(plainText(raw, ", "), "T00:00:00.000Z"))
}

// plainText formats a JSON value: the characters of a string, the joined elements of a
// list, "" for null, and the JSON text of anything else, so that numbers retain their
// digits.
func plainText(raw json.RawMessage, separator string) string {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return ""
	case raw[0] == '"':
		var s string
		if json.Unmarshal(raw, &s) == nil {
			return s
		}
	case raw[0] == '[':
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) == nil {
			texts := make([]string, len(list))
			for i, element := range list {
				texts[i] = plainText(element, separator)
			}
			return strings.Join(texts, separator)
		}
	}
	return string(raw)
}
