package catalog

import (
	"strings"
	"time"
)

// TimeLayout is the time.Format layout of timestamps: RFC 3339, UTC,
// milliseconds.
const TimeLayout = "2006-01-02T15:04:05.000Z07:00"

// ParseDay reads YYYY-MM-DD as 00:00 UTC of that day.
func ParseDay(s string) (time.Time, bool) {
	t, err := time.Parse(time.DateOnly, s)
	return t, err == nil && t.Year() > 0
}

// LastYear is the last year of dates.
const LastYear = 9999

// ParseInstant reads an RFC 3339 timestamp, in UTC.
func ParseInstant(s string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, false
	}
	// time.Parse accepts an hour of one digit, a comma and an offset of a day.
	if zone := s[len(s)-1] != 'Z'; s[13] != ':' || strings.ContainsRune(s, ',') || zone && s[len(s)-5:len(s)-3] > "23" {
		return time.Time{}, false
	}
	t = t.UTC()
	return t, t.Year() > 0 && t.Year() <= LastYear
}
