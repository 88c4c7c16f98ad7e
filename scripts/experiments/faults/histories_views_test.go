//go:build faults

package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"atlas/scripts/experiments/history"
	"atlas/search/catalog"
)

const viewsPath = "/workspace/views"

// viewData is a View in an answer.
type viewData struct {
	ID          string
	Name        string
	Dataset     string
	Revision    int
	RecordCount *int `json:"record_count"`
}

func (v viewData) answer() history.ViewAnswer {
	a := history.ViewAnswer{Name: v.Name, Revision: v.Revision, Count: -1}
	if v.RecordCount != nil {
		a.Count = *v.RecordCount
	}
	return a
}

// mostViews is the approximate number of Static Views of a workspace, besides the
// permanent ones.
const mostViews = 6

// newView makes a Static View, usually of contacts, and sometimes several in one batch.
func (a *actor) newView(ctx context.Context) error {
	if len(a.in.alive()) >= mostViews {
		return a.endView(ctx)
	}
	d := catalog.Contacts
	if a.random.IntN(4) == 0 {
		d = catalog.Accounts
	}
	var names []string
	var inputs []any
	for i := range 1 + max(0, a.random.IntN(6)-3) {
		names = append(names, fmt.Sprintf("View %s-%d", a.uniqueValue(), i))
		inputs = append(inputs, map[string]any{"dataset": singular[d], "view_type": "static", "name": names[i]})
	}
	path, body := viewsPath+"/upsert", inputs[0]
	if len(inputs) > 1 {
		path, body = path+"/batch", map[string]any{"inputs": inputs}
	}
	r, err := a.ask(ctx, writing, 0, "POST", path, body)
	if err != nil || !r.sent {
		return err
	}
	results := []item{{Status: "ok"}}
	switch {
	case r.outcome == history.Refused:
		a.unexpected(r, "new Views")
		return nil
	case r.outcome == history.Unknown:
		results = make([]item, len(names))
	case len(inputs) > 1:
		results = a.items(r, len(inputs))
	default:
		if err := r.Data(&results[0].Data); err != nil {
			a.unexpected(r, err.Error())
			return nil
		}
	}
	doubted := false
	for i, it := range results {
		outcome, ok := r.outcome, true
		if outcome == history.Done {
			outcome, ok = a.outcomeOf(r, it)
		}
		var got struct{ View viewData }
		switch {
		case !ok:
			continue
		case outcome == history.Unknown:
			// Names are unique: the View exists now or never will.
			there, err := storedViews(ctx, a.rig, a.in.ID, names[i])
			if err != nil {
				return err
			}
			tried := r.outcome == history.Unknown || !doubted
			if doubted = true; len(there) == 0 {
				continue
			}
			if !tried {
				a.unexpected(r, "done after an item in doubt")
			}
			r.span.Return = a.log.Now()
			got.View = viewData{ID: there[0].id, Name: there[0].view.Name, Revision: 1, RecordCount: new(int)}
		default:
			if err := json.Unmarshal(it.Data, &got); err != nil {
				a.unexpected(r, err.Error())
				continue
			}
		}
		a.log.Add(a.in.viewKey(got.View.ID), r.span, history.Made{Answer: got.View.answer()})
		a.in.made(&known{id: got.View.ID, dataset: d, revision: 1})
	}
	return nil
}

// rename renames a View, sometimes only if it has the last known revision.
func (a *actor) rename(ctx context.Context) error {
	v := a.in.view(a.random)
	if v == nil {
		return a.newView(ctx)
	}
	op := history.Rename{To: "View " + a.uniqueValue()}
	body := map[string]any{"id": v.id, "name": op.To}
	if a.random.IntN(2) == 0 {
		op.Revision = a.in.revision(v)
		body["revision"] = op.Revision
	}
	r, err := a.ask(ctx, writing, 0, "POST", viewsPath+"/upsert", body)
	if err != nil || !r.sent {
		return err
	}
	switch op.Outcome = r.outcome; {
	case r.outcome == history.Unknown:
	case r.Code() == "view_not_found":
		op.NotFound = true
	case r.Code() == "revision_conflict":
	default:
		var got struct{ View viewData }
		if err := r.Data(&got); err != nil || r.outcome == history.Refused {
			a.unexpected(r, "a View's new name")
			return nil
		}
		op.Answer = got.View.answer()
		a.in.revise(v, got.View.Revision)
	}
	a.log.Add(a.in.viewKey(v.id), r.span, op)
	return a.lookIntoView(ctx, r, v)
}

// endView deletes a View, or two in one batch, and immediately checks which exist.
func (a *actor) endView(ctx context.Context) error {
	v := a.in.view(a.random)
	if v == nil {
		return a.newView(ctx)
	}
	if a.random.IntN(3) > 0 {
		r, err := a.ask(ctx, writing, 0, "DELETE", viewsPath+"/"+v.id, nil)
		if err != nil || !r.sent {
			return err
		}
		if r.outcome == history.Refused && r.Code() != "view_not_found" {
			a.unexpected(r, "a View's deletion")
			return nil
		}
		return errors.Join(a.ended(ctx, r, v, r.outcome), a.everyone(ctx))
	}
	chosen := []*known{v}
	if other := a.in.view(a.random); other != nil && other.id != v.id {
		chosen = append(chosen, other)
	}
	var ids []string
	for _, v := range chosen {
		ids = append(ids, v.id)
	}
	r, err := a.ask(ctx, writing, 0, "POST", viewsPath+"/delete/batch", map[string]any{"ids": ids})
	if err != nil || !r.sent {
		return err
	}
	for i, it := range a.batch(r, len(ids), "a batch of Views' deletions", "view_not_found") {
		if !it.allowed {
			continue
		}
		if err := a.ended(ctx, r, chosen[i], it.outcome); err != nil {
			return err
		}
	}
	return a.everyone(ctx)
}

