package indexer

import (
	"context"
	"fmt"

	"atlas/indexer/erasure"
	"atlas/search/catalog"
	"atlas/search/document"
)

// Suppressions say which records to leave out. *eraser.Eraser implements it.
type Suppressions interface {
	// Current returns the current list, nil if nothing is suppressed. It fails if the list
	// cannot be compared with records.
	Current(ctx context.Context) (*erasure.Set, error)
	// Purge removes suppressed records from a complete generation before searches use it, and
	// returns their number. Entries of the list up to through (erasure.Set.Through) were
	// already applied to the generation. The caller holds the lease of writers.
	Purge(ctx context.Context, generation string, through int64) (map[catalog.Dataset]int64, error)
	// AddIDs suppresses the ids of records that were left out because of other values, and
	// returns how many it added. A repetition adds nothing.
	AddIDs(ctx context.Context, hits erasure.Hits) (added int, err error)
}

// ValuesOf are the values of a record that suppressions can identify it by.
func ValuesOf(r document.Record) erasure.Values {
	v := erasure.Values{ID: r.ID()}
	if r.Dataset != catalog.Contacts {
		return v
	}
	v.Email, _ = r.Value("email").(string)
	v.Phone, _ = r.Value("phone").(string)
	v.Name, _ = r.Value("name").(string)
	v.Firm, _ = r.Value("account_name").(string)
	return v
}

// Identify reads the values and the updated_at, in milliseconds, of a line that is no record;
// updated is nil without one. known is false if the id or the time is unreadable: such a line
// changes nothing.
func Identify(line []byte) (v erasure.Values, updated *int64, known bool) {
	updated, known = document.LineTime(line)
	v, _ = erasure.Read(line)
	v.ID = v.Normal(erasure.ID)
	return v, updated, known && v.ID != ""
}

// readSuppressions reads which records to leave out. A resumed load may leave out more than
// before; purge removes the rest.
func (l *load) readSuppressions(ctx context.Context) (err error) {
	if l.Suppressions == nil {
		return nil
	}
	err = l.Retry.Do(ctx, func(ctx context.Context) (err error) {
		l.suppressed, err = l.Suppressions.Current(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if !l.state.SuppressionsKnown {
		l.state.SuppressionsKnown = true
		if !l.state.began() { // a version without suppressions began it otherwise
			l.state.Suppressions = l.suppressed.Through()
		}
	}
	return nil
}

// purge removes from the new generation the records that were suppressed after their lines were
// read, and returns their number.
func (l *load) purge(ctx context.Context) (all int64, err error) {
	if l.Suppressions == nil {
		return 0, nil
	}
	removed, err := l.Suppressions.Purge(ctx, l.manifest.Generation, l.state.Suppressions)
	if err != nil {
		return 0, err
	}
	for d, n := range removed {
		all += n
		l.state.Datasets[d].Documents -= n
		l.state.Datasets[d].Suppressed += n
	}
	// Not before: the file of a load that is refused may be wrong.
	added, err := l.Suppressions.AddIDs(ctx, l.state.SuppressedIDs)
	if err != nil {
		return 0, err
	}
	if added > 0 {
		l.report.Notes = append(l.report.Notes, IDsNote(added))
	}
	if all == 0 {
		return 0, nil
	}
	return all, l.save()
}

// IDsNote is what a load or delta reports about ids that it suppressed.
func IDsNote(added int) string {
	return fmt.Sprintf("ids suppressed, of records that another suppressed value left out: %d (atlas suppress list)", added)
}

// leftOut is the stored entry of a line that is left out, so that no older line of its id takes
// effect. It names the suppressions to which the id is to be added.
func (l *load) leftOut(payload []byte, d catalog.Dataset, v erasure.Values) []byte {
	return document.AppendSuppressedBinary(payload[:0], l.suppressed.Takes(d, v.ID, l.suppressed.Find(d, v))...)
}
