package search

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"atlas/client"
	"atlas/cmd/internal/cli"
	"atlas/internal/input"
	"atlas/workspace"
)

// conditions say what to search and for what.
type conditions struct {
	Dataset string   `arg:"" optional:"" default:"" enum:",accounts,contacts,projects,signals" help:"Global dataset: accounts, contacts, projects, signals."`
	Book    string   `default:"" enum:",accounts,contacts,projects" placeholder:"DATASET" help:"Search the workspace's book of accounts, contacts or projects instead."`
	View    string   `placeholder:"ID" help:"Search a View instead."`
	Query   string   `short:"q" help:"Text all of whose terms must occur in a record."`
	Words   string   `enum:"forms,exact" default:"forms" help:"How --query is read: forms (default) finds words also in other forms and as synonyms, and knows \"…\", OR, - and *; exact finds what is typed."`
	Typos   bool     `help:"Let terms of --query match similar ones: one edit away from 4 characters, two from 8."`
	Filter  []string `short:"f" sep:"none" placeholder:"KEY=VALUE" help:"Condition; may be repeated, see above."`
	Any     []string `sep:"none" placeholder:"GROUP" help:"Conditions of which one --any must be met; may be repeated, see above."`
	None    []string `sep:"none" placeholder:"GROUP" help:"Conditions of which no --none may be met; may be repeated, see above."`

	join  joinOptions // of an export
	flat  bool        // its rows
	names nameOptions
	// columns are those of the file of an export, nil for all.
	columns []string
}

// searchOptions hold conditions and an order.
type searchOptions struct {
	conditions
	Sort string `placeholder:"FIELD[:desc]" help:"Order."`
}

// filterHelp is the help of commands with conditions.
const filterHelp = `Conditions must all be met:
  stage=permitted           a value; repeated for the same key, any of them
  name=garage               terms of a text; name==garage is the whole text
  cost=1000..50000          a range of numbers or dates; one end may be left out
  detected_at=now-90d..     a relative date: today, now, now-30d (or h, w, M, y), 2026-Q1, in UTC
  location=51.04,-114.07,2km            near a point: latitude, longitude, radius in m or km
  location=50.84..51.21,-114.3..-113.9  within a box: south..north,west..east
  'location=51.0,-114.1 51.0,-114.0 51.1,-114.0'  within a polygon: latitude,longitude of its corners
  has_signal.stage=filed    a related record; all conditions on one relation meet in one record
  without_project           no related record
  '{"stage":{"value":"permitted"}}'   filters and relations as docs/api.md has them
  '{"cost":{"known":false}}'          whether there is a value
--any and --none take a group in the same forms: one condition, or several as JSON.
Keys and their values: POST /data/fields/search.`

func (o searchOptions) Check(f *cli.Problems) {
	o.conditions.Check(f)
	if _, err := o.sort(); err != nil {
		f.Add("--sort %v", err)
	}
}

func (o conditions) Check(f *cli.Problems) {
	given := 0
	for _, s := range []string{o.Dataset, o.Book, o.View} {
		if s != "" {
			given++
		}
	}
	switch {
	case given == 0:
		f.Add("say what to read: DATASET, such as accounts, or --book or --view")
	case given > 1:
		f.Add("give only one of DATASET, --book and --view")
	}
	if _, err := workspace.ParseUUID(o.View); o.View != "" && err != nil {
		f.Add("--view must be the id of a View, %s, and not its name: GET /workspace/views lists the ids", input.UUIDText)
	}
}

func (o searchOptions) sort() (*client.Sort, error) {
	field, order, ok := strings.Cut(o.Sort, ":")
	switch {
	case o.Sort == "":
		return nil, nil
	case !ok && strings.ContainsAny(field, "-, "):
		order = "asc"
		if strings.HasPrefix(field, "-") || strings.Contains(field, "desc") {
			order = "desc"
		}
		field, _, _ = strings.Cut(strings.NewReplacer("-", "", ",", " ").Replace(field), " ")
		return nil, fmt.Errorf("is FIELD or FIELD:desc, such as %s:%s", field, order)
	case !ok:
		return client.Asc(field), nil
	case order != "asc" && order != "desc":
		return nil, fmt.Errorf("must be FIELD, FIELD:asc or FIELD:desc%s", input.DidYouMean("; ", order, []string{"asc", "desc"}, ""))
	}
	return &client.Sort{Field: field, Order: client.Order(order)}, nil
}

