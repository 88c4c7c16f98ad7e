package search

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"atlas/client"
	"atlas/cmd/internal/cli"
)

// recordsJoined is the maximum number of records of a row of a join.
const recordsJoined = 3

// joinOptions request a project and a person with each account.
type joinOptions struct {
	Join      bool   `help:"Of accounts, also with --book: write with each account a project that meets has_project, and the person whom one calls first, as project_… and contact_…. A row costs 1 to 3 credits."`
	ProjectBy string `placeholder:"NAME" help:"With --join: the number of which the project has the highest value (default: cost)."`
}

func (o joinOptions) Check(f *cli.Problems, of conditions) {
	switch {
	case o.Join && of.Dataset != "accounts" && of.Book != "accounts":
		f.Add("--join is for accounts and --book accounts")
	case !o.Join && o.ProjectBy != "":
		f.Add("--project-by is for --join")
	}
}

// joined is a target of accounts with their joined records. flat means that its records are
// objects of all members, as in tables.
func (t target) joined(c *client.Client, o joinOptions, book, flat bool) target {
	t.source = joinSource{t.source, c.JoinRows(book), o.ProjectBy, flat}
	t.record = joinRecord(t.record)
	t.each, t.most = recordsJoined, client.MaxJoinRows
	return t
}

// Prefixes of the members of a flat row.
const (
	ofProject = "project_"
	ofContact = "contact_"
)

// joinRecord is the type of the flat rows of accounts.
func joinRecord(account reflect.Type) reflect.Type {
	var fields []reflect.StructField
	add := func(prefix string, record reflect.Type) {
		for field := range record.Fields() {
			name, options, found := strings.Cut(field.Tag.Get("json"), ",")
			if name == "-" || embeds(field.Type) {
				continue
			}
			tag := prefix + name
			if found {
				tag += "," + options
			}
			fields = append(fields, reflect.StructField{
				Name: fmt.Sprintf("F%d", len(fields)), Type: field.Type,
				Tag: reflect.StructTag(fmt.Sprintf(`json:%q`, tag)),
			})
		}
	}
	add("", account)
	add(ofProject, reflect.TypeFor[client.Project]())
	add(ofContact, reflect.TypeFor[client.Contact]())
	return reflect.StructOf(fields)
}

// joinSource has accounts with their joined records. Fields of its searches are members of
// flat rows.
type joinSource struct {
	pages     // of the accounts alone
	joins     *client.Joins[json.RawMessage]
	projectBy string
	flat      bool
}

func (s joinSource) join(q client.Search) client.Join {
	j := client.Join{Search: q, ProjectBy: s.projectBy}
	if len(q.Fields) == 0 {
		return j
	}
	j.Fields, j.ProjectFields, j.ContactFields = []string{"id"}, []string{"id"}, []string{"id"}
	for _, name := range q.Fields {
		if own, is := strings.CutPrefix(name, ofProject); is {
			j.ProjectFields = append(j.ProjectFields, own)
		} else if own, is := strings.CutPrefix(name, ofContact); is {
			j.ContactFields = append(j.ContactFields, own)
		} else {
			j.Fields = append(j.Fields, name)
		}
	}
	return j
}

func (s joinSource) Search(ctx context.Context, q client.Search) (*client.Page[json.RawMessage], error) {
	page, err := s.joins.Page(ctx, s.join(q))
	if err != nil || !s.flat {
		return page, err
	}
	for i, row := range page.Records {
		if page.Records[i], err = flatRow(row); err != nil {
			return nil, err
		}
	}
	return page, nil
}

func (s joinSource) Cost(ctx context.Context, q client.Search) (client.Cost, error) {
	return s.joins.Cost(ctx, s.join(q))
}

// flatRow is a row as one object.
func flatRow(row json.RawMessage) (json.RawMessage, error) {
	parts, err := membersOf(row)
	if err != nil {
		return nil, err
	}
	all := map[string]json.RawMessage{}
	for name, prefix := range map[string]string{"account": "", "project": ofProject, "contact": ofContact} {
		if string(parts[name]) == "null" {
			continue
		}
		members, err := membersOf(parts[name])
		if err != nil {
			return nil, err
		}
		for member, value := range members {
			all[prefix+member] = value
		}
	}
	return json.Marshal(all)
}
