// Package book has the types and rules of a workspace's book: the global records that
// the workspace annotated, with its own values of them (overlays), the rows that show
// both, and the score of accounts (docs/api.md, "The book").
//
// It neither stores (workspace/postgres) nor searches (workspace/records).
package book

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/workspace"
)

// GlobalRecords reads the current global datasets. *search.Engine implements it.
type GlobalRecords interface {
	// Lookup returns the public records with these ids, by id. Unknown ids are left out.
	Lookup(ctx context.Context, d catalog.Dataset, ids []string) (map[string]jsontext.Value, error)
	// Match returns, for each value, at most 100 records whose field equals it,
	// ignoring case and accents. Domains must be in the form of catalog.Domain.
	Match(ctx context.Context, d catalog.Dataset, field string, values []string) ([][]jsontext.Value, error)
	// SignalCounts counts the signals that name each account in the span before
	// at, and in the one before that.
	SignalCounts(ctx context.Context, accounts []string, at time.Time, span time.Duration) (map[string][2]int64, error)
}

// OverlayUpsert is a change to a record's overlay.
type OverlayUpsert struct {
	// Fresh is stored if the record has no overlay yet. Its Record identifies the
	// record.
	Fresh  Overlay
	Change OverlayChange
	// Expected, when not nil, must be met when the change is made.
	Expected *Expectation
}

// OverlayDeletion removes a record from the book.
type OverlayDeletion struct {
	Record uuid.UUID
	// Expected, when not nil, must be met when the record is removed.
	Expected *Expectation
}

// Deletions are deletions without expectations.
func Deletions(records ...uuid.UUID) []OverlayDeletion {
	all := make([]OverlayDeletion, len(records))
	for i, id := range records {
		all[i].Record = id
	}
	return all
}

// Additions limits the records that are new to a workspace's books, over all datasets: at
// most Most within AdditionWindow before At. The window is measured in whole minutes and
// rounded up.
type Additions struct {
	Most int
	At   time.Time
}

// OverlayOutcome is the overlay after the change.
type OverlayOutcome struct {
	Overlay Overlay
	// Refused means that the record is new to the book and exceeds the limit of Additions.
	// Nothing changed.
	Refused bool
	// Unexpected means that the record was not as expected, and nothing changed. Overlay is
	// then its overlay; Absent means that it has none.
	Unexpected, Absent bool
}

// Store stores the overlays of workspaces.
type Store interface {
	// UpsertOverlays makes the changes in order, in one transaction. A changed overlay gets
	// UpdatedAt and UpdatedBy of Fresh; an unchanged one keeps its own. Only records that are
	// new to the book count; the last ones are refused if they exceed the limit.
	UpsertOverlays(ctx context.Context, in workspace.ID, d catalog.Dataset, changes []OverlayUpsert, a Additions) ([]OverlayOutcome, error)
	// DeleteOverlays deletes overlays. It ignores a record without one, unless one is expected.
	// It returns the overlays of records that are not as expected, nil for none.
	DeleteOverlays(ctx context.Context, in workspace.ID, d catalog.Dataset, deletions []OverlayDeletion) (map[uuid.UUID]*Overlay, error)
	// Overlays returns the overlays of the records that have one.
	Overlays(ctx context.Context, in workspace.ID, d catalog.Dataset, records []uuid.UUID) (map[uuid.UUID]Overlay, error)
}

// Book is the workspaces' own data on global records.
type Book struct {
	Store  Store
	Global GlobalRecords
	// Limits.BookAdditions limits the records that are new to a book in 24 hours.
	Limits workspace.Limits
	// Changed, when not nil, is called after a change was stored. It must not
	// block.
	Changed func(in workspace.ID)
	// Now is the clock; nil: the system's.
	Now func() time.Time
}

// Outcome is the result of one input: the record's id, if it is known, and its row or an error.
// Errors: fault.InvalidInput, fault.NotFound, fault.AmbiguousMatch, fault.LimitReached,
// fault.RevisionConflict for a record that is not as expected, fault.Internal for a stored
// overlay that cannot be rendered.
type Outcome struct {
	Record string
	Row    jsontext.Value
	Err    error
}

