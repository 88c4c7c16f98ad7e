package peers

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"atlas/scripts/benchmark/relevance"
	"atlas/search/catalog"
)

// English are the texts of records in Postgres' full text search for English: one vector
// for each record.
type English struct{ *pgxpool.Pool }

// Fill replaces the texts.
func (p English) Fill(ctx context.Context, w relevance.World) error {
	if _, err := p.Exec(ctx, `DROP TABLE IF EXISTS judged; CREATE TABLE judged (dataset text, id text, body text)`); err != nil {
		return err
	}
	var rows [][]any
	for d, records := range w {
		for _, r := range records {
			rows = append(rows, []any{string(d), r.ID, r.Texts.All()})
		}
	}
	if _, err := p.CopyFrom(ctx, pgx.Identifier{"judged"}, []string{"dataset", "id", "body"}, pgx.CopyFromRows(rows)); err != nil {
		return err
	}
	_, err := p.Exec(ctx, `ALTER TABLE judged ADD words tsvector; UPDATE judged SET words = to_tsvector('english', body); CREATE INDEX ON judged USING gin (words); ANALYZE judged`)
	return err
}

// Find is a relevance.Finder: all words, otherwise any.
func (p English) Find(ctx context.Context, d catalog.Dataset, text string) ([]string, error) {
	rows, err := p.Query(ctx, `
WITH q AS (SELECT websearch_to_tsquery('english', $2) AS all_words),
	with_all AS (SELECT id, ts_rank(words, all_words) AS rank FROM judged, q WHERE dataset = $1 AND words @@ all_words),
	with_any AS (SELECT id, ts_rank(words, any_word) AS rank FROM judged, (SELECT replace(all_words::text, '&', '|')::tsquery AS any_word FROM q) o
		WHERE dataset = $1 AND words @@ any_word AND NOT EXISTS (SELECT FROM with_all))
SELECT id FROM (TABLE with_all UNION ALL TABLE with_any) found ORDER BY rank DESC, id LIMIT $3`, string(d), text, relevance.Depth)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// FillEnglish indexes the texts with the analyzer for English, where Elasticsearch has it.
func (e *Elasticsearch) FillEnglish(ctx context.Context, w relevance.World) error {
	index := e.Prefix + "judged"
	if err := e.ask(ctx, http.MethodDelete, "/"+index+"?ignore_unavailable=true", nil, nil); err != nil {
		return err
	}
	if err := e.ask(ctx, http.MethodPut, "/"+index, encode(object{
		"settings": object{"number_of_shards": 1},
		"mappings": object{"properties": object{
			"dataset": object{"type": "keyword"}, "name": object{"type": "text", "analyzer": "english"},
			"text": object{"type": "text", "analyzer": "english"},
		}},
	}), nil); err != nil {
		return err
	}
	var body bytes.Buffer
	to := json.NewEncoder(&body)
	for d, records := range w {
		for _, r := range records {
			_ = to.Encode(object{"index": object{"_id": r.ID}})                                 // to memory
			_ = to.Encode(object{"dataset": d, "name": r.Texts["name"], "text": r.Texts.All()}) // to memory
		}
	}
	return e.ask(ctx, http.MethodPost, "/"+index+"/_bulk?refresh=true", body.Bytes(), nil)
}

// FindEnglish is a relevance.Finder: all words, otherwise any.
func (e *Elasticsearch) FindEnglish(ctx context.Context, d catalog.Dataset, text string) ([]string, error) {
	for _, operator := range []string{"and", "or"} {
		var found struct {
			Hits struct {
				Hits []struct {
					ID string `json:"_id"`
				} `json:"hits"`
			} `json:"hits"`
		}
		err := e.ask(
			ctx, http.MethodPost, "/"+e.Prefix+"judged/_search",
			encode(object{"size": relevance.Depth, "_source": false, "query": object{"bool": object{
				"filter": object{"term": object{"dataset": d}},
				"must": object{"multi_match": object{
					"query": text, "type": "cross_fields", "operator": operator, "fields": []string{"name^2", "text"},
				}},
			}}}), &found,
		)
		if err != nil {
			return nil, err
		}
		if len(found.Hits.Hits) > 0 {
			var ids []string
			for _, h := range found.Hits.Hits {
				ids = append(ids, h.ID)
			}
			return ids, nil
		}
	}
	return nil, nil
}
