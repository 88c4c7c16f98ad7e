package simulation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/mappings"
	"atlas/search/query"
	"atlas/workspace"
	"atlas/workspace/held"
	"atlas/workspace/records"
	"atlas/workspace/views"
)

// searcher is a model of *search.Engine. It runs the searches of held records that
// packages records and join make, with conditions on memberships and the book only.
// Each search is checked when it is executed.
type searcher struct {
	link    *link
	cluster *cluster
	names   mappings.Names
	world   *world // nil: no checks
}

var _ records.Searcher = (*searcher)(nil)

// searchCheck is the expectation of a client, and the violations of the result.
type searchCheck struct {
	view        *views.View // nil: the book
	afterCommit int64       // the search must see this commit
	// problems are those of the search whose answer the client got.
	problems []string
}

type searchCheckKey struct{}

type foundRows struct {
	rows     []jsontext.Value
	problems []string
}

func (s *searcher) Search(ctx context.Context, q query.Query) (query.Page, error) {
	want, _ := ctx.Value(searchCheckKey{}).(*searchCheck)
	what := fmt.Sprintf("Search %s %s", q.Base.Kind, q.Dataset)
	found, err := do(ctx, s.link, toElasticsearch, what, func() (foundRows, error) {
		index, err := s.index(q)
		if err != nil {
			return foundRows{}, err
		}
		visible := s.cluster.visibleDocuments(index)
		var found foundRows
		shown := map[uuid.UUID]searchedDocument{}
		for _, id := range slices.Sorted(maps.Keys(visible)) {
			doc := visible[id]
			var d searchedDocument
			if doc.routing != q.Base.Workspace {
				continue
			}
			if err := json.Unmarshal(doc.source, &d); err != nil {
				return foundRows{}, fmt.Errorf("the document %s: %w", id, err)
			}
			if d.matches(q.Where) {
				shown[d.ID] = d
				found.rows = append(found.rows, jsontext.Value(doc.source))
			}
		}
		if s.world != nil && want != nil && s.world.registered(q, index) {
			found.problems = s.world.checkSearch(q, want, shown)
		}
		return found, nil
	})
	if want != nil {
		want.problems = found.problems
	}
	return query.Page{Rows: found.rows, Total: len(found.rows)}, err
}

// index is the index that a search uses.
func (s *searcher) index(q query.Query) (*index, error) {
	name := s.names.Held(string(q.Dataset))
	if q.Generation != "" {
		name = s.names.HeldGeneration(string(q.Dataset), q.Generation)
	}
	indices, err := s.cluster.resolve(name, false)
	if err != nil {
		return nil, fault.BackendUnavailable(errors.Join(query.ErrIndexGone, err), toElasticsearch.String())
	}
	if len(indices) != 1 {
		return nil, fault.BackendUnavailable(fmt.Errorf("%d indices behind %s", len(indices), name), toElasticsearch.String())
	}
	return indices[0], nil
}

// SearchMerged is the search of a Dynamic View of contacts. No contact of the model
// has a project, so the first of both searches finds nothing.
func (s *searcher) SearchMerged(ctx context.Context, searches [2]query.Query, _ query.Query) (query.Page, error) {
	return s.Search(ctx, searches[1])
}

// searchedDocument is the part of a document that searches use.
type searchedDocument struct {
	ID   uuid.UUID `json:"id"`
	Held struct {
		InBook bool        `json:"in_book"`
		Views  []uuid.UUID `json:"view_ids"`
		Exact  struct {
			Status string `json:"workspace_status"`
		} `json:"exact"`
	} `json:"held"`
}

// matches reports whether the document meets a condition.
func (d *searchedDocument) matches(n query.Node) bool {
	e := evaluation{document: d}
	n.Accept(&e)
	return e.met
}

// evaluation evaluates a condition on a document. The clients of the model have
// conditions on membership only; it panics on others.
type evaluation struct {
	document *searchedDocument
	met      bool
}

