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

// The layout: a version, the signature, the sort values as the JSON array that
// Elasticsearch gave. They are never decoded: a float64 would corrupt the
// values that stand for "missing".
const (
	cursorVersion = 1
	signatureLen  = sha256.Size
)

// encoding refuses padding and stray bits, so that each cursor has one spelling.
var encoding = base64.RawURLEncoding.Strict()

// Make returns the cursor after a row of q's results.
func (c *Cursors) Make(q query.Query, values json.RawMessage) string {
	b := make([]byte, 0, 1+signatureLen+len(values))
	b = append(b, cursorVersion)
	b = append(b, sign(c.keys[0], q, values)...)
	b = append(b, values...)
	return encoding.EncodeToString(b)
}

// Read returns the sort values of q's cursor, nil when it has none. A cursor
// that was not made for this base, dataset, sort and, by relevance, text, or
// that was changed in any bit, is a BadRequest.
func (c *Cursors) Read(q query.Query) (json.RawMessage, error) {
	if q.After == "" {
		return nil, nil
	}
	b, err := encoding.DecodeString(q.After)
	// The decoder skips line breaks, which would give one cursor many spellings.
	if err != nil || strings.ContainsAny(q.After, "\r\n") || len(b) <= 1+signatureLen || b[0] != cursorVersion {
		return nil, errCursor
	}
	signature, values := b[1:1+signatureLen], json.RawMessage(b[1+signatureLen:])
	for _, key := range c.keys {
		if hmac.Equal(signature, sign(key, q, values)) {
			return values, nil
		}
	}
	return nil, errCursor
}

var errCursor = fault.New(fault.BadRequest, "search_after is not a cursor of this search: send it as it was answered, with the same dataset, workspace, sort (and, sorted by relevance, query), or leave it out to begin at the first page")

// sign binds the values to where they were issued. Each part is preceded by
// its length, so that no two bindings read alike.
func sign(key []byte, q query.Query, values []byte) []byte {
	mac := hmac.New(sha256.New, key)
	part := func(s string) {
		mac.Write(binary.BigEndian.AppendUint32(nil, uint32(len(s))))
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
	part(string(values))
	return mac.Sum(nil)
}
