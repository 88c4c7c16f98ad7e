package api

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/search/query"
	"atlas/workspace"
)

// Book is the workspaces' own data on global records. *workspace.Book is.
type Book interface {
	Upsert(ctx context.Context, in workspace.ID, d query.Dataset, inputs []workspace.BookInput) ([]workspace.BookOutcome, error)
	Delete(ctx context.Context, in workspace.ID, d query.Dataset, records []uuid.UUID) error
	Get(ctx context.Context, in workspace.ID, d query.Dataset, record uuid.UUID) (jsontext.Value, error)
}

func (s *Server) bookRoutes() []Route {
	const read, write = workspace.WorkspaceRead, workspace.WorkspaceWrite
	var routes []Route
	for _, d := range query.Held {
		path, many, one := "/workspace/"+string(d), "workspace_"+string(d), "workspace_"+d.Singular()
		routes = append(routes,
			Route{"POST", path + "/search", "search_" + many, read, Metered, false, Anyone, s.searchBook(d), aboutSearchBook(d)},
			Route{"GET", path + "/:id", "get_" + one, read, Metered, false, Anyone, s.getBook(d), aboutGetBook(d)},
			Route{"POST", path + "/upsert", "upsert_" + one, write, Free, false, Anyone, s.upsertBook(d), aboutUpsertBook(d)},
			Route{"POST", path + "/upsert/batch", "upsert_" + many + "_batch", write, Free, false, Anyone, s.upsertBookBatch(d), aboutUpsertBookBatch(d)},
			Route{"DELETE", path + "/:id", "delete_" + one, write, Free, false, Anyone, s.deleteBook(d), aboutDeleteBook(d)},
			Route{"POST", path + "/delete/batch", "delete_" + many + "_batch", write, Free, false, Anyone, s.deleteBookBatch(d), aboutDeleteBookBatch(d)},
		)
	}
	return routes
}

func (s *Server) searchBook(d query.Dataset) handler {
	return func(c *call) (reply, error) {
		body, err := c.body()
		if err != nil {
			return reply{}, err
		}
		in := c.principal.Workspace.ID
		q, err := query.Parse(body, d, query.Base{Kind: query.Book, Workspace: in.String()})
		if err != nil {
			return reply{}, err
		}
		return c.metered(q.Limit, func(ctx context.Context) (reply, int, error) {
			p, err := s.Records.SearchBook(ctx, in, q)
			return reply{records(p.Rows), metadataOf(q, p.Total, p.Capped, p.Next, len(p.Rows))}, len(p.Rows), err
		})
	}
}

func (s *Server) getBook(d query.Dataset) handler {
	return func(c *call) (reply, error) {
		id, err := c.pathID("id")
		if err != nil {
			return reply{}, err
		}
		return c.metered(1, func(ctx context.Context) (reply, int, error) {
			row, err := s.Book.Get(ctx, c.principal.Workspace.ID, d, id)
			return reply{row, creditsOnly{1}}, 1, err
		})
	}
}

func (s *Server) upsertBook(d query.Dataset) handler {
	return func(c *call) (reply, error) {
		body, err := c.body()
		if err != nil {
			return reply{}, err
		}
		in, err := workspace.ParseUpsert(body, d, nil)
		if err != nil {
			return reply{}, err
		}
		outcomes, err := s.Book.Upsert(c.Context(), c.principal.Workspace.ID, d, []workspace.BookInput{in})
		if err != nil {
			return reply{}, err
		}
		return reply{outcomes[0].Row, creditsOnly{}}, outcomes[0].Err
	}
}

func (s *Server) upsertBookBatch(d query.Dataset) handler {
	return func(c *call) (reply, error) {
		items, err := c.batchItems("inputs")
		if err != nil {
			return reply{}, err
		}
		results := make([]batchResult, len(items))
		var inputs []workspace.BookInput
		var positions []int
		for i, item := range items {
			in, err := workspace.ParseUpsert(item.value, d, item.issues)
			results[i] = batchResult{id: in.Record, err: err}
			if err == nil {
				inputs, positions = append(inputs, in), append(positions, i)
			}
		}
		if len(inputs) > 0 {
			outcomes, err := s.Book.Upsert(c.Context(), c.principal.Workspace.ID, d, inputs)
			if err != nil {
				return reply{}, err
			}
			for j, i := range positions {
				results[i] = batchResult{id: outcomes[j].Record, err: outcomes[j].Err}
				if outcomes[j].Err == nil {
					results[i].data = outcomes[j].Row
				}
			}
		}
		return c.batchReply(workspace.IDKey(d), results)
	}
}

func (s *Server) deleteBook(d query.Dataset) handler {
	return func(c *call) (reply, error) {
		id, err := c.pathID("id")
		if err != nil {
			return reply{}, err
		}
		err = s.Book.Delete(c.Context(), c.principal.Workspace.ID, d, []uuid.UUID{id})
		return reply{deleted{true}, creditsOnly{}}, err
	}
}

func (s *Server) deleteBookBatch(d query.Dataset) handler {
	return func(c *call) (reply, error) {
		ids, errs, err := c.batchIDs()
		if err != nil {
			return reply{}, err
		}
		results := make([]batchResult, len(ids))
		var records []uuid.UUID
		for i, id := range ids {
			results[i] = batchResult{id: id, err: errs[i]}
			if errs[i] != nil {
				continue
			}
			record, err := workspace.ParseUUID(id)
			if err != nil {
				return reply{}, fault.Wrap(err, fault.Internal, "an id was read that is none")
			}
			records = append(records, record)
		}
		if err := s.Book.Delete(c.Context(), c.principal.Workspace.ID, d, records); err != nil {
			return reply{}, err
		}
		return c.batchReply(workspace.IDKey(d), results)
	}
}
