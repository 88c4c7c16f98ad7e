//go:build faults

package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"atlas/client"
)

// next draws the next write.
func (w *writer) next() request {
	dataset := pick(w.random, []string{"accounts", "contacts", "projects"})
	switch n := w.random.IntN(100); {
	case n < 20:
		return w.upsert(dataset, w.own[dataset], 1, false)
	case n < 32:
		return w.upsert(dataset, w.own[dataset], 10, false)
	case n < 45:
		return w.change(dataset)
	case n < 52:
		return w.remove(dataset, w.own[dataset], 1)
	case n < 56:
		return w.remove(dataset, w.own[dataset], 8)
	case n < 70:
		return w.members(w.views[dataset], w.own[dataset], false)
	case n < 78:
		return w.upsert(dataset, w.shared[dataset], 3, true)
	case n < 84:
		return w.members(w.common, w.shared["projects"], true)
	case n < 92:
		return w.favorites()
	default:
		return w.view()
	}
}

var singular = map[string]string{"accounts": "account", "contacts": "contact", "projects": "project"}

// sign is a value that no other write has.
func (w *writer) sign() string { return fmt.Sprintf("w%d-%d", w.n, w.turn) }

// upsert puts records into the book, saying everything of them anew.
func (w *writer) upsert(dataset string, from []string, most int, contended bool) request {
	q := request{what: "an upsert", to: map[string]string{}, contended: contended}
	var inputs []json.RawMessage
	for i, record := range some(w.random, from, most) {
		sign := fmt.Sprintf("%s-%d", w.sign(), i)
		said := overlay{status: sign, notes: sign, tags: sign}
		tier := ""
		if dataset == "accounts" {
			said.tier = pick(w.random, []string{"tier_1", "tier_2", "tier_3", "disqualified"})
			tier = fmt.Sprintf(`,"icp_tier":%q`, said.tier)
		}
		inputs = append(inputs, fmt.Appendf(nil, `{"%s_id":%q,"workspace_status":%q,"notes":%q,"tags":[%q]%s}`, singular[dataset], record, sign, sign, sign, tier))
		q.to[overlayKey(dataset, record)] = said.String()
	}
	q.send = func(ctx context.Context, c, _ *client.Client) error {
		book := c.Book.Dataset(dataset)
		if len(inputs) == 1 {
			_, err := book.Upsert(ctx, inputs[0])
			return err
		}
		b, err := book.UpsertAll(ctx, inputs)
		return errors.Join(err, b.Err())
	}
	return q
}

// change changes a part of what is said of one record.
func (w *writer) change(dataset string) request {
	record := pick(w.random, w.own[dataset])
	key := overlayKey(dataset, record)
	said, sign := overlayOf(w.known[key]), w.sign()
	var member string
	switch w.random.IntN(4) {
	case 0:
		said.notes, member = sign, fmt.Sprintf(`"notes":%q`, sign)
	case 1:
		said.notes, member = "", `"notes":null`
	case 2:
		said.tags, member = sign, fmt.Sprintf(`"tags":[%q]`, sign)
	default:
		said.status, said.tags, member = "", "", `"workspace_status":null,"tags":[]`
	}
	return request{
		what: "a change of an overlay", to: map[string]string{key: said.String()},
		send: func(ctx context.Context, c, _ *client.Client) error {
			_, err := c.Book.Dataset(dataset).Upsert(ctx, fmt.Appendf(nil, `{"%s_id":%q,%s}`, singular[dataset], record, member))
			return err
		},
	}
}

// remove takes records out of the book.
func (w *writer) remove(dataset string, from []string, most int) request {
	records := some(w.random, from, most)
	q := request{what: "a deletion", to: map[string]string{}}
	for _, record := range records {
		q.to[overlayKey(dataset, record)] = ""
	}
	q.send = func(ctx context.Context, c, _ *client.Client) error {
		book := c.Book.Dataset(dataset)
		if len(records) == 1 {
			return book.Delete(ctx, records[0])
		}
		b, err := book.DeleteAll(ctx, records)
		return errors.Join(err, b.Err())
	}
	return q
}

