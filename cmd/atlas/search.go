package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"atlas/client"
)

// searchCmd is `atlas search`.
type searchCmd struct {
	apiAccess
	searchOptions

	Limit   int      `default:"25" help:"Records to show, 1 to 10000 (default: 25). Each costs a credit."`
	JSON    bool     `name:"json" help:"Print records as they come, one JSON object a line, instead of a table."`
	Columns []string `placeholder:"NAME,…" help:"Columns of the table."`
}

// Help is shown below the options.
func (searchCmd) Help() string {
	return filterHelp + `

Status: 0 searched (perhaps without a find), 1 failed, 2 arguments make no sense, 4 the credits are used up.`
}

const maxShownRecords = 10_000

func (c *searchCmd) check() error {
	var f faults
	c.apiAccess.check(&f)
	c.searchOptions.check(&f)
	if c.Limit < 1 || c.Limit > maxShownRecords {
		f.add("--limit must be 1 to %d", maxShownRecords)
	}
	return f.err()
}

// Run searches and prints what is found.
func (c *searchCmd) Run(ctx context.Context, s *streams) error {
	if err := c.check(); err != nil {
		return err
	}
	api, err := c.open(nil)
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
	if err := t.checkColumns(c.Columns); err != nil {
		return err
	}
	found, err := gather(ctx, t, q, c.Limit)
	if err == nil || len(found.records) > 0 { // what was paid for is shown, whatever came after
		if printErr := c.print(s, t, found.records); printErr != nil {
			return printErr
		}
	}
	if err != nil {
		return apiError(s.err, err)
	}
	total := grouped(found.total)
	if found.capped {
		total = "more than " + total
	}
	_, _ = fmt.Fprintf(s.err, "%s of %s %s, credits: %s, left: %s\n",
		grouped(len(found.records)), total, t.name, grouped(found.credits), grouped(found.window.Remaining))
	return nil
}

// found is what a search came to.
type found struct {
	records []json.RawMessage
	total   int
	capped  bool
	credits int
	window  client.Window
}

// gather fetches pages up to a number of records, the last page no larger than
// is wanted: every record is paid for.
func gather(ctx context.Context, t target, q client.Search, limit int) (found, error) {
	var f found
	for {
		q.Limit = min(client.MaxPage, limit-len(f.records))
		page, err := t.source.Search(ctx, q)
		if err != nil {
			return f, err
		}
		f.records = append(f.records, page.Records...)
		f.credits += page.Credits
		f.total, f.capped, f.window = page.Total, page.TotalIsCapped, page.Window
		if q.SearchAfter = page.Next; page.Next == "" || len(f.records) >= limit {
			return f, nil
		}
	}
}

func (c *searchCmd) print(s *streams, t target, records []json.RawMessage) error {
	if c.JSON {
		for _, r := range records {
			if _, err := fmt.Fprintf(s.out, "%s\n", r); err != nil {
				return err
			}
		}
		return nil
	}
	columns := c.Columns
	if len(columns) == 0 {
		columns = t.shown()
	}
	rows := make([][]string, len(records))
	for i, r := range records {
		members, err := membersOf(r)
		if err != nil {
			return err
		}
		for _, name := range columns {
			rows[i] = append(rows[i], shownCell(members[name]))
		}
	}
	return printTable(s.out, strings.ToUpper(strings.Join(columns, " ")), rows)
}

// shown are the columns of the table: what tells records apart at a glance.
func (t target) shown() []string {
	glance := []string{"id", "signal_type", "title", "name", "project_name", "email", "account_name", "city", "stage", "account_types", "icp_tier",
		"atlas_score", "workspace_status", "tags", "cost", "projects_count", "last_signal_at", "occurred_at"}
	own := t.members()
	return slices.DeleteFunc(glance, func(name string) bool { return !slices.Contains(own, name) })
}

// membersOf splits a record into the bytes of its members.
func membersOf(record json.RawMessage) (map[string]json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(record, &members); err != nil {
		return nil, fmt.Errorf("the service answered a record that is no JSON object: %w", err)
	}
	return members, nil
}

// maxShownCell is where a cell of the table is cut, in characters.
const maxShownCell = 44

// shownCell is a value on a terminal: on one line, cut, and without characters
// that would steer the terminal, for anybody may have written it.
func shownCell(raw json.RawMessage) string {
	text := strings.TrimSuffix(plainText(raw, ", "), "T00:00:00.000Z")
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > maxShownCell {
		text = string(runes[:maxShownCell-1]) + "…"
	}
	if text == "" {
		return "-"
	}
	return text
}

// plainText is a JSON value as text: a string's characters, a list's elements
// joined, nothing for null, and the JSON of everything else, numbers with the
// digits they came with.
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
