package document

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"

	"atlas/search/catalog"
)

// errCodec means that the bytes are not a record of the dataset: another version of the
// catalog wrote them, or they are damaged.
var errCodec = errors.New("not the binary form of a record")

// AppendBinary appends the record's input values in a compact form for temporary files:
// half the size of the JSON line and several times faster to read. Derived fields are left
// out. The form depends on the catalog, so do not store it across versions of Atlas.
func (r Record) AppendBinary(b []byte) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	present := uint32(0)
	fields := schemas[r.Dataset].fields
	for i := range fields {
		f := &fields[i]
		if r.values[i] == nil || f.Derive != nil {
			continue
		}
		present |= 1 << i
		switch v := r.values[i].(type) {
		case string:
			b = appendText(b, f, v)
		case []string:
			b = binary.AppendUvarint(b, uint64(len(v)))
			for _, s := range v {
				b = appendText(b, f, s)
			}
		case int64:
			b = binary.AppendVarint(b, v)
		case float64:
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
	}
	binary.LittleEndian.PutUint32(b[at:], present)
	return b
}

func appendText(b []byte, f *catalog.Field, s string) []byte {
	if f.IsID() {
		id := IDBytes(s)
		return append(b, id[:]...)
	}
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// DecodeBinary reads the form of AppendBinary. The record does not alias b.
func DecodeBinary(d catalog.Dataset, b []byte) (Record, error) {
	fields := schemas[d].fields
	r := Record{Dataset: d, values: make([]any, len(fields))}
	c := cursor{bytes: b, text: string(b)}
	if c.take(4); c.bad {
		return Record{}, errCodec
	}
	present := binary.LittleEndian.Uint32(b)
	for i := range fields {
		if present&(1<<i) == 0 {
			continue
		}
		f := &fields[i]
		switch f.Type {
		case catalog.Strings, catalog.UUIDs:
			n := c.uvarint()
			if n > uint64(len(b)) {
				return Record{}, errCodec
			}
			list := make([]string, 0, n)
			for range n {
				list = append(list, c.string(f))
			}
			r.values[i] = list
		case catalog.Integer, catalog.Time:
			r.values[i] = c.varint()
		case catalog.Double:
			if raw := c.take(8); !c.bad {
				r.values[i] = math.Float64frombits(binary.LittleEndian.Uint64([]byte(raw)))
			}
		default:
			r.values[i] = c.string(f)
		}
		if c.bad {
			return Record{}, errCodec
		}
	}
	if c.at != len(b) || r.values[0] == nil {
		return Record{}, errCodec
	}
	return r, nil
}

// cursor reads the bytes. Its strings share one copy of them.
type cursor struct {
	bytes []byte
	text  string
	at    int
	bad   bool
}

func (c *cursor) take(n int) string {
	if n < 0 || n > len(c.text)-c.at {
		c.bad = true
		return ""
	}
	c.at += n
	return c.text[c.at-n : c.at]
}

func (c *cursor) uvarint() uint64 {
	v, n := binary.Uvarint(c.bytes[c.at:])
	c.skip(n)
	return v
}

func (c *cursor) varint() int64 {
	v, n := binary.Varint(c.bytes[c.at:])
	c.skip(n)
	return v
}

func (c *cursor) skip(n int) {
	if n <= 0 {
		c.bad = true
		return
	}
	c.at += n
}

func (c *cursor) string(f *catalog.Field) string {
	if f.IsID() {
		if raw := c.take(16); !c.bad {
			return idText([16]byte([]byte(raw)))
		}
		return ""
	}
	n := c.uvarint()
	if n > uint64(len(c.text)) {
		c.bad = true
		return ""
	}
	return c.take(int(n)) // #nosec G115 -- compared with what is left
}

// IDBytes returns the 16 bytes of a record's id. Their order is the order of ids. The
// id must be valid: 36 characters, lower case.
func IDBytes(id string) [16]byte {
	var b [16]byte
	for i, at := range [16]int{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34} {
		b[i] = nibbles[id[at]]<<4 | nibbles[id[at+1]]
	}
	return b
}

// nibbles maps hexadecimal digits to their values.
var nibbles = func() (values [256]byte) {
	for v, digit := range "0123456789abcdef" {
		values[digit] = byte(v)
	}
	return values
}()

// tie returns the halves of an id as numbers in the order of ids
// (IDHigh, IDLow).
func tie(id [16]byte) (high, low int64) {
	// Elasticsearch's numbers are signed.
	const sign = 1 << 63
	return int64(binary.BigEndian.Uint64(id[:8]) ^ sign), int64(binary.BigEndian.Uint64(id[8:]) ^ sign) // #nosec G115 -- Elasticsearch's numbers are signed
}

func idText(b [16]byte) string {
	var s [36]byte
	hex.Encode(s[0:8], b[0:4])
	s[8] = '-'
	hex.Encode(s[9:13], b[4:6])
	s[13] = '-'
	hex.Encode(s[14:18], b[6:8])
	s[18] = '-'
	hex.Encode(s[19:23], b[8:10])
	s[23] = '-'
	hex.Encode(s[24:36], b[10:16])
	return string(s[:])
}
