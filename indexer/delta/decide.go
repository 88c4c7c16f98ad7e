package delta

import "atlas/search/document"

// outcome is the effect of an entry.
type outcome uint8

const (
	followed  outcome = iota // no entry: related records changed
	older                    // the present record or deletion is newer
	unchanged                // the present record is equal
	created
	updated
	deleted
	absent   // no record to delete
	merged   // the record is merged into another
	unmerged // the record to merge into does not exist
	// suppressed: the record is left out, and deleted if it exists
	suppressed
)

// changes reports whether the record changes.
func (o outcome) changes() bool { return o == created || o == updated || o.gone() }

// gone reports whether the entry removes the record.
func (o outcome) gone() bool { return o == deleted || o == merged || o == suppressed }

// counter is the counter of an outcome.
func (o outcome) counter(c *Counts) *int64 {
	switch o {
	case older:
		return &c.Older
	case unchanged:
		return &c.Unchanged
	case created:
		return &c.Created
	case updated:
		return &c.Updated
	case deleted:
		return &c.Deleted
	case absent:
		return &c.Absent
	case merged:
		return &c.Merged
	case suppressed:
		return &c.Suppressed
	case unmerged:
		return &c.Rejected
	default:
		return &c.Followed
	}
}

// decide returns the effect of an entry on the present record, nil for none. gone is the
// updated_at of a remembered deletion, started the time of the delta, both in milliseconds. The
// later updated_at wins. If both are equal the delta wins, so that applying it twice changes
// nothing. A deletion without updated_at always wins.
//
// It adds the times that the line omits to the entry's record: created_at and detected_at of
// the present record, and the time of the delta as updated_at if anything else changes.
func decide(e entry, old *document.Record, gone *int64, started int64) outcome {
	at := e.updatedAt(started)
	if e.deleted {
		switch {
		case e.suppressed:
			return suppressed
		case old == nil:
			return absent
		case e.updated != noTime.UnixMilli() && at < old.Millis("updated_at"):
			return older
		default:
			return deleted
		}
	}
	r := e.record
	for _, name := range []string{"created_at", "detected_at"} {
		if r.Millis(name) != noTime.UnixMilli() {
			continue
		}
		if old != nil {
			r.SetMillis(name, old.Millis(name))
		} else {
			r.SetMillis(name, started)
		}
	}
	if old == nil {
		r.SetMillis("updated_at", at)
		if gone != nil && at < *gone {
			return older
		}
		return created
	}
	if r.Millis("updated_at") == noTime.UnixMilli() {
		r.SetMillis("updated_at", old.Millis("updated_at"))
		if equalValues(r, *old, false) {
			return unchanged
		}
		r.SetMillis("updated_at", at)
	}
	switch {
	case at < old.Millis("updated_at"):
		return older
	case equalValues(r, *old, false):
		return unchanged
	default:
		return updated
	}
}

// deletedAt is the updated_at of a tombstone. Without one in the line, it is later than that of
// the deleted record.
func (e entry) deletedAt(old *document.Record, started int64) int64 {
	at := e.updatedAt(started)
	if old != nil && e.updated == noTime.UnixMilli() {
		at = max(at, old.Millis("updated_at")+1)
	}
	return at
}

// equalValues compares the values that lines give and, with derived set, the derived ones.
func equalValues(a, b document.Record, derived bool) bool {
	for range a.Differences(b, derived) {
		return false
	}
	return true
}
