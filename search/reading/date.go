package reading

import (
	"strconv"
	"strings"
	"time"

	"atlas/search/catalog"
)

// span is from the first to the last day of a period; a zero end is open.
type span struct{ from, to time.Time }

var months = func() map[string]time.Month {
	all := map[string]time.Month{"sept": time.September}
	for m := time.January; m <= time.December; m++ {
		name := strings.ToLower(m.String())
		all[name], all[name[:3]] = m, m
	}
	return all
}()

func isQuarter(word string) bool {
	return len(word) == 2 && word[0] == 'q' && '1' <= word[1] && word[1] <= '4'
}

// yearOf reads a year of four digits that a permit may have.
func yearOf(word string) (int, bool) {
	year, err := strconv.Atoi(word)
	return year, err == nil && len(word) == 4 && 1990 <= year && year <= 2100
}

func day(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

func monthOf(year int, m time.Month) span { return span{day(year, m, 1), day(year, m+1, 0)} }
func quarter(year, q int) span {
	return span{day(year, time.Month(3*q-2), 1), day(year, time.Month(3*q+1), 0)}
}
func wholeYear(year int) span { return span{day(year, 1, 1), day(year, 12, 31)} }

// unitOf is a unit of time, given any of its forms.
func unitOf(word string) string {
	switch unit := strings.TrimSuffix(word, "s"); unit {
	case "day", "week", "month", "quarter", "year":
		return unit
	}
	return ""
}

// back is the day n units before another.
func back(from time.Time, n int, unit string) time.Time {
	switch unit {
	case "day":
		return from.AddDate(0, 0, -n)
	case "week":
		return from.AddDate(0, 0, -7*n)
	case "quarter":
		n *= 3
	case "year":
		n *= 12
	}
	first := day(from.Year(), from.Month()-time.Month(n), 1) // the same day, or the last one of a shorter month
	return first.AddDate(0, 0, min(from.Day(), first.AddDate(0, 1, -1).Day())-1)
}

// calendar is the calendar unit that lies the given number of units before today's.
func calendar(today time.Time, unit string, before int) span {
	switch unit {
	case "day":
		return span{today.AddDate(0, 0, -before), today.AddDate(0, 0, -before)}
	case "week":
		monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7-7*before)
		return span{monday, monday.AddDate(0, 0, 6)}
	case "month":
		return monthOf(today.Year(), today.Month()-time.Month(before))
	case "quarter":
		at := day(today.Year(), today.Month()-time.Month(3*before), 1)
		return quarter(at.Year(), (int(at.Month())+2)/3)
	}
	return wholeYear(today.Year() - before)
}

// period reads a period at a word: June, June 2025, Q1 2026, 2025, 2026-03-01. loose means
// that it counts only after a word such as in or since.
func (r *reader) period(i int) (p span, n int, loose bool) {
	word := r.word(i)
	year, isYear := yearOf(word)
	next, nextYear := yearOf(r.word(i + 1))
	month, isMonth := months[word]
	switch {
	case word == "today":
		return span{r.Today, r.Today}, 1, false
	case word == "yesterday":
		return calendar(r.Today, "day", 1), 1, false
	case isYear && strings.TrimSpace(r.gap(i+1)) == "-" && strings.TrimSpace(r.gap(i+2)) == "-":
		if at, ok := catalog.ParseDay(word + "-" + r.word(i+1) + "-" + r.word(i+2)); ok {
			return span{at, at}, 3, false
		}
		return span{}, 0, false
	case isQuarter(word) && nextYear:
		return quarter(next, int(word[1]-'0')), 2, false
	case isYear && isQuarter(r.word(i+1)):
		return quarter(year, int(r.word(i + 1)[1]-'0')), 2, false
	case isQuarter(word):
		p = quarter(r.Today.Year(), int(word[1]-'0'))
		if p.from.After(r.Today) {
			p = quarter(r.Today.Year()-1, int(word[1]-'0'))
		}
		return p, 1, false
	case isMonth && nextYear:
		return monthOf(next, month), 2, false
	case isMonth:
		return r.monthAt(i, month)
	case isYear && numberWord(r.word(i+1)):
		return span{}, 0, false
	case isYear:
		return wholeYear(year), 1, true
	}
	return span{}, 0, false
}

