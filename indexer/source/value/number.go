package value

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Numbers reads numbers.
type Numbers struct {
	// Comma means that a comma separates decimals, and points separate thousands.
	Comma bool
}

// SquareMetre is a square metre in square feet.
const SquareMetre = 1 / (0.3048 * 0.3048)

// marks are signs before amounts of money, and units without meaning.
var marks = strings.NewReplacer(
	"$", "", "£", "", "€", "", "CAD", "", "USD", "", "C$", "", "US$", "", "\u00a0", "", "\u202f", "", " ", "", "'", "",
	"’", "", "+", "",
)

// unitFactors are units that may follow a number, without spaces and points; for areas the
// factor to square feet.
var unitFactors = map[string]float64{
	"sf": 1, "sqft": 1, "ft2": 1, "ft²": 1, "sqfeet": 1, "squarefeet": 1, "squarefoot": 1, "sft": 1, "gsf": 1,
	"m2": SquareMetre, "m²": SquareMetre, "sqm": SquareMetre, "sqmetres": SquareMetre, "sqmeters": SquareMetre,
	"squaremetres": SquareMetre, "squaremeters": SquareMetre,
	"unit": 1, "units": 1, "storey": 1, "storeys": 1, "story": 1, "stories": 1, "floor": 1, "floors": 1, "dwelling": 1,
	"dwellings": 1, "du": 1, "lots": 1, "lot": 1, "ft": 1,
	"k": 1e3, "m": 1e6,
}

// Parse reads a number: 1234.5, $1,234.50, (20.00), 1 200 sq ft, 110 m². Areas are returned
// in square feet. ok is false if there is no number.
func (n Numbers) Parse(s string) (f float64, ok bool, err error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0, false, nil
	}
	if f, ok := plain(s); ok && !n.Comma {
		return f, true, nil
	}
	text := marks.Replace(s)
	negative := strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")")
	if negative {
		text = text[1 : len(text)-1]
	}
	end := strings.LastIndexAny(text, "0123456789")
	factor := 1.0
	// The digit of m2 and ft2 belongs to the unit.
	if low := strings.ToLower(text); strings.HasSuffix(low, "m2") || strings.HasSuffix(low, "ft2") {
		end = strings.LastIndexAny(text[:end], "0123456789")
	}
	if end >= 0 && end+1 < len(text) {
		unit := strings.ToLower(strings.ReplaceAll(text[end+1:], ".", ""))
		if unit != "" {
			if factor, ok = unitFactors[unit]; !ok {
				return 0, false, fmt.Errorf("%s is not a number", quoted(s))
			}
		}
		text = text[:end+1]
	}
	text, ok = n.ungrouped(text)
	if f, plainly := plain(text); ok && plainly {
		if negative {
			f = -f
		}
		return f * factor, true, nil
	}
	return 0, false, fmt.Errorf("%s is not a number", quoted(s))
}

// plain reads digits. ParseFloat also accepts words and hexadecimal numbers, which cells
// never mean.
func plain(s string) (float64, bool) {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && !math.IsInf(f, 0)
}

// ungrouped removes the marks between thousands; false if they are elsewhere.
func (n Numbers) ungrouped(s string) (string, bool) {
	group, point := ",", "."
	if n.Comma {
		group, point = ".", ","
	}
	whole, fraction, decimals := strings.Cut(s, point)
	parts := strings.Split(whole, group)
	for _, p := range parts[1:] {
		if len(p) != 3 {
			return "", false
		}
	}
	whole = strings.Join(parts, "")
	if decimals {
		return whole + "." + fraction, true
	}
	return whole, true
}

// Whole reads a whole number of at most 32 bits.
func (n Numbers) Whole(s string) (int64, bool, error) {
	f, ok, err := n.Parse(s)
	if err != nil || ok && (f != math.Trunc(f) || math.Abs(f) > math.MaxInt32) {
		return 0, false, fmt.Errorf("%s is not a whole number", quoted(strings.TrimSpace(s)))
	}
	return int64(f), ok, nil
}
