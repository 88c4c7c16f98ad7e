package api

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/internal/schema"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/service/endpoint"
	"atlas/workspace"
	"atlas/workspace/book"
)

const joinText = "Each firm of a search comes with a project, the one with the highest `project_by` of those that meet `has_project`, and with the person whom one calls first: " +
	"by role owner, executive, developer, project_manager, estimator, then all others; then by the latest update, then by id. Each is null if there is none. " +
	"1 credit for each record returned, so at most 3 for a row. `search_after` is a cursor of the firms, as in their search."

// joinRoute is a join of the accounts of a base. row is the schema of an account.
func joinRoute(
	r endpoint.Route, base catalog.BaseKind, row *schema.Schema, summary string, examples []endpoint.Example,
	handle func(*endpoint.Call, query.Join) (endpoint.Reply, error),
) endpoint.Route {
	r.Method, r.Throttling, r.Budget = "POST", endpoint.Metered, endpoint.Budget{
		Places: endpoint.PlacesSearchBatch,
		Rows:   rowsSearch,
		Heap:   512,
	}
	r.Endpoint = endpoint.Takes(query.JoinRule(base), handle)
	r.Doc.Summary, r.Doc.Text, r.Doc.Examples, r.Doc.DryRun = summary, joinText, examples, dryRunAnswer
	r.Doc.Data = schema.Array(row, 0, query.MaxJoinLimit)
	r.Doc.Metadata = endpoint.PageMetadataSchema
	return r
}

// joinRow is a row of a join.
func joinRow(name string, account *schema.Schema) *schema.Schema {
	return schema.Named(name, schema.Object(
		schema.Required("account", account),
		schema.Required("project", schema.Nullable(recordSchema(catalog.Projects))),
		schema.Required("contact", schema.Nullable(recordSchema(catalog.Contacts))),
	))
}

func (s searches) joinRoutes() []endpoint.Route {
	return []endpoint.Route{
		joinRoute(
			endpoint.Route{
				Path: "/data/accounts/join", Operation: "join_accounts", Scope: workspace.DataRead,
				WorkspaceRequired: true, Doc: endpoint.Doc{Tag: tagData},
			},
			catalog.Data, joinRow("AccountJoinRow", recordSchema(catalog.Accounts)), "Firms, each with a project and a person",
			[]endpoint.Example{{
				Name: "builders", Summary: "Builders of apartments, with their dearest such project",
				Body: []byte(
					`{"filters":{"account_type":{"value":"general_contractor"}},"relations":{"has_project":{"primary_use":{"value":"multifamily"}}},"fields":["name","phone"],"project_fields":["name","cost"],"contact_fields":["name","role","email"],"limit":10}`,
				),
			}},
			func(c *endpoint.Call, j query.Join) (endpoint.Reply, error) {
				return s.join(c, s.dataSearch(j.Query), j)
			},
		),
		joinRoute(
			endpoint.Route{
				Path: "/workspace/accounts/join", Operation: "join_workspace_accounts", Scope: workspace.WorkspaceRead,
				Also: workspace.DataRead, Doc: endpoint.Doc{Tag: tagBook},
			},
			catalog.Book,
			joinRow("WorkspaceAccountJoinRow", bookRow(catalog.Accounts)),
			"Firms of the book, each with a project and a person",
			[]endpoint.Example{{
				Name: "tagged", Summary: "Those with a tag, with their largest project",
				Body: []byte(`{"filters":{"tags":{"value":"priority"}},"project_by":"sqft"}`),
			}},
			func(c *endpoint.Call, j query.Join) (endpoint.Reply, error) {
				return s.join(c, s.bookSearch(c, j.Query), j)
			},
		),
	}
}

// join answers the accounts that s finds, with the records that j joins to them.
func (s searches) join(c *endpoint.Call, f searching, j query.Join) (endpoint.Reply, error) {
	return s.answerPage(c, f, query.RecordsJoined,
		func(ctx context.Context) (endpoint.Reply, int, error) { return s.joinPage(c, ctx, f, j) },
		func(ctx context.Context, stored endpoint.StoredPage) (endpoint.Reply, error) {
			return s.replayJoin(c, ctx, f, j, stored)
		},
	)
}

