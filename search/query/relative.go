package query

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"atlas/internal/input"
	"atlas/search/catalog"
)

// Relative dates can replace dates in filters of requests (docs/api.md, "Relative dates").
// They are resolved once for each request, before it is parsed, so that nothing stored,
// signed or cached depends on when it is read.

var (
	relativeStep    = regexp.MustCompile(`^(now|today)([+-])(\d{1,4})([hdwMy])$`)
	relativeQuarter = regexp.MustCompile(`^(\d{4})-[Qq]([1-4])$`)
	// nearlyRelative matches what people write for them, right or wrong.
	nearlyRelative = regexp.MustCompile(`(?i)^(now|today|yesterday|tomorrow)|^(last|past|next|this)\b|^\d{4}-?q\d$|^[+-]?\d+\s*(d|w|m|y|h|days?|weeks?|months?|years?|hours?)$`)
)

const relativeText = "a relative date is today, now, now-30d (units h, d, w, M for months, y) or 2026-Q1"

// Relative returns the first and the last day of a relative date, or its instant twice, as
// texts; ok is false if the text is no relative date, or its date is not within the years 1
// to 9999. now is the time of the request.
func Relative(text string, now time.Time) (first, last string, ok bool) {
	now = now.UTC().Truncate(time.Second)
	year, month, day := now.Date()
	today := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	whole := func(from, to time.Time) (string, string, bool) {
		return from.Format(time.DateOnly), to.Format(time.DateOnly), from.Year() > 0 && to.Year() <= catalog.LastYear
	}
	instant := func(at time.Time) (string, string, bool) {
		text := at.Format(time.RFC3339)
		return text, text, at.Year() > 0 && at.Year() <= catalog.LastYear
	}
	switch text {
	case "now":
		return instant(now)
	case "today":
		return whole(today, today)
	}
	if q := relativeQuarter.FindStringSubmatch(text); q != nil {
		year, _ := strconv.Atoi(q[1])
		quarter, _ := strconv.Atoi(q[2])
		begin := time.Date(year, time.Month(3*quarter-2), 1, 0, 0, 0, 0, time.UTC)
		return whole(begin, begin.AddDate(0, 3, -1))
	}
	step := relativeStep.FindStringSubmatch(text)
	if step == nil {
		return "", "", false
	}
	n, _ := strconv.Atoi(step[2] + step[3])
	at := today
	switch step[4] {
	case "h":
		if step[1] == "today" {
			return "", "", false
		}
		return instant(now.Add(time.Duration(n) * time.Hour))
	case "d":
		at = today.AddDate(0, 0, n)
	case "w":
		at = today.AddDate(0, 0, 7*n)
	case "M":
		at = plusMonths(today, n)
	case "y":
		at = plusMonths(today, 12*n)
	}
	return whole(at, at)
}