// pages is a target that is searched page by page.
type pages interface {
	Search(ctx context.Context, q client.Search) (*client.Page[json.RawMessage], error)
	Cost(ctx context.Context, q client.Search) (client.Cost, error)
	Explain(ctx context.Context, q client.Search) (*client.Explanation, error)
	Facets(ctx context.Context, q client.FacetRequest) (client.Facets, error)
	Pivot(ctx context.Context, q client.PivotRequest) (client.Pivot, error)
}

// target is what is searched.
type target struct {
	source pages
	// each is the maximum price of a row, and most the maximum number of rows of a page.
	each, most int
	// atMost is the maximum price of the given number of rows; nil: each row costs up to
	// each.
	atMost func(rows int) int
	// name is for messages: "accounts", "accounts of the book", "records of the View".
	name string
	// fields is the dataset whose field descriptions apply.
	fields client.DatasetName
	record reflect.Type
	// definition is that of a View when it was read; nil for others.
	definition json.RawMessage
}

// resolve finds the target, builds the search and checks the columns and fields. Some
// columns exist only on request; their request depends on the columns.
func (o searchOptions) resolve(ctx context.Context, c *client.Client, columns, fields []string) (target, client.Search, error) {
	t, err := o.find(ctx, c)
	if err != nil {
		return t, client.Search{}, err
	}
	q, err := o.request(t.described(ctx, c))
	if err != nil {
		return t, q, err
	}
	if q.Sort, err = o.sort(); err != nil {
		return t, q, err
	}
	if q.Sort != nil && q.Sort.Field != "relevance" {
		if err := t.checkNear("--sort", q.Sort.Field, t.described(ctx, c)); err != nil {
			return t, q, err
		}
	}
	for _, name := range fields {
		if err := t.checkNear("--fields", name, t.described(ctx, c)); err != nil {
			return t, q, err
		}
	}
	if q.Fields = fields; len(fields) == 0 &&
		slices.ContainsFunc(columns, func(name string) bool { return !slices.Contains(t.members(), name) }) {
		q.Fields = columns
	}
	return t, q, t.checkColumns(columns)
}

// checkAmong refuses columns that are not among fields.
func checkAmong(f *cli.Problems, columns, fields []string) {
	for _, name := range columns {
		if len(fields) > 0 && name != "id" && !slices.Contains(fields, name) {
			f.Add("--columns: %q is not among --fields", name)
		}
	}
}

// checkNear refuses the misspelt name of a known field before calling the service. Other
// unknown names are left to the service, which may be newer.
func (t target) checkNear(option, name string, describe func() ([]client.Field, error)) error {
	known := t.choice()
	if slices.Contains(known, name) || input.Nearest(name, known) == "" {
		return nil
	}
	fields, err := describe()
	if err != nil || slices.ContainsFunc(fields, func(f client.Field) bool { return f.Key == name }) {
		return err
	}
	return cli.ConfigError{fmt.Sprintf("%s: there is no field %s%s", option, name, input.DidYouMean("; ", name, known, ""))}
}

// find resolves the target. It reads a View for its dataset, which is free.
func (o conditions) find(ctx context.Context, c *client.Client) (target, error) {
	t, err := o.findRecords(ctx, c)
	t.each, t.most = 1, client.MaxPage
	if err == nil && o.join.Join {
		t = t.joined(c, o.join, o.Book != "", o.flat)
	}
	if err == nil && o.names.Names {
		t, err = t.named(c, o.columns)
	}
	return t, err
}

