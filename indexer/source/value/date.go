package value

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Form is a form of dates that is ambiguous.
type Form string

// The forms. All other forms are unambiguous and are always read: 2016-01-05, 2016/01/05,
// 20160105, 5 Jan 2016, Jan 5, 2016, 05-JAN-16, milliseconds since 1970,
// /Date(1451952000000)/. All but the last two may have a time of day and a time zone.
const (
	MonthFirst Form = "m/d/y"  // 1/5/16, 01/05/2016 13:00:00, 01-05-2016, 1/5/2016 1:00 PM
	DayFirst   Form = "d/m/y"  // 5/1/16, 05.01.2016
	Unix       Form = "unix"   // seconds since 1970
	Serial     Form = "serial" // days since 1899-12-30, as in workbooks
)

// Forms lists them.
var Forms = []Form{MonthFirst, DayFirst, Unix, Serial}

// Dates reads dates.
type Dates struct {
	Forms []Form
	// Zone is the zone of dates with a time of day but no zone; nil is UTC.
	Zone *time.Location
}

// The range of years.
const firstYear, lastYear = 1800, 2200

// placeholders are days that programs write for no date.
var placeholders = []time.Time{day(1, 1, 1), day(1899, 12, 30), day(1899, 12, 31), day(1900, 1, 1), day(9999, 12, 31)}

func day(y, m, d int) time.Time { return time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC) }

var errDate = errors.New("is not a date")

// Parse reads a date, the zero time for no date. A day without a time of day becomes
// midnight UTC, as does an instant at which a day begins in the zone, so that searches by
// day find it.
func (d Dates) Parse(s string) (time.Time, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return time.Time{}, nil
	}
	t, err := d.parse(s)
	if errors.Is(err, errDate) && looksMonthFirst(s) && !slices.Contains(d.Forms, MonthFirst) && !slices.Contains(d.Forms, DayFirst) {
		return time.Time{}, fmt.Errorf("%s is a date of which nobody knows whether the month or the day comes first; say m/d/y or d/m/y in dates", quoted(s))
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("%s is not a date", quoted(s))
	}
	if slices.ContainsFunc(placeholders, t.Equal) {
		return time.Time{}, nil
	}
	if t.Year() < firstYear || t.Year() > lastYear {
		return time.Time{}, fmt.Errorf("%s is a date of another age", quoted(s))
	}
	return t, nil
}

func looksMonthFirst(s string) bool {
	return strings.Count(s, "/") == 2 || strings.Count(s, "-") == 2 || strings.Count(s, ".") == 2
}

func (d Dates) parse(s string) (time.Time, error) {
	if isNumber(s) {
		return d.number(s)
	}
	if inner, is := strings.CutPrefix(s, "/Date("); is {
		inner, _, _ = strings.Cut(inner, ")")
		if at := strings.LastIndexAny(inner, "+-"); at > 0 {
			inner = inner[:at]
		}
		ms, err := strconv.ParseInt(inner, 10, 64)
		if err != nil {
			return time.Time{}, errDate
		}
		return d.midnight(time.UnixMilli(ms)), nil
	}
	head, rest := cutTime(s)
	y, m, dd, err := d.calendar(head)
	if err != nil {
		return time.Time{}, err
	}
	if m < 1 || m > 12 || dd < 1 || dd > time.Date(y, time.Month(m)+1, 0, 0, 0, 0, 0, time.UTC).Day() {
		return time.Time{}, errDate
	}
	if rest == "" {
		return day(y, m, dd), nil
	}
	return d.withTime(y, m, dd, rest)
}

func isNumber(s string) bool {
	return strings.Trim(strings.TrimPrefix(s, "-"), "0123456789.") == "" && strings.Count(s, ".") < 2
}

// number reads dates that are numbers.
func (d Dates) number(s string) (time.Time, error) {
	whole, fraction, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return time.Time{}, errDate
	}
	switch digits := len(strings.TrimPrefix(whole, "-")); {
	case slices.Contains(d.Forms, Unix) && digits <= 10:
		return d.midnight(time.Unix(n, 0)), nil
	case slices.Contains(d.Forms, Serial) && digits == 5:
		days, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return time.Time{}, errDate
		}
		return day(1899, 12, 30).Add(time.Duration(days*86400+0.5) * time.Second), nil
	case digits == 8 && strings.Trim(fraction, "0") == "" && n > 0:
		return d.parse(whole[:4] + "-" + whole[4:6] + "-" + whole[6:])
	case digits >= 10 && digits <= 14:
		return d.midnight(time.UnixMilli(n)), nil
	}
	return time.Time{}, errDate
}

// midnight is the day that begins at an instant in the zone or in UTC, else the instant.
func (d Dates) midnight(t time.Time) time.Time {
	if d.Zone != nil {
		local := t.In(d.Zone)
		if h, m, s := local.Clock(); h+m+s == 0 {
			return day(local.Year(), int(local.Month()), local.Day())
		}
	}
	return t.UTC()
}

// cutTime splits a time of day off a date.
func cutTime(s string) (date, rest string) {
	if len(s) > 10 && (s[10] == 'T' || s[10] == ' ') && s[4] == s[7] {
		return s[:10], s[11:]
	}
	if i := strings.IndexByte(s, ':'); i > 0 {
		if at := strings.LastIndexAny(s[:i], " T"); at > 0 {
			return strings.TrimRight(s[:at], " ,"), s[at+1:]
		}
	}
	return s, ""
}