// Upsert adds records to the book or changes their overlays, in order. The error is
// fault.Unavailable; nothing has changed then.
func (b *Book) Upsert(ctx context.Context, in workspace.ID, d catalog.Dataset, inputs []Input) ([]Outcome, error) {
	outcomes := make([]Outcome, len(inputs))
	if err := b.resolve(ctx, d, inputs, outcomes); err != nil {
		return nil, err
	}
	now := b.now()
	global, signals, err := b.facts(ctx, d, outcomes, now)
	if err != nil {
		return nil, err
	}
	author := workspace.AuthorOf(ctx).User
	var changes []OverlayUpsert
	var positions []int
	for i, out := range outcomes {
		if out.Err != nil {
			continue
		}
		record, there := global[out.Record]
		if !there {
			outcomes[i].Err = fault.New(fault.NotFound, "no %s has the id %s", d.Singular(), out.Record)
			continue
		}
		fresh, err := freshOverlay(d, out.Record, record, signals[out.Record], inputs[i].Change, now)
		if err != nil {
			return nil, err
		}
		fresh.UpdatedBy = author
		changes, positions = append(changes, OverlayUpsert{fresh, inputs[i].Change, inputs[i].Expected}), append(positions, i)
	}
	if len(changes) == 0 {
		return outcomes, nil
	}
	most := b.Limits.WithDefaults().BookAdditions
	stored, err := b.Store.UpsertOverlays(ctx, in, d, changes, Additions{most, now})
	if err != nil {
		return nil, err
	}
	b.notify(in)
	for j, i := range positions {
		if stored[j].Refused {
			outcomes[i].Err = workspace.LimitError(
				most,
				"records newly added to the workspace's books in 24 hours",
				"what is in them can be changed; add others later",
			)
			continue
		}
		if stored[j].Unexpected {
			var now *Overlay
			if !stored[j].Absent {
				now = &stored[j].Overlay
			}
			outcomes[i].Err = unexpected(d, now)
			continue
		}
		// The overlay is stored, so a rendering error affects only this item.
		outcomes[i].Row, outcomes[i].Err = recordLayouts[d].Row(global[outcomes[i].Record], &stored[j].Overlay)
	}
	return outcomes, nil
}

// freshOverlay is the overlay of a record that is new to the book.
func freshOverlay(d catalog.Dataset, id string, record []byte, signals [2]int64, change OverlayChange, now time.Time) (Overlay, error) {
	u, err := workspace.ParseUUID(id)
	if err != nil {
		return Overlay{}, fault.Wrap(err, fault.Internal, "a global record has no id")
	}
	fresh, _ := change.Apply(Overlay{Record: u, CreatedAt: now, UpdatedAt: now})
	if d == catalog.Accounts {
		facts, err := FactsOf(record, signals)
		if err != nil {
			return Overlay{}, err
		}
		scored := ScoreOf(fresh.Tier(), facts, now)
		fresh.Score, fresh.Trend, fresh.ScoredAt = scored.Score, scored.Trend, scored.At
	}
	return fresh, nil
}

// facts reads the resolved records and, for accounts, their signal counts.
func (b *Book) facts(
	ctx context.Context,
	d catalog.Dataset,
	outcomes []Outcome,
	now time.Time,
) (records map[string]jsontext.Value, signals map[string][2]int64, err error) {
	var ids []string
	for _, out := range outcomes {
		if out.Err == nil {
			ids = append(ids, out.Record)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		records, err = b.Global.Lookup(ctx, d, ids)
		return err
	})
	if d == catalog.Accounts {
		group.Go(func() (err error) {
			signals, err = b.Global.SignalCounts(ctx, ids, now, TrendSpan)
			return err
		})
	}
	return records, signals, group.Wait()
}

// resolve sets the id of each outcome, or the error.
func (b *Book) resolve(ctx context.Context, d catalog.Dataset, inputs []Input, outcomes []Outcome) error {
	var values []string
	var positions []int
	for i, in := range inputs {
		outcomes[i].Record = in.Record
		if in.Record == "" {
			values, positions = append(values, in.Match), append(positions, i)
		}
	}
	if len(values) == 0 {
		return nil
	}
	by, _ := catalog.MatchField(d)
	found, err := b.Global.Match(ctx, d, by.Name, values)
	if err != nil {
		return err
	}
	for j, i := range positions {
		ids, err := exactly(by, found[j], inputs[i].Match)
		switch {
		case err != nil:
			return err
		case len(ids) == 0:
			outcomes[i].Err = fault.New(fault.NotFound, "no %s has this %s", d.Singular(), by.Match)
		case len(ids) > 1:
			outcomes[i].Err = fault.New(fault.AmbiguousMatch, "several %s have this %s; use %s", d, by.Match, IDKey(d))
		default:
			outcomes[i].Record = ids[0]
		}
	}
	return nil
}