// joinPage is the page of a join, and its number of records.
func (s searches) joinPage(c *endpoint.Call, ctx context.Context, f searching, j query.Join) (endpoint.Reply, int, error) {
	p, err := f.find(ctx, f.q)
	if err != nil {
		return endpoint.Reply{}, 0, err
	}
	ids, err := book.RecordIDs(p.Rows)
	if err != nil {
		return endpoint.Reply{}, 0, err
	}
	joined, err := s.Search.Join(ctx, j, endpoint.IDTexts(ids))
	if err != nil {
		return endpoint.Reply{}, 0, err
	}
	if p.Rows, err = joinRows(j, p.Rows, joined); err != nil {
		return endpoint.Reply{}, 0, err
	}
	p = p.Within(j.MaxBytes)
	records, stored := 0, make([]uuid.UUID, 0, len(p.Rows)*query.RecordsJoined)
	for i := range p.Rows {
		for _, record := range []jsontext.Value{joined[i].Project, joined[i].Contact} {
			if record != nil {
				records++
			}
		}
		records++
		own, err := idsOf(joined[i])
		if err != nil {
			return endpoint.Reply{}, 0, err
		}
		stored = append(append(stored, ids[i]), own[:]...)
	}
	m := c.MetadataOf(f.q, p)
	m.Credits = int64(records)
	return endpoint.Reply{Data: endpoint.RecordsOf(p), Metadata: m}, records, c.Store(m.Free(), "", stored)
}

// joinRows returns a row for each account with its joined records.
func joinRows(j query.Join, accounts []jsontext.Value, joined []search.Joined) ([]jsontext.Value, error) {
	rows := make([]jsontext.Value, len(accounts))
	for i, account := range accounts {
		row := jsontext.Value(`{`)
		for _, part := range []struct {
			name   string
			record jsontext.Value
			fields catalog.FieldSet
		}{{"account", account, j.Fields}, {"project", joined[i].Project, j.ProjectFields}, {"contact", joined[i].Contact, j.ContactFields}} {
			record := jsontext.Value("null")
			if part.record != nil {
				var err error
				if record, err = part.fields.Select(part.record); err != nil {
					return nil, err
				}
			}
			if len(row) > 1 {
				row = append(row, ',')
			}
			row = append(append(row, `"`+part.name+`":`...), record...)
		}
		rows[i] = append(row, '}')
	}
	return rows, nil
}

// idsOf returns the ids of a project and a contact, uuid.Nil for none.
func idsOf(j search.Joined) (ids [query.RecordsJoined - 1]uuid.UUID, err error) {
	for i, record := range []jsontext.Value{j.Project, j.Contact} {
		if record == nil {
			continue
		}
		own, err := book.RecordIDs([]jsontext.Value{record})
		if err != nil {
			return ids, err
		}
		ids[i] = own[0]
	}
	return ids, nil
}

// replayJoin is the page of a replay: the accounts of the first answer, each with the project
// and contact that it had there, as they are now.
func (s searches) replayJoin(
	c *endpoint.Call,
	ctx context.Context,
	f searching,
	j query.Join,
	stored endpoint.StoredPage,
) (endpoint.Reply, error) {
	var accounts, projects, contacts []uuid.UUID
	for i := 0; i+query.RecordsJoined <= len(stored.IDs); i += query.RecordsJoined {
		accounts, projects, contacts = append(accounts, stored.IDs[i]), append(projects, stored.IDs[i+1]), append(contacts, stored.IDs[i+2])
	}
	if len(accounts) == 0 {
		return endpoint.Reply{Data: endpoint.Records{}, Metadata: stored.Metadata}, nil
	}
	p, err := f.find(ctx, f.q.Among(endpoint.IDTexts(accounts)))
	if err != nil {
		return endpoint.Reply{}, err
	}
	found, err := endpoint.RowsByID(p.Rows)
	if err != nil {
		return endpoint.Reply{}, err
	}
	of := [query.RecordsJoined - 1]map[string]jsontext.Value{}
	for i, d := range []catalog.Dataset{catalog.Projects, catalog.Contacts} {
		if of[i], err = s.Search.GetBatch(ctx, d, known([][]uuid.UUID{projects, contacts}[i]), nil); err != nil {
			return endpoint.Reply{}, err
		}
	}
	var rows []jsontext.Value
	var joined []search.Joined
	var there []string
	for i, id := range accounts {
		if row, is := found[id]; is {
			rows, there = append(rows, row), append(there, id.String())
			joined = append(joined, search.Joined{Project: of[0][projects[i].String()], Contact: of[1][contacts[i].String()]})
		}
	}
	if rows, err = joinRows(j, rows, joined); err != nil {
		return endpoint.Reply{}, err
	}
	fit := query.Page{Rows: rows, After: func(int) string { return "" }}.Within(j.MaxBytes).Rows
	metadata, err := stored.LeavingOut(there[len(fit):])
	return endpoint.Reply{Data: endpoint.Records(fit), Metadata: metadata}, err
}

// known returns the distinct ids other than uuid.Nil.
func known(ids []uuid.UUID) []string {
	var all []uuid.UUID
	for _, id := range ids {
		if id != uuid.Nil && !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	return endpoint.IDTexts(all)
}
