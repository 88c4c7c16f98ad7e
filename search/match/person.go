package match

import "strings"

// comparePersons compares the names of two persons. The last words are the family names.
func comparePersons(a, b []word) (f features) {
	family, theirs := a[len(a)-1], b[len(b)-1]
	given, others := a[:len(a)-1], b[:len(b)-1]
	if family.text != theirs.text && len(given) > 0 && len(others) > 0 && a[0].text == theirs.text && family.text == b[0].text {
		f[fOrder] = 1 // "doe jane" for "jane doe"
		family, given = a[0], a[1:]
	}
	if family.text != theirs.text {
		if d := apart(family, theirs); d < 1 {
			f.edited(d, family, theirs)
		} else {
			f[fCoreConflict]++
		}
	}
	if len(given) == 0 || len(others) == 0 {
		if len(given) != len(others) {
			f[fCoreMissing]++
		}
		return f
	}
	first, other := given[0], others[0]
	switch {
	case first.text == other.text:
	case sameNickname(first.text, other.text):
		f[fAlias] = 1
	case initialOf(first.text, other.text) || initialOf(other.text, first.text):
		f[fJoined] = 1
	default:
		if d := apart(first, other); d < 1 {
			f.edited(d, first, other)
		} else {
			f[fCoreConflict]++
		}
	}
	if len(given) != len(others) {
		f[fTradeMissing] = 1 // a middle name
	} else if len(given) > 1 {
		if x, y := given[1].text, others[1].text; x != y && !initialOf(x, y) && !initialOf(y, x) {
			f[fTradeConflict] = 1
		}
	}
	return f
}

func (f *features) edited(d float64, a, b word) {
	f[fTypo] += d
	if a.text[0] != b.text[0] {
		f[fTypoFirst]++
	}
}

func initialOf(initial, name string) bool {
	return len([]rune(initial)) == 1 && strings.HasPrefix(name, initial)
}

func sameNickname(a, b string) bool {
	x, known := nicknames[a]
	y, also := nicknames[b]
	return known && also && x == y
}
