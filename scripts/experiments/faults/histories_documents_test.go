//go:build faults

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"atlas/scripts/experiments/rig"
	"atlas/search/catalog"
)

// heldFields are the fields of a held document that have doc values.
var heldFields = []string{
	"held.workspace_id", "held.in_book", "held.view_ids", "held.icp_tier", "held.atlas_score", "held.updated_at",
	"held.exact.tags",
}

// document is a held document in Elasticsearch, or as it follows from Postgres and the
// global record.
type document struct {
	Routing string
	Source  map[string]any
	Held    map[string]any
}

// heldRow is a held record in Postgres.
type heldRow struct {
	record, workspace                string
	version                          int64
	kept                             bool // in the book
	tier, status, notes, tags, views string
	score                            int
	updated                          *time.Time
}

func heldRows(ctx context.Context, r *rig.Rig, dataset string) (all []heldRow, err error) {
	take := func(rows pgx.Rows) error {
		var h heldRow
		err := rows.Scan(&h.record, &h.workspace, &h.version, &h.kept, &h.tier, &h.status, &h.notes, &h.tags, &h.score, &h.updated, &h.views)
		all = append(all, h)
		return err
	}
	return all, r.Rows(ctx, take, `
		SELECT h.record_id::text, h.workspace_id::text, h.version, o.record_id IS NOT NULL, coalesce(o.icp_tier, ''), coalesce(o.workspace_status, ''),
		       coalesce(o.notes, ''), coalesce(array_to_string(o.tags, ','), ''), coalesce(o.atlas_score, 0), o.updated_at,
		       coalesce((SELECT string_agg(v.view_id::text, ',' ORDER BY v.view_id::text) FROM view_records v
		                 WHERE v.workspace_id = h.workspace_id AND v.dataset = h.dataset AND v.record_id = h.record_id), '')
		FROM held_records h LEFT JOIN overlays o USING (workspace_id, dataset, record_id) WHERE h.dataset = $1`, dataset)
}

// should returns the expected document of a row. A record that nothing holds is a stub.
func (h heldRow) should(dataset string, global map[string]any) document {
	if !h.kept && h.views == "" || global == nil {
		return document{h.workspace, map[string]any{"id": h.record}, map[string]any{"held.in_book": []any{false}}}
	}
	held := map[string]any{"held.workspace_id": []any{h.workspace}, "held.in_book": []any{h.kept}}
	set := func(name, list string) {
		if list != "" {
			var values []any
			for _, v := range slices.Sorted(slices.Values(strings.Split(list, ","))) {
				values = append(values, v)
			}
			held[name] = values
		}
	}
	set("held.view_ids", h.views)
	if h.kept {
		held["held.updated_at"] = []any{h.updated.UTC().Format(catalog.TimeLayout)}
		set("held.icp_tier", h.tier)
		set("held.exact.tags", h.tags) // they are written in lower case
		if dataset == string(catalog.Accounts) {
			held["held.atlas_score"] = []any{float64(h.score)}
		}
	}
	return document{h.workspace, global, held}
}

// hits are the hits of a search.
type hits struct {
	Hits struct {
		Hits []struct {
			ID      string         `json:"_id"`
			Version int64          `json:"_version"`
			Routing string         `json:"_routing"`
			Source  map[string]any `json:"_source"`
			Fields  map[string]any `json:"fields"`
		}
	}
}

// indexed reads every document of an index. There are few.
func indexed(ctx context.Context, r *rig.Rig, index, filter string) (hits, error) {
	fields, err := json.Marshal(heldFields)
	if err != nil {
		return hits{}, err
	}
	if err := r.Ask(ctx, "POST", "/"+index+"/_refresh", "", nil); err != nil {
		return hits{}, err
	}
	var found hits
	err = r.Ask(
		ctx, "POST", "/"+index+"/_search",
		fmt.Sprintf(`{"size":10000,"version":true,"docvalue_fields":%s,"query":%s}`, fields, filter), &found,
	)
	return found, err
}

