package query

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"atlas/internal/input"
	"atlas/internal/schema"
	"atlas/search/catalog"
)

// dateText describes a date in messages.
const dateText = "must be a date: YYYY-MM-DD, such as 2026-01-31, or RFC 3339, such as 2026-01-31T10:00:00Z"

var (
	dayParts  = regexp.MustCompile(`^(\d{4})-(\d{1,2})-(\d{1,2})(.*)$`)
	timeOfDay = regexp.MustCompile(`^[T ](\d{2}:\d{2})(:\d{2}(?:\.\d{1,9})?)?$`)
)

// plainDay is a day without hyphens.
var plainDay = regexp.MustCompile(`^(\d{4})(\d{2})(\d{2})$`)

// period returns the first and the last day of a year, YYYY, or a month, YYYY-MM.
func period(text string) (first, last string, ok bool) {
	layout, years, months := "2006", 1, 0
	switch len(text) {
	case len("2006"):
	case len("2006-01"):
		layout, years, months = "2006-01", 0, 1
	default:
		return "", "", false
	}
	t, err := time.Parse(layout, text)
	if err != nil || t.Year() <= 0 {
		return "", "", false
	}
	return t.Format(time.DateOnly), t.AddDate(years, months, -1).Format(time.DateOnly), true
}

// wholePeriods is the range of days of a year or a month, or of an array with these as its
// ends; "" for any other value.
func wholePeriods(v input.Value) string {
	ends := v.Items
	if v.Kind == input.Number || v.Kind == input.String {
		ends = []input.Value{v}
	}
	if len(ends) == 1 {
		ends = []input.Value{ends[0], ends[0]}
	}
	if len(ends) != 2 {
		return ""
	}
	found := false
	var pair [2]string
	for i, end := range ends {
		first, last, is := period(end.Text)
		switch {
		case is:
			pair[i], found = input.Quoted([2]string{first, last}[i]), true
		case end.Kind == input.Null:
			pair[i] = "null"
		default:
			if pair[i] = dayIn(end.Text); pair[i] == "" {
				return ""
			}
		}
	}
	if !found {
		return ""
	}
	return "[" + pair[0] + "," + pair[1] + "]"
}

// DateProblem says what is wrong with a text that neither ParseDay nor ParseInstant reads,
// and what would be right.
func DateProblem(text string) string {
	if problem := notRelative(text); problem != "" {
		return problem
	}
	if d := plainDay.FindStringSubmatch(text); d != nil {
		if _, ok := catalog.ParseDay(d[1] + "-" + d[2] + "-" + d[3]); ok {
			return fmt.Sprintf("must be a date with hyphens, such as %s-%s-%s", d[1], d[2], d[3])
		}
	}
	if first, _, ok := period(text); ok {
		return "must be a date, YYYY-MM-DD, such as " + first
	}
	parts := dayParts.FindStringSubmatch(text)
	if parts == nil {
		return dateText
	}
	year, _ := strconv.Atoi(parts[1])
	month, _ := strconv.Atoi(parts[2])
	day, _ := strconv.Atoi(parts[3])
	last := time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
	switch at := timeOfDay.FindStringSubmatch(parts[4]); {
	case year == 0:
		return dateText + "; there is no year 0"
	case month < 1 || month > 12:
		return fmt.Sprintf("there is no month %d: a date is YYYY-MM-DD, such as %04d-%02d-%02d", month, year, min(max(month, 1), 12), 31)
	case day < 1 || day > last:
		return fmt.Sprintf("there is no day %d in %s %d: its last is %04d-%02d-%02d", day, time.Month(month), year, year, month, last)
	case len(parts[2]) == 1 || len(parts[3]) == 1:
		return fmt.Sprintf("must be a date with two digits for month and day, such as %04d-%02d-%02d", year, month, day)
	case at != nil:
		seconds := at[2]
		if seconds == "" {
			seconds = ":00"
		}
		return fmt.Sprintf("must be RFC 3339 with seconds and a time zone, such as %04d-%02d-%02dT%s%sZ", year, month, day, at[1], seconds)
	case strings.HasPrefix(parts[4], " "):
		return fmt.Sprintf("must be RFC 3339, with a T before the time, such as %04d-%02d-%02dT10:00:00Z", year, month, day)
	}
	return dateText
}

// DateSchema is that of a date that may be relative.
var DateSchema = schema.Named("DayOrInstant", schema.Date().Described("A whole UTC day, `YYYY-MM-DD`, or an instant, RFC 3339. In filters and `since` also a relative date, in UTC: `today`, `now`, `now-30d` (units `h`, `d`, `w`, `M`, `y`), `2026-Q1`; the hints of the answer say what it was."))
