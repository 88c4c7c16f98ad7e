package changes

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/scan"
	"atlas/internal/timer"
	"atlas/search/catalog"
	"atlas/search/query"
)

// Store has the feed. *postgres.Store implements it.
type Store interface {
	// FeedHead is the end of the feed, and when it was published.
	FeedHead(ctx context.Context) (Position, time.Time, error)
	// FeedAt is the position at a time; known is false if the feed no longer reaches back
	// that far.
	FeedAt(ctx context.Context, at time.Time) (p Position, known bool, err error)
	// ChangesAfter is the page after a position; known is false if the feed no longer has
	// what follows it.
	ChangesAfter(ctx context.Context, d catalog.Dataset, after Position, limit int) (page Page, known bool, err error)
	// ChangesOf returns the stored changes of a record, the latest first, at most limit.
	ChangesOf(ctx context.Context, d catalog.Dataset, id uuid.UUID, limit int) ([]Entry, error)
}

// Records reads global records. *search.Engine implements it.
type Records interface {
	Lookup(ctx context.Context, d catalog.Dataset, ids []string) (map[string]jsontext.Value, error)
	Search(ctx context.Context, q query.Query) (query.Page, error)
}

// Cursors signs and opens the cursors that clients send back. *search.Cursors implements
// it.
type Cursors interface {
	Seal(purpose string, data []byte) string
	Open(purpose, cursor string) (data []byte, ok bool)
}

// Reader answers requests for changes.
type Reader struct {
	Store   Store
	Records Records
	Cursors Cursors

	lock   sync.Mutex // also held while the store is read, so that concurrent callers share the result
	head   Position
	looked time.Time
}

// Item is a change in an answer.
type Item struct {
	ID string
	Op Op
	// Into is the record that the record of a Merge was merged into, else "".
	Into string
	// At is when it was published.
	At time.Time
	// Changed are the names of the fields of an Upsert that changed.
	Changed []string
	// Record is the present record of an Upsert; nil if it was not requested.
	Record jsontext.Value
}

// Answer is the answer to a request.
type Answer struct {
	Items []Item
	// From and Next are the cursors before and after the page.
	From, Next string
	CaughtUp   bool
	// Lag is how long ago the last change before Next was published; 0 if there is no later
	// one.
	Lag time.Duration
	// Delivered is the number of records.
	Delivered int
}

// errTooOld means that the feed no longer has everything after a position.
var errTooOld = fault.New(fault.CursorTooOld, "the feed of changes does not have everything since then anymore: ask for changes with {} to get a new cursor, then read all records again")

// Begin returns the position of a request. Errors: BadRequest for a cursor that is not
// the dataset's, CursorTooOld.
func (r *Reader) Begin(ctx context.Context, req query.ChangesRequest) (Position, error) {
	switch {
	case req.Cursor != "":
		return r.open(req.Dataset, req.Cursor)
	case req.Since != nil:
		p, known, err := r.Store.FeedAt(ctx, *req.Since)
		if err == nil && !known {
			err = errTooOld
		}
		return p, err
	}
	p, _, err := r.Store.FeedHead(ctx)
	return p, err
}

// waitEvery is the polling interval of Wait.
const waitEvery = 500 * time.Millisecond

// Wait waits until a change of the dataset is published after the position, the request's
// waiting time ends, or stop returns true. It returns the position, or a later one before
// the change.
func (r *Reader) Wait(ctx context.Context, req query.ChangesRequest, after Position, stop func() bool) (Position, error) {
	for until := time.Now().Add(req.Wait); !stop(); {
		head, err := r.recentHead(ctx)
		if err != nil {
			return after, err
		}
		if head != after {
			page, known, err := r.Store.ChangesAfter(ctx, req.Dataset, after, 1)
			if err != nil || !known || len(page.Entries) > 0 {
				return after, err // Read reports the error
			}
			after = page.Next
		}
		left := time.Until(until)
		if left <= 0 {
			break
		}
		if err := timer.Sleep(ctx, min(left, waitEvery)); err != nil {
			return after, err
		}
	}
	return after, nil
}

// recentHead is the end of the feed, at most waitEvery old. The store is read once in that
// time, however many requests wait.
func (r *Reader) recentHead(ctx context.Context) (Position, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if time.Since(r.looked) < waitEvery {
		return r.head, nil
	}
	head, _, err := r.Store.FeedHead(ctx)
	if err == nil {
		r.head, r.looked = head, time.Now()
	}
	return head, err
}

// Read answers a request from a position on. A request without a start gets only the
// position, even if something was published meanwhile.
func (r *Reader) Read(ctx context.Context, req query.ChangesRequest, after Position) (Answer, error) {
	if !req.Begins() {
		return Answer{Items: []Item{}, Next: r.seal(req.Dataset, after), CaughtUp: true}, nil
	}
	page, known, err := r.Store.ChangesAfter(ctx, req.Dataset, after, req.Limit)
	if err == nil && !known {
		err = errTooOld
	}
	if err != nil {
		return Answer{}, err
	}
	return r.answer(ctx, req, after, page, func(string) bool { return true })
}

