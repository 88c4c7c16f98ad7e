package projection

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/document"
	"atlas/workspace"
	"atlas/workspace/book"
	"atlas/workspace/held"
)

// draft is the intended document of a record.
type draft struct {
	record held.Record
	doc    []byte // without its version; nil when it cannot be made
	// build makes doc for an index of a Folding. The digest is that of the newest.
	build     func(catalog.Folding) []byte
	projected held.ProjectionResult
}

// unchanged reports whether Elasticsearch has this document.
func (d *draft) unchanged() bool {
	return d.doc != nil && bytes.Equal(d.record.Digest, d.projected.Digest)
}

// setVersion sets the version to write the document with.
func (d *draft) setVersion(version int64) {
	d.record.Version, d.projected.Version, d.projected.Written = version, version, true
}

// project writes the documents of records to all generations.
func (p *Projector) project(ctx context.Context, w *projecting, records []held.Record) error {
	byDataset := map[catalog.Dataset][]held.Record{}
	for _, r := range records {
		byDataset[r.Dataset] = append(byDataset[r.Dataset], r)
	}
	for _, d := range catalog.Held {
		own := byDataset[d]
		if len(own) == 0 {
			continue
		}
		delete(byDataset, d)
		drafts, err := p.drafts(ctx, w.in, d, own)
		if err != nil {
			return err
		}
		if err := p.write(ctx, w, d, drafts, w.last && len(byDataset) == 0); err != nil {
			return err
		}
	}
	return nil
}

// drafts makes the documents of records from the present global dataset.
func (p *Projector) drafts(ctx context.Context, in workspace.ID, d catalog.Dataset, records []held.Record) ([]*draft, error) {
	var ids, accounts []string
	for _, r := range records {
		if r.Overlay == nil && len(r.Views) == 0 {
			continue
		}
		ids = append(ids, r.Record.String())
		if r.Overlay != nil && d == catalog.Accounts {
			accounts = append(accounts, r.Record.String())
		}
	}
	var (
		now      = p.Now()
		global   map[string]jsontext.Value
		children map[string]document.Children
		signals  map[string][2]int64
	)
	reads, reading := errgroup.WithContext(ctx)
	reads.Go(func() (err error) { global, err = p.Global.Lookup(reading, d, ids); return err })
	reads.Go(func() (err error) { children, err = p.Global.Children(reading, d, ids); return err })
	reads.Go(func() (err error) {
		signals, err = p.Global.SignalCounts(reading, accounts, now, book.TrendSpan)
		return err
	})
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	firms, err := p.firms(ctx, d, global)
	if err != nil {
		return nil, err
	}
	drafts := make([]*draft, len(records))
	for i, r := range records {
		id := r.Record.String()
		var err error
		if drafts[i], err = newDraft(in, r, global[id], children[id], firms, signals[id], now); err != nil {
			// The next attempt would fail too. No other record waits for this one.
			p.Log.Error(
				"a held document cannot be made; it stays as it was",
				"workspace",
				in.String(),
				"dataset",
				d,
				"record",
				id,
				"error",
				err.Error(),
			)
			drafts[i] = &draft{record: r, projected: held.ProjectionResult{
				Dataset: d, Record: r.Record, Version: r.Version, Present: true, Refusal: "its global record cannot be read",
			}}
		}
	}
	return drafts, nil
}

// firms are the names of the accounts of public records, by id. A record that cannot be read
// has none: newDraft says so.
func (p *Projector) firms(ctx context.Context, d catalog.Dataset, public map[string]jsontext.Value) (map[string]string, error) {
	if _, has := catalog.FirmsField(d); !has {
		return nil, nil
	}
	var records []document.Record
	for _, one := range public {
		if r, err := document.FromPublic(d, one); err == nil {
			records = append(records, r)
		}
	}
	return document.ReadFirms(records, func(ids []string) (map[string]jsontext.Value, error) {
		return p.Global.Lookup(ctx, catalog.Accounts, ids)
	})
}

