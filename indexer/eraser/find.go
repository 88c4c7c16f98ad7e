package eraser

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/elastic/go-elasticsearch/v8/esapi"
	"github.com/google/uuid"

	"atlas/indexer/erasure"
	"atlas/indexer/generation"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/document"
)

// maxFound is the maximum number of records that Find returns of a generation, maxCandidates
// that of the documents that it reads.
const (
	maxFound      = 1_000
	maxCandidates = 10_000
)

// Find returns the records that have a value, in all complete generations. Error:
// fault.BadRequest if there are too many.
func (e *Eraser) Find(ctx context.Context, d catalog.Dataset, kind erasure.Kind, v erasure.Values) (Records, error) {
	all, err := e.generations(ctx)
	if err != nil {
		return nil, err
	}
	found := Records{}
	for _, g := range all {
		ids, err := e.find(ctx, g.Name, d, kind, v)
		if err != nil {
			return nil, err
		}
		found.Add(d, ids...)
	}
	return found, nil
}

// find returns the records of a generation that have a value. The index finds candidates by
// searchable text; the normalization of the list decides which have it.
func (e *Eraser) find(ctx context.Context, name string, d catalog.Dataset, kind erasure.Kind, v erasure.Values) ([]uuid.UUID, error) {
	wanted, err := e.Keys.New(d, kind, v)
	if err != nil {
		return nil, err
	}
	set, err := erasure.NewSet(e.Keys, []erasure.Suppression{wanted})
	if err != nil {
		return nil, err
	}
	index := e.Names.Generation(string(d), name)
	if err := e.Retry.Do(ctx, func(ctx context.Context) error { return e.Elastic.Refresh(ctx, index) }); err != nil {
		return nil, err
	}
	search := func(query map[string]any, most int) (hits []elastic.Hit[any], err error) {
		body := map[string]any{"query": query, "size": most, "track_total_hits": false, "_source": members}
		err = e.Retry.Do(ctx, func(ctx context.Context) (err error) {
			hits, err = elastic.Hits[any](ctx, e.Elastic, index, body)
			return err
		})
		return hits, elastic.FaultOf(err)
	}
	exact, words := condition(kind, v)
	hits, err := search(exact, maxFound)
	if err != nil {
		return nil, err
	}
	if len(hits) == maxFound {
		return nil, fault.New(fault.BadRequest, "this is of %d records or more: suppress them by id", maxFound)
	}
	if words != nil {
		more, err := search(words, maxCandidates)
		if err != nil {
			return nil, err
		}
		hits = append(hits, more...)
	}
	var ids []uuid.UUID
	for _, hit := range hits {
		of, _ := erasure.Read(hit.Source)
		id, err := uuid.Parse(of.ID)
		if err == nil && set.Has(d, of) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// members are the members that identify a record.
var members = []string{"id", "email", "phone", "name", "account_name"}

// condition finds candidates: exact finds documents with the value, words those with its words,
// such as a value with mailto: or spaces around it.
func condition(kind erasure.Kind, v erasure.Values) (exact, words map[string]any) {
	switch kind {
	case erasure.Email:
		field, _ := catalog.FieldNamed(catalog.Contacts, "email")
		var values []string
		var clauses []any
		// Older generations can have another folding.
		for _, folding := range []catalog.Folding{catalog.CaseFolding, catalog.MarkFolding} {
			for _, text := range []string{v.Normal(kind), "mailto:" + v.Normal(kind), v.Email} {
				text = folding.Fold(text)
				values = append(values, catalog.ExactValue(field, text))
				clauses = append(clauses, map[string]any{
					"match": map[string]any{search.Root.TextPath(&field): map[string]any{"query": text, "operator": "and"}},
				})
			}
		}
		return map[string]any{"terms": map[string]any{search.Root.ExactPath(&field): values}}, map[string]any{
			"bool": map[string]any{"should": clauses},
		}
	case erasure.Phone:
		return map[string]any{"terms": map[string]any{
			document.IX + "." + document.Phone: []string{catalog.Phone(v.Phone), catalog.Phone(v.Normal(kind))},
		}}, nil
	case erasure.NameFirm:
		field, _ := catalog.FieldNamed(catalog.Contacts, "name")
		return map[string]any{
			"match": map[string]any{search.Root.TextPath(&field): map[string]any{"query": catalog.Fold(v.Name), "operator": "and"}},
		}, nil
	default:
		return map[string]any{"ids": map[string]any{"values": []string{v.Normal(kind)}}}, nil
	}
}

// record names one.
type record struct {
	dataset catalog.Dataset
	id      uuid.UUID
}

// suppressed are the suppressed records, with their suppressions.
type suppressed map[record][]uuid.UUID

func (s suppressed) add(d catalog.Dataset, id uuid.UUID, because ...uuid.UUID) {
	of := s[record{d, id}]
	for _, one := range because {
		if !slices.Contains(of, one) {
			of = append(of, one)
		}
	}
	s[record{d, id}] = of
}

func (s suppressed) records() Records {
	all := Records{}
	for r := range s {
		all[r.dataset] = append(all[r.dataset], r.id)
	}
	return all
}

// scan adds the suppressed records of a generation by reading all of it.
func (e *Eraser) scan(ctx context.Context, name string, set *erasure.Set, found suppressed) error {
	for _, d := range erasure.Datasets() {
		if set.Empty(d) {
			continue
		}
		w := generation.Walk{Elastic: e.Elastic, Retry: e.Retry, Index: e.Names.Generation(string(d), name)}
		if d == catalog.Contacts {
			w.Members = members
		}
		if err := e.scanIndex(ctx, w, d, set, found); err != nil {
			return err
		}
	}
	return nil
}

func (e *Eraser) scanIndex(ctx context.Context, w generation.Walk, d catalog.Dataset, set *erasure.Set, found suppressed) error {
	if err := e.Retry.Do(ctx, func(ctx context.Context) error { return e.Elastic.Refresh(ctx, w.Index) }); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	records := w.Start(ctx, uuid.Nil)
	for r, more := records.Next(); more; r, more = records.Next() {
		var v erasure.Values
		if d == catalog.Contacts {
			v, _ = erasure.Read(r.Source)
		}
		v.ID = r.ID.String()
		if because := set.Find(d, v); len(because) > 0 {
			found.add(d, r.ID, because...)
		}
	}
	return records.Err()
}

// relations are the records whose documents have values of a record.
type relations map[catalog.Dataset]map[uuid.UUID]Records

// related returns the relations of the given records in a generation.
func (e *Eraser) related(ctx context.Context, name string, records Records) (relations, error) {
	all, live := relations{}, e.Live(e.at(name))
	for d, ids := range records {
		all[d] = map[uuid.UUID]Records{}
		for some := range slices.Chunk(ids, 500) {
			there, err := live.Lookup(ctx, d, texts(some))
			if err != nil {
				return nil, err
			}
			for text, public := range there {
				record, err := document.FromPublic(d, public)
				if err != nil {
					return nil, fault.Wrap(err, fault.Internal, "the record %s of %s could not be read", text, d)
				}
				of := Records{}
				for _, rel := range catalog.Relations {
					if rel.Child == d {
						of.Add(rel.Parent, parsed(record.Parents(rel))...)
					}
				}
				if d == catalog.Accounts { // projects have the names of their firms
					err := live.ProjectsOf(ctx, []string{text}, func(ids []string) error {
						of.Add(catalog.Projects, parsed(ids)...)
						return nil
					})
					if err != nil {
						return nil, err
					}
				}
				all[d][uuid.MustParse(text)] = of
			}
		}
	}
	return all, nil
}

// noteRelated stores which documents have values of the records to be erased: once these are
// deleted, that cannot be found.
func (e *Eraser) noteRelated(ctx context.Context, all []generation.Generation) error {
	work, err := e.Store.SuppressedRecords(ctx)
	if err != nil || len(work) == 0 {
		return err
	}
	for _, g := range all {
		found, err := e.related(ctx, g.Name, recordsOf(work))
		if err != nil {
			return err
		}
		for i, r := range work {
			for d, ids := range found[r.Dataset][r.ID] {
				related := Records(r.Related)
				if related == nil {
					related = Records{}
				}
				related.Add(d, ids...)
				work[i].Related = related
				r.Related = related
			}
		}
	}
	for _, r := range work {
		if len(r.Related) == 0 {
			continue
		}
		if err := e.Store.NoteSuppressedRecord(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// deleteDocuments deletes the documents of records from a generation, for searches at once.
// Related documents stay as they are.
func (e *Eraser) deleteDocuments(ctx context.Context, name string, records Records) error {
	for d, ids := range records {
		index := e.Names.Generation(string(d), name)
		for _, id := range ids {
			err := e.Retry.Do(ctx, func(ctx context.Context) error {
				_, err := e.Elastic.Do(ctx, esapi.DeleteRequest{Index: index, DocumentID: id.String()})
				if answer, ok := errors.AsType[*elastic.Error](err); ok && answer.Status == http.StatusNotFound {
					return nil
				}
				return err
			})
			if err != nil {
				return elastic.FaultOf(err)
			}
		}
		if err := e.Retry.Do(ctx, func(ctx context.Context) error { return e.Elastic.Refresh(ctx, index) }); err != nil {
			return elastic.FaultOf(err)
		}
	}
	return nil
}

// expunge rewrites segments with deleted documents in the background. Until then the deleted
// bytes are on disk.
func (e *Eraser) expunge(ctx context.Context, name string, records Records) error {
	if records.Len() == 0 {
		return nil
	}
	for _, d := range catalog.Datasets {
		index := e.Names.Generation(string(d), name)
		err := e.Retry.Do(ctx, func(ctx context.Context) error { return e.Elastic.ExpungeDeletes(ctx, index) })
		if err != nil {
			return elastic.FaultOf(err)
		}
	}
	return nil
}

func texts(ids []uuid.UUID) []string {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = id.String()
	}
	return all
}

func parsed(all []string) (ids []uuid.UUID) {
	for _, text := range all {
		if id, err := uuid.Parse(text); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