// ended records that a View and its effects on records were deleted.
func (a *actor) ended(ctx context.Context, r reply, v *known, outcome history.Outcome) error {
	a.log.Add(a.in.viewKey(v.id), r.span, history.Ended{Outcome: outcome})
	if outcome == history.Refused {
		return nil
	}
	a.in.ended(v.id)
	for _, record := range a.in.records[v.dataset] {
		a.log.Add(a.in.recordKey(v.dataset, record), r.span, history.Drop{View: v.id, Outcome: outcome})
	}
	if outcome != history.Unknown {
		return nil
	}
	r.outcome = outcome // possibly that of an item
	if err := a.lookIntoView(ctx, r, v); err != nil {
		return err
	}
	return a.lookInto(ctx, r, v.dataset, a.in.records[v.dataset]...)
}

// members adds one or several records to a View, or removes them.
func (a *actor) members(ctx context.Context) error {
	v := a.in.view(a.random)
	if v == nil {
		return a.newView(ctx)
	}
	path := viewsPath + "/" + v.id + "/records/"
	records := some(a.random, a.in.records[v.dataset], 5)
	out := a.random.IntN(2) == 0
	if a.random.IntN(2) == 0 {
		records = records[:1]
	}
	var r reply
	var err error
	switch {
	case out && len(records) == 1:
		r, err = a.ask(ctx, writing, 0, "DELETE", path+records[0], nil)
	case out:
		r, err = a.ask(ctx, writing, 0, "POST", path+"delete/batch", map[string]any{"ids": records})
	case len(records) == 1:
		r, err = a.ask(ctx, writing, 0, "POST", path+"add", map[string]any{"record_id": records[0]})
	default:
		var inputs []any
		for _, record := range records {
			inputs = append(inputs, map[string]any{"record_id": record})
		}
		r, err = a.ask(ctx, writing, 0, "POST", path+"add/batch", map[string]any{"inputs": inputs})
	}
	if err != nil || !r.sent {
		return err
	}
	key := a.in.viewKey(v.id)
	if r.outcome == history.Refused {
		if r.Code() != "view_not_found" {
			a.unexpected(r, "a change of a View's records")
			return nil
		}
		a.log.Add(key, r.span, history.Contents{Records: records, Out: out, Outcome: history.Refused})
		return nil
	}
	var outcomes []history.Outcome
	for _, it := range a.batch(r, len(records), "a change of a View's records", "record_not_visible") {
		if !it.allowed {
			return nil
		}
		outcomes = append(outcomes, it.outcome)
	}
	if outcomes == nil {
		return nil
	}
	return a.moved(ctx, r, v, out, records, outcomes)
}

// moved records the outcome for records that were added to a View or removed.
func (a *actor) moved(ctx context.Context, r reply, v *known, out bool, records []string, outcomes []history.Outcome) error {
	of := map[history.Outcome][]string{}
	for i, record := range records {
		of[outcomes[i]] = append(of[outcomes[i]], record)
		var op history.Op = history.Join{View: v.id, Outcome: outcomes[i]}
		if out {
			op = history.Leave{View: v.id, Outcome: outcomes[i]}
		}
		a.log.Add(a.in.recordKey(v.dataset, record), r.span, op)
	}
	key := a.in.viewKey(v.id)
	if r.outcome == history.Done {
		a.log.Add(key, r.span, history.Contents{Records: of[history.Done], Out: out, Outcome: history.Done})
	}
	doubtful := of[history.Unknown]
	if len(doubtful) == 0 {
		return nil
	}
	// Only visible contacts are added.
	part := !out && v.dataset == catalog.Contacts
	a.log.Add(key, r.span, history.Contents{Records: doubtful, Out: out, Outcome: history.Unknown, Part: part})
	r.outcome = history.Unknown
	return errors.Join(a.lookIntoView(ctx, r, v), a.lookInto(ctx, r, v.dataset, doubtful...))
}

// lookIntoView reads the result of a write to a View with an unknown outcome from
// Postgres.
func (a *actor) lookIntoView(ctx context.Context, r reply, v *known) error {
	if r.outcome != history.Unknown {
		return nil
	}
	call := a.log.Now()
	now, err := storedViews(ctx, a.rig, a.in.ID, v.id)
	if err != nil {
		return err
	}
	var is history.View
	if len(now) > 0 {
		is = now[0].view
	}
	a.log.Add(a.in.viewKey(v.id), history.Span{Client: a.n, Call: call, Return: a.log.Now()}, history.StoredView{View: is})
	return nil
}