// newDraft decides the document of a record. public is nil if the global dataset does not
// have the record, or nothing holds it.
func newDraft(
	in workspace.ID,
	r held.Record,
	public []byte,
	children document.Children,
	firms map[string]string,
	signals [2]int64,
	now time.Time,
) (*draft, error) {
	d := &draft{record: r, projected: held.ProjectionResult{
		Dataset: r.Dataset, Record: r.Record, Version: r.Version,
		Unheld: r.Overlay == nil && len(r.Views) == 0, Present: public != nil,
	}}
	held := document.Held{Workspace: in.String()}
	for _, view := range r.Views {
		held.Views = append(held.Views, view.String())
	}
	if o := r.Overlay; o != nil {
		overlay := *o
		if r.Dataset == catalog.Accounts {
			scored := book.Scored{Score: o.Score, Trend: o.Trend, At: now}
			if public != nil {
				facts, err := book.FactsOf(public, signals)
				if err != nil {
					return nil, err
				}
				scored = book.ScoreOf(o.Tier(), facts, now)
			}
			d.projected.Score, overlay.Score = &scored, scored.Score
		}
		held.Overlay = &overlay
	}
	if public == nil {
		d.build = func(catalog.Folding) []byte { return document.Stub(r.Record.String()) }
	} else {
		record, err := document.FromPublic(r.Dataset, public)
		if err != nil {
			return nil, fault.Wrap(err, fault.Internal, "a global record could not be read")
		}
		record.SetFirms(firms)
		d.build = func(by catalog.Folding) []byte {
			record := record
			record.Folding = by
			return document.BuildHeld(record, children, held)
		}
	}
	d.doc = d.build(catalog.NewestFolding)
	digest := sha256.Sum256(d.doc)
	d.projected.Digest = digest[:]
	return d, nil
}

// bulkBytes is the size at which a bulk request is sent.
const bulkBytes = 4 << 20

// bulkRetry is short: the next projection retries.
var bulkRetry = elastic.Retry{For: time.Second, First: 50 * time.Millisecond, Max: 300 * time.Millisecond}

// write writes changed documents to all generations of their dataset and stores the
// results. With last it also releases the lease, unless versions conflict.
func (p *Projector) write(ctx context.Context, w *projecting, d catalog.Dataset, drafts []*draft, last bool) error {
	in := w.in
	var changed []*draft
	var claimed []held.Record
	for _, draft := range drafts {
		if !draft.unchanged() {
			changed, claimed = append(changed, draft), append(claimed, draft.record)
		}
	}
	claim, err := p.Rows.ClaimHeld(ctx, in, w.holder, p.Lease, claimed)
	if err != nil {
		return err
	}
	if !claim.Leased {
		return errLeaseLost
	}
	generations := slices.DeleteFunc(claim.Generations, func(g held.Generation) bool { return g.Dataset != d })
	if len(changed) > 0 && len(generations) == 0 {
		return fault.BackendUnavailable(fmt.Errorf("there is no index of held %s yet", d), "projection")
	}
	deleted := func(draft *draft) bool { // the row of a deleted workspace, or of an old stub
		_, ok := claim.Versions[draft.record.Record]
		return !ok
	}
	for _, draft := range changed {
		if !deleted(draft) {
			draft.setVersion(claim.Versions[draft.record.Record])
		}
	}
	drafts = slices.DeleteFunc(drafts, func(draft *draft) bool { return !draft.unchanged() && deleted(draft) })
	changed = slices.DeleteFunc(changed, deleted)
	higher := map[uuid.UUID]bool{}
	for _, g := range generations {
		if err := p.writeGeneration(ctx, in, g, changed, higher, len(generations) == 1); err != nil {
			return elastic.FaultOf(err)
		}
	}
	finish := held.Finish{Results: make([]held.ProjectionResult, 0, len(drafts)), Written: len(changed) > 0}
	for _, draft := range drafts {
		if !higher[draft.record.Record] {
			finish.Results = append(finish.Results, draft.projected)
		}
	}
	if last && len(higher) == 0 {
		finish.Release = w.holder
	}
	if len(finish.Results) > 0 {
		if err := p.Rows.FinishHeld(ctx, in, finish); err != nil {
			return err
		}
		if finish.Release != "" { // the only page
			w.leased = false
		}
	}
	return p.resolveConflicts(ctx, in, d, drafts, higher, generations)
}

// mappingRefusal is the error of an index whose mapping lacks a field.
const mappingRefusal = "strict_dynamic_mapping_exception"

