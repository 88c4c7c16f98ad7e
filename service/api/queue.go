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
	"atlas/service/endpoint"
	"atlas/workspace"
	"atlas/workspace/queue"
)

// Queue is the queue of signals of workspaces. *queue.Queue implements it.
type Queue interface {
	Search(ctx context.Context, in workspace.ID, r query.QueueRequest) (queue.Page, error)
	Dismiss(ctx context.Context, in workspace.ID, signals []uuid.UUID) ([]error, error)
	Restore(ctx context.Context, in workspace.ID, signals []uuid.UUID) error
}

type queueHandlers struct {
	searches
	Queue Queue
}

func (s queueHandlers) routes() []endpoint.Route {
	const read, write = workspace.WorkspaceRead, workspace.WorkspaceWrite
	return []endpoint.Route{
		{Method: "POST", Path: "/workspace/signal-queue/search", Operation: "search_signal_queue",
			Scope: read, Throttling: endpoint.Metered, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: rowsSearch, Heap: 512},
			Endpoint: endpoint.Takes(query.QueueRule, s.searchQueue),
			Doc: endpoint.Doc{
				Tag: tagSignals, Summary: "Search the queue of signals",
				Text: "The signals of the subscribed types that arrived after their subscription began, without the dismissed ones; newest arrival first. A signal arrives when Atlas first has it, whatever its `detected_at`. A dry run without conditions counts what is unread.",
				Examples: []endpoint.Example{
					{Name: "unread", Summary: "How many signals are unread", Body: []byte(`{"dry_run":true}`)},
					{Name: "book", Summary: "Those of the accounts and projects in the book", Body: []byte(`{"in_book":true,"limit":50}`)},
				},
				Data: schema.Array(recordSchema(catalog.Signals), 0, query.MaxLimit), Metadata: queueMetadataSchema, DryRun: dryRunAnswer,
			}},
		{Method: "POST", Path: "/workspace/signal-queue/dismiss/batch", Operation: "dismiss_signals_batch",
			Scope: write, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: endpoint.MaxBatch, Heap: 256},
			Endpoint: endpoint.TakesBatch("ids", rule.UUID[uuid.UUID](), s.dismissSignals),
			Doc: endpoint.Doc{
				Tag: tagSignals, Summary: "Dismiss signals of the queue, for the workspace",
				Text: "One that is dismissed already is fine. At most 10,000 of a queue can be dismissed.",
				Data: endpoint.ResultsData(endpoint.BatchResults("id", nil, endpoint.BatchCodes(fault.NotFound, fault.LimitReached)...)),
			}},
		{Method: "POST", Path: "/workspace/signal-queue/restore/batch", Operation: "restore_signals_batch",
			Scope: write, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 64},
			Endpoint: endpoint.TakesBatch("ids", rule.UUID[uuid.UUID](), s.restoreSignals),
			Doc: endpoint.Doc{
				Tag: tagSignals, Summary: "Take dismissed signals back into the queue", Text: "One that is not dismissed is fine.",
				Data: endpoint.ResultsData(endpoint.BatchResults("id", nil, endpoint.BatchCodes()...)),
			}},
	}
}

// queueMetadata is the metadata of a search of the queue.
type queueMetadata struct {
	endpoint.PageMetadata
	Unread int `json:"unread"`
}

var queueMetadataSchema = schema.Named("QueueMetadata", schema.Object(append(
	slices.Clone(endpoint.PageMetadataProperties),
	schema.Required(
		"unread",
		schema.Count().
			Described("The signals of the whole queue that are not dismissed, counted exactly, whatever the conditions of the request.").
			Example(3),
	),
)...))

func (s queueHandlers) searchQueue(c *endpoint.Call, r query.QueueRequest) (endpoint.Reply, error) {
	find := func(ctx context.Context, r query.QueueRequest) (queue.Page, error) {
		return s.Queue.Search(ctx, c.Workspace(), r)
	}
	if r.DryRun {
		return s.dryRun(c, searching{q: r.Query, find: func(ctx context.Context, _ query.Query) (query.Page, error) {
			p, err := find(ctx, r)
			return p.Page, err
		}}, 1)
	}
	return c.Metered(r.Limit, func(ctx context.Context) (endpoint.Reply, int, error) {
		p, err := find(ctx, r)
		if err != nil {
			return endpoint.Reply{}, 0, err
		}
		whole := slices.Clone(p.Rows)
		if p.Page, err = shown(r.Query, p.Page); err != nil {
			return endpoint.Reply{}, 0, err
		}
		m := c.MetadataOf(r.Query, p.Page)
		return endpoint.Reply{Data: endpoint.RecordsOf(p.Page), Metadata: queueMetadata{m, p.Unread}}, len(p.Rows), c.StoreRows(
			queueMetadata{m.Free(), p.Unread}, whole[:len(p.Rows)],
		)
	}, func(ctx context.Context, stored endpoint.StoredPage) (endpoint.Reply, error) {
		rows, metadata, err := stored.Rows(r.Query, func(q query.Query) ([]jsontext.Value, error) {
			p, err := find(ctx, query.QueueRequest{Query: q, Dismissed: r.Dismissed})
			return p.Rows, err
		})
		return endpoint.Reply{Data: endpoint.Records(rows), Metadata: metadata}, err
	})
}

func (s queueHandlers) dismissSignals(c *endpoint.Call, items []endpoint.BatchItem[uuid.UUID]) (endpoint.Reply, error) {
	results := endpoint.ResultsOf(items)
	if positions, ids := endpoint.ValidItems(items); len(ids) > 0 {
		errs, err := s.Queue.Dismiss(c.Context(), c.Workspace(), ids)
		if err != nil {
			return endpoint.Reply{}, err
		}
		for j, i := range positions {
			results[i].Err = errs[j]
		}
	}
	return c.BatchReply("id", results)
}

func (s queueHandlers) restoreSignals(c *endpoint.Call, items []endpoint.BatchItem[uuid.UUID]) (endpoint.Reply, error) {
	if _, ids := endpoint.ValidItems(items); len(ids) > 0 {
		if err := s.Queue.Restore(c.Context(), c.Workspace(), ids); err != nil {
			return endpoint.Reply{}, err
		}
	}
	return c.BatchReply("id", endpoint.ResultsOf(items))
}
