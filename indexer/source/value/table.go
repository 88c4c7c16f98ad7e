package value

import (
	"fmt"
	"regexp"
	"strings"
)

// Bounds of patterns, whose time is linear in the text.
const (
	maxPattern = 500
	maxEntries = 5000
)

// Pattern compiles a regular expression (RE2). Case is significant unless it begins with
// (?i).
func Pattern(text string) (*regexp.Regexp, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("has %d bytes, at most %d are read", len(text), maxPattern)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("is no regular expression: %w", err)
	}
	return re, nil
}

// Matcher finds the first entry that matches a text. An entry is a value, a value with *
// for any text (Hold*), or a regular expression between slashes (/^(?i)hold/). Values are
// tried first, then the others in their order. Case and spaces are ignored, except in
// regular expressions.
type Matcher struct {
	values  map[string]int
	longest int // value, in bytes
	others  []func(cell, equal string) int
}

// NewMatcher reads entries.
func NewMatcher(entries []string) (*Matcher, error) {
	if len(entries) > maxEntries {
		return nil, fmt.Errorf("has %d entries, at most %d are read", len(entries), maxEntries)
	}
	m := &Matcher{values: map[string]int{}}
	for i, e := range entries {
		switch {
		case len(e) > 2 && e[0] == '/' && e[len(e)-1] == '/':
			re, err := Pattern(e[1 : len(e)-1])
			if err != nil {
				return nil, fmt.Errorf("%q %w", e, err)
			}
			m.others = append(m.others, func(cell, _ string) int { return found(re.MatchString(cell), i) })
		case strings.Contains(e, "*"):
			pieces := strings.Split(Equal(e), "*")
			if len(pieces) > 20 {
				return nil, fmt.Errorf("%q has %d *, at most 19 are read", e, len(pieces)-1)
			}
			m.others = append(m.others, func(_, equal string) int { return found(globbed(pieces, equal), i) })
		default:
			if _, known := m.values[Equal(e)]; !known {
				m.values[Equal(e)] = i
				m.longest = max(m.longest, len(e))
			}
		}
	}
	return m, nil
}

func found(is bool, i int) int {
	if is {
		return i
	}
	return -1
}

// globbed reports whether the text has the pieces in order, the first at its beginning and
// the last at its end.
func globbed(pieces []string, text string) bool {
	text, is := strings.CutPrefix(text, pieces[0])
	if !is {
		return false
	}
	last := len(pieces) - 1
	for _, p := range pieces[1:last] {
		i := strings.Index(text, p)
		if i < 0 {
			return false
		}
		text = text[i+len(p):]
	}
	return strings.HasSuffix(text, pieces[last])
}

// Find is the position of the entry that a cell matches, -1 if there is none.
func (m *Matcher) Find(cell string) int {
	if len(m.others) == 0 && len(cell) > 2*m.longest+8 { // folding and spaces shorten no text that much
		return -1
	}
	equal := Equal(cell)
	if i, is := m.values[equal]; is {
		return i
	}
	for _, match := range m.others {
		if i := match(cell, equal); i >= 0 {
			return i
		}
	}
	return -1
}