// members adds records to a Static View, or removes them.
func (w *writer) members(view string, from []string, contended bool) request {
	records := some(w.random, from, 6)
	adds, value := w.random.IntN(2) == 0, ""
	if adds {
		value = "in"
	}
	q := request{what: "a change of a View's records", to: map[string]string{}, contended: contended}
	for _, record := range records {
		q.to[memberKey(view, record)] = value
	}
	q.send = func(ctx context.Context, c, _ *client.Client) error {
		switch {
		case adds && len(records) == 1:
			return c.Views.AddRecord(ctx, view, records[0])
		case len(records) == 1:
			return c.Views.RemoveRecord(ctx, view, records[0])
		}
		batch := c.Views.RemoveRecords
		if adds {
			batch = c.Views.AddRecords
		}
		b, err := batch(ctx, view, records)
		return errors.Join(err, b.Err())
	}
	return q
}

// favorites changes the order of the user's Favorites.
func (w *writer) favorites() request {
	key := favoritesKey(w.user)
	var order []string
	if known := w.known[key]; known != "" {
		order = strings.Split(known, ",")
	}
	views := some(w.random, w.choice, 3)
	q := request{what: "a change of Favorites"}
	switch w.random.IntN(3) {
	case 0:
		order = slices.DeleteFunc(order, func(v string) bool { return slices.Contains(views, v) })
		q.send = func(ctx context.Context, _, c *client.Client) error {
			b, err := c.Favorites.DeleteAll(ctx, views)
			return errors.Join(err, b.Err())
		}
	case 1:
		view, position := views[0], w.random.IntN(len(w.choice))
		order = slices.DeleteFunc(order, func(v string) bool { return v == view })
		order = slices.Insert(order, min(position, len(order)), view)
		q.send = func(ctx context.Context, _, c *client.Client) error {
			_, err := c.Favorites.Upsert(ctx, client.FavoriteUpsert{ViewID: view, Position: &position})
			return err
		}
	default:
		// To the front, in this order: positions 0, 1, 2.
		order = append(slices.Clone(views), slices.DeleteFunc(order, func(v string) bool { return slices.Contains(views, v) })...)
		inputs := make([]client.FavoriteUpsert, len(views))
		for i, view := range views {
			inputs[i] = client.FavoriteUpsert{ViewID: view, Position: &i}
		}
		q.send = func(ctx context.Context, _, c *client.Client) error {
			b, err := c.Favorites.UpsertAll(ctx, inputs)
			return errors.Join(err, b.Err())
		}
	}
	q.to = map[string]string{key: strings.Join(order, ",")}
	return q
}

// view makes a Static View of one of the client's two slots, fills it, renames
// it, or deletes it with what is in it.
func (w *writer) view() request {
	slot := fmt.Sprintf("slot-%d-%d", w.n, w.random.IntN(2))
	key := viewKey(slot)
	is, name := w.known[key], slot+" "+w.sign()
	if is == "" {
		return request{what: "a new View", to: map[string]string{key: name}, send: func(ctx context.Context, c, _ *client.Client) error {
			_, err := c.Views.Upsert(ctx, client.ViewUpsert{Dataset: "account", Type: "static", Name: name})
			return err
		}}
	}
	id, err := w.viewID(is)
	if err != nil {
		return request{what: "looking for a View", send: func(context.Context, *client.Client, *client.Client) error { return err }}
	}
	switch w.random.IntN(4) {
	case 0:
		q := request{what: "a View's deletion", to: map[string]string{key: ""}, send: func(ctx context.Context, c, _ *client.Client) error {
			return c.Views.Delete(ctx, id)
		}}
		for member := range maps.Keys(w.known) {
			if strings.HasPrefix(member, memberKey(id, "")) {
				q.to[member] = ""
			}
		}
		return q
	case 1:
		return request{what: "a View's new name", to: map[string]string{key: name}, send: func(ctx context.Context, c, _ *client.Client) error {
			_, err := c.Views.Upsert(ctx, client.ViewUpsert{ID: id, Name: name})
			return err
		}}
	default:
		return w.members(id, w.own["accounts"], false)
	}
}

// viewID asks Postgres for the id of a View by its name.
func (w *writer) viewID(name string) (id string, err error) {
	err = w.rig.Rows(context.Background(), func(rows pgx.Rows) error { return rows.Scan(&id) }, "SELECT id::text FROM views WHERE workspace_id = $1 AND name = $2", w.in, name)
	if err == nil && id == "" {
		err = fmt.Errorf("the View %q is not there", name)
	}
	return id, err
}