func (o conditions) findRecords(ctx context.Context, c *client.Client) (target, error) {
	switch {
	case o.Book != "":
		return target{
			source: &c.Book.Dataset(client.DatasetName(o.Book)).Source, name: o.Book + " of the book",
			fields: client.DatasetName("workspace_" + o.Book), record: bookRecords[o.Book],
		}, nil
	case o.View != "":
		v, err := c.Views.Get(ctx, o.View)
		if err != nil {
			return target{}, err
		}
		definition, err := json.Marshal(v.Definition)
		return target{
			source: c.Views.Records(v.ID), name: fmt.Sprintf("%ss of the View %q", v.Dataset, v.Name),
			fields: client.DatasetName("workspace_" + v.Dataset + "s"), record: viewRecords[string(v.Dataset)], definition: definition,
		}, err
	}
	return target{
		source: &c.Dataset(client.DatasetName(o.Dataset)).Source, name: o.Dataset,
		fields: client.DatasetName(o.Dataset), record: dataRecords[o.Dataset],
	}, nil
}

var (
	dataRecords = map[string]reflect.Type{
		"accounts": reflect.TypeFor[client.Account](), "contacts": reflect.TypeFor[client.Contact](),
		"projects": reflect.TypeFor[client.Project](), "signals": reflect.TypeFor[client.Signal](),
	}
	bookRecords = map[string]reflect.Type{
		"accounts": reflect.TypeFor[client.BookAccount](), "contacts": reflect.TypeFor[client.BookContact](),
		"projects": reflect.TypeFor[client.BookProject](),
	}
	viewRecords = map[string]reflect.Type{
		"account": reflect.TypeFor[client.ViewAccount](), "contact": reflect.TypeFor[client.ViewContact](),
		"project": reflect.TypeFor[client.ViewProject](),
	}
)

// members are the names of a record's fields, in order, without those that must be
// requested.
func (t target) members() []string { return members(t.record) }

func members(record reflect.Type) []string {
	return namesOf(record, func(_ reflect.Type, options string) bool { return options == "" })
}

// choice are the names of the fields that a search can request: all but what only an
// include adds.
func (t target) choice() []string {
	return namesOf(t.record, func(of reflect.Type, _ string) bool { return !embeds(of) })
}

// embeds reports whether the values of a field are related records.
func embeds(of reflect.Type) bool {
	return (of.Kind() == reflect.Slice || of.Kind() == reflect.Pointer) && of.Elem().Kind() == reflect.Struct
}

// namesOf are the names of the fields of a record for which is returns true.
func namesOf(record reflect.Type, is func(of reflect.Type, options string) bool) []string {
	var names []string
	for field := range record.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "-" && is(field.Type, options) {
			names = append(names, name)
		}
	}
	return names
}

// checkColumns rejects columns that no record has.
func (t target) checkColumns(names []string) error {
	var f cli.Problems
	for _, name := range names {
		if all := t.choice(); !slices.Contains(all, name) {
			f.Add("--columns: %s have no %q%s; they have %s", t.name, name, input.DidYouMean(" (", name, all, ")"), strings.Join(all, ", "))
		}
	}
	return f.Err()
}

// described returns a function that reads the fields of the target, once.
func (t target) described(ctx context.Context, c *client.Client) func() ([]client.Field, error) {
	return sync.OnceValues(func() ([]client.Field, error) {
		found, _, err := c.Fields.Search(ctx, client.FieldSearch{Dataset: t.fields})
		return found, err
	})
}

// request builds the search from the conditions, without an order and a page.
func (o conditions) request(describe func() ([]client.Field, error)) (client.Search, error) {
	q := client.Search{Query: o.Query}
	if o.Words == "exact" {
		q.Words = client.WordsExact
	}
	if o.Typos {
		q.Typos = "auto"
	}
	var err error
	if q.Filters, q.Relations, err = parseFilters(o.Filter, describe); err != nil {
		return q, err
	}
	if q.Any, err = parseGroups(o.Any, describe); err != nil {
		return q, err
	}
	q.None, err = parseGroups(o.None, describe)
	return q, err
}
