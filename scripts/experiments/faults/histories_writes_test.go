//go:build faults

package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"atlas/scripts/experiments/history"
	"atlas/search/catalog"
)

// input returns the change of an upsert, and its body.
func (a *actor) input(d catalog.Dataset, record, uniqueValue string) (history.Change, map[string]any) {
	var c history.Change
	body := map[string]any{singular[d] + "_id": record}
	set := func(name string, to **string, null bool) {
		switch {
		case a.random.IntN(3) == 0: // unchanged
		case null && a.random.IntN(4) == 0:
			none := ""
			*to, body[name] = &none, nil
		default:
			*to, body[name] = &uniqueValue, uniqueValue
		}
	}
	set("workspace_status", &c.Status, true)
	set("notes", &c.Notes, true)
	if set("tags", &c.Tags, false); c.Tags != nil {
		body["tags"] = []string{uniqueValue}
		a.in.tagged(d, uniqueValue)
	}
	if d == catalog.Accounts && a.random.IntN(2) == 0 {
		tier := pick(a.random, []string{"tier_1", "tier_1", "tier_2", "disqualified"})
		c.Tier, body["icp_tier"] = &tier, tier
	}
	return c, body
}

// upsert changes one record.
func (a *actor) upsert(ctx context.Context, d catalog.Dataset, record string) error {
	change, body := a.input(d, record, a.uniqueValue())
	r, err := a.ask(ctx, writing, 0, "POST", "/workspace/"+string(d)+"/upsert", body)
	if err != nil || !r.sent {
		return err
	}
	op := history.Upsert{Change: change, Outcome: r.outcome}
	if r.outcome != history.Unknown {
		var got row
		if err := r.Data(&got); r.Status != http.StatusOK || err != nil {
			a.unexpected(r, "an upsert")
			return nil
		}
		op.Answer = got.overlay()
		a.saw(r, record, got.Name, false)
	}
	a.log.Add(a.in.recordKey(d, record), r.span, op)
	return a.lookInto(ctx, r, d, record)
}

// upsertAll changes several records in one batch, sometimes only the client's own.
func (a *actor) upsertAll(ctx context.Context, d catalog.Dataset) error {
	from := a.writable[d]
	if a.random.IntN(2) == 0 {
		from = a.own[d]
	}
	records := some(a.random, from, 6)
	changes, inputs := make([]history.Change, len(records)), make([]any, len(records))
	for i, record := range records {
		uniqueValue := fmt.Sprintf("%s-%d", a.uniqueValue(), i)
		changes[i], inputs[i] = a.input(d, record, uniqueValue)
		// Each item has a change, so that the executed items of a lost batch can be
		// recognized.
		changes[i].Status, inputs[i].(map[string]any)["workspace_status"] = &uniqueValue, uniqueValue
	}
	r, err := a.ask(ctx, writing, 0, "POST", "/workspace/"+string(d)+"/upsert/batch", map[string]any{"inputs": inputs})
	if err != nil || !r.sent {
		return err
	}
	for i, it := range a.batch(r, len(records), "a batch upsert") {
		op := history.Upsert{Change: changes[i], Outcome: it.outcome}
		if !it.allowed {
			continue
		}
		if op.Outcome == history.Done {
			var got row
			if err := json.Unmarshal(it.Data, &got); err != nil {
				a.unexpected(r, err.Error())
				continue
			}
			op.Answer = got.overlay()
			a.saw(r, records[i], got.Name, false)
		}
		a.log.Add(a.in.recordKey(d, records[i]), r.span, op)
	}
	if r.outcome == history.Unknown {
		err = a.whole(ctx, d, records, func(i int, now history.Stored) (done, undone bool) {
			is := now.Overlay.In && now.Overlay.Status == *changes[i].Status
			return is, !is
		})
	}
	return errors.Join(err, a.lookInto(ctx, r, d, records...))
}

// remove removes one record from the book.
func (a *actor) remove(ctx context.Context, d catalog.Dataset, record string) error {
	r, err := a.ask(ctx, writing, 0, "DELETE", "/workspace/"+string(d)+"/"+record, nil)
	if err != nil || !r.sent {
		return err
	}
	if r.outcome == history.Refused {
		a.unexpected(r, "a deletion")
		return nil
	}
	a.log.Add(a.in.recordKey(d, record), r.span, history.Delete{Outcome: r.outcome})
	return a.lookInto(ctx, r, d, record)
}

// removeAll removes several records from the book, sometimes only the client's own.
func (a *actor) removeAll(ctx context.Context, d catalog.Dataset) error {
	from := a.writable[d]
	own := a.random.IntN(2) == 0
	if own {
		from = a.own[d]
	}
	records := some(a.random, from, 6)
	var before map[string]history.Stored
	if own {
		var err error
		if before, err = storedRecords(ctx, a.rig, a.in.ID, d, records); err != nil {
			return err
		}
	}
	r, err := a.ask(ctx, writing, 0, "POST", "/workspace/"+string(d)+"/delete/batch", map[string]any{"ids": records})
	if err != nil || !r.sent {
		return err
	}
	for i, it := range a.batch(r, len(records), "a batch of deletions") {
		if it.allowed {
			a.log.Add(a.in.recordKey(d, records[i]), r.span, history.Delete{Outcome: it.outcome})
		}
	}
	if r.outcome == history.Unknown && own {
		err = a.whole(ctx, d, records, func(i int, now history.Stored) (done, undone bool) {
			was := before[records[i]].Overlay.In
			return was && !now.Overlay.In, was && now.Overlay.In
		})
	}
	return errors.Join(err, a.lookInto(ctx, r, d, records...))
}

