package search

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"atlas/client"
	"atlas/cmd/internal/cli"
)

// mostNamed is the maximum number of named firms, and of named people, of a row.
const mostNamed = 3

// nameOptions request the names of the firms and people whose ids a row has.
type nameOptions struct {
	Names bool `help:"Write also account_names and contact_names, the names of the first three firms and people of a row; with --columns or --fields those of them that these list. A firm or person costs a credit, once a run; a run that ends while it reads names pays for that page of rows again."`
}

// namings are the members for names, and the ids that they name.
var namings = []naming{
	{"account_names", "account_ids", client.DatasetAccounts},
	{"contact_names", "contact_ids", client.DatasetContacts},
}

type naming struct {
	name, ids string
	dataset   client.DatasetName
}

func (o nameOptions) Check(f *cli.Problems, of conditions, join bool, columns []string) {
	if !o.Names {
		return
	}
	if join {
		f.Add("--names is not for --join, which has the records")
	}
	for _, dataset := range []string{of.Dataset, of.Book} {
		if dataset == "accounts" || dataset == "contacts" {
			f.Add("--names is for projects and signals: %s have no ids of firms and people", dataset)
		}
	}
	if len(columns) > 0 && !slices.ContainsFunc(namings, func(n naming) bool { return slices.Contains(columns, n.name) }) {
		f.Add("--names: neither account_names nor contact_names is among the columns")
	}
}

// named is a target whose rows have the name columns among columns; without columns, all
// possible ones.
func (t target) named(c *client.Client, columns []string) (target, error) {
	s := &nameSource{pages: t.source, members: t.members()}
	fields := fieldsOf(t.record)
	for _, column := range namings {
		if !slices.Contains(t.choice(), column.ids) || len(columns) > 0 && !slices.Contains(columns, column.name) {
			continue
		}
		s.columns = append(s.columns, nameColumn{
			name: column.name, ids: column.ids, records: c.Dataset(column.dataset), known: map[string]*string{},
		})
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("F%d", len(fields)), Type: reflect.TypeFor[[]string](),
			Tag: reflect.StructTag(fmt.Sprintf(`json:%q`, column.name)),
		})
	}
	if len(s.columns) == 0 {
		return t, cli.ConfigError{"--names: " + t.name + " have no ids of firms or people to name"}
	}
	t.source, t.record = s, reflect.StructOf(fields)
	t.each += mostNamed * len(s.columns)
	t.atMost = s.atMost
	return t, nil
}

// fieldsOf are the fields of a record, with names of a struct that reflect makes.
func fieldsOf(record reflect.Type) []reflect.StructField {
	var fields []reflect.StructField
	for field := range record.Fields() {
		if field.Tag.Get("json") != "-" {
			fields = append(fields, reflect.StructField{
				Name: fmt.Sprintf("F%d", len(fields)), Type: field.Type, Tag: field.Tag,
			})
		}
	}
	return fields
}

// nameSource are rows with the names of their firms and people.
type nameSource struct {
	pages
	members []string // of a row for which no fields were requested
	columns []nameColumn
}

type nameColumn struct {
	name, ids string
	records   *client.Dataset[json.RawMessage]
	known     map[string]*string // by id; nil: the record does not exist
	count     int                // number of records
}

// atMost is the maximum price of rows and their names: no record is read twice.
func (s *nameSource) atMost(rows int) int {
	most := rows
	for _, c := range s.columns {
		most += min(mostNamed*rows, c.count)
	}
	return most
}

func (s *nameSource) Cost(ctx context.Context, q client.Search) (client.Cost, error) {
	for i, c := range s.columns {
		all, err := c.records.Cost(ctx, client.Search{Limit: 1})
		if err != nil {
			return client.Cost{}, err
		}
		s.columns[i].count = all.Count
	}
	return s.pages.Cost(ctx, s.withIDs(q))
}

// withIDs requests the ids instead of the names.
func (s *nameSource) withIDs(q client.Search) client.Search {
	fields := slices.Clone(q.Fields)
	if len(fields) == 0 {
		fields = slices.Clone(s.members)
	}
	missing := false
	for _, c := range s.columns {
		fields = slices.DeleteFunc(fields, func(name string) bool { return name == c.name })
		if !slices.Contains(fields, c.ids) {
			fields, missing = append(fields, c.ids), true
		}
	}
	if len(q.Fields) > 0 || missing {
		q.Fields = fields
	}
	return q
}

func (s *nameSource) Search(ctx context.Context, q client.Search) (*client.Page[json.RawMessage], error) {
	page, err := s.pages.Search(ctx, s.withIDs(q))
	if err != nil {
		return page, err
	}
	for _, c := range s.columns {
		spent, err := c.read(ctx, page.Records)
		if err != nil {
			return nil, err
		}
		page.Credits += spent
		page.Window.Used += spent
		page.Window.Remaining = max(page.Window.Remaining-spent, 0)
		for i, record := range page.Records {
			if page.Records[i], err = c.add(record); err != nil {
				return nil, err
			}
		}
	}
	return page, nil
}

// idsIn are the ids of a row that are named.
func (c nameColumn) idsIn(record json.RawMessage) ([]string, error) {
	members, err := membersOf(record)
	if err != nil {
		return nil, err
	}
	var ids []string
	if raw := members[c.ids]; raw != nil {
		if err := json.Unmarshal(raw, &ids); err != nil {
			return nil, err
		}
	}
	return ids[:min(len(ids), mostNamed)], nil
}

// read reads the names that rows need and that are not known yet. It returns the credits.
func (c nameColumn) read(ctx context.Context, rows []json.RawMessage) (credits int, err error) {
	var wanted []string
	for _, row := range rows {
		ids, err := c.idsIn(row)
		if err != nil {
			return 0, err
		}
		for _, id := range ids {
			if _, known := c.known[id]; !known {
				c.known[id] = nil
				wanted = append(wanted, id)
			}
		}
	}
	for ids := range slices.Chunk(wanted, client.MaxBatch) {
		found, err := c.records.GetAll(ctx, ids, client.Shown{Fields: []string{"name"}})
		if err != nil {
			return 0, err
		}
		for i, item := range found.Items {
			if item.Err != nil {
				continue
			}
			var record struct{ Name string }
			if err := json.Unmarshal(item.Data, &record); err != nil {
				return 0, err
			}
			c.known[ids[i]] = &record.Name
			credits++
		}
	}
	return credits, nil
}

// add appends the names to a row.
func (c nameColumn) add(row json.RawMessage) (json.RawMessage, error) {
	ids, err := c.idsIn(row)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, id := range ids {
		if name := c.known[id]; name != nil {
			names = append(names, *name)
		}
	}
	added, err := json.Marshal(map[string][]string{c.name: names})
	if err != nil {
		return nil, err
	}
	own, _ := strings.CutSuffix(strings.TrimSpace(string(row)), "}")
	return json.RawMessage(own + "," + string(added[1:])), nil
}
