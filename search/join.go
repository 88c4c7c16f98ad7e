package search

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/search/catalog"
	"atlas/search/query"
)

// Joined has the project and the contact of an account in a join. Each is nil if there is
// none.
type Joined struct{ Project, Contact jsontext.Value }

// Join finds, for each of the accounts, the project and the contact that j selects
// (docs/api.md, "Join"), as in the global dataset. Errors: InvalidInput for a circle with
// too many records at its border; Unavailable.
func (e *Engine) Join(ctx context.Context, j query.Join, accounts []string) ([]Joined, error) {
	link, _ := catalog.FieldNamed(catalog.Projects, "account_ids")
	all := make([]Joined, 0, len(accounts))
	for some := range slices.Chunk(accounts, relatedAtOnce/2) {
		projects := make([]query.Query, len(some))
		for i, id := range some {
			projects[i] = query.Query{
				Dataset: catalog.Projects, Where: append(query.All{query.Terms{Field: &link, Values: []string{id}}}, j.ProjectConditions()...),
				Sort: query.Sort{Field: j.ProjectBy, Desc: true},
			} // no rows, and one more as for a page
		}
		joined, err := inFoldings(ctx, e, false, projects, func(folded []query.Query) ([]Joined, error) {
			return e.joinSome(ctx, folded, some)
		})
		if err != nil {
			return nil, err
		}
		all = append(all, joined...)
	}
	return all, nil
}

// joinSome finds the first project of each search and the contact of each account, in one
// round trip.
func (e *Engine) joinSome(ctx context.Context, projects []query.Query, accounts []string) ([]Joined, error) {
	projects, err := e.prepared(ctx, false, projects...)
	if err != nil {
		return nil, err
	}
	searches := make([]request, 0, 2*len(accounts))
	for i, id := range accounts {
		searches = append(searches, e.request(projects[i], options{}), e.global(catalog.Contacts, compileFirstContact(id)))
	}
	found, err := e.multi(ctx, searches...)
	if err != nil {
		return nil, err
	}
	joined := make([]Joined, len(accounts))
	for i := range joined {
		joined[i] = Joined{firstRow(found[2*i]), firstRow(found[2*i+1])}
	}
	return joined, nil
}

func firstRow(r result) jsontext.Value {
	if len(r.rows) == 0 {
		return nil
	}
	return r.rows[0].source
}

// compileFirstContact is the search for the first contact of an account: by the position of
// the role in query.JoinRoles, which is the score, then by the latest update, then by id.
func compileFirstContact(account string) []byte {
	link, _ := catalog.FieldNamed(catalog.Contacts, "account_id")
	role, _ := catalog.FieldNamed(catalog.Contacts, "role")
	updated, _ := catalog.FieldNamed(catalog.Contacts, "updated_at")
	c := newCompiler(1024)
	c.raw(`{"query":{"bool":{"filter":[`)
	query.Terms{Field: &link, Values: []string{account}}.Accept(c)
	c.raw(`],"should":[`)
	for i, name := range query.JoinRoles {
		if i > 0 {
			c.raw(`,`)
		}
		c.raw(`{"constant_score":{"filter":`)
		query.Terms{Field: &role, Values: []string{name}}.Accept(c)
		c.raw(`,"boost":`).integer(len(query.JoinRoles) - i).raw(`}}`)
	}
	c.raw(`]}},"size":1,"sort":[{"_score":{"order":"desc"}},{`).text(Root.ExactPath(&updated)).raw(`:{"missing":"_last","order":"desc"}}`)
	for _, path := range TiebreakPaths {
		c.raw(`,{`).text(path).raw(`:{"order":"asc"}}`)
	}
	c.raw(`],"track_total_hits":false}`)
	return c.b
}