var _ query.Visitor = (*evaluation)(nil)

func (e *evaluation) VisitAll(n query.All) {
	e.met = !slices.ContainsFunc(n, func(n query.Node) bool { return !e.document.matches(n) })
}
func (e *evaluation) VisitAny(n query.Any)                 { e.met = slices.ContainsFunc(n, e.document.matches) }
func (e *evaluation) VisitNot(n query.Not)                 { e.met = !e.document.matches(n.Node) }
func (e *evaluation) VisitInBook(query.InBook)             { e.met = e.document.Held.InBook }
func (e *evaluation) VisitInAnyView(query.InAnyView)       { e.met = len(e.document.Held.Views) > 0 }
func (e *evaluation) VisitTerms(n query.Terms)             { e.unsupported(n) }
func (e *evaluation) VisitMatch(n query.Match)             { e.unsupported(n) }
func (e *evaluation) VisitMatchRecord(n query.MatchRecord) { e.unsupported(n) }
func (e *evaluation) VisitMatchWords(n query.MatchWords)   { e.unsupported(n) }
func (e *evaluation) VisitRange(n query.Range)             { e.unsupported(n) }
func (e *evaluation) VisitNear(n query.Near)               { e.unsupported(n) }
func (e *evaluation) VisitInBox(n query.InBox)             { e.unsupported(n) }
func (e *evaluation) VisitInPolygon(n query.InPolygon)     { e.unsupported(n) }
func (e *evaluation) VisitExists(n query.Exists)           { e.unsupported(n) }
func (e *evaluation) VisitNested(n query.Nested)           { e.unsupported(n) }

func (e *evaluation) VisitInView(n query.InView) {
	e.met = slices.ContainsFunc(e.document.Held.Views, func(v uuid.UUID) bool { return slices.Contains(n.IDs, v.String()) })
}

func (*evaluation) unsupported(n query.Node) { panic("the model has no condition " + n.String()) }

// registered reports whether a searched index is the registered one. Another index
// under the same name is detected by the next Prepare.
func (w *world) registered(q query.Query, i *index) bool {
	return slices.ContainsFunc(w.db.registered, func(g held.Generation) bool {
		return g.Dataset == q.Dataset && w.names.HeldGeneration(string(g.Dataset), g.Generation) == i.name && g.IndexUUID == i.uuid
	})
}

// checkSearch compares the result of a search with the commits. Each record must be in
// a state that it had between the start of the search and now. Changes of the global
// dataset reach searches later: a record that was ever deleted may be missing.
func (w *world) checkSearch(q query.Query, want *searchCheck, shown map[uuid.UUID]searchedDocument) (problems []string) {
	in, err := workspace.ParseID(q.Base.Workspace)
	if err != nil {
		return []string{err.Error()}
	}
	for _, id := range w.records {
		doc, found := shown[id]
		states := w.statesSince(key{in, q.Dataset, id}, want.afterCommit)
		always, never, status := true, true, false
		for _, s := range states {
			is := s.shows(want.view)
			always, never = always && is, never && !is
			status = status || s.status == doc.Held.Exact.Status
		}
		problem := ""
		switch {
		case !found && always && !w.flickered[id]:
			problem = "a record is missing"
		case found && never:
			problem = "a record is found that should not be"
		case found && !status:
			problem = "what is searched is neither of then nor later"
		}
		if problem != "" {
			problems = append(
				problems,
				fmt.Sprintf(
					"%s %s of workspace %s: %s; the document says %+v, committed was %+v",
					q.Dataset,
					short(id),
					short(in),
					problem,
					doc.Held,
					states,
				),
			)
		}
	}
	return problems
}

// shows reports whether a View, or the book for nil, shows a record in this state.
func (s state) shows(view *views.View) bool {
	switch {
	case view == nil:
		return s.inBook
	case view.Type == views.Static:
		return slices.Contains(s.views, uuid.UUID(view.ID))
	default:
		return s.inBook || len(s.views) > 0
	}
}
