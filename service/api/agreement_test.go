package api_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/workspace/book"
	"atlas/workspace/views"
)

// failer is a *testing.T or *rapid.T.
type failer interface {
	Fatalf(format string, args ...any)
}

// agree checks that a schema and a parser agree on a body: the schema allows what is
// parsed and forbids what is not, unless a schema cannot express the reason.
func agree(t failer, operation, body string, parse func(input.Value) error) {
	v, issues := input.Decode([]byte(body))
	err := input.Issues(issues).Err()
	if err == nil {
		err = parse(v)
	}
	forbidden := document().RequestProblem(operation, []byte(body))
	unsayable := false
	if e, ok := errors.AsType[*fault.Error](err); ok {
		for _, issue := range e.Issues {
			unsayable = unsayable || issue.Code == fault.Custom || strings.HasPrefix(issue.Message, "a group must have")
		}
		unsayable = unsayable || strings.Contains(e.Message, "must not be above") || strings.Contains(e.Message, "is in the list already")
	}
	switch {
	case err == nil && forbidden != "":
		t.Fatalf("%s\nis accepted, and the document of %s does not allow it: %s", body, operation, forbidden)
	case err != nil && forbidden == "" && !unsayable:
		t.Fatalf("%s\nis refused (%v), and the document of %s allows it", body, err, operation)
	}
}

// values are JSON texts. Each filter accepts some of them.
var values = []string{
	`null`, `true`, `0`, `1`, `2.5`, `-1`, `101`, `1e3`, `""`, `" "`, `"x"`, `"north tower"`, `"\u0000"`, `"\u0085"`, `"a\tb"`, `"é"`,
	`"permitted"`, `"tier_1"`, `"2026-02-28"`, `"2026-02-30"`, `"0000-01-01"`, `"2026-02-14T09:30:00Z"`,
	`"2026-02-14t09:30:00z"`, `"2026-02-14T09:30:60Z"`,
	`"2026-02-14T09:30:00.123456789+01:00"`, `"0192f3a1-7c5e-7d42-9b1a-3f2e8c6d4b10"`,
	`"0192F3A1-7C5E-7D42-9B1A-3F2E8C6D4B10"`, `"0192f3a17c5e7d429b1a3f2e8c6d4b10"`,
	`[]`, `[1,2]`, `[null,2]`, `[1,null]`, `[null,null]`, `[1]`, `[1,2,3]`, `["a","b"]`, `["permitted","filed"]`, `["permitted","x"]`,
	`["2026-01-01",null]`, `[null,"2026-01-01"]`, `["2026-01-01","2026-02-01"]`, `{}`, `{"value":1}`, `{"min":"1"}`, `{"min":"1","max":"x"}`,
	`{"after":"2026-01-01"}`, `{"before":"2026-13-01"}`, `["0192f3a1-7c5e-7d42-9b1a-3f2e8c6d4b10"]`, `["known"]`, `["known","unknown"]`,
	`{"near":{"latitude":51,"longitude":-114.5,"radius_m":2000}}`,
	`{"near":{"latitude":90.5,"longitude":-180,"radius_m":1}}`,
	`{"near":{"latitude":-90,"longitude":180,"radius_m":0.5}}`, `{"near":{"latitude":1,"longitude":1}}`,
	`{"within":{"north":1,"south":1,"east":-170,"west":170}}`,
	`{"within":{"north":90,"south":-91,"east":180,"west":-180}}`, `{"within":{"north":1,"south":2,"east":3,"west":4}}`,
	`{"within":{"north":2,"south":1,"east":3,"west":4,"up":1}}`, `{"within":null}`,
	`{"near":{"latitude":51,"longitude":-114.5,"radius_m":2000},"within":{"north":1,"south":1,"east":-170,"west":170}}`,
}

