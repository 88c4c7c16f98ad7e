package search

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"atlas/internal/fault"
	"atlas/search/query"
)

// Cursors makes and reads the `search_after` of a page: the sort values of its
// last row, signed together with what they were made for. A cursor holds no
// state on a server and does not expire while one of the keys that may have
// signed it is configured.
type Cursors struct {
	keys [][]byte
}

// MinCursorKey is the fewest bytes a signing key may have.
const MinCursorKey = 16

// NewCursors returns Cursors that sign with the first key and accept all of
// them, so that a key can be replaced while cursors of the old one go on.
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

// The layout: a version, the signature, how many rows come before (a varint),
// the sort values as the JSON array that Elasticsearch gave. They are never
// decoded: a float64 would corrupt the values that stand for "missing".
const (
	cursorVersion = 2
	signatureLen  = sha256.Size
)

// encoding refuses padding and stray bits, so that each cursor has one spelling.
var encoding = base64.RawURLEncoding.Strict()

// Place is where in the results of a search a page begins. The zero Place is the
// beginning.
type Place struct {
	// After holds the sort values of the row before, as Elasticsearch gave them.
	After json.RawMessage
	// Passed is how many rows came before when they were counted, page by page.
	Passed int
}

// Make returns the cursor of a place in q's results.
func (c *Cursors) Make(q query.Query, p Place) string {
	signed := append(binary.AppendUvarint(nil, uint64(max(0, p.Passed))), p.After...)
	b := make([]byte, 0, 1+signatureLen+len(signed))
	b = append(b, cursorVersion)
	b = append(b, sign(c.keys[0], q, signed)...)
	b = append(b, signed...)
	return encoding.EncodeToString(b)
}

// Read returns the place of q's cursor, the beginning when it has none. A cursor
// that was not made for this base, dataset, sort and, by relevance, text, or
// that was changed in any bit, is a BadRequest.
func (c *Cursors) Read(q query.Query) (Place, error) {
	if q.After == "" {
		return Place{}, nil
	}
	b, err := encoding.DecodeString(q.After)
	// The decoder skips line breaks, which would give one cursor many spellings.
	if err != nil || strings.ContainsAny(q.After, "\r\n") || len(b) <= 1+signatureLen || b[0] != cursorVersion {
		return Place{}, errCursor
	}
	signature, signed := b[1:1+signatureLen], b[1+signatureLen:]
	for _, key := range c.keys {
		if hmac.Equal(signature, sign(key, q, signed)) {
			passed, n := binary.Uvarint(signed)
			return Place{After: json.RawMessage(signed[n:]), Passed: int(passed)}, nil // #nosec G115 -- signed by us
		}
	}
	return Place{}, errCursor
}

var errCursor = fault.New(fault.BadRequest, "search_after is not a cursor of this search: send it as it was answered, with the same dataset, workspace, sort (and, sorted by relevance, query), or leave it out to begin at the first page")

// sign binds a place to where they were issued. Each part is preceded by
// its length, so that no two bindings read alike.
func sign(key []byte, q query.Query, place []byte) []byte {
	mac := hmac.New(sha256.New, key)
	part := func(s string) {
		mac.Write(binary.BigEndian.AppendUint32(nil, uint32(len(s)))) // #nosec G115 -- a request is shorter
		mac.Write([]byte(s))
	}
	mac.Write([]byte{cursorVersion, query.FoldVersion})
	part(string(q.Base.Kind))
	part(q.Base.Workspace)
	part(q.Base.View)
	part(string(q.Dataset))
	part(q.Sort.String())
	if q.Sort.Relevance() {
		part(q.Text)
	}
	part(string(place))
	return mac.Sum(nil)
}
