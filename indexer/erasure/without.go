package erasure

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/search/catalog"
)

// Without removes the pieces of a text that have data of suppressed records. The text can have
// several records: an array, concatenated objects, or lines with other line breaks than the
// file. rest has the other records, one a line; removed counts the removed pieces. datasets are
// those that the records can be of.
//
// Invalid JSON is one piece with the text that follows it, up to the next object with an id:
// that text can belong to either record.
func (s *Set) Without(datasets []catalog.Dataset, text []byte) (rest []byte, removed int) {
	for _, piece := range pieces(text) {
		switch {
		case s.hasPiece(datasets, piece):
			removed++
		case len(bytes.Trim(piece, " \t\r\n,[]\"")) == 0: // stands between records
		default:
			if len(rest) > 0 {
				rest = append(rest, '\n')
			}
			rest = append(rest, bytes.TrimSpace(piece)...)
		}
	}
	return rest, removed
}

// hasPiece reports whether a piece has data of a suppressed record, at any position.
func (s *Set) hasPiece(datasets []catalog.Dataset, piece []byte) bool {
	for _, d := range datasets {
		if !s.Empty(d) && (s.Line(d, piece) || s.hasPart(d, string(piece))) {
			return true
		}
	}
	return false
}

// pieces splits a text into objects and the text between them, in linear time.
func pieces(text []byte) (all [][]byte) {
	begin, broken := 0, false
	for at := 0; at < len(text); {
		if text[at] != '{' {
			at++
			continue
		}
		n, whole := objectAt(text[at:])
		if v, _ := Read(text[at : at+n]); whole && broken && uuid.Validate(v.ID) != nil {
			at += n // possibly part of the invalid object
			continue
		}
		if whole || !broken {
			if begin < at {
				all = append(all, text[begin:at])
			}
			begin = at
		}
		at += n
		if broken = !whole; whole {
			all = append(all, text[begin:at])
			begin = at
		}
	}
	if begin < len(text) {
		all = append(all, text[begin:])
	}
	return all
}

// objectAt is how many bytes the object at the beginning of a text has, or could be read of it.
func objectAt(text []byte) (n int, whole bool) {
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	value, err := d.ReadValue()
	if err == nil {
		return len(value), true
	}
	if wrong, ok := errors.AsType[*jsontext.SyntacticError](err); ok && wrong.ByteOffset > 0 {
		return min(int(wrong.ByteOffset), len(text)), false
	}
	return 1, false
}