// disagreements compares all held records of a dataset in Postgres with the index,
// document by document. It returns each difference.
func disagreements(ctx context.Context, r *rig.Rig, dataset string) (compared int, differences []string, err error) {
	rows, err := heldRows(ctx, r, dataset)
	if err != nil {
		return 0, nil, err
	}
	var ids []string
	for _, h := range rows {
		ids = append(ids, h.record)
	}
	queried, err := json.Marshal(slices.Compact(slices.Sorted(slices.Values(ids))))
	if err != nil {
		return 0, nil, err
	}
	records, err := indexed(ctx, r, r.Index(dataset), fmt.Sprintf(`{"ids":{"values":%s}}`, queried))
	if err != nil {
		return 0, nil, err
	}
	global := map[string]map[string]any{}
	for _, hit := range records.Hits.Hits {
		global[hit.ID] = hit.Source
	}
	found, err := indexed(ctx, r, r.Held(dataset), `{"match_all":{}}`)
	if err != nil {
		return 0, nil, err
	}
	want, versions := map[string]document{}, map[string]int64{}
	for _, h := range rows {
		key := h.workspace + ":" + h.record
		want[key], versions[key] = h.should(dataset, global[h.record]), h.version
	}
	for _, hit := range found.Hits.Hits {
		expected, there := want[hit.ID]
		got := document{hit.Routing, hit.Source, hit.Fields}
		switch {
		case !there:
			differences = append(differences, hit.ID+" is in the index and not in Postgres")
		case !cmp.Equal(expected, got):
			differences = append(differences, fmt.Sprintf("%s (-Postgres +index):\n%.1500s", hit.ID, cmp.Diff(expected, got)))
		case hit.Version > versions[hit.ID]:
			differences = append(
				differences,
				fmt.Sprintf("%s has the version %d in the index and %d in Postgres", hit.ID, hit.Version, versions[hit.ID]),
			)
		}
		delete(want, hit.ID)
	}
	for key := range want {
		differences = append(differences, key+" is in Postgres and not in the index")
	}
	compared = len(rows)
	rows = slices.DeleteFunc(rows, func(h heldRow) bool { return global[h.record] == nil }) // stubs
	texts, err := textsMissed(ctx, r, dataset, rows)
	return compared, append(differences, texts...), err
}

// textsMissed returns the records that a search for their texts does not find, in one
// request: texts have no doc values.
func textsMissed(ctx context.Context, r *rig.Rig, dataset string, rows []heldRow) (differences []string, err error) {
	var body bytes.Buffer
	var queried []heldRow
	for _, h := range rows {
		if !h.kept {
			continue
		}
		queried = append(queried, h)
		conditions := []string{fmt.Sprintf(`{"term":{"_id":%q}}`, h.workspace+":"+h.record)}
		for field, text := range map[string]string{"workspace_status": h.status, "notes": h.notes} {
			if text == "" {
				conditions = append(conditions, fmt.Sprintf(`{"bool":{"must_not":{"exists":{"field":"held.exact.%s"}}}}`, field))
				continue
			}
			conditions = append(conditions,
				fmt.Sprintf(`{"term":{"held.exact.%s":%q}}`, field, text),
				fmt.Sprintf(`{"match":{"held.text.%s":{"query":%q,"operator":"and"}}}`, field, text))
		}
		fmt.Fprintf(&body, "{}\n{\"size\":0,\"query\":{\"bool\":{\"filter\":[%s]}}}\n", strings.Join(conditions, ","))
	}
	if len(queried) == 0 {
		return nil, nil
	}
	var answer struct {
		Responses []struct {
			Hits  struct{ Total struct{ Value int } }
			Error json.RawMessage
		}
	}
	if err := r.Ask(ctx, "POST", "/"+r.Held(dataset)+"/_msearch", body.String(), &answer); err != nil {
		return nil, err
	}
	for i, a := range answer.Responses {
		if a.Error != nil {
			return nil, fmt.Errorf("elasticsearch: %.500s", a.Error)
		}
		if a.Hits.Total.Value != 1 {
			h := queried[i]
			differences = append(differences, fmt.Sprintf("%s is not found by its texts %q, %q", h.record, h.status, h.notes))
		}
	}
	return differences, nil
}
