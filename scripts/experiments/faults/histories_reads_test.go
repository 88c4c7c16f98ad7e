//go:build faults

package faults

import (
	"context"
	"net/http"

	"atlas/scripts/experiments/history"
	"atlas/search/catalog"
)

// wholePage is a page size that is larger than the number of rows.
const wholePage = 100

// rows sends a search whose rows fit on one page, and returns them by id. It returns
// nil if there is no answer, or one that was recorded elsewhere.
func (a *actor) rows(ctx context.Context, path string, body map[string]any) (reply, map[string]row, error) {
	body["limit"] = wholePage
	r, err := a.ask(ctx, reading, wholePage, "POST", path, body)
	if err != nil || !r.sent || r.outcome != history.Done {
		return r, nil, err
	}
	var all []row
	if err := r.Data(&all); err != nil {
		var view struct{ Records []row }
		if err := r.Data(&view); err != nil {
			a.unexpected(r, "a search of "+path)
			return r, nil, nil
		}
		all = view.Records
	}
	found := map[string]row{}
	for _, one := range all {
		if _, twice := found[one.ID]; twice {
			a.unexpected(r, "a row that comes twice")
		}
		found[one.ID] = one
		a.saw(r, one.ID, one.Name, false)
	}
	if m := r.Metadata(); m.SearchAfter != nil || m.Credits != int64(len(all)) {
		a.unexpected(r, "metadata of a search")
	}
	return r, found, nil
}

// judge records what a search by a condition shows of each judged record: whether it is
// found, and the content of its row. view means that the rows are of a View: they show
// less, and include records outside the book.
func (a *actor) judge(r reply, d catalog.Dataset, found map[string]row, by history.Condition, view bool) {
	for _, record := range a.in.records[d] {
		key := a.in.recordKey(d, record)
		one, there := found[record]
		a.log.Add(key, r.span, history.Found{By: by, Found: there})
		if !there {
			continue
		}
		shows := history.Shows{By: "a row", Overlay: one.overlay()}
		if view {
			shows.By, shows.NoNotes, shows.NoTier = "a View's row", true, d != catalog.Accounts
			if one.UpdatedAt == nil {
				if one.Status != nil || one.Tier != nil || len(one.Tags) > 0 {
					a.unexpected(r, "a row outside of the book")
				}
				shows.Overlay = history.Overlay{}
			}
		}
		a.log.Add(key, r.span, shows)
	}
}

// book reads a whole book.
func (a *actor) book(ctx context.Context, d catalog.Dataset) error {
	r, found, err := a.rows(ctx, "/workspace/"+string(d)+"/search", map[string]any{})
	if found != nil {
		a.judge(r, d, found, history.Condition{Kind: history.InBook}, false)
	} else if r.outcome == history.Refused {
		a.unexpected(r, "a search of a book")
	}
	return err
}

// byTag reads the records of a book with a recently written tag.
func (a *actor) byTag(ctx context.Context, d catalog.Dataset) error {
	tag := a.in.tag(d, a.random)
	r, found, err := a.rows(ctx, "/workspace/"+string(d)+"/search", map[string]any{
		"filters": map[string]any{"tags": map[string]any{"value": tag}},
	})
	if found != nil {
		a.judge(r, d, found, history.Condition{Kind: history.Tagged, Value: tag}, false)
	} else if r.outcome == history.Refused {
		a.unexpected(r, "a search by tag")
	}
	return err
}

// inView reads the records of a Static View.
func (a *actor) inView(ctx context.Context, v *known) error {
	if v == nil {
		return a.newView(ctx)
	}
	r, found, err := a.rows(ctx, viewsPath+"/"+v.id+"/records/search", map[string]any{})
	switch {
	case found != nil:
		a.log.Add(a.in.viewKey(v.id), r.span, history.Searched{There: true})
		a.judge(r, v.dataset, found, history.Condition{Kind: history.InView, Value: v.id}, true)
	case r.outcome == history.Refused && r.Code() == "view_not_found":
		a.log.Add(a.in.viewKey(v.id), r.span, history.Searched{There: false})
	case r.outcome == history.Refused:
		a.unexpected(r, "a search of a Static View")
	}
	return err
}

