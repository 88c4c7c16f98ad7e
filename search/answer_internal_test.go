package search

import (
	"bytes"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"atlas/internal/scan"
)

// answers of Elasticsearch, with the values that are hard to find the end of.
var answers = []string{
	`{"took":3,"timed_out":false,"_shards":{"total":1,"successful":1,"skipped":0,"failed":0},"hits":{"total":{"value":2,"relation":"eq"},"max_score":null,"hits":[` +
		`{"_index":"a","_id":"1","_score":null,"_source":{"name":"a \"quoted\" } ] \\","n":[1.5e3,-2,null,true,{"x":{}}]},"sort":["\\\"",-1,9223372036854775807]},` +
		`{"_index":"a","_id":"2","_score":1.0,"_source":{},"sort":[null,1,2]}]}}`,
	`{"hits":{"hits":[]},"aggregations":{"a":{"buckets":[{"key":"[","doc_count":1}]}}}`,
	`{"error":{"type":"x","reason":"\u007b\""},"status":404}`,
	" { \"hits\" : { \"total\" : null , \"hits\" : [ { \"sort\" : [ 1 , 2 , 3 ] } ] } ,\n\"_shards\":{\"failed\":1}, \"timed_out\" : true } ",
	`{}`, `[]`, `null`, `"`, `{"hits":`, `{"hits":{"hits":[{"_source":{"a":"\`, `{"hits":{"hits":[}`, `{"a"}`, `{"status":"x"}`, ``,
}

// For any valid answer the scanner reads what a validating parser reads, and it never reads
// past the end.
func FuzzAnswer(f *testing.F) {
	for _, a := range answers {
		f.Add([]byte(a))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := answer{Scanner: scan.New(text)}
		got := s.result()
		err := s.err()
		var want struct {
			TimedOut bool `json:"timed_out"`
			Shards   struct {
				Failed *int `json:"failed"`
			} `json:"_shards"`
			Hits struct {
				Total *struct {
					Value *int `json:"value"`
				} `json:"total"`
				Hits []struct {
					Index  jsontext.Value `json:"_index"`
					Source jsontext.Value `json:"_source"`
					Sort   jsontext.Value `json:"sort"`
				} `json:"hits"`
			} `json:"hits"`
			Aggregations jsontext.Value `json:"aggregations"`
			Error        jsontext.Value `json:"error"`
			Status       int            `json:"status"`
		}
		if bytes.Contains(text, []byte(`\u`)) || jsonv2.Unmarshal(text, &want) != nil || hasNull(text) {
			return // names with escapes; not an answer; a part that is null
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		expected := result{
			timedOut: want.TimedOut, failed: want.Shards.Failed, error: want.Error, status: want.Status,
			aggregations: want.Aggregations,
		}
		if want.Hits.Total != nil {
			expected.total = want.Hits.Total.Value
		}
		for _, h := range want.Hits.Hits {
			expected.rows = append(expected.rows, hit{h.Index, h.Source, h.Sort})
		}
		if diff := cmp.Diff(expected, got, cmp.AllowUnexported(result{}, hit{})); diff != "" {
			t.Errorf("%s (-parser +scanner):\n%s", text, diff)
		}
	})
}

// hasNull reports whether a part that is read as an object, an array or a number is
// null, which Elasticsearch never writes and the scanner refuses.
func hasNull(answer []byte) bool {
	var parts map[string]jsontext.Value
	if jsonv2.Unmarshal(answer, &parts) != nil || parts == nil {
		return true
	}
	null := func(v jsontext.Value) bool { return v.Kind() == 'n' }
	var hits, total, shards map[string]jsontext.Value
	var rows []jsontext.Value
	_ = jsonv2.Unmarshal(parts["hits"], &hits)
	_ = jsonv2.Unmarshal(hits["total"], &total)
	_ = jsonv2.Unmarshal(parts["_shards"], &shards)
	_ = jsonv2.Unmarshal(hits["hits"], &rows)
	for _, v := range append(
		rows, parts["hits"], parts["_shards"], parts["status"], parts["timed_out"], shards["failed"], hits["hits"],
		total["value"],
	) {
		if null(v) {
			return true
		}
	}
	return false
}

// BenchmarkScan reads a page of 26 records.
func BenchmarkAnswer(b *testing.B) {
	row := `{"_index":"atlas-projects-1","_id":"0190a1b2-0000-7000-8000-000000000001","_score":null,"_source":{"id":"0190a1b2-0000-7000-8000-000000000001","name":"Tower",` +
		`"account_ids":["0190a1b2-0000-7000-8000-000000000002"],"stage":"under_construction","cost":12345678.9,"description":"` +
		strings.Repeat("A \\\"tower\\\" with shops. ", 16) + `"},"sort":[123456789,-8123456789012345678,123456789012345678]}`
	page := []byte(`{"timed_out":false,"_shards":{"failed":0},"hits":{"total":{"value":1001},"hits":[` + strings.Repeat(row+",", 25) + row + `]}}`)
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		s := answer{Scanner: scan.New(page)}
		s.result()
		if err := s.err(); err != nil {
			b.Fatal(err)
		}
	}
}