// monthAt reads a month without a year, with or without a day: the latest that has begun.
func (r *reader) monthAt(i int, month time.Month) (p span, n int, loose bool) {
	year := r.Today.Year()
	text := strings.TrimRight(r.word(i+1), "stndrh")
	if of, err := strconv.Atoi(text); err == nil && 1 <= of && of <= 31 && len(text) <= 2 {
		if y, is := yearOf(r.word(i + 2)); is {
			return r.dayIn(y, month, of, 3)
		}
		if day(year, month, of).After(r.Today) {
			year--
		}
		return r.dayIn(year, month, of, 2)
	}
	if month > r.Today.Month() {
		year--
	}
	return monthOf(year, month), 1, true
}

func (r *reader) dayIn(year int, month time.Month, of, n int) (span, int, bool) {
	at := day(year, month, of)
	if at.Month() != month {
		return span{}, 0, false
	}
	return span{at, at}, n, false
}

// recent reads a period that ends today or earlier: last 90 days, this month, year to date.
func (r *reader) recent(i int) (p span, n int) {
	rolling := r.word(i) == "the" // in the last year, but not last year
	if rolling {
		n++
	}
	word := r.word(i + n)
	if three := r.run(i+n, 3); three == "year to date" || three == "month to date" || word == "ytd" {
		if word == "ytd" {
			return span{from: day(r.Today.Year(), 1, 1)}, n + 1
		}
		return span{from: calendar(r.Today, word, 0).from}, n + 3
	}
	last, past, this := word == "last" || word == "previous", word == "past" || word == "last" && rolling, word == "this" || word == "current"
	if !last && !past && !this {
		return span{}, 0
	}
	n++
	if unit := unitOf(r.word(i + n)); unit != "" && !strings.HasSuffix(r.word(i+n), "s") {
		switch {
		case this:
			return calendar(r.Today, unit, 0), n + 1
		case past:
			return span{from: back(r.Today, 1, unit)}, n + 1
		}
		return calendar(r.Today, unit, 1), n + 1
	}
	if m, is := months[r.word(i+n)]; is && !this { // last June
		year := r.Today.Year()
		if m >= r.Today.Month() {
			year--
		}
		return monthOf(year, m), n + 1
	}
	count, size := r.amountAt(i + n)
	unit := unitOf(r.word(i + n + size))
	if this || size == 0 || unit == "" || count.value != float64(int(count.value)) || count.value < 1 || count.value > 1_000 {
		return span{}, 0
	}
	return span{from: back(r.Today, int(count.value), unit)}, n + size + 1
}

// dated reads a date or period that begins at a word, and returns its number of words.
func (r *reader) dated(i int) (p span, n int) {
	word := r.word(i)
	if from := word == "from" || word == "between"; from {
		if p, n := r.ranged(i + 1); n > 0 {
			return p, n + 1
		}
	}
	after := 1
	if two := r.run(i, 2); two == "starting in" || two == "as of" || two == "prior to" {
		word, after = strings.Fields(two)[0], 2
	}
	switch word {
	case "since", "after", "starting", "from", "as", "before", "prior", "until", "till", "by", "through", "in",
		"during", "on", "within", "over", "for":
	default:
		return r.bare(i)
	}
	if p, n = r.recent(i + after); n == 0 {
		if p, n, _ = r.period(i + after); n == 0 || word == "over" || word == "for" {
			return span{}, 0
		}
	}
	n += after
	switch word {
	case "since", "starting", "from", "as":
		return span{from: p.from}, n
	case "before", "prior":
		return span{to: p.from.AddDate(0, 0, -1)}, n
	case "after", "until", "till", "by", "through":
		switch {
		case p.to.IsZero(): // the last 90 days end today
			return span{}, 0
		case word == "after":
			return span{from: p.to.AddDate(0, 0, 1)}, n
		}
		return span{to: p.to}, n
	}
	return p, n
}

// bare reads a date without a word before it. It is loose if a number may be meant.
func (r *reader) bare(i int) (p span, n int) {
	if p, n = r.recent(i); n > 0 {
		return p, n
	}
	if p, n = r.ranged(i); n > 0 {
		return p, n
	}
	p, n, loose := r.period(i)
	if loose && r.verbBefore(i) == "" {
		return span{}, 0
	}
	if r.word(i+n) == "onwards" || r.word(i+n) == "onward" {
		return span{from: p.from}, n + 1
	}
	return p, n
}

