package indexer

import (
	"context"
	"encoding/binary"

	"atlas/indexer/extsort"
	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/document"
)

// A load stores the ids and digests of its documents, so that the comparison with the
// previous generation does not read them back. Like links, they are stored up to the last
// checkpoint.

func digestsName(d catalog.Dataset) string { return string(d) + "-digests" }

// openDigests opens the sorters of digests, if they are needed.
func (l *load) openDigests() (err error) {
	if l.Feed == nil {
		return nil
	}
	for _, d := range catalog.Datasets {
		if l.digests[d], err = l.sorter(digestsName(d), idSize, l.SortMemory/l.Workers/8, l.state.Links[digestsName(d)]); err != nil {
			return err
		}
	}
	return nil
}

// addDigest adds the digest of a document, which ends body.
func (b *builder) addDigest(id string, body []byte) error {
	if b.digests == nil {
		return nil
	}
	digest, ok := document.Digest(body)
	if !ok {
		return fault.New(fault.Internal, "a document of %s has no digest", b.dataset)
	}
	key := document.IDBytes(id)
	return b.digested.Add(key[:], binary.BigEndian.AppendUint64(nil, uint64(digest))) // #nosec G115 -- the same 64 bits, read back as written
}

// offerDigests lets the feed read the digests. A dataset of which Elasticsearch refused
// documents has none, because its digests differ from the index.
func (l *load) offerDigests() {
	if l.Feed == nil {
		return
	}
	l.Feed.UseDigests(l.manifest.Generation, func(ctx context.Context, d catalog.Dataset) (*extsort.Iterator, error) {
		s, of := l.state.Datasets[d], l.digests[d]
		entries := int64(0)
		for _, run := range of.Runs() {
			entries += run.Entries
		}
		if s.Refused > 0 || entries != s.Documents {
			return nil, nil // a load that another version began has none
		}
		return of.Iterate(ctx) // merges the files first if they are many
	})
}
