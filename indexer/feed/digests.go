package feed

import (
	"cmp"
	"context"
	"encoding/binary"

	"github.com/google/uuid"

	"atlas/indexer/extsort"
	"atlas/indexer/generation"
	"atlas/search/catalog"
)

// A load knows the ids and digests of its documents. A comparison reads them from the
// load's files instead of Elasticsearch.

// digests are the ids and digests of the documents of a generation.
type digests struct {
	of   string
	open func(context.Context, catalog.Dataset) (*extsort.Iterator, error)
}

// UseDigests tells the feed how to read the ids and digests of the documents of a generation
// that was just loaded and not changed since. Keys are ids; payloads have 8 bytes, big-endian.
// open returns nil if there are none.
func (f *Feed) UseDigests(generation string, open func(context.Context, catalog.Dataset) (*extsort.Iterator, error)) {
	if f != nil {
		f.digests = digests{generation, open}
	}
}

// known returns those of the later generation, nil if they are not known.
func (c *comparison) known(ctx context.Context) *generation.Records {
	if c.digests.of != c.writer || c.digests.open == nil {
		return nil
	}
	known, err := c.digests.open(ctx, c.dataset)
	if err != nil || known == nil { // Elasticsearch has them too
		return nil
	}
	return generation.ReadAhead(ctx, func(take func([]generation.Record) error) error { return c.eachKnown(known, take) })
}

func (c *comparison) eachKnown(known *extsort.Iterator, take func([]generation.Record) error) error {
	defer known.Close()
	size := cmp.Or(c.Window, 5_000)
	var page []generation.Record
	for known.Next() {
		digest := int64(binary.BigEndian.Uint64(known.Payload())) // #nosec G115 -- the same 64 bits
		page = append(page, generation.Record{ID: uuid.UUID(known.Key()), Value: digest, Known: true})
		if len(page) == size {
			if err := take(page); err != nil {
				return err
			}
			page = nil
		}
	}
	if err := known.Err(); err != nil || len(page) == 0 {
		return err
	}
	return take(page)
}