// everyone reads the subjects of the Dynamic View of all contacts.
func (a *actor) everyone(ctx context.Context) error {
	r, found, err := a.rows(ctx, viewsPath+"/"+a.in.everyone+"/records/search", map[string]any{"query": titled})
	if found != nil {
		a.judge(r, catalog.Contacts, found, history.Condition{Kind: history.Visible}, true)
	} else if r.outcome == history.Refused {
		a.unexpected(r, "a search of all contacts")
	}
	return err
}

// firstTier reads the Dynamic View of accounts of the first tier.
func (a *actor) firstTier(ctx context.Context) error {
	r, found, err := a.rows(ctx, viewsPath+"/"+a.in.first+"/records/search", map[string]any{})
	if found != nil {
		a.judge(r, catalog.Accounts, found, history.Condition{Kind: history.OfTier, Value: "tier_1"}, true)
	} else if r.outcome == history.Refused {
		a.unexpected(r, "a search by tier")
	}
	return err
}

// get reads one record of the book.
func (a *actor) get(ctx context.Context, d catalog.Dataset, record string) error {
	r, err := a.ask(ctx, reading, 1, "GET", "/workspace/"+string(d)+"/"+record, nil)
	if err != nil || !r.sent || r.outcome == history.Unknown {
		return err
	}
	shows := history.Shows{By: "a get"}
	if r.Status != http.StatusNotFound {
		var got row
		if err := r.Data(&got); err != nil || r.outcome == history.Refused {
			a.unexpected(r, "a get")
			return nil
		}
		shows.Overlay = got.overlay()
		a.saw(r, record, got.Name, false)
	}
	a.log.Add(a.in.recordKey(d, record), r.span, shows)
	return nil
}

// global reads a record of the Data API, which shows completed deltas and loads.
func (a *actor) global(ctx context.Context, d catalog.Dataset) error {
	record := pick(a.random, a.in.records[d])
	r, err := a.ask(ctx, reading, 1, "GET", "/data/"+string(d)+"/"+record, nil)
	if err != nil || !r.sent || r.outcome == history.Unknown {
		return err
	}
	var got row
	if err := r.Data(&got); err != nil || r.outcome == history.Refused {
		a.unexpected(r, "a get of the Data API")
		return nil
	}
	a.saw(r, record, got.Name, true)
	return nil
}

// views gets one View, or lists all.
func (a *actor) views(ctx context.Context) error {
	if v := a.in.view(a.random); v != nil && a.random.IntN(2) == 0 {
		r, err := a.ask(ctx, reading, 0, "GET", viewsPath+"/"+v.id, nil)
		if err != nil || !r.sent || r.outcome == history.Unknown {
			return err
		}
		var got struct{ View viewData }
		seen := history.Seen{There: r.outcome == history.Done}
		if seen.There {
			if err := r.Data(&got); err != nil {
				a.unexpected(r, "a View")
				return nil
			}
			seen.Answer = got.View.answer()
			a.in.revise(v, got.View.Revision)
		} else if r.Code() != "view_not_found" {
			a.unexpected(r, "a View")
			return nil
		}
		a.log.Add(a.in.viewKey(v.id), r.span, seen)
		return nil
	}
	r, err := a.ask(ctx, reading, 0, "GET", viewsPath+"?view_type=static&limit=100", nil)
	if err != nil || !r.sent || r.outcome == history.Unknown {
		return err
	}
	var listed struct{ Views []viewData }
	if err := r.Data(&listed); err != nil || r.outcome == history.Refused {
		a.unexpected(r, "Views")
		return nil
	}
	there := map[string]viewData{}
	for _, v := range listed.Views {
		there[v.ID] = v
	}
	for _, v := range a.in.alive() {
		seen := history.Seen{}
		if one, is := there[v.id]; is {
			seen = history.Seen{There: true, Answer: one.answer()}
			a.in.revise(v, one.Revision)
		}
		a.log.Add(a.in.viewKey(v.id), r.span, seen)
	}
	return nil
}

// usage reads the number of used credits.
func (a *actor) usage(ctx context.Context) error {
	r, err := a.ask(ctx, reading, 0, "GET", "/workspace/credits", nil)
	if err != nil || !r.sent || r.outcome == history.Unknown {
		return err
	}
	var got struct{ Used int64 }
	if err := r.Data(&got); err != nil || r.outcome == history.Refused {
		a.unexpected(r, "credits")
		return nil
	}
	a.in.credits().Add(history.Spending{Call: r.span.Call, Return: r.span.Return, Used: got.Used})
	return nil
}