// ranged reads two periods joined by to, and or a hyphen.
func (r *reader) ranged(i int) (p span, n int) {
	first, n, _ := r.period(i)
	if n == 0 {
		return span{}, 0
	}
	switch word := r.word(i + n); {
	case word == "to" || word == "and" || word == "through" || word == "until":
		n++
	case strings.Trim(r.gap(i+n), " ") == "-" || strings.Trim(r.gap(i+n), " ") == "–":
	default:
		return span{}, 0
	}
	last, more, _ := r.period(i + n)
	if more == 0 {
		return span{}, 0
	}
	if first.from.After(last.to) { // November to February
		first.from = first.from.AddDate(-1, 0, 0)
	}
	return span{first.from, last.to}, n + more
}

// happening is what a word says happened at a date: a field, or a signal of the project.
type happening struct{ key, signal string }

var happenings = func() map[catalog.Dataset]map[string]happening {
	all := map[catalog.Dataset]map[string]happening{}
	for line := range strings.Lines(`projects filed_at: , filed, submitted, applied
projects permitted_at: permitted, issued
projects completed_at: completed, complete, finished
projects construction_started: started, broke ground, under construction
projects project_on_hold: on hold, paused
projects project_cancelled: cancelled, canceled
projects permit_expired: expired
projects detected_at: detected, found
projects last_signal_at: active
accounts last_activity_at: , active, activity
signals occurred_at:
signals detected_at: detected
`) {
		dataset, rest, _ := strings.Cut(line, " ")
		what, said, _ := strings.Cut(rest, ":")
		h := happening{key: what}
		if catalog.SignalTypes.Has(what) {
			h = happening{"occurred_at", what}
		}
		of := all[catalog.Dataset(dataset)]
		if of == nil {
			of = map[string]happening{}
			all[catalog.Dataset(dataset)] = of
		}
		for word := range strings.SplitSeq(said, ",") {
			of[strings.TrimSpace(word)] = h
		}
	}
	for _, d := range catalog.Held {
		if all[d] == nil {
			all[d] = map[string]happening{}
		}
		for word, key := range map[string]string{
			"updated": "updated_at", "changed": "updated_at", "added": "created_at", "created": "created_at",
		} {
			all[d][word] = happening{key: key}
		}
	}
	return all
}()

// undatable are stages without a date of their own: a date beside them belongs to no field.
var undatable = wordSet("approved review pending refused denied rejected planned")

// verbBefore is the word before a date that says what happened then, "" if there is none.
func (r *reader) verbBefore(i int) string {
	of := happenings[r.searched()]
	for at := i - 1; at >= 0 && at >= i-4; at-- {
		for _, n := range []int{2, 1} {
			if said := r.run(at-n+1, n); said != "" {
				if _, known := of[said]; known {
					return said
				}
			}
		}
		if word := r.word(at); undatable[word] {
			return word
		}
		if t := r.tokens[at]; t.state == unread && !r.swallowed(at) {
			return ""
		}
	}
	return ""
}

// date reads a date that begins at a word.
func (r *reader) date(i int) (next int, ok bool) {
	p, n := r.dated(i)
	if n == 0 {
		return i, false
	}
	d := r.searched()
	verb := r.verbBefore(i)
	h, known := happenings[d][verb]
	if !known {
		return i, false
	}
	c := Condition{Relation: r.relation, From: dayText(p.from), To: dayText(p.to)}
	key := h.key
	if h.signal != "" {
		if d != catalog.Projects || r.relation != "" {
			return i, false
		}
		c.Relation = "has_signal"
		signal, _ := fieldOf(catalog.Signals, catalog.Data, "signal_type")
		if !r.add(Condition{Relation: "has_signal", Field: signal, Values: []string{h.signal}}, i, i+n) {
			return i, false
		}
		d = catalog.Signals
	}
	base := r.Base
	if c.Relation != "" {
		base = catalog.Data
	}
	f, there := fieldOf(d, base, key)
	if !there || f.Overlay {
		return i, false
	}
	c.Field = f
	if h.signal == "" && verb != "" {
		r.instead(verb, i)
	}
	return i + n, r.add(c, i, i+n)
}

func dayText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.DateOnly)
}
