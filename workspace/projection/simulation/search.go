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
	"atlas/workspace/records"
)

// searcher is a model of *search.Engine: it runs the searches of held records
// that packages records and join make, as far as their conditions are on what
// workspaces hold. Each search is judged where it is executed.
type searcher struct {
	line    *line
	cluster *cluster
	names   mappings.Names
	world   *world // nil: nobody judges
}

var _ records.Searcher = (*searcher)(nil)

// asked is what a client asked for, and what is wrong with what was found.
type asked struct {
	view   *workspace.View // nil: the book
	before int64           // the last commit that it must see
	// problems are of the search whose rows it got.
	problems []string
}

type askedKey struct{}

type foundRows struct {
	rows     []jsontext.Value
	problems []string
}

func (s *searcher) Search(ctx context.Context, q query.Query) (records.Page, error) {
	want, _ := ctx.Value(askedKey{}).(*asked)
	what := fmt.Sprintf("Search %s %s", q.Base.Kind, q.Dataset)
	found, err := do(ctx, s.line, toElasticsearch, what, func() (foundRows, error) {
		index, err := s.searched(q)
		if err != nil {
			return foundRows{}, err
		}
		visible := s.cluster.searched(index)
		var found foundRows
		shown := map[uuid.UUID]shownDocument{}
		for _, id := range slices.Sorted(maps.Keys(visible)) {
			doc := visible[id]
			var d shownDocument
			if doc.routing != q.Base.Workspace {
				continue
			}
			if err := json.Unmarshal(doc.source, &d); err != nil {
				return foundRows{}, fmt.Errorf("the document %s: %w", id, err)
			}
			if d.meets(q.Where) {
				shown[d.ID] = d
				found.rows = append(found.rows, jsontext.Value(doc.source))
			}
		}
		if s.world != nil && want != nil && s.world.known(q, index) {
			found.problems = s.world.judge(q, want, shown)
		}
		return found, nil
	})
	if want != nil {
		want.problems = found.problems
	}
	return records.Page{Rows: found.rows, Total: len(found.rows)}, err
}

// searched is the index that a search goes to.
func (s *searcher) searched(q query.Query) (*index, error) {
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

// SearchMerged is the search of a Dynamic View of contacts. No contact of the
// model has a project, so that the first of both searches finds nothing.
func (s *searcher) SearchMerged(ctx context.Context, searches [2]query.Query, _ query.Query) (records.Page, error) {
	return s.Search(ctx, searches[1])
}

// shownDocument is what of a document a search goes by.
type shownDocument struct {
	ID   uuid.UUID `json:"id"`
	Held struct {
		InBook bool        `json:"in_book"`
		Views  []uuid.UUID `json:"view_ids"`
		Exact  struct {
			Status string `json:"workspace_status"`
		} `json:"exact"`
	} `json:"held"`
}

// meets tells whether the document meets a condition.
func (d *shownDocument) meets(n query.Node) bool {
	e := evaluation{document: d}
	n.Accept(&e)
	return e.met
}

// evaluation evaluates a condition on a document. The clients of the model have
// conditions on membership only; it panics on others.
type evaluation struct {
	document *shownDocument
	met      bool
}

var _ query.Visitor = (*evaluation)(nil)

func (e *evaluation) VisitAll(n query.All) {
	e.met = !slices.ContainsFunc(n, func(n query.Node) bool { return !e.document.meets(n) })
}
func (e *evaluation) VisitAny(n query.Any)                 { e.met = slices.ContainsFunc(n, e.document.meets) }
func (e *evaluation) VisitNot(n query.Not)                 { e.met = !e.document.meets(n.Node) }
func (e *evaluation) VisitInBook(query.InBook)             { e.met = e.document.Held.InBook }
func (e *evaluation) VisitInAnyView(query.InAnyView)       { e.met = len(e.document.Held.Views) > 0 }
func (e *evaluation) VisitTerms(n query.Terms)             { e.unsupported(n) }
func (e *evaluation) VisitMatch(n query.Match)             { e.unsupported(n) }
func (e *evaluation) VisitMatchRecord(n query.MatchRecord) { e.unsupported(n) }
func (e *evaluation) VisitRange(n query.Range)             { e.unsupported(n) }
func (e *evaluation) VisitExists(n query.Exists)           { e.unsupported(n) }
func (e *evaluation) VisitNested(n query.Nested)           { e.unsupported(n) }

func (e *evaluation) VisitInView(n query.InView) {
	e.met = slices.ContainsFunc(e.document.Held.Views, func(v uuid.UUID) bool { return slices.Contains(n.IDs, v.String()) })
}

func (*evaluation) unsupported(n query.Node) { panic("the model has no condition " + n.String()) }

// known tells whether the index that a search went to is the one that is
// registered. Another one, which was put in its place, is noticed within
// NoticeWithin.
func (w *world) known(q query.Query, i *index) bool {
	return slices.ContainsFunc(w.db.registered, func(g workspace.HeldGeneration) bool {
		return g.Dataset == q.Dataset && w.names.HeldGeneration(string(g.Dataset), g.Generation) == i.name && g.IndexUUID == i.uuid
	})
}

// judge holds what a search of a workspace finds to what was committed: each
// record as some commit had it between the one that had been made when the
// search was asked for and now. Which records the global dataset has reaches
// searches later on: those that were away at some time are not missed.
func (w *world) judge(q query.Query, want *asked, shown map[uuid.UUID]shownDocument) (problems []string) {
	in, err := workspace.ParseID(q.Base.Workspace)
	if err != nil {
		return []string{err.Error()}
	}
	for _, id := range w.records {
		doc, found := shown[id]
		states := w.since(key{in, q.Dataset, id}, want.before)
		always, never, status := true, true, false
		for _, s := range states {
			is := s.shows(want.view)
			always, never = always && is, never && !is
			status = status || s.status == doc.Held.Exact.Status
		}
		problem := ""
		switch {
		case !found && always && !w.unsteady[id]:
			problem = "a record is missing"
		case found && never:
			problem = "a record is found that should not be"
		case found && !status:
			problem = "what is searched is neither of then nor later"
		}
		if problem != "" {
			problems = append(problems, fmt.Sprintf("%s %s of workspace %s: %s; the document says %+v, committed was %+v", q.Dataset, short(id), short(in), problem, doc.Held, states))
		}
	}
	return problems
}

// shows tells whether a View, or the book, shows a record of this state.
func (s state) shows(view *workspace.View) bool {
	switch {
	case view == nil:
		return s.inBook
	case view.Type == workspace.StaticView:
		return slices.Contains(s.views, uuid.UUID(view.ID))
	default:
		return s.inBook || len(s.views) > 0
	}
}