// edges are values, and texts and arrays with lengths at and just above the limits.
var edges = func() []string {
	all := slices.Clone(values)
	for _, n := range []int{64, 65, 100, 101, 120, 121, 200, 201, 500, 501, 1000, 1001, 10_000, 10_001, 20_000, 20_001} {
		all = append(all, `"`+strings.Repeat("é", n)+`"`)
	}
	for _, n := range []int{50, 51, 100, 101} {
		texts := make([]string, n)
		for i := range texts {
			texts[i] = fmt.Sprintf(`"v%d"`, i)
		}
		all = append(all, "["+strings.Join(texts, ",")+"]")
	}
	return all
}()

func value() *rapid.Generator[string] { return rapid.SampledFrom(edges) }

// some draws an object with a few distinct keys.
func some(t *rapid.T, label string, keys []string, of func(key string) string) string {
	chosen := rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 0, 3, rapid.ID[string]).Draw(t, label)
	members := make([]string, len(chosen))
	for i, key := range chosen {
		members[i] = fmt.Sprintf("%q:%s", key, of(key))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func filterKeys(d catalog.Dataset, base catalog.BaseKind) []string {
	all := []string{"colour", "account_types"}
	for _, f := range catalog.FilterFields(d, base) {
		all = append(all, f.Key)
	}
	return all
}

// filters draws filters, most of them of a valid shape with any value.
func filters(t *rapid.T, d catalog.Dataset, base catalog.BaseKind) string {
	return some(t, "filters", filterKeys(d, base), func(string) string {
		v := value().Draw(t, "value")
		return rapid.SampledFrom([]string{
			`{"value":` + v + `}`, `{"value":` + v + `}`, `{"value":` + v + `,"exact_match":true}`,
			`{"value":` + v + `,"exact_match":false}`, `{"exact_match":true}`, `{"known":true}`, `{"known":` + v + `}`,
			`{"known":false,"value":` + v + `}`, v,
		}).Draw(t, "filter")
	})
}

// relations draws relations of a dataset, and one that no dataset has.
func relations(t *rapid.T, d catalog.Dataset) string {
	names := []string{"has_nothing"}
	child := map[string]catalog.Dataset{"has_nothing": d}
	for _, r := range catalog.RelationsOf(d) {
		for _, prefix := range []string{"has_", "without_"} {
			names = append(names, prefix+r.Singular)
			child[prefix+r.Singular] = r.Child
		}
	}
	return some(t, "relations", names, func(key string) string { return filters(t, child[key], catalog.Data) })
}

// groups draws an array of groups, most of them of a valid shape.
func groups(t *rapid.T, d catalog.Dataset, base catalog.BaseKind) string {
	each := make([]string, rapid.IntRange(0, 3).Draw(t, "groups"))
	for i := range each {
		each[i] = some(t, "group", []string{"filters", "relations", "relations", "any"}, func(key string) string {
			if key == "relations" {
				return relations(t, d)
			}
			return filters(t, d, base)
		})
	}
	return "[" + strings.Join(each, ",") + "]"
}

func searchBody(t *rapid.T, d catalog.Dataset, base catalog.BaseKind) string {
	return some(t, "request", []string{
		"query", "filters", "relations", "any", "none", "sort", "limit", "offset", "search_after", "q",
	}, func(key string) string {
		switch key {
		case "filters":
			return filters(t, d, base)
		case "relations":
			return relations(t, d)
		case "any", "none":
			return groups(t, d, base)
		case "sort":
			fields := []string{"relevance", "relevance", "colour", "updated_at"}
			for _, f := range catalog.SortFields(d, base) {
				fields = append(fields, f.Name)
			}
			return some(t, "sort", []string{"field", "field", "order", "order", "desc"}, func(key string) string {
				if key == "order" {
					return rapid.SampledFrom([]string{`"asc"`, `"desc"`, `"desc"`, `"up"`, `null`}).Draw(t, "order")
				}
				return `"` + rapid.SampledFrom(fields).Draw(t, "field") + `"`
			})
		case "search_after":
			return rapid.SampledFrom([]string{`null`, `"abc_-"`, `1`}).Draw(t, "cursor")
		}
		return value().Draw(t, key)
	})
}

// shapes are the filters that can contain a value.
var shapes = []string{
	`{"value":%s}`, `{"value":%s,"exact_match":true}`, `{"value":%s,"exact_match":false}`, `{"value":%s,"x":1}`, `%s`,
	`{"known":%s}`, `{"known":true,"value":%s}`,
}

// TestEveryFilterAgrees puts every value into every kind of filter.
func TestEveryFilterAgrees(t *testing.T) {
	t.Parallel()
	type kind struct {
		kind    catalog.Kind
		first   string
		dynamic bool
		id      bool
		most    int
	}
	seen := map[kind]bool{}
	for _, base := range []catalog.BaseKind{catalog.Data, catalog.Book} {
		for _, d := range catalog.Held {
			for _, f := range catalog.FilterFields(d, base) {
				k := kind{f.Kind, strings.Join(f.Vocabulary.Values(), ","), f.Dynamic(), f.IsID(), max(f.MaxChars, query.MaxQuery)}
				if f.Kind == catalog.Number || f.Kind == catalog.Date {
					k.most = 0
				}
				if seen[k] {
					continue
				}
				seen[k] = true
				operation := map[catalog.BaseKind]string{catalog.Data: "search_", catalog.Book: "search_workspace_"}[base] + string(d)
				for _, v := range edges {
					for i, shape := range shapes {
						if i > 1 && len(v) > 2_500 {
							continue // long values are slow and behave the same here
						}
						body := fmt.Sprintf(`{"filters":{%q:%s}}`, f.Key, fmt.Sprintf(shape, v))
						agree(t, operation, body, searches(d, base))
					}
				}
			}
		}
	}
	for _, member := range []string{"query", "filters", "relations", "any", "none", "sort", "limit", "offset", "search_after", "x"} {
		for _, v := range edges {
			// The search validates the cursor, not the parser.
			if member != "search_after" || !strings.HasPrefix(v, `"`) {
				agree(t, "search_projects", fmt.Sprintf(`{%q:%s}`, member, v), searches(catalog.Projects, catalog.Data))
			}
		}
	}
}

func searches(d catalog.Dataset, base catalog.BaseKind) func(input.Value) error {
	return func(v input.Value) error {
		_, err := query.Parse(v, d, query.Base{Kind: base})
		return err
	}
}

// TestEveryMemberAgrees puts every value into every member of an upsert and of a
// View's definition.
func TestEveryMemberAgrees(t *testing.T) {
	t.Parallel()
	for _, d := range catalog.Held {
		for _, member := range []string{"icp_tier", "workspace_status", "notes", "tags", "match", book.IDKey(d), "x"} {
			for _, v := range edges {
				body := fmt.Sprintf(`{%q:"0192f3a1-7c5e-7d42-9b1a-3f2e8c6d4b10",%q:%s}`, book.IDKey(d), member, v)
				if member == book.IDKey(d) {
					body = fmt.Sprintf(`{%q:%s}`, member, v)
				}
				agree(t, "upsert_workspace_"+d.Singular(), body, upserts(d))
			}
		}
		for _, k := range append(views.DefinitionKeys(d), views.DefinitionKey{Key: "x"}) {
			for _, v := range edges {
				body := fmt.Sprintf(
					`{"dataset":%q,"view_type":"dynamic","name":"N","definition":{"version":1,"q":"","fields":{%q:%s}}}`,
					d.Singular(),
					k.Key,
					v,
				)
				agree(t, "upsert_view", body, creates)
			}
		}
	}
	for _, member := range []string{"name", "definition", "presentation", "revision", "x"} {
		for _, v := range edges {
			body := fmt.Sprintf(`{"dataset":"account","view_type":"static","name":"N",%q:%s}`, member, v)
			if member == "name" {
				body = fmt.Sprintf(`{"dataset":"account","view_type":"static",%q:%s}`, member, v)
			}
			agree(t, "upsert_view", body, creates)
		}
	}
}

func upserts(d catalog.Dataset) func(input.Value) error {
	return func(v input.Value) error {
		_, err := book.UpsertRule(d).Parse(v)
		return err
	}
}

// creates parses a View to create.
func creates(v input.Value) error {
	c, err := views.ParseChange(v)
	if err == nil && c.Definition.Kind != input.Absent {
		_, err = views.ParseDefinition(c.Definition, c.Dataset, c.Type)
	}
	return err
}

// TestSearchRequestsAgree draws requests near the limits of the grammar.
func TestSearchRequestsAgree(t *testing.T) {
	t.Parallel()
	for _, d := range catalog.Datasets {
		for base, operation := range map[catalog.BaseKind]string{
			catalog.Data: "search_" + string(d), catalog.Book: "search_workspace_" + string(d),
		} {
			if base == catalog.Book && d == catalog.Signals {
				continue
			}
			rapid.Check(t, func(t *rapid.T) {
				agree(t, operation, searchBody(t, d, base), searches(d, base))
			})
		}
	}
}

// TestJoinsAgree puts every value into every member of a join.
func TestJoinsAgree(t *testing.T) {
	t.Parallel()
	for base, operation := range map[catalog.BaseKind]string{catalog.Data: "join_accounts", catalog.Book: "join_workspace_accounts"} {
		for _, member := range []string{
			"query", "filters", "relations", "any", "none", "sort", "limit", "offset", "fields", "max_bytes", "dry_run",
			"project_by", "project_fields", "contact_fields", "highlight", "explain",
		} {
			for _, v := range append([]string{`33`, `34`, `"sqft"`, `["name"]`, `["name","x"]`}, edges...) {
				agree(t, operation, fmt.Sprintf(`{%q:%s}`, member, v), func(v input.Value) error {
					_, err := query.JoinRule(base).Parse(v)
					return err
				})
			}
		}
	}
}

// TestViewUpsertsAgree draws new Views near the limits.
func TestViewUpsertsAgree(t *testing.T) {
	t.Parallel()
	for _, d := range catalog.Held {
		fields := []string{"colour", "disposition"}
		for _, k := range views.DefinitionKeys(d) {
			fields = append(fields, k.Key)
		}
		rapid.Check(t, func(t *rapid.T) {
			kind := rapid.SampledFrom(views.Types()).Draw(t, "type")
			definition := some(t, "definition", []string{"version", "q", "fields", "filters"}, func(key string) string {
				switch key {
				case "version":
					return rapid.SampledFrom([]string{`1`, `1`, `1.0`, `2`, `"1"`}).Draw(t, "version")
				case "q":
					return value().Draw(t, "q")
				}
				return some(t, "fields", fields, func(string) string { return value().Draw(t, "value") })
			})
			name := rapid.SampledFrom([]string{`"A name"`, `" padded\n"`, `"a\u0007b"`, `" "`, `""`, `7`}).Draw(t, "name")
			body := fmt.Sprintf(`{"dataset":%q,"view_type":%q,"name":%s,"definition":%s}`, d.Singular(), kind, name, definition)
			if rapid.Bool().Draw(t, "presented") {
				presentation := some(t, "presentation", []string{"version", "sorting", "column_visibility", "x"}, func(key string) string {
					switch key {
					case "version":
						return "1"
					case "sorting":
						return rapid.SampledFrom([]string{
							`[]`, `[{"id":"a","desc":true}]`, `[{"id":"a"}]`, `[{"id":" ","desc":true}]`, `{}`,
						}).Draw(t, "sorting")
					}
					return rapid.SampledFrom([]string{`{}`, `{"a":true}`, `{"a":1}`, `{" ":true}`, `{"":true}`, `[]`}).Draw(t, "visibility")
				})
				body = strings.TrimSuffix(body, "}") + `,"presentation":` + presentation + "}"
			}
			agree(t, "upsert_view", body, creates)
		})
	}
}