// calendar reads year, month and day.
func (d Dates) calendar(s string) (y, m, dd int, err error) {
	parts := [3]string{}
	n, start, named := 0, -1, -1
	for i := 0; i <= len(s); i++ {
		if i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z') {
			if start < 0 {
				start = i
			}
			continue
		}
		if i < len(s) && !strings.ContainsRune("/-., ", rune(s[i])) {
			return 0, 0, 0, errDate
		}
		if start < 0 {
			continue
		}
		if isWeekday(s[start:i]) {
			start = -1
			continue
		}
		if n == 3 {
			return 0, 0, 0, errDate
		}
		parts[n] = s[start:i]
		if parts[n][0] > '9' {
			named = n
		}
		n, start = n+1, -1
	}
	if n != 3 {
		return 0, 0, 0, errDate
	}
	switch {
	case named == 0: // Jan 5, 2016
		return assemble(parts[2], parts[0], parts[1])
	case named == 1 && len(parts[0]) == 4:
		return assemble(parts[0], parts[1], parts[2])
	case named == 1: // 5 Jan 2016
		return assemble(parts[2], parts[1], parts[0])
	case len(parts[0]) == 4:
		return assemble(parts[0], parts[1], parts[2])
	case slices.Contains(d.Forms, MonthFirst):
		return assemble(parts[2], parts[0], parts[1])
	case slices.Contains(d.Forms, DayFirst):
		return assemble(parts[2], parts[1], parts[0])
	}
	return 0, 0, 0, errDate
}

var months = map[string]int{
	"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11,
	"dec": 12,
}

func isWeekday(s string) bool {
	return len(s) >= 3 && s[0] > '9' &&
		slices.Contains([]string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}, strings.ToLower(s[:3])) && months[strings.ToLower(s[:3])] == 0
}

// assemble parses the parts. Years of two digits are those from 1970 to 2069.
func assemble(year, month, dayOf string) (y, m, d int, err error) {
	if y, err = strconv.Atoi(year); err != nil {
		return 0, 0, 0, errDate
	}
	switch {
	case len(year) == 2 && y < 70:
		y += 2000
	case len(year) == 2:
		y += 1900
	case len(year) != 4:
		return 0, 0, 0, errDate
	}
	if month[0] > '9' {
		if len(month) < 3 {
			return 0, 0, 0, errDate
		}
		m = months[strings.ToLower(month[:3])]
	} else if m, err = strconv.Atoi(month); err != nil {
		return 0, 0, 0, errDate
	}
	dayOf = strings.TrimRight(strings.ToLower(dayOf), "stndrh") // 5th
	if d, err = strconv.Atoi(dayOf); err != nil {
		return 0, 0, 0, errDate
	}
	return y, m, d, nil
}

// withTime adds a time of day: 13:00, 13:00:00.000, 1:00 PM, each with a zone or without.
func (d Dates) withTime(y, m, dd int, s string) (time.Time, error) {
	clock, zone := cutZone(strings.TrimSpace(s))
	upper := strings.ToUpper(strings.TrimSpace(clock))
	afternoon, half := strings.CutSuffix(upper, "PM")
	morning, first := strings.CutSuffix(upper, "AM")
	switch {
	case half:
		upper = afternoon
	case first:
		upper = morning
	}
	fields := strings.Split(strings.TrimSpace(upper), ":")
	if len(fields) < 2 || len(fields) > 3 {
		return time.Time{}, errDate
	}
	hour, err1 := strconv.Atoi(fields[0])
	minute, err2 := strconv.Atoi(fields[1])
	seconds := 0.0
	var err3 error
	if len(fields) == 3 {
		seconds, err3 = strconv.ParseFloat(fields[2], 64)
	}
	if half || first {
		hour %= 12
		if half {
			hour += 12
		}
	}
	if err := errors.Join(err1, err2, err3); err != nil || hour < 0 || hour > 23 || minute < 0 || minute > 59 || seconds < 0 || seconds >= 61 {
		return time.Time{}, errDate
	}
	if hour == 0 && minute == 0 && seconds == 0 && zone == nil {
		return day(y, m, dd), nil
	}
	in := time.UTC
	if zone != nil {
		in = zone
	} else if d.Zone != nil {
		in = d.Zone
	}
	t := time.Date(y, time.Month(m), dd, hour, minute, 0, int(seconds*1e9), in)
	return d.midnight(t).Truncate(time.Millisecond), nil
}

// cutZone splits a time zone off a time of day, nil if it has none.
func cutZone(s string) (clock string, zone *time.Location) {
	if rest, is := strings.CutSuffix(s, "Z"); is {
		return rest, time.UTC
	}
	for _, name := range []string{" UTC", " GMT", "UTC", "GMT"} {
		if rest, is := strings.CutSuffix(s, name); is {
			return rest, time.UTC
		}
	}
	at := strings.LastIndexAny(s, "+-")
	if at < 0 {
		return s, nil
	}
	digits := strings.ReplaceAll(s[at+1:], ":", "")
	if len(digits) == 2 {
		digits += "00"
	}
	n, err := strconv.Atoi(digits)
	if err != nil || len(digits) != 4 {
		return s, nil
	}
	offset := n/100*3600 + n%100*60
	if s[at] == '-' {
		offset = -offset
	}
	return s[:at], time.FixedZone("", offset)
}