// plusMonths is the same day of another month, or its last if it is shorter.
func plusMonths(t time.Time, n int) time.Time {
	first := time.Date(t.Year(), t.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	return first.AddDate(0, 0, min(t.Day(), first.AddDate(0, 1, -1).Day())-1)
}

// IsRelative reports whether a text is a relative date.
func IsRelative(text string) bool {
	_, _, ok := Relative(text, time.Now())
	return ok
}

// dateKeys are the keys of filters by date.
var dateKeys = func() (keys []string) {
	for _, d := range catalog.Datasets {
		for _, base := range []catalog.BaseKind{catalog.Data, catalog.Book, catalog.View} {
			for _, f := range catalog.FilterFields(d, base) {
				if f.Kind == catalog.Date {
					keys = append(keys, f.Key)
				}
			}
		}
	}
	return slices.Compact(append(keys, "arrived_at"))
}()

// ResolveDates is a body with its relative dates resolved at a time: in filters by date at
// any depth, and in since. It also lists what it replaced, for hints.
func ResolveDates(body input.Value, now time.Time) (input.Value, []string) {
	r := dateResolver{now: now}
	if body.Kind == input.Object && hasRelative(body, now) {
		body.Members = slices.Clone(body.Members)
		for i, m := range body.Members {
			if m.Name == "since" {
				body.Members[i].Value = r.end(m.Value, 0)
			}
		}
		body = r.within(body)
	}
	return body, r.replaced
}

// maxRelative is an upper bound of the length of a relative date, in bytes.
const maxRelative = 32

// hasRelative reports whether a text in a value is a relative date.
func hasRelative(v input.Value, now time.Time) bool {
	if v.Kind == input.String {
		if len(v.Text) > maxRelative {
			return false
		}
		_, _, ok := Relative(v.Text, now)
		return ok
	}
	return slices.ContainsFunc(v.Items, func(item input.Value) bool { return hasRelative(item, now) }) ||
		slices.ContainsFunc(v.Members, func(m input.Member) bool { return hasRelative(m.Value, now) })
}

type dateResolver struct {
	now      time.Time
	replaced []string
}

func (r *dateResolver) within(v input.Value) input.Value {
	v.Members, v.Items = slices.Clone(v.Members), slices.Clone(v.Items)
	for i, m := range v.Members {
		switch {
		case m.Name == "definition" || m.Name == "value": // stored definitions have none
		case m.Value.Get("value").Kind != input.Absent && slices.Contains(dateKeys, m.Name):
			filter := m.Value
			filter.Members = slices.Clone(filter.Members)
			for j, part := range filter.Members {
				if part.Name == "value" {
					filter.Members[j].Value = r.value(part.Value)
				}
			}
			v.Members[i].Value = filter
		default:
			v.Members[i].Value = r.within(m.Value)
		}
	}
	for i, item := range v.Items {
		v.Items[i] = r.within(item)
	}
	return v
}

// value is a filter's value, a date or a range.
func (r *dateResolver) value(v input.Value) input.Value {
	if v.Kind != input.Array {
		first, last, ok := Relative(v.Text, r.now)
		if v.Kind != input.String || !ok {
			return v
		}
		if first == last {
			return r.end(v, 0)
		}
		return input.Value{Kind: input.Array, Items: []input.Value{r.end(v, 0), r.end(v, 1)}}
	}
	v.Items = slices.Clone(v.Items)
	for i, end := range v.Items {
		v.Items[i] = r.end(end, i)
	}
	return v
}

// end is the first or the last day of a relative date; any other value is returned
// unchanged.
func (r *dateResolver) end(v input.Value, i int) input.Value {
	first, last, ok := Relative(v.Text, r.now)
	if v.Kind != input.String || !ok {
		return v
	}
	says := fmt.Sprintf("%q is %s, in UTC", v.Text, first)
	if first != last {
		says = fmt.Sprintf("%q is %s to %s, in UTC", v.Text, first, last)
	}
	if !slices.Contains(r.replaced, says) {
		r.replaced = append(r.replaced, says)
	}
	v.Text, v.Resolved = [2]string{first, last}[min(i, 1)], says
	return v
}

// resolvedIn lists what ResolveDates replaced in values.
func resolvedIn(values ...input.Value) (resolved []string) {
	for _, v := range values {
		resolved = appendResolved(resolved, v)
	}
	return resolved
}

func appendResolved(resolved []string, v input.Value) []string {
	if v.Resolved != "" && !slices.Contains(resolved, v.Resolved) {
		resolved = append(resolved, v.Resolved)
	}
	for _, item := range v.Items {
		resolved = appendResolved(resolved, item)
	}
	for _, m := range v.Members {
		resolved = appendResolved(resolved, m.Value)
	}
	return resolved
}

// notRelative says what is wrong with a text that resembles a relative date; "" for others.
func notRelative(text string) string {
	text = strings.TrimSpace(text)
	switch {
	case IsRelative(text):
		return "must be a date, YYYY-MM-DD: relative dates are for filters and since of requests"
	case nearlyRelative.MatchString(text):
		return dateText + "; " + relativeText
	}
	return ""
}
