package verify

import (
	"context"
	"runtime"
	"strconv"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/elastic"
	"atlas/search/catalog"
	"atlas/search/document"
)

// indexed is a document in the index.
type indexed struct {
	id, elasticID string
	source        jsontext.Value
	digest        int64
	hasDigest     bool
}

// pageSize is the size of a search: a window and one more, which shows that there are extra
// documents.
const pageSize = windowRecords + 1

// pageTimeout bounds one attempt of a search.
const pageTimeout = time.Minute

func (v *verification) workers() int {
	if v.Workers > 0 {
		return v.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// eachDocument calls take with the documents of a range of ids, in their order.
func (v *verification) eachDocument(ctx context.Context, index, after, upto string, take func(indexed)) error {
	for {
		page, err := v.page(ctx, index, after, upto)
		if err != nil {
			return err
		}
		for _, doc := range page {
			take(doc)
		}
		if len(page) < pageSize {
			return nil
		}
		after = page[len(page)-1].id
	}
}

func (v *verification) page(ctx context.Context, index, after, upto string) ([]indexed, error) {
	bounds := map[string]string{}
	if after != "" {
		bounds["gt"] = after
	}
	if upto != "" {
		bounds["lte"] = upto
	}
	search := map[string]any{
		"size": pageSize, "sort": []string{"id"}, "track_total_hits": false,
		// Without bounds this matches all documents with an id.
		"query":           map[string]any{"range": map[string]any{"id": bounds}},
		"docvalue_fields": []string{document.DigestField},
	}
	var hits []elastic.Hit[string]
	err := v.Retry.Do(ctx, func(ctx context.Context) (err error) {
		ctx, cancel := context.WithTimeout(ctx, pageTimeout)
		defer cancel()
		hits, err = elastic.Hits[string](ctx, v.Elastic, index, search)
		return err
	})
	if err != nil {
		return nil, err
	}
	docs := make([]indexed, len(hits))
	for i, hit := range hits {
		docs[i] = indexed{elasticID: hit.ID, source: hit.Source}
		if len(hit.Sort) == 1 {
			docs[i].id = hit.Sort[0]
		}
		docs[i].digest, docs[i].hasDigest = hit.Long(document.DigestField)
	}
	return docs, nil
}

// hasDigests reports whether the mapping of an index has digests.
func (v *verification) hasDigests(ctx context.Context, index string) (has bool, err error) {
	err = v.Retry.Do(ctx, func(ctx context.Context) error {
		res, err := v.Elastic.Do(ctx, esapi.IndicesGetFieldMappingRequest{Index: []string{index}, Fields: []string{document.DigestField}})
		if err != nil {
			return err
		}
		var answer map[string]struct {
			Mappings map[string]any `json:"mappings"`
		}
		if err := json.Unmarshal(res.Body, &answer); err != nil {
			return err
		}
		has = len(answer[index].Mappings) > 0
		return nil
	})
	return has, err
}

// foldsAlike reports whether the documents of an index have the folding of the documents
// built here.
func (v *verification) foldsAlike(ctx context.Context, index string) (alike bool, err error) {
	err = v.Retry.Do(ctx, func(ctx context.Context) error {
		all, err := v.Elastic.MappingMeta(ctx, index)
		alike = catalog.FoldingNamed(all[index].Folding) == catalog.NewestFolding
		return err
	})
	return alike, err
}

// countIndex compares the number of documents read with the count of the index: documents
// without an id are in no range of ids.
func (v *verification) countIndex(ctx context.Context, row *DatasetReport) error {
	err := v.Retry.Do(ctx, func(ctx context.Context) (err error) {
		row.Documents, err = v.Elastic.Count(ctx, row.Index)
		return err
	})
	if err != nil {
		return err
	}
	walked := row.Matching + row.Different + row.Extra
	if row.Documents > walked {
		row.Extra += row.Documents - walked
		v.report.Notes = append(
			v.report.Notes,
			strconv.FormatInt(row.Documents-walked, 10)+" documents of "+row.Index+" have no id and are extra, or were written meanwhile",
		)
	}
	return nil
}
