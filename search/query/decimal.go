package query

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// decimal is the exact value of a JSON number: 0.digits times ten to the power of point.
// The digits have no zero at either end; zero has no digits and no sign. A float64 cannot
// represent every integer above 2^53.
type decimal struct {
	negative bool
	digits   string
	point    int
}

// readDecimal reads a JSON number.
func readDecimal(literal string) decimal {
	text, negative := strings.CutPrefix(literal, "-")
	mantissa, power, _ := strings.Cut(strings.ReplaceAll(text, "E", "e"), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	d := decimal{negative, strings.TrimRight(digits, "0"), len(digits) - len(fraction)}
	if d.digits == "" {
		return decimal{}
	}
	// Atoi returns the largest int for an exponent that is out of range.
	exponent, _ := strconv.Atoi(power)
	const most = math.MaxInt / 2
	d.point += max(-most, min(most, exponent))
	return d
}

// compare orders numbers.
func (d decimal) compare(o decimal) int {
	sign := func(d decimal) int {
		switch {
		case d.digits == "":
			return 0
		case d.negative:
			return -1
		}
		return 1
	}
	if sign(d) != sign(o) || sign(d) == 0 {
		return cmp.Compare(sign(d), sign(o))
	}
	return sign(d) * cmp.Or(cmp.Compare(d.point, o.point), strings.Compare(d.digits, o.digits))
}

// mostInteger bounds integers. Records have only smaller ones.
const mostInteger = 1 << 62

// integer returns the number truncated to an integer, with an absolute value of at
// most mostInteger. whole reports that there was no fraction.
func (d decimal) integer() (n int64, whole bool) {
	const mostDigits = 19
	switch {
	case d.point <= 0:
		return 0, d.digits == ""
	case d.point > mostDigits:
		n = mostInteger
	default:
		digits := d.digits[:min(len(d.digits), d.point)] + strings.Repeat("0", max(0, d.point-len(d.digits)))
		u, _ := strconv.ParseUint(digits, 10, 64) // 19 digits fit
		n = int64(min(u, mostInteger))            // #nosec G115 -- bounded
	}
	if d.negative {
		n = -n
	}
	return n, len(d.digits) <= d.point
}

// integers returns the smallest integer that is not below the number, and the largest that
// is not above it.
func (d decimal) integers() (least, greatest int64) {
	n, whole := d.integer()
	switch {
	case whole || n == mostInteger || n == -mostInteger:
		return n, n
	case d.negative:
		return n, n - 1
	}
	return n + 1, n
}

// doubles returns the smallest double that is not below the number, and the largest that is
// not above it. Below 2^53 a number stands for the nearest double, like 0.1. Above, where
// doubles are more than 1 apart, a number that is neither the exact value nor the shortest
// spelling of a double lies between two doubles.
func (d decimal) doubles(nearest float64) (least, greatest float64) {
	const everyInteger = 1 << 53
	if nearest == 0 {
		return 0, 0 // Elasticsearch orders -0 before 0, and records have 0 only
	}
	if math.Abs(nearest) < everyInteger {
		return nearest, nearest
	}
	written := readDecimal(strconv.FormatFloat(nearest, 'e', -1, 64))
	exact := readDecimal(strconv.FormatFloat(nearest, 'f', 0, 64))
	switch order := d.compare(exact); {
	case order == 0 || d.compare(written) == 0:
		return nearest, nearest
	case order > 0:
		return math.Nextafter(nearest, math.Inf(1)), nearest
	default:
		return nearest, math.Nextafter(nearest, math.Inf(-1))
	}
}

// ParseInteger reads a JSON number. whole reports that it is an integer, within
// that it is an integer from -2^53 to 2^53, the range of records.
func ParseInteger(literal string) (n int64, whole, within bool) {
	n, whole = readDecimal(literal).integer()
	return n, whole, whole && -1<<53 <= n && n <= 1<<53
}

// Bounds of PlainNumber, in characters and in powers of ten.
const mostNumberText, mostPower = 40, 300

// PlainNumber writes a JSON number without an exponent and without trailing zeros, so that
// equal numbers have one text. It refuses numbers that this would make long.
func PlainNumber(literal string) (plain string, ok bool) {
	d := readDecimal(literal)
	if len(literal) > mostNumberText || d.point > mostPower || d.point < -mostPower {
		return "", false
	}
	if d.digits == "" {
		return "0", true
	}
	whole, fraction := "0", d.digits
	switch {
	case d.point <= 0:
		fraction = strings.Repeat("0", -d.point) + fraction
	case d.point >= len(d.digits):
		whole, fraction = d.digits+strings.Repeat("0", d.point-len(d.digits)), ""
	default:
		whole, fraction = d.digits[:d.point], d.digits[d.point:]
	}
	if d.negative {
		whole = "-" + whole
	}
	if fraction == "" {
		return whole, true
	}
	return whole + "." + fraction, true
}
