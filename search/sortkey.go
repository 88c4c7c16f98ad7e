package search

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/scan"
)

// sortKey is the sort values of a row: one value, then the id. It shares the bytes of the
// answer that it was read from.
type sortKey struct {
	sort  jsontext.Value // the whole array, as Elasticsearch returned it
	value jsontext.Value // null, a string or a number
	id    recordID
}

// recordID is an id in the form of TiebreakPaths.
type recordID [2]int64

func (i recordID) compare(o recordID) int { return slices.Compare(i[:], o[:]) }

// sortKeyOf reads a row's sort values. The value stays in its original form: a float64
// would corrupt the values that stand for "missing".
func sortKeyOf(sort jsontext.Value) (sortKey, error) {
	s, values := scan.New(sort), make([]jsontext.Value, 0, 3)
	s.Elements(func() { values = append(values, s.Value()) })
	if s.Err() != nil || len(values) != 3 {
		return sortKey{}, errSortKey
	}
	high, err1 := strconv.ParseInt(string(values[1]), 10, 64)
	low, err2 := strconv.ParseInt(string(values[2]), 10, 64)
	if err1 != nil || err2 != nil {
		return sortKey{}, errSortKey
	}
	return sortKey{sort, values[0], recordID{high, low}}, nil
}

var errSortKey = errors.New("sort values that are not a value and an id")

// compare orders like Elasticsearch: texts by their bytes, rows without a value last in
// both directions, equal values by id.
func (k sortKey) compare(o sortKey, desc bool) int {
	switch none, other := k.value.Kind() == 'n', o.value.Kind() == 'n'; {
	case none && other:
		return k.id.compare(o.id)
	case none:
		return 1
	case other:
		return -1
	}
	order := 0
	if k.value.Kind() == '"' && o.value.Kind() == '"' {
		order = bytes.Compare(textOf(k.value), textOf(o.value))
	} else {
		order = compareNumbers(textOf(k.value), textOf(o.value))
	}
	if desc {
		order = -order
	}
	return cmp.Or(order, k.id.compare(o.id))
}

// textOf returns a string without its quotes. It shares the bytes of v unless it
// has escapes. It returns other values unchanged.
func textOf(v jsontext.Value) []byte {
	switch {
	case v.Kind() != '"':
		return v
	case bytes.IndexByte(v, '\\') < 0:
		return v[1 : len(v)-1]
	}
	text, _ := jsontext.AppendUnquote(nil, v) // v is a JSON string that was parsed
	return text
}

func compareNumbers(a, b []byte) int {
	m, err1 := strconv.ParseInt(string(a), 10, 64)
	n, err2 := strconv.ParseInt(string(b), 10, 64)
	if err1 == nil && err2 == nil {
		return cmp.Compare(m, n)
	}
	x, _ := strconv.ParseFloat(string(a), 64)
	y, _ := strconv.ParseFloat(string(b), 64)
	return cmp.Compare(x, y)
}
