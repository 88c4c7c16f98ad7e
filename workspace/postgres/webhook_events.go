package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/auditlog"
	"atlas/workspace/jobs"
	"atlas/workspace/webhooks"
)

const (
	// dispatchRows limits the changes that a transaction reads, and dispatchJobs the deliveries
	// that it makes; it always finishes one change.
	dispatchRows, dispatchJobs = 500, 10_000
)

// inDispatch runs fn in a transaction that locks the position of a source. It does not run fn
// while another server has the position. A new source begins at the end; begun is then set.
func (s *System) inDispatch(ctx context.Context, source string, fn func(tx pgx.Tx, p dispatchPosition) error) error {
	return toFault(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO webhook_positions (source) VALUES ($1) ON CONFLICT DO NOTHING`, source)
		if err != nil {
			return err
		}
		p := dispatchPosition{begun: tag.RowsAffected() == 1}
		err = tx.QueryRow(ctx, `SELECT seq, generation FROM webhook_positions WHERE source = $1 FOR UPDATE SKIP LOCKED`, source).
			Scan(&p.seq, &p.generation)
		if noRows(err) {
			return nil
		}
		if err != nil {
			return err
		}
		return fn(tx, p)
	}))
}

// dispatchPosition is the position up to which a source is dispatched.
type dispatchPosition struct {
	begun      bool
	seq        int64
	generation string
}

// DispatchChanges makes deliveries of changes of a dataset's records for the webhooks of the
// workspaces that have them in their book, and moves the position, in one transaction.
func (s *System) DispatchChanges(ctx context.Context, d catalog.Dataset, now time.Time) (out webhooks.Dispatched, err error) {
	err = s.inDispatch(ctx, string(d), func(tx pgx.Tx, p dispatchPosition) error {
		var head, forgotten int64
		if err := tx.QueryRow(ctx, `SELECT head, forgotten FROM data_feed`).Scan(&head, &forgotten); err != nil {
			return err
		}
		to := head
		switch {
		case p.begun:
		case p.seq < forgotten || p.seq > head:
			out.StartedOver = true
		case p.seq == head:
			return nil
		default:
			var err error
			if to, err = dispatchChanges(ctx, tx, d, p.seq, head, now, &out); err != nil {
				return err
			}
		}
		out.More = to < head
		_, err := tx.Exec(ctx, `UPDATE webhook_positions SET seq = $2, at = $3 WHERE source = $1`, string(d), to, now)
		return err
	})
	return out, err
}

// recordEvents has the events of the feed's operations.
var recordEvents = map[string]webhooks.Event{
	"upsert": webhooks.RecordChanged,
	"delete": webhooks.RecordDeleted,
	"merge":  webhooks.RecordMerged,
}

// recordData is the data of an event of a record.
type recordData struct {
	WorkspaceID workspace.ID    `json:"workspace_id"`
	Dataset     catalog.Dataset `json:"dataset"`
	ID          uuid.UUID       `json:"id"`
	// Changed are the names of the changed fields; null means all.
	Changed *[]string  `json:"changed,omitempty"`
	Into    *uuid.UUID `json:"into,omitempty"`
}

// matchedChange is a change for a webhook.
type matchedChange struct {
	seq         int64
	op          string
	record      uuid.UUID
	into        *uuid.UUID
	changed     []string
	in, webhook uuid.UUID
}

// dispatchChanges makes the deliveries of changes after a position, and returns the
// position of the last change it read.
func dispatchChanges(
	ctx context.Context,
	tx pgx.Tx,
	d catalog.Dataset,
	after, head int64,
	now time.Time,
	out *webhooks.Dispatched,
) (to int64, err error) {
	var anyone bool
	if err := tx.QueryRow(
		ctx, `SELECT EXISTS (SELECT FROM webhooks WHERE enabled AND events && $1)`, slices.Collect(maps.Values(recordEvents)),
	).Scan(&anyone); err != nil || !anyone {
		return head, err
	}
	var rows int
	if err := tx.QueryRow(ctx, `
		SELECT coalesce(max(seq), $3), count(*) FROM (SELECT seq FROM data_changes WHERE dataset = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT $4) page`,
		string(d), after, head, dispatchRows).Scan(&to, &rows); err != nil || rows == 0 {
		return head, err
	}
	if rows < dispatchRows {
		to = head
	}
	matched, err := matchChanges(ctx, tx, d, after, to, dispatchJobs+1)
	if err != nil {
		return 0, err
	}
	if len(matched) > dispatchJobs {
		// Only changes whose deliveries are all included; the first one in any case.
		last := matched[dispatchJobs].seq
		if first := matched[0].seq; first == last {
			to = first
			matched, err = matchChanges(ctx, tx, d, first-1, first, 1<<31-1)
			if err != nil {
				return 0, err
			}
		} else {
			to = last - 1
			for len(matched) > 0 && matched[len(matched)-1].seq == last {
				matched = matched[:len(matched)-1]
			}
		}
	}
	var added []jobs.New
	for _, m := range matched {
		data := recordData{WorkspaceID: workspace.ID(m.in), Dataset: d, ID: m.record, Into: m.into}
		if m.op == "upsert" {
			data.Changed = &m.changed
		}
		// The number alone can recur for another change after a restore.
		j, err := webhooks.NewDelivery(workspace.ID(m.in), webhooks.ID(m.webhook), recordEvents[m.op],
			fmt.Sprintf("%s %d %s %s", d, m.seq, m.op, m.record), string(d)+":"+m.record.String(), data, now)
		if err != nil {
			return 0, err
		}
		added = append(added, j)
	}
	out.Deliveries, err = addJobs(ctx, tx, added, now)
	return to, err
}

// matchChanges returns the changes of a span and the webhooks that get them, in the order of
// the feed. A merge goes to workspaces that have either record: theirs moves from one to the
// other, before this or after.
func matchChanges(ctx context.Context, tx pgx.Tx, d catalog.Dataset, after, to int64, limit int) ([]matchedChange, error) {
	rows, err := tx.Query(ctx, `
		WITH page AS (
			SELECT c.seq, c.op, c.record_id, c.into_id, c.changed
			FROM data_changes c WHERE c.dataset = $1 AND c.seq > $2 AND c.seq <= $3
		)
		SELECT p.seq, p.op, p.record_id, p.into_id, p.changed, w.workspace_id, w.id
		FROM page p
		CROSS JOIN LATERAL (
			SELECT DISTINCT h.workspace_id FROM held_records h
			JOIN overlays o ON o.workspace_id = h.workspace_id AND o.dataset = h.dataset AND o.record_id = h.record_id
			WHERE h.dataset = $1 AND h.record_id IN (p.record_id, p.into_id)
		) book
		JOIN webhooks w ON w.workspace_id = book.workspace_id AND w.enabled AND $5::jsonb ->> p.op = ANY (w.events)
		ORDER BY p.seq, w.workspace_id, w.id LIMIT $4`, string(d), after, to, limit, recordEvents)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (m matchedChange, err error) {
		err = row.Scan(&m.seq, &m.op, &m.record, &m.into, &m.changed, &m.in, &m.webhook)
		return m, err
	})
}

// DispatchSwitch makes a delivery for each webhook that chose the event once searches use
// another generation of the global records, after a load or a rollback.
func (s *System) DispatchSwitch(ctx context.Context, now time.Time) (out webhooks.Dispatched, err error) {
	err = s.inDispatch(ctx, "load", func(tx pgx.Tx, p dispatchPosition) error {
		var generation string
		if err := tx.QueryRow(ctx, `SELECT generation FROM data_feed`).Scan(&generation); err != nil || generation == p.generation {
			return err
		}
		if p.generation != "" { // otherwise it begins here
			if err := addSwitch(ctx, tx, p, generation, now, &out); err != nil {
				return err
			}
		}
		_, err := tx.Exec(
			ctx,
			`UPDATE webhook_positions SET seq = seq + 1, generation = $2, at = $3 WHERE source = $1`,
			"load",
			generation,
			now,
		)
		return err
	})
	return out, err
}

func addSwitch(ctx context.Context, tx pgx.Tx, p dispatchPosition, generation string, now time.Time, out *webhooks.Dispatched) error {
	hooks, err := webhooksFor(ctx, tx, workspace.ID{}, webhooks.LoadSwitched)
	if err != nil {
		return err
	}
	var added []jobs.New
	for _, h := range hooks {
		j, err := webhooks.NewDelivery(h.in, h.id, webhooks.LoadSwitched, fmt.Sprintf("load %d %s", p.seq, generation), "load", struct {
			WorkspaceID workspace.ID `json:"workspace_id"`
			Generation  string       `json:"generation"`
		}{h.in, generation}, now)
		if err != nil {
			return err
		}
		added = append(added, j)
	}
	out.Deliveries, err = addJobs(ctx, tx, added, now)
	return err
}

type webhookOf struct {
	in workspace.ID
	id webhooks.ID
}

// webhooksFor returns the enabled webhooks that chose an event, those of all workspaces for the
// zero id.
func webhooksFor(ctx context.Context, tx pgx.Tx, in workspace.ID, e webhooks.Event) ([]webhookOf, error) {
	rows, err := tx.Query(ctx, `
		SELECT workspace_id, id FROM webhooks WHERE enabled AND $1 = ANY (events) AND ($2::uuid IS NULL OR workspace_id = $2)
		ORDER BY workspace_id, id`, string(e), nullableWorkspace(in))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (w webhookOf, err error) {
		err = row.Scan((*uuid.UUID)(&w.in), (*uuid.UUID)(&w.id))
		return w, err
	})
}

func nullableWorkspace(in workspace.ID) *uuid.UUID {
	if in.IsZero() {
		return nil
	}
	u := arg(in)
	return &u
}

// SignalWebhooks returns the enabled webhooks for arrived signals that did not get all signals
// up to through yet.
func (s *System) SignalWebhooks(ctx context.Context, through time.Time) ([]webhooks.SignalWebhook, error) {
	return collect(ctx, s, func(row pgx.CollectableRow) (w webhooks.SignalWebhook, err error) {
		err = row.Scan((*uuid.UUID)(&w.Workspace), (*uuid.UUID)(&w.ID), &w.After)
		return w, err
	}, `SELECT workspace_id, id, signals_after FROM webhooks
		WHERE enabled AND 'signal.arrived' = ANY (events) AND (signals_after IS NULL OR signals_after < $1)
		ORDER BY workspace_id, id`, through)
}

// AddSignals makes deliveries, of several signals each, of the signals that arrived after
// w.After and up to through. It makes none if another server did since w was read.
func (s *System) AddSignals(
	ctx context.Context,
	w webhooks.SignalWebhook,
	through time.Time,
	signals []uuid.UUID,
	now time.Time,
) (out webhooks.Dispatched, err error) {
	const each = 500
	err = s.inWorkspace(ctx, w.Workspace, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE webhooks SET signals_after = $3
			WHERE workspace_id = $1 AND id = $2 AND enabled AND signals_after IS NOT DISTINCT FROM $4`, arg(w.Workspace), arg(w.ID), through, w.After)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		var added []jobs.New
		for part := range slices.Chunk(signals, each) {
			j, err := webhooks.NewDelivery(
				w.Workspace,
				w.ID,
				webhooks.SignalArrived,
				fmt.Sprintf("signals %d %d", through.UnixMicro(), len(added)),
				"signals",
				struct {
					WorkspaceID workspace.ID `json:"workspace_id"`
					IDs         []uuid.UUID  `json:"ids"`
				}{w.Workspace, part},
				now,
			)
			if err != nil {
				return err
			}
			added = append(added, j)
		}
		out.Deliveries, err = addJobs(ctx, tx, added, now)
		return err
	})
	return out, err
}

