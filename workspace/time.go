package workspace

import "time"

// TimeFormat is the format of every timestamp in a response: RFC 3339, UTC,
// milliseconds.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// StoredTime converts t to the precision of the stores, UTC and whole
// milliseconds, so that a value read back equals the value written.
func StoredTime(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// FormatTime formats an optional timestamp of a response; nil stays nil.
func FormatTime(t *time.Time) *string {
	if t == nil {
		return nil
	}
	s := t.UTC().Format(TimeFormat)
	return &s
}

// Clock returns a clock of stored times that reads now, or time.Now when now is
// nil.
func Clock(now func() time.Time) func() time.Time {
	if now == nil {
		now = time.Now
	}
	return func() time.Time { return StoredTime(now()) }
}
