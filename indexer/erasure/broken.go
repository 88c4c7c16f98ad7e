package erasure

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"atlas/search/catalog"
)

// A text that is not a JSON object is compared value by value, in time linear in its length:
// its author chooses how many values it seems to have.
const (
	// longest is the maximum length in bytes of a compared value, and of the text on either
	// side of an @.
	longest = 1_000
	// mostValues is the maximum number of distinct values that are compared. A text with more
	// counts as suppressed.
	mostValues = 1_000
	// deepest is the nesting depth of objects up to which each has a name of its own.
	deepest = 100
)

// hasPart reports whether a text that is not a JSON object has values of a suppressed record.
// It compares the text as it is, with its JSON escapes resolved once and twice (JSON in a JSON
// string), and without invisible characters.
func (s *Set) hasPart(d catalog.Dataset, text string) bool {
	p := parts{set: s, dataset: d, judged: map[Values]bool{}}
	once := unescaped(text)
	twice := unescaped(once)
	readings := []string{text, once, twice, visible2(once), visible2(twice)}
	for i, reading := range readings {
		if !slices.Contains(readings[:i], reading) && p.found(reading) {
			return true
		}
	}
	return false
}

// parts compares the values of a text, each once.
type parts struct {
	set     *Set
	dataset catalog.Dataset
	judged  map[Values]bool
}

// is reports whether values are suppressed, or are too many.
func (p *parts) is(v Values) bool {
	if p.judged[v] {
		return false
	}
	if len(p.judged) == mostValues {
		return true
	}
	p.judged[v] = true
	return p.set.Has(p.dataset, v)
}

func (p *parts) found(text string) bool {
	return p.member(text) || p.address(text) || p.uuid(text)
}

// member checks the members that identify a person; a name counts together with the firm of the
// same object.
func (p *parts) member(text string) bool {
	var outer []Values
	var v Values
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{':
			if len(outer) < deepest {
				outer = append(outer, v)
			}
			v = Values{}
		case '}':
			v = Values{}
			if n := len(outer); n > 0 {
				v, outer = outer[n-1], outer[:n-1]
			}
		case '"', '\'':
			name, value, next := memberAt(text, i)
			if next == 0 {
				continue
			}
			i = next - 1
			switch name {
			case "email":
				if p.is(Values{Email: value}) {
					return true
				}
				continue
			case "phone":
				if p.is(Values{Phone: value}) {
					return true
				}
				continue
			case "name":
				v.Name = value
			default:
				v.Firm = value
			}
			if v.Name != "" && v.Firm != "" && p.is(v) {
				return true
			}
		}
	}
	return false
}

// memberAt reads a member whose name begins with the quotation mark at a position. Of an array
// it reads the first value. A value ends at its own quotation mark, or with the text. next is
// the position after it, 0 if there is no member.
func memberAt(text string, at int) (name, value string, next int) {
	rest := text[at+1:]
	for _, known := range []string{"email", "phone", "name", "account_name"} {
		if strings.HasPrefix(rest, known) {
			name = known
		}
	}
	if name == "" {
		return "", "", 0
	}
	i := at + 1 + len(name)
	if i < len(text) && (text[i] == '"' || text[i] == '\'') {
		i++
	}
	i = skip(text, i, " \t\r\n")
	if i == len(text) || text[i] != ':' {
		return "", "", 0
	}
	i = skip(text, i+1, " \t\r\n[")
	if i == len(text) || text[i] != '"' && text[i] != '\'' {
		return "", "", 0
	}
	quote, begin := text[i], i+1
	for i = begin; i < len(text) && text[i] != quote; i++ {
		if text[i] == '\\' {
			i++
		}
		if i-begin > longest {
			return "", "", 0
		}
	}
	i = min(i, len(text))
	if value = unescaped(text[begin:i]); value == "" {
		return "", "", 0
	}
	return name, value, i
}

func skip(text string, i int, what string) int {
	for i < len(text) && strings.IndexByte(what, text[i]) >= 0 {
		i++
	}
	return i
}

// address checks the e-mail addresses anywhere in a text. An apostrophe can be part of an
// address or beside it.
func (p *parts) address(text string) bool {
	const around = " \t\r\n\"<>,;:=|[]{}()\\@"
	for _, ends := range []string{around + "'", around} {
		for at := 0; ; at++ {
			next := strings.IndexByte(text[at:], '@')
			if next < 0 {
				break
			}
			at += next
			begin := strings.LastIndexAny(text[max(0, at-longest):at], ends) + 1 + max(0, at-longest)
			end := min(len(text), at+1+longest)
			if n := strings.IndexAny(text[at+1:end], ends); n >= 0 {
				end = at + 1 + n
			}
			if begin < at && at+1 < end && end-begin <= longest && p.is(Values{Email: text[begin:end]}) {
				return true
			}
		}
	}
	return false
}

// uuid checks the ids, wherever they are.
func (p *parts) uuid(text string) bool {
	const before, after = 8, 28 // characters of an id around its first hyphen
	for at := 0; ; at++ {
		next := strings.IndexByte(text[at:], '-')
		if next < 0 {
			return false
		}
		at += next
		if at < before || at+after > len(text) {
			continue
		}
		if id := id1(text[at-before : at+after]); id != "" && p.is(Values{ID: id}) {
			return true
		}
	}
}

// unescaped is a text with its JSON escapes decoded.
func unescaped(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		switch c := text[i]; c {
		case 'b', 'f', 'n', 'r', 't':
			b.WriteByte(' ')
		case 'u':
			r, ok := codeAt(text, i+1)
			if !ok {
				b.WriteString(`\u`)
				continue
			}
			i += 4
			if utf16.IsSurrogate(r) {
				low, _ := codeAt(text, i+3)
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError && strings.HasPrefix(text[i+1:], `\u`) {
					i += 6
				}
			}
			b.WriteRune(r)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// codeAt reads the four hexadecimal digits of an escape.
func codeAt(text string, at int) (rune, bool) {
	if at+4 > len(text) {
		return 0, false
	}
	n, err := strconv.ParseUint(text[at:at+4], 16, 16)
	return rune(n), err == nil // #nosec G115 -- 16 bits
}