// whole counts a batch on the client's own records with an unknown outcome that was
// executed partially.
func (a *actor) whole(
	ctx context.Context, d catalog.Dataset, records []string, judge func(i int, now history.Stored) (done, undone bool),
) error {
	for _, r := range records {
		if !slices.Contains(a.own[d], r) {
			return nil // other clients may have written since
		}
	}
	now, err := storedRecords(ctx, a.rig, a.in.ID, d, records)
	if err != nil {
		return err
	}
	some, none := false, false
	for i, r := range records {
		done, undone := judge(i, now[r])
		some, none = some || done, none || undone
	}
	if some && none {
		a.counters.halves.Add(1)
		a.counters.unexpectedf("client %d: a part of a batch was done: %v", a.n, now)
	}
	return nil
}

// lookInto reads the result of a write with an unknown outcome from Postgres.
func (a *actor) lookInto(ctx context.Context, r reply, d catalog.Dataset, records ...string) error {
	if r.outcome != history.Unknown {
		return nil
	}
	call := a.log.Now()
	now, err := storedRecords(ctx, a.rig, a.in.ID, d, records)
	if err != nil {
		return err
	}
	for _, record := range records {
		a.log.Add(a.in.recordKey(d, record), history.Span{Client: a.n, Call: call, Return: a.log.Now()}, now[record])
	}
	return nil
}

// writeDeletable writes to records that are deleted from the global dataset and
// restored. Their state is checked after the round.
func (a *actor) writeDeletable(ctx context.Context, d catalog.Dataset) error {
	record := pick(a.random, a.in.deletable[d])
	_, body := a.input(d, record, a.uniqueValue())
	method, path, sent := "POST", "/upsert", any(body)
	if a.random.IntN(4) == 0 {
		method, path, sent = "DELETE", "/"+record, nil
	}
	r, err := a.ask(ctx, writing, 0, method, "/workspace/"+string(d)+path, sent)
	if err == nil && r.outcome == history.Refused && r.Status != http.StatusNotFound {
		a.unexpected(r, "a write to a record that comes and goes")
	}
	return err
}

// favorites reorders or reads the user's Favorites.
func (a *actor) favorites(ctx context.Context) error {
	const path = "/workspace/favorite-views"
	views := some(a.random, a.in.choice, 3)
	op := history.Reorder{}
	var r reply
	var err error
	switch a.random.IntN(5) {
	case 0:
		op.Away = views
		r, err = a.ask(ctx, personal, 0, "POST", path+"/delete/batch", map[string]any{"ids": views})
	case 1:
		op.Away = views[:1]
		r, err = a.ask(ctx, personal, 0, "DELETE", path+"/"+views[0], nil)
	case 2:
		op.View, op.Position = views[0], a.random.IntN(len(a.in.choice))
		r, err = a.ask(ctx, personal, 0, "POST", path+"/upsert", map[string]any{"view_id": op.View, "position": op.Position})
	case 3:
		op.Front = views // positions 0, 1, 2
		var inputs []any
		for i, v := range views {
			inputs = append(inputs, map[string]any{"view_id": v, "position": i})
		}
		r, err = a.ask(ctx, personal, 0, "POST", path+"/upsert/batch", map[string]any{"inputs": inputs})
	default:
		return a.listFavorites(ctx)
	}
	if err != nil || !r.sent {
		return err
	}
	key := favoritesKey(a.user)
	if op.Outcome = r.outcome; op.Outcome == history.Refused ||
		strings.Contains(string(r.Raw), `"failed":`) && !strings.Contains(string(r.Raw), `"failed":0`) {
		a.unexpected(r, "a change of Favorites")
		return nil
	}
	a.log.Add(key, r.span, op)
	if op.Outcome != history.Unknown {
		return nil
	}
	call := a.log.Now()
	order, err := storedFavorites(ctx, a.rig, a.in.ID, a.user)
	a.log.Add(key, history.Span{Client: a.n, Call: call, Return: a.log.Now()}, history.Listed{Order: order})
	return err
}

func (a *actor) listFavorites(ctx context.Context) error {
	r, err := a.ask(ctx, personal, 0, "GET", "/workspace/favorite-views?limit=100", nil)
	if err != nil || !r.sent || r.outcome == history.Unknown {
		return err
	}
	var data struct{ Views []struct{ ID string } }
	if err := r.Data(&data); err != nil || r.outcome == history.Refused {
		a.unexpected(r, "Favorites")
		return nil
	}
	var order []string
	for _, v := range data.Views {
		order = append(order, v.ID)
	}
	a.log.Add(favoritesKey(a.user), r.span, history.Listed{Order: strings.Join(order, " ")})
	return nil
}