// Replay reads the page between two cursors for a replay, with the records' present values.
// It leaves out records that were published again since. It contains only records for which
// had returns true: the client has not paid for records that did not match then.
func (r *Reader) Replay(ctx context.Context, req query.ChangesRequest, from, to string, had func(id string) bool) (Answer, error) {
	after, err := r.open(req.Dataset, from)
	if err != nil {
		return Answer{}, err
	}
	end, err := r.open(req.Dataset, to)
	if err != nil {
		return Answer{}, err
	}
	page, known, err := r.Store.ChangesAfter(ctx, req.Dataset, after, req.Limit)
	if err == nil && !known {
		err = errTooOld
	}
	if err != nil {
		return Answer{}, err
	}
	page.Entries = slices.DeleteFunc(page.Entries, func(e Entry) bool { return e.Seq > end.Seq })
	return r.answer(ctx, req, after, page, had)
}

// answer adds the records to a page, but only the ids in among.
func (r *Reader) answer(
	ctx context.Context, req query.ChangesRequest, after Position, page Page, among func(id string) bool,
) (Answer, error) {
	a := Answer{
		Items: items(req.Dataset, page.Entries), From: r.seal(req.Dataset, after), Next: r.seal(req.Dataset, page.Next),
		CaughtUp: page.CaughtUp,
	}
	if !page.CaughtUp {
		a.Lag = max(0, time.Since(page.PublishedAt))
	}
	var ids []string
	for _, item := range a.Items {
		if item.Op == Upsert && among(item.ID) {
			ids = append(ids, item.ID)
		}
	}
	if !req.Records && !req.Filtered() {
		return a, nil
	}
	found, err := r.records(ctx, req, ids)
	if err != nil {
		return Answer{}, err
	}
	gone := Delete // since then; the feed will report it
	if req.Filtered() {
		gone = Leave
	}
	for i := range a.Items {
		item := &a.Items[i]
		if item.Op != Upsert {
			continue
		}
		record := found[item.ID]
		if record == nil {
			item.Op, item.Changed = gone, []string{}
			continue
		}
		if !req.Records {
			continue
		}
		if item.Record, err = req.Fields.Select(record); err != nil {
			return Answer{}, err
		}
		a.Delivered++
	}
	return a, nil
}

// History returns the stored changes of one record, the latest first and one by one, with a
// cursor from now on. CaughtUp means that these are all.
func (r *Reader) History(ctx context.Context, req query.ChangesRequest) (Answer, error) {
	head, _, err := r.Store.FeedHead(ctx)
	if err != nil {
		return Answer{}, err
	}
	entries, err := r.Store.ChangesOf(ctx, req.Dataset, req.History, req.Limit+1)
	all := len(entries) <= req.Limit
	return Answer{Items: items(req.Dataset, entries[:min(req.Limit, len(entries))]), Next: r.seal(req.Dataset, head), CaughtUp: all}, err
}

func items(d catalog.Dataset, entries []Entry) []Item {
	list := make([]Item, len(entries))
	for i, e := range entries {
		list[i] = Item{ID: e.ID.String(), Op: e.Op, At: e.At, Changed: e.Fields}
		if e.Op == Merge {
			list[i].Into = e.Into.String()
		}
		switch {
		case e.Op != Upsert:
			list[i].Changed = []string{}
		case e.Fields == nil:
			list[i].Changed = allFields[d]
		}
	}
	return list
}

// records returns the present records of ids that match the request's filters.
func (r *Reader) records(ctx context.Context, req query.ChangesRequest, ids []string) (map[string]jsontext.Value, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if !req.Filtered() {
		return r.Records.Lookup(ctx, req.Dataset, ids)
	}
	id, _ := catalog.FieldNamed(req.Dataset, "id")
	q := req.Query
	q.Where = append(query.All{query.Terms{Field: &id, Values: ids}}, q.Where...)
	q.Sort, q.Limit = query.DefaultSort(req.Dataset), len(ids)
	q.Hinted = false // an empty result needs no hints
	page, err := r.Records.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	found := make(map[string]jsontext.Value, len(page.Rows))
	for _, row := range page.Rows {
		err := scan.Pick(row, []string{"id"}, func(_ int, value jsontext.Value) {
			found[string(value[1:len(value)-1])] = row
		})
		if err != nil {
			return nil, fault.Wrap(err, fault.Internal, "a record is unreadable")
		}
	}
	return found, nil
}

// allFields are the names of the fields of each dataset.
var allFields = func() map[catalog.Dataset][]string {
	all := map[catalog.Dataset][]string{}
	for _, d := range catalog.Datasets {
		for _, f := range catalog.Fields(d) {
			all[d] = append(all[d], f.Name)
		}
	}
	return all
}()

// A cursor is the publication and the sequence number of a position.
const cursorSize = 16 + 8

func purpose(d catalog.Dataset) string { return fmt.Sprintf("changes of %s", d) }

func (r *Reader) seal(d catalog.Dataset, p Position) string {
	return r.Cursors.Seal(purpose(d), binary.BigEndian.AppendUint64(p.Publication[:], uint64(p.Seq))) // #nosec G115 -- never negative
}

func (r *Reader) open(d catalog.Dataset, cursor string) (Position, error) {
	data, ok := r.Cursors.Open(purpose(d), cursor)
	if !ok || len(data) != cursorSize {
		return Position{}, fault.New(fault.BadRequest, "cursor is not a cursor of the changes of %s: send metadata.next as it was answered, or leave it out to begin now", d)
	}
	return Position{uuid.UUID(data[:16]), int64(binary.BigEndian.Uint64(data[16:]))}, nil // #nosec G115 -- signed by us
}