// NoticeCredits makes deliveries for the webhooks of a workspace that used a percentage of its
// credits, once in a window.
func (s *System) NoticeCredits(
	ctx context.Context,
	in workspace.ID,
	percent int,
	used, ceiling int64,
	now time.Time,
	window time.Duration,
) error {
	return s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			INSERT INTO credit_notices AS n (workspace_id, percent, noticed_at) VALUES ($1, $2, $3)
			ON CONFLICT ON CONSTRAINT credit_notices_pkey DO UPDATE SET noticed_at = excluded.noticed_at
			WHERE n.noticed_at <= excluded.noticed_at - $4::interval`, arg(in), percent, now, window)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		hooks, err := webhooksFor(ctx, tx, in, webhooks.CreditsThreshold)
		if err != nil {
			return err
		}
		var added []jobs.New
		for _, h := range hooks {
			j, err := webhooks.NewDelivery(
				in,
				h.id,
				webhooks.CreditsThreshold,
				fmt.Sprintf("credits %d %d", percent, now.UnixMilli()),
				"",
				struct {
					WorkspaceID workspace.ID `json:"workspace_id"`
					Percent     int          `json:"percent"`
					Used        int64        `json:"used"`
					Ceiling     int64        `json:"ceiling"`
				}{in, percent, used, ceiling},
				now,
			)
			if err != nil {
				return err
			}
			added = append(added, j)
		}
		_, err = addJobs(ctx, tx, added, now)
		return err
	})
}

// deliverEvents makes a delivery of each event for the webhooks of its workspace that chose it.
// That also takes the digests out of the database.
func deliverEvents(ctx context.Context, tx pgx.Tx, events []auditlog.Event, now time.Time) error {
	hooks, err := webhooksFor(ctx, tx, workspace.ID{}, webhooks.AuditEvent)
	if err != nil || len(hooks) == 0 {
		return err
	}
	of := map[workspace.ID][]webhooks.ID{}
	for _, h := range hooks {
		of[h.in] = append(of[h.in], h.id)
	}
	var added []jobs.New
	for _, e := range events {
		for _, id := range of[e.Chain] {
			j, err := webhooks.NewDelivery(e.Chain, id, webhooks.AuditEvent, fmt.Sprintf("audit %d %s", e.Number, e.Digest), "audit", struct {
				WorkspaceID workspace.ID   `json:"workspace_id"`
				Event       auditlog.Event `json:"event"`
			}{e.Chain, e}, now)
			if err != nil {
				return err
			}
			added = append(added, j)
		}
	}
	_, err = addJobs(ctx, tx, added, now)
	return err
}
