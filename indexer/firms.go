package indexer

import (
	"bytes"
	"context"

	"atlas/indexer/extsort"
	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/document"
)

// Documents of projects have the names of their firms, but a load builds children before
// parents. So a first pass over the sorted records collects the names: links of projects are
// sorted by account and joined with the accounts, and the result is sorted by project. A
// resumed load repeats the pass.

// firmKeySize is the size of the keys of both sorts: two ids.
const firmKeySize = 2 * idSize

// firmNames starts to read the names of the firms of a dataset's records after an id (nil:
// all), nil if the dataset has none. The key is the record's id and the account's.
func (l *load) firmNames(
	ctx context.Context, d catalog.Dataset, after []byte, sorted map[catalog.Dataset]*extsort.Sorter, p *pipeline,
) (*linkStream, func(), error) {
	if _, has := catalog.FirmsField(d); !has {
		return nil, func() {}, nil
	}
	if err := l.compactRecords(ctx, catalog.Accounts, sorted[catalog.Accounts], p); err != nil {
		return nil, nil, err
	}
	links, names := l.firmSorter(d, "links"), l.firmSorter(d, "names")
	if err := l.linkFirms(ctx, d, sorted[d], links); err != nil {
		return nil, nil, err
	}
	if err := l.nameFirms(ctx, links, sorted[catalog.Accounts], names); err != nil {
		return nil, nil, err
	}
	entries, err := names.IterateAfter(ctx, after)
	if err != nil {
		return nil, nil, err
	}
	return newLinkStream(catalog.Relation{}, entries), entries.Close, nil
}

func (l *load) firmSorter(d catalog.Dataset, of string) *extsort.Sorter {
	return extsort.New(extsort.Options{Dir: l.dir, Name: string(d) + "-firm-" + of, KeySize: firmKeySize, Memory: l.SortMemory / 4})
}

// linkFirms adds the links of a dataset's records: keys of account and record.
func (l *load) linkFirms(ctx context.Context, d catalog.Dataset, records, links *extsort.Sorter) error {
	w := links.Writer()
	err := l.eachRecord(ctx, records, func(id []byte, payload []byte) error {
		record, err := document.DecodeBinary(d, payload)
		if err != nil {
			return fault.Wrap(err, fault.Internal, "a temporary file of %s holds something else", d)
		}
		for _, firm := range record.FirmIDs() {
			account := document.IDBytes(firm)
			if err := w.Add(append(account[:], id...), nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.Close()
}

// nameFirms adds the name of each link's account: keys of record and account.
func (l *load) nameFirms(ctx context.Context, links, accounts, names *extsort.Sorter) error {
	linked, err := links.Iterate(ctx)
	if err != nil {
		return err
	}
	defer linked.Close()
	w := names.Writer()
	has := linked.Next()
	err = l.eachRecord(ctx, accounts, func(id []byte, payload []byte) error {
		for has && bytes.Compare(linked.Key()[:idSize], id) < 0 {
			has = linked.Next()
		}
		if !has || !sameID(linked.Key(), id) {
			return nil
		}
		account, err := document.DecodeBinary(catalog.Accounts, payload)
		if err != nil {
			return fault.Wrap(err, fault.Internal, "a temporary file of accounts holds something else")
		}
		name, _ := account.Value("name").(string)
		for ; has && sameID(linked.Key(), id); has = linked.Next() {
			if err := w.Add(append(bytes.Clone(linked.Key()[idSize:]), id...), []byte(name)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = linked.Err()
	}
	if err != nil {
		return err
	}
	return w.Close()
}

// eachRecord calls take with the effective records, without those that were merged into
// others.
func (l *load) eachRecord(ctx context.Context, records *extsort.Sorter, take func(id, payload []byte) error) error {
	return eachCounting(ctx, l.reread(records), func(id, payload []byte) error {
		if _, merged := document.DecodeMergeBinary(payload); merged {
			return nil
		}
		return take(id, payload)
	})
}
