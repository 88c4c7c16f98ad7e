package api

import (
	"atlas/internal/api/openapi"
	"atlas/internal/fault"
	"atlas/search/query"
	"atlas/workspace"
)

// bookSchemas are what upserts of records take.
func bookSchemas() schemas {
	var all schemas
	for _, d := range query.Held {
		all = append(all, named(upsertName(d), upsertInput(d)))
	}
	return all
}

func upsertName(d query.Dataset) string { return "Workspace" + titles[d] + "Upsert" }

// upsertInput names a record and what becomes of it.
func upsertInput(d query.Dataset) *openapi.Schema {
	key := workspace.IDKey(d)
	by, matchable := query.MatchField(d)
	members := []openapi.Property{openapi.Required(key, idIn())}
	if matchable {
		members = []openapi.Property{openapi.Optional(key, idIn()), openapi.Optional("match", openapi.Object(openapi.Required(by.Match, matchIn(by))))}
	}
	for _, f := range query.OverlayFields(d) {
		if f.Written {
			members = append(members, openapi.Optional(f.Name, overlayIn(f)))
		}
	}
	s := openapi.Object(members...).Described("What is left out stays as it is.")
	if matchable {
		s.Description += " Exactly one of `" + key + "` and `match` says which record."
		s.OneOf = []*openapi.Schema{{Required: []string{key}}, {Required: []string{"match"}}}
	}
	return s
}

// matchIn is what names a record by a field.
func matchIn(f query.Field) *openapi.Schema {
	if f.Domains {
		return &openapi.Schema{
			Type: "string", Pattern: aDomain, MinLength: 1, MaxLength: f.MaxChars, Examples: []any{"bow-valley-builders.example"},
			Description: "With or without scheme, `www.`, path, port and final dot, in Unicode or ASCII.",
		}
	}
	return text(f.MaxChars).Described("Without regard to case.").Example("ada@example.com")
}

// overlayIn is a value that a workspace writes.
func overlayIn(f query.Field) *openapi.Schema {
	s := free(f.MaxChars)
	note := "Null clears."
	switch {
	case f.Vocabulary != nil:
		s = vocabulary(f.Vocabulary)
	case f.Type == query.Strings:
		s = openapi.Array(text(f.MaxChars), 0, f.MaxItems)
		note = "Replaces all; `[]` clears. Of " + f.Name + " that are equal when folded, as searches compare texts, the first spelling stays, in NFC."
	case f.Type == query.Time:
		s = openapi.Ref("DayOrInstant")
	case f.Type == query.Integer, f.Type == query.Double:
		s = fieldOut(f)
	case f.MinChars > 0:
		s = text(f.MaxChars)
	}
	if !f.List() && f.Type != query.Integer && f.Type != query.Double {
		s = openapi.Nullable(s)
	}
	if f.WriteNote != "" {
		note += " " + f.WriteNote
	}
	if s = s.Described(note); f.Example != nil {
		s = s.Example(f.Example)
	}
	return s
}

// upsertExamples show both ways of naming a record.
var upsertExamples = map[query.Dataset][]example{
	query.Accounts: {
		{"id", "By id", []byte(`{"account_id":"` + sampleID + `","icp_tier":"tier_1","tags":["north","priority"]}`)},
		{"match", "By domain", []byte(`{"match":{"domain":"https://www.bow-valley-builders.example/"},"workspace_status":"in talks","notes":null}`)},
	},
	query.Contacts: {
		{"id", "By id", []byte(`{"contact_id":"` + sampleID + `","notes":"Met at the fair."}`)},
		{"match", "By e-mail address", []byte(`{"match":{"email":"Ada@Example.com"},"workspace_status":"in talks"}`)},
	},
	query.Projects: {{"id", "By id", []byte(`{"project_id":"` + sampleID + `","tags":[]}`)}},
}

// upsertCodes are what an upsert can fail with beside its shape.
func upsertCodes(d query.Dataset) []fault.Code {
	if _, matchable := query.MatchField(d); !matchable {
		return []fault.Code{fault.NotFound, fault.LimitReached}
	}
	return []fault.Code{fault.NotFound, fault.AmbiguousMatch, fault.LimitReached}
}

func aboutSearchBook(d query.Dataset) about {
	return about{
		tag: tagBook, summary: "Search the " + string(d) + " of the book",
		body: openapi.Ref(requestName(d, query.Book)), bodyOptional: true,
		examples: []example{{"tagged", "Those with a tag, changed last first", []byte(`{"filters":{"tags":{"value":["priority","north"]}},"sort":{"field":"updated_at","order":"desc"}}`)}},
		data:     openapi.Array(openapi.Ref("Workspace"+titles[d]+"Row"), 0, query.MaxLimit), metadata: openapi.Ref("PageMetadata"),
	}
}

func aboutGetBook(d query.Dataset) about {
	return about{
		tag: tagBook, summary: "Get one " + d.Singular() + " of the book",
		data: openapi.Ref("Workspace" + titles[d]), metadata: openapi.Ref("GetMetadata"), codes: []fault.Code{fault.NotFound},
	}
}

func aboutUpsertBook(d query.Dataset) about {
	return about{
		tag: tagBook, summary: "Put " + article(d) + " into the book, or change what is said of it",
		body: openapi.Ref(upsertName(d)), examples: upsertExamples[d],
		data: openapi.Ref("Workspace" + titles[d]), metadata: openapi.Ref("FreeMetadata"), codes: upsertCodes(d),
	}
}

func article(d query.Dataset) string {
	if d == query.Accounts {
		return "an " + d.Singular()
	}
	return "a " + d.Singular()
}

func aboutUpsertBookBatch(d query.Dataset) about {
	return about{
		tag: tagBook, summary: "Put several " + string(d) + " into the book, or change what is said of them",
		data: resultsData(batchResults(workspace.IDKey(d), openapi.Ref("Workspace"+titles[d]), batchCodes(upsertCodes(d)...)...)),
	}.inBatch("inputs", openapi.Ref(upsertName(d)))
}

func aboutDeleteBook(d query.Dataset) about {
	return about{
		tag: tagBook, summary: "Take " + article(d) + " out of the book",
		text: "What the workspace says of it is deleted; the global record stays. One that is not in the book is fine.",
		data: deletedData(), metadata: openapi.Ref("FreeMetadata"),
	}
}

func aboutDeleteBookBatch(d query.Dataset) about {
	return about{
		tag: tagBook, summary: "Take several " + string(d) + " out of the book",
		data: resultsData(batchResults(workspace.IDKey(d), nil, batchCodes()...)),
	}.inBatch("ids", idIn())
}
