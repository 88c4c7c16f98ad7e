package search

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
)

// scanner reads answers of Elasticsearch. It finds where values begin and end and does
// not check what is between: Elasticsearch writes valid JSON, and a parser that
// validates every record takes ten times as long. It accepts all valid JSON, and reads
// no further than the end of the answer. Values share the bytes of the answer.
type scanner struct {
	b   []byte
	at  int
	bad bool // the answer is not what was expected; everything after this is empty
	// rowsLater leaves the rows of results unread.
	rowsLater bool
}

// end returns an error if the answer was not readable.
func (s *scanner) end() error {
	if s.bad || s.peek() != 0 {
		return fault.BackendUnavailable(fmt.Errorf("unreadable answer near byte %d of %d", s.at, len(s.b)), "elasticsearch")
	}
	return nil
}

// peek skips white space and returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	for ; s.at < len(s.b) && !s.bad; s.at++ {
		switch c := s.b[s.at]; c {
		case ' ', '\n', '\r', '\t':
		default:
			return c
		}
	}
	return 0
}

// take reads a byte, which must be next.
func (s *scanner) take(c byte) {
	if s.bad = s.bad || s.peek() != c; !s.bad {
		s.at++
	}
}

// members calls each with the names of an object's members. It skips the values that
// each does not read. Names with escapes are not decoded.
func (s *scanner) members(each func(name []byte)) {
	s.list('{', '}', func() {
		name := s.value()
		if s.bad = s.bad || len(name) < 2 || name[0] != '"'; s.bad {
			return
		}
		s.take(':')
		s.peek()
		begin := s.at
		each(name[1 : len(name)-1])
		if s.at == begin {
			s.value()
		}
	})
}

// elements calls each for every element of an array, which it must read.
func (s *scanner) elements(each func()) { s.list('[', ']', each) }

func (s *scanner) list(open, end byte, each func()) {
	s.take(open)
	if s.peek() == end {
		s.take(end)
		return
	}
	for !s.bad {
		each()
		if s.peek() == end {
			s.take(end)
			return
		}
		s.take(',')
	}
}

// value reads a value of any kind.
func (s *scanner) value() jsontext.Value {
	first := s.peek()
	begin := s.at
	switch first {
	case '{', '[':
		s.skipNested()
	case '"':
		s.skipString()
	default:
		for s.at < len(s.b) && !ends[s.b[s.at]] {
			s.at++
		}
		s.bad = s.bad || s.at == begin
	}
	if s.bad {
		return nil
	}
	return s.b[begin:s.at:s.at]
}

// ends are the bytes that end a number or a literal.
var ends = [256]bool{',': true, '}': true, ']': true, ':': true, '"': true, '{': true, '[': true, ' ': true, '\n': true, '\r': true, '\t': true}

// skipNested skips an object or an array. It counts brackets outside of strings.
func (s *scanner) skipNested() {
	depth := 0
	for s.at < len(s.b) && !s.bad {
		switch s.b[s.at] {
		case '"':
			s.skipString()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if s.at++; depth == 0 {
			return
		}
	}
	s.bad = true
}

func (s *scanner) skipString() {
	begin := s.at + 1
	for end := begin; ; end++ {
		next := bytes.IndexByte(s.b[end:], '"')
		if next < 0 {
			s.bad = true
			return
		}
		end += next
		escapes := 0
		for end-escapes > begin && s.b[end-escapes-1] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			s.at = end + 1
			return
		}
	}
}

// integer reads a number without a fraction.
func (s *scanner) integer() int {
	n, err := strconv.Atoi(string(s.value()))
	s.bad = s.bad || err != nil
	return n
}

// result reads the answer of one search.
func (s *scanner) result() (r result) {
	s.members(func(name []byte) {
		switch string(name) {
		case "timed_out":
			r.timedOut = string(s.value()) != "false"
		case "_shards":
			s.members(func(name []byte) {
				if string(name) == "failed" {
					r.failed = new(s.integer())
				}
			})
		case "hits":
			s.members(func(name []byte) {
				switch {
				case string(name) == "total" && s.peek() == '{':
					s.members(func(name []byte) {
						if string(name) == "value" {
							r.total = new(s.integer())
						}
					})
				case string(name) == "hits" && s.rowsLater:
					r.unread = s.value()
				case string(name) == "hits":
					s.elements(func() { r.rows = append(r.rows, s.hit()) })
				}
			})
		case "aggregations":
			r.aggregations = s.value()
		case "error":
			r.error = s.value()
		case "status":
			r.status = s.integer()
		}
	})
	return r
}

func (s *scanner) hit() (h hit) {
	s.members(func(name []byte) {
		switch string(name) {
		case "_source":
			h.source = s.value()
		case "sort":
			h.sort = s.value()
		}
	})
	return h
}

// doc is one answer of an _mget.
type doc struct {
	id, source, error jsontext.Value
	found             bool
}

func (s *scanner) doc() (d doc) {
	s.members(func(name []byte) {
		switch string(name) {
		case "_id":
			d.id = s.value()
		case "found":
			d.found = string(s.value()) == "true"
		case "_source":
			d.source = s.value()
		case "error":
			d.error = s.value()
		}
	})
	return d
}
