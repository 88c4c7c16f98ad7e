package api

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/workspace"
	"atlas/workspace/queue"
)

// Queue is the queue of signals of workspaces. *queue.Queue implements it.
type Queue interface {
	Search(ctx context.Context, in workspace.ID, r query.QueueRequest) (queue.Page, error)
	Dismiss(ctx context.Context, in workspace.ID, signals []uuid.UUID) ([]error, error)
	Restore(ctx context.Context, in workspace.ID, signals []uuid.UUID) error
}

func (s *Server) queueRoutes() []Route {
	const read, write = workspace.WorkspaceRead, workspace.WorkspaceWrite
	return []Route{
		{Method: "POST", Path: "/workspace/signal-queue/search", Operation: "search_signal_queue",
			Scope: read, Throttling: Metered, Budget: Budget{placesRecords, rowsSearch, 512},
			endpoint: takes(query.QueueRule, s.searchQueue),
			doc: operationDoc{
				tag: tagSignals, summary: "Search the queue of signals",
				text: "The signals of the subscribed types that arrived after their subscription began, without the dismissed ones; newest arrival first. A signal arrives when Atlas first has it, whatever its `detected_at`. A dry run without conditions counts what is unread.",
				examples: []example{
					{"unread", "How many signals are unread", []byte(`{"dry_run":true}`)},
					{"book", "Those of the accounts and projects in the book", []byte(`{"in_book":true,"limit":50}`)},
				},
				data: schema.Array(recordSchema(catalog.Signals), 0, query.MaxLimit), metadata: queueMetadataSchema, dryRun: dryRunAnswer,
			}},
		{Method: "POST", Path: "/workspace/signal-queue/dismiss/batch", Operation: "dismiss_signals_batch",
			Scope: write, Budget: Budget{placesRecords, maxBatch, 256},
			endpoint: takesBatch("ids", rule.UUID[uuid.UUID](), s.dismissSignals),
			doc: operationDoc{
				tag: tagSignals, summary: "Dismiss signals of the queue, for the workspace",
				text: "One that is dismissed already is fine. At most 10,000 of a queue can be dismissed.",
				data: resultsData(batchResults("id", nil, batchCodes(fault.NotFound, fault.LimitReached)...)),
			}},
		{Method: "POST", Path: "/workspace/signal-queue/restore/batch", Operation: "restore_signals_batch",
			Scope: write, Budget: Budget{placesRecords, 0, 64},
			endpoint: takesBatch("ids", rule.UUID[uuid.UUID](), s.restoreSignals),
			doc: operationDoc{
				tag: tagSignals, summary: "Take dismissed signals back into the queue", text: "One that is not dismissed is fine.",
				data: resultsData(batchResults("id", nil, batchCodes()...)),
			}},
	}
}

// queueMetadata is the metadata of a search of the queue.
type queueMetadata struct {
	pageMetadata
	Unread int `json:"unread"`
}

var queueMetadataSchema = schema.Named("QueueMetadata", schema.Object(append(slices.Clone(pageMetadataProperties),
	schema.Required("unread", schema.Count().Described("The signals of the whole queue that are not dismissed, counted exactly, whatever the conditions of the request.").Example(3)),
)...))

func (s *Server) searchQueue(c *call, r query.QueueRequest) (reply, error) {
	find := func(ctx context.Context, r query.QueueRequest) (queue.Page, error) {
		return s.Queue.Search(ctx, c.workspace(), r)
	}
	if r.DryRun {
		return s.dryRun(c, searching{q: r.Query, find: func(ctx context.Context, _ query.Query) (query.Page, error) {
			p, err := find(ctx, r)
			return p.Page, err
		}}, 1)
	}
	return c.metered(r.Limit, func(ctx context.Context) (reply, int, error) {
		p, err := find(ctx, r)
		if err != nil {
			return reply{}, 0, err
		}
		whole := slices.Clone(p.Rows)
		if p.Page, err = shown(r.Query, p.Page); err != nil {
			return reply{}, 0, err
		}
		m := c.metadataOf(r.Query, p.Page)
		return reply{recordsOf(p.Page), queueMetadata{m, p.Unread}}, len(p.Rows), c.keepRows(
			queueMetadata{m.free(), p.Unread}, whole[:len(p.Rows)],
		)
	}, func(ctx context.Context, kept keptPage) (reply, error) {
		rows, metadata, err := kept.rows(r.Query, func(q query.Query) ([]jsontext.Value, error) {
			p, err := find(ctx, query.QueueRequest{Query: q, Dismissed: r.Dismissed})
			return p.Rows, err
		})
		return reply{records(rows), metadata}, err
	})
}

func (s *Server) dismissSignals(c *call, items []batchItem[uuid.UUID]) (reply, error) {
	results := resultsOf(items)
	if positions, ids := validItems(items); len(ids) > 0 {
		errs, err := s.Queue.Dismiss(c.Context(), c.workspace(), ids)
		if err != nil {
			return reply{}, err
		}
		for j, i := range positions {
			results[i].err = errs[j]
		}
	}
	return c.batchReply("id", results)
}

func (s *Server) restoreSignals(c *call, items []batchItem[uuid.UUID]) (reply, error) {
	if _, ids := validItems(items); len(ids) > 0 {
		if err := s.Queue.Restore(c.Context(), c.workspace(), ids); err != nil {
			return reply{}, err
		}
	}
	return c.batchReply("id", resultsOf(items))
}