// writeGeneration writes to one generation, and adds records whose document has a higher
// version to higher. only means that there is no other generation. Otherwise a rebuild is in
// progress, and must not fail because of the index that it replaces.
func (p *Projector) writeGeneration(
	ctx context.Context,
	in workspace.ID,
	g held.Generation,
	drafts []*draft,
	higher map[uuid.UUID]bool,
	only bool,
) error {
	alias := p.Names.HeldWrite(string(g.Dataset), g.Generation)
	var batch elastic.Batch
	var sent []*draft
	for i, draft := range drafts {
		if r := draft.record; draft.doc != nil {
			doc := draft.doc
			if g.Folding != catalog.NewestFolding {
				doc = draft.build(g.Folding)
			}
			batch.IndexAt(documentID(in, r.Record), in.String(), r.Version, document.WithVersion(doc, r.Version))
			sent = append(sent, draft)
		}
		if batch.Len() == 0 || batch.Size() < bulkBytes && i < len(drafts)-1 {
			continue
		}
		refused, err := p.Elastic.Bulk(ctx, alias, &batch, bulkRetry)
		if err != nil {
			return err
		}
		for _, refusal := range refused {
			draft := sent[refusal.Position]
			if refusal.Status == http.StatusConflict {
				higher[draft.record.Record] = true
				continue
			}
			if refusal.Type == mappingRefusal && only {
				return fault.BackendUnavailable(
					fmt.Errorf(
						"the index of held %s was made by another version of Atlas, run atlas projection rebuild: %s",
						g.Dataset,
						refusal.Reason,
					),
					"projection",
				)
			}
			// Elasticsearch would refuse a retry too, so no search waits for it.
			p.Log.Error("elasticsearch refuses a held document; it stays as it was", "workspace", in.String(),
				"dataset", g.Dataset, "record", draft.record.Record.String(), "type", refusal.Type, "reason", refusal.Reason)
			draft.projected.Digest, draft.projected.Refusal = nil, refusal.Type+": "+refusal.Reason
		}
		batch.Reset()
		sent = sent[:0]
	}
	return nil
}

// documentID is the id of a held document.
func documentID(in workspace.ID, record uuid.UUID) string { return in.String() + ":" + record.String() }

// resolveConflicts handles documents with a higher version than the one to write. If
// the row now has a higher version too, the record is still pending. Otherwise
// Postgres was restored from an older state: the sequence of versions is moved beyond
// the highest version of the index, and the rows get new versions.
func (p *Projector) resolveConflicts(
	ctx context.Context,
	in workspace.ID,
	d catalog.Dataset,
	drafts []*draft,
	higher map[uuid.UUID]bool,
	generations []held.Generation,
) error {
	if len(higher) == 0 {
		return nil
	}
	var ids []uuid.UUID
	for _, draft := range drafts {
		if higher[draft.record.Record] {
			ids = append(ids, draft.record.Record)
		}
	}
	now, err := p.Rows.HeldVersions(ctx, in, d, ids)
	if err != nil {
		return err
	}
	var behind []uuid.UUID
	for _, draft := range drafts {
		r := draft.record
		if higher[r.Record] && now[r.Record] <= r.Version {
			behind = append(behind, r.Record)
		}
	}
	if len(behind) == 0 {
		return nil
	}
	most := int64(0)
	for _, g := range generations {
		highest, err := p.highestVersion(ctx, p.Names.HeldGeneration(string(d), g.Generation))
		if err != nil {
			return elastic.FaultOf(err)
		}
		most = max(most, highest)
	}
	p.Log.Error("held documents are newer than Postgres, which must have been restored from an older state; versions go on past theirs",
		"workspace", in.String(), "dataset", d, "records", len(behind), "highest", most)
	if err := p.System.AdvanceVersions(ctx, most); err != nil {
		return err
	}
	return p.Rows.BumpHeld(ctx, in, d, behind)
}

// highestVersion is the highest version of the documents of an index.
func (p *Projector) highestVersion(ctx context.Context, index string) (int64, error) {
	if err := p.Elastic.Refresh(ctx, index); err != nil {
		return 0, err
	}
	hits, err := elastic.Hits[int64](ctx, p.Elastic, index, map[string]any{
		"size": 1, "track_total_hits": false, "_source": false,
		"sort": []any{map[string]any{document.VersionField: map[string]any{"order": "desc", "missing": "_last"}}},
	})
	if err != nil || len(hits) == 0 || len(hits[0].Sort) == 0 {
		return 0, err
	}
	return hits[0].Sort[0], nil
}
