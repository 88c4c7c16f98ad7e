package search

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/query"
)

// Cursors creates and parses the `search_after` of a page: the sort values of its last row,
// signed together with the search that they belong to. A cursor needs no state on a server.
// It is valid as long as the key that signed it is configured.
type Cursors struct {
	keys [][]byte
}

// MinCursorKey is the minimum length of a signing key in bytes.
const MinCursorKey = 16

// NewCursors returns Cursors that sign with the first key and accept all keys, so
// that a key can be replaced while cursors of the old one stay valid.
func NewCursors(keys ...[]byte) (*Cursors, error) {
	if len(keys) == 0 {
		return nil, errors.New("a cursor key is required")
	}
	for _, k := range keys {
		if len(k) < MinCursorKey {
			return nil, fmt.Errorf("a cursor key needs at least %d bytes, this one has %d", MinCursorKey, len(k))
		}
	}
	return &Cursors{keys}, nil
}

// A cursor is a version, the signature, the number of preceding rows (a varint) and the
// sort values as the JSON array that Elasticsearch returned. They are never decoded: a
// float64 would corrupt the values that stand for "missing".
const (
	cursorVersion = 2
	signatureLen  = sha256.Size
)

// encoding refuses padding and unused bits that are set, so that each cursor has one
// spelling.
var encoding = base64.RawURLEncoding.Strict()

// Position is where a page begins in the results of a search. The zero Position is the
// beginning.
type Position struct {
	// After holds the sort values of the preceding row, as Elasticsearch returned
	// them.
	After json.RawMessage
	// Passed is the number of rows on the preceding pages when they were returned.
	Passed int
	// Folding is that of the index of the preceding row, if the sort depends on it.
	Folding catalog.Folding
}

// Make returns the cursor of a position in q's results.
func (c *Cursors) Make(q query.Query, p Position) string {
	signed := append(binary.AppendUvarint(nil, uint64(max(0, p.Passed))), p.After...)
	b := make([]byte, 0, 1+signatureLen+len(signed))
	b = append(b, cursorVersion)
	b = append(b, sign(c.keys[0], q, p.Folding, signed)...)
	b = append(b, signed...)
	return encoding.EncodeToString(b)
}

// Read returns the position of q's cursor, the beginning if q has none. Error: BadRequest
// for a changed cursor, or one that was made for another base, dataset or sort; for a sort
// by relevance also for another text, words or typos. Engine.Search refuses cursors of a
// Folding that no index uses any more.
func (c *Cursors) Read(q query.Query) (Position, error) {
	if q.After == "" {
		return Position{}, nil
	}
	b, err := encoding.DecodeString(q.After)
	// The decoder skips line breaks, which would give one cursor many spellings.
	if err != nil || strings.ContainsAny(q.After, "\r\n") || len(b) <= 1+signatureLen || b[0] != cursorVersion {
		return Position{}, errCursor
	}
	signature, signed := b[1:1+signatureLen], b[1+signatureLen:]
	for _, key := range c.keys {
		for _, folding := range foldings(q.Sort) {
			if hmac.Equal(signature, sign(key, q, folding, signed)) {
				passed, n := binary.Uvarint(signed)
				return Position{After: json.RawMessage(signed[n:]), Passed: int(passed), Folding: folding}, nil // #nosec G115 -- signed by us
			}
		}
	}
	return Position{}, errCursor
}

// Seal signs data that is not a position in a search, such as one in the feed of changes.
// Open accepts it only for the same purpose.
func (c *Cursors) Seal(purpose string, data []byte) string {
	return encoding.EncodeToString(append(seal(c.keys[0], purpose, data), data...))
}

// Open returns data that Seal signed.
func (c *Cursors) Open(purpose, cursor string) (data []byte, ok bool) {
	b, err := encoding.DecodeString(cursor)
	if err != nil || strings.ContainsAny(cursor, "\r\n") || len(b) < signatureLen {
		return nil, false
	}
	for _, key := range c.keys {
		if hmac.Equal(b[:signatureLen], seal(key, purpose, b[signatureLen:])) {
			return b[signatureLen:], true
		}
	}
	return nil, false
}

// seal is the signature of data. What sign signs begins with another byte than 0.
func seal(key []byte, purpose string, data []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("\x00" + purpose + "\x00"))
	mac.Write(data)
	return mac.Sum(nil)
}

var errCursor = fault.New(fault.BadRequest, "search_after is not a cursor of this search: send metadata.search_after as it was answered, with the same dataset, workspace and sort (and, when sorted by relevance, the same query and words), or leave it out to begin at the first page")

// foldings are those that positions of a sort may have, the newest first. If the sort
// values are not folded, all positions have the first version.
func foldings(s query.Sort) []catalog.Folding {
	if !dependsOnFolding(s) {
		return []catalog.Folding{catalog.CaseFolding}
	}
	return []catalog.Folding{catalog.MarkFolding, catalog.CaseFolding}
}

func dependsOnFolding(s query.Sort) bool { return s.Relevance() || s.Field.Folded() }

// sign binds a position to its search. Each part is preceded by its length, so that no two
// searches have the same signature.
func sign(key []byte, q query.Query, folding catalog.Folding, position []byte) []byte {
	if !dependsOnFolding(q.Sort) {
		folding = catalog.CaseFolding
	}
	mac := hmac.New(sha256.New, key)
	part := func(s string) {
		mac.Write(binary.BigEndian.AppendUint32(nil, uint32(len(s)))) // #nosec G115 -- a request is shorter
		mac.Write([]byte(s))
	}
	mac.Write([]byte{cursorVersion, byte(cmp.Or(folding, catalog.NewestFolding))})
	part(string(q.Base.Kind))
	part(q.Base.Workspace)
	part(q.Base.View)
	part(string(q.Dataset))
	part(signedSort(q.Sort))
	if q.Sort.Relevance() {
		part(q.Text)
		if q.Typos {
			part("typos")
		}
		if !q.Exact {
			part("words " + tablesOf(q).Version)
		}
	}
	part(string(position))
	return mac.Sum(nil)
}

// signedSort is the text of the sort in the signature of cursors. Changing it
// invalidates all cursors.
func signedSort(s query.Sort) string {
	name, order := s.Field.Name, " asc"
	switch {
	case s.Relevance():
		name = query.RelevanceSort
	case s.Field.Overlay:
		name = overlayPrefix.Values + name
	}
	if s.Desc {
		order = " desc"
	}
	return name + order
}