// exactly returns the ids of the records whose folded field equals the value. The index
// also finds values that differ in accents.
func exactly(by catalog.Field, records []jsontext.Value, want string) ([]string, error) {
	var ids []string
	for _, r := range records {
		members, err := pick(r, []string{"id", by.Name})
		if err != nil {
			return nil, err
		}
		if !by.List() {
			members[1] = slices.Concat(jsontext.Value("["), members[1], jsontext.Value("]"))
		}
		var id string
		var values []string
		if err := errors.Join(json.Unmarshal(members[0], &id), json.Unmarshal(members[1], &values)); err != nil {
			return nil, unreadable(err)
		}
		if slices.ContainsFunc(values, func(v string) bool { return foldMatch(by, v) == want }) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Delete removes records from the book. Records that are not in it are ignored.
func (b *Book) Delete(ctx context.Context, in workspace.ID, d catalog.Dataset, records []uuid.UUID) error {
	_, err := b.DeleteIf(ctx, in, d, Deletions(records...))
	return err
}

// DeleteIf is Delete with expectations. The first result has an error for each deletion, in
// order: nil or fault.RevisionConflict.
func (b *Book) DeleteIf(ctx context.Context, in workspace.ID, d catalog.Dataset, deletions []OverlayDeletion) ([]error, error) {
	if len(deletions) == 0 {
		return nil, nil
	}
	others, err := b.Store.DeleteOverlays(ctx, in, d, deletions)
	if err != nil {
		return nil, err
	}
	b.notify(in)
	refused := make([]error, len(deletions))
	for i, deletion := range deletions {
		if now, is := others[deletion.Record]; is {
			refused[i] = unexpected(d, now)
		}
	}
	return refused, nil
}

// unexpected is the error of a change of a record that is not as expected. It carries the
// record's current overlay, null if it is not in the book.
func unexpected(d catalog.Dataset, now *Overlay) error {
	e := fault.New(fault.RevisionConflict, "the %s is not in the book as expected: somebody has changed it", d.Singular())
	e.Current = jsontext.Value("null")
	if now == nil {
		return e
	}
	b := jsontext.Value{}
	for _, f := range catalog.OverlayFields(d) {
		if f.Written || slices.Contains(changeFields, f.Name) {
			b = catalog.AppendValue(member(b, f.Name), &f, now.Value(&f))
		}
	}
	e.Current = append(b, '}')
	return e
}

// changeFields say when an overlay was changed, and by whom.
var changeFields = []string{"updated_at", "updated_by"}

// Get returns the row of a record in the book: fault.NotFound.
func (b *Book) Get(ctx context.Context, in workspace.ID, d catalog.Dataset, record uuid.UUID) (jsontext.Value, error) {
	rows, err := b.Rows(ctx, in, d, []uuid.UUID{record})
	if err != nil {
		return nil, err
	}
	row, there := rows[record]
	if !there {
		return nil, fault.New(fault.NotFound, "no %s of the book has the id %s; an upsert adds one", d.Singular(), record)
	}
	return row, nil
}

// Rows returns the rows of the records that are in the book.
func (b *Book) Rows(ctx context.Context, in workspace.ID, d catalog.Dataset, records []uuid.UUID) (map[uuid.UUID]jsontext.Value, error) {
	overlays, err := b.Store.Overlays(ctx, in, d, records)
	if err != nil || len(overlays) == 0 {
		return nil, err
	}
	ids := make([]string, 0, len(overlays))
	for id := range overlays {
		ids = append(ids, id.String())
	}
	global, err := b.Global.Lookup(ctx, d, ids)
	if err != nil {
		return nil, err
	}
	rows := make(map[uuid.UUID]jsontext.Value, len(overlays))
	for id, overlay := range overlays {
		if public, there := global[id.String()]; there {
			if rows[id], err = recordLayouts[d].Row(public, &overlay); err != nil {
				return nil, err
			}
		}
	}
	return rows, nil
}

func (b *Book) notify(in workspace.ID) {
	if b.Changed != nil {
		b.Changed(in)
	}
}

func (b *Book) now() time.Time {
	if b.Now == nil {
		return workspace.StoredTime(time.Now())
	}
	return workspace.StoredTime(b.Now())
}
