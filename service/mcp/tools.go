package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Scopes of the API.
const (
	dataRead       = "data:read"
	workspaceRead  = "workspace:read"
	workspaceWrite = "workspace:write"
)

// tool is a tool of the server.
type tool struct {
	name, title, text string
	// scope is the scope that the tool requires.
	scope         string
	hints         sdk.ToolAnnotations
	input, output object
	// as is the tool whose conditions this one takes. That tool lists them, for callers with the
	// scope asScope. ownKeys means that the keys differ.
	as, asScope string
	ownKeys     bool
	run         func(ctx context.Context, c *call, in arguments) (*sdk.CallToolResult, error)
}

// listed is the schema of the arguments as agents read it, with each condition once. The
// complete one explains them.
func (t tool) listed(caller Caller) object {
	if t.as == "" || !caller.has(t.asScope) {
		return t.input
	}
	all := maps.Clone(t.input)
	properties := maps.Clone(t.input["properties"].(object))
	for name := range conditionsBy("", "") {
		if whole, is := properties[name].(object); is {
			short := object{"type": whole["type"]}
			if whole["enum"] != nil {
				short["enum"] = whole["enum"]
			}
			as := "query to none are as those of " + t.as + "."
			switch {
			case t.ownKeys && name == "filters":
				short["description"] = as + " " + whole["description"].(string)
			case t.ownKeys && name == "relations":
				short["description"] = whole["description"]
			case name == "filters":
				short["description"] = as
			}
			properties[name] = short
		}
	}
	all["properties"] = properties
	return all
}

// arguments are those of all tools. The conditions of a search are not parsed: they are
// passed to the API unchanged.
type arguments struct {
	Dataset    string                       `json:"dataset"`
	Of         string                       `json:"of"`
	ViewID     string                       `json:"view_id"`
	BoardID    string                       `json:"board_id"`
	IDs        []string                     `json:"ids"`
	Inputs     []any                        `json:"inputs"`
	Candidates int                          `json:"candidates"`
	Items      []any                        `json:"items"`
	Fields     []string                     `json:"fields"`
	Join       bool                         `json:"join"`
	Searches   []map[string]json.RawMessage `json:"searches"`
	Keys       []string                     `json:"keys"`
	Limit      int                          `json:"limit"`
	Offset     int                          `json:"offset"`
	MaxCredits int                          `json:"max_credits"`
	Action     string                       `json:"action"`
	Locator    string                       `json:"locator"`
}

// explicitOnly are the arguments whose null is an error: what a call may cost, and what
// protects a change of somebody else.
var explicitOnly = []string{"max_credits", "revision", "definition"}

// dropNull removes optional arguments that are null: some models fill in all arguments of a
// tool.
func (t tool) dropNull(given map[string]json.RawMessage) {
	known := t.input["properties"].(object)
	unused := string(given["action"]) == `"list"` || string(given["action"]) == `"get"` // it changes nothing
	maps.DeleteFunc(given, func(name string, value json.RawMessage) bool {
		s, _ := known[name].(object)
		_, one := s["type"].(string) // null may be one of several types
		return one && string(value) == "null" && (unused || !slices.Contains(explicitOnly, name))
	})
}

// problem is the error about arguments that are unknown, have the wrong type or are not one
// of the values of their schema; "" if there is none. nearest is the known name that was
// probably meant.
func (t tool) problem(given map[string]json.RawMessage, nearest func(name string, known []string) string) string {
	known := t.input["properties"].(object)
	names := slices.Sorted(maps.Keys(known))
	var bad []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if known[name] == nil {
			bad = append(bad, fmt.Sprintf("%.60q", name)+didYouMean(" (", nearest(name, names), ")"))
		}
	}
	if bad != nil {
		has := "It has: " + strings.Join(names, ", ") + "."
		if len(names) == 0 {
			has = "It has none."
		}
		return fmt.Sprintf("Error invalid_input: %s has no argument %s. %s", t.name, strings.Join(bad, ", "), has)
	}
	for _, name := range t.input["required"].([]any) {
		if _, is := given[name.(string)]; !is {
			text := fmt.Sprintf("Error invalid_input: %s is required", name)
			if values, listed := known[name.(string)].(object)["enum"].([]string); listed {
				text += ": one of " + strings.Join(values, ", ")
			}
			return text + "."
		}
	}
	for _, name := range names {
		value, is := given[name]
		if !is {
			continue
		}
		if text := wrongValue(known[name].(object), value, nearest); text != "" {
			return "Error invalid_input: " + name + " " + text
		}
	}
	return ""
}

func didYouMean(before, nearest, after string) string {
	if nearest == "" {
		return ""
	}
	return fmt.Sprintf("%sdid you mean %q?%s", before, nearest, after)
}

// wrongValue reports a wrong type or a value that is not listed, of an argument that the
// server reads itself. The API checks objects and values of several types.
func wrongValue(s object, value json.RawMessage, nearest func(name string, known []string) string) string {
	var v any
	if json.Unmarshal(value, &v) != nil {
		return ""
	}
	text, isText := v.(string)
	if v == nil && s["type"] == "integer" {
		return "must be an integer, not null: leave it out instead"
	}
	if v == nil && s["type"] == "array" {
		return "must be an array, not null: leave it out instead"
	}
	switch s["type"] {
	case "string":
		values, _ := s["enum"].([]string)
		switch {
		case values == nil && !isText:
			return "must be a text, not " + typeOf(v)
		case values == nil:
			return ""
		case !isText:
			return "is one of " + strings.Join(values, ", ") + ": a text, not " + typeOf(v)
		case !slices.Contains(values, text):
			return "is one of " + strings.Join(values, ", ") + didYouMean("; ", nearest(text, values), "")
		}
	case "integer":
		if n, isNumber := v.(float64); !isNumber || n != float64(int(n)) {
			return "must be an integer, not " + typeOf(v)
		}
	case "array":
		if _, isList := v.([]any); !isList {
			example := ""
			switch {
			case isText && strings.HasPrefix(text, "["):
				return "must be an array, and the text is none: it is not valid JSON"
			case isText && !strings.HasPrefix(text, "{"):
				example = ", such as " + encodedText([]string{text})
			case !isText:
				example = ", such as [" + string(value) + "]"
			}
			return "must be an array" + example + ", not " + typeOf(v)
		}
	}
	return ""
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a text"
	case float64:
		return "this number"
	case bool:
		return "true or false"
	case []any:
		return "an array"
	}
	return "an object"
}

func encodedText(v any) string {
	b, err := encode(v)
	if err != nil || len(b) > 100 {
		return "[…]"
	}
	return string(b)
}

// Bounds of arguments.
const (
	defaultLimit = 10
	maxLimit     = 50
	// defaultCredits is what a call may cost without max_credits.
	defaultCredits = 10
	// The maximum records of a row of a join, and rows of a page.
	recordsJoined = 3
	maxJoinLimit  = 16
	// The maximum searches of a call of search_many, and records of each.
	maxSearches = 20
	manyLimit   = 2
	// maxUnconfirmed is how many records a call may write without asking.
	maxUnconfirmed = 10
	maxItems       = 100
)

// datasets are the global datasets, books the ones that a workspace can save, and matched the
// ones whose records can be matched.
var (
	datasets = []string{"accounts", "contacts", "projects", "signals"}
	books    = datasets[:3]
	matched  = datasets[:2]
)

func singular(dataset string) string { return strings.TrimSuffix(dataset, "s") }

// each makes a name of each dataset.
func each(of []string, format string) []string {
	names := make([]string, len(of))
	for i, d := range of {
		names[i] = fmt.Sprintf(format, d)
	}
	return names
}

// Schemas of arguments.

func text(description string) object { return object{"type": "string", "description": description} }

func oneOf(description string, values ...string) object {
	return object{"type": "string", "enum": values, "description": description}
}

func integer(lowest, highest, usual int, description string) object {
	return object{"type": "integer", "minimum": lowest, "maximum": highest, "default": usual, "description": description}
}

func listOf(item object, most int, description string) object {
	return object{"type": "array", "items": item, "minItems": 1, "maxItems": most, "description": description}
}

// takes returns the schema of arguments.
func takes(required []string, properties ...object) object {
	all := object{}
	for _, p := range properties {
		maps.Copy(all, p)
	}
	names := make([]any, len(required))
	for i, name := range required {
		names[i] = name
	}
	return object{"type": "object", "properties": all, "required": names, "additionalProperties": false}
}

func inDataset(of ...string) object { return object{"dataset": oneOf("The dataset.", of...)} }

// conditions are the arguments that select records. The keys are those of the catalog.
func (s *Server) conditions(operations map[string]string, names []string) object {
	var filters, relations []string
	for _, name := range names {
		body := s.document.body(operations[name])
		filters = append(filters, name+": "+strings.Join(s.document.keys(s.document.member(body, "filters")), ", "))
		if of := s.document.member(body, "relations"); of["properties"] != nil && len(of["properties"].(object)) > 0 {
			relations = append(relations, name+": "+strings.Join(s.document.keys(of), ", "))
		}
	}
	return conditionsBy(
		"Keys of "+strings.Join(filters, "; ")+". describe_fields has their kinds and values.",
		"Keys of "+strings.Join(relations, "; ")+".",
	)
}

// conditionsOfTool are conditions with the keys that another tool lists, which all callers of
// this one have.
func conditionsOfTool(name string) object {
	return conditionsBy("The keys are those of "+name+".", "The keys are those of "+name+".")
}

func conditionsBy(filters, relations string) object {
	filter := object{"type": "object", "properties": object{
		"value":       object{"description": "A value; an array of values, any of which matches; of numbers and dates a range [from, to], either end of which may be null. A date may be relative, in UTC: today, now-30d (h, d, w, M, y), 2026-Q1."},
		"exact_match": object{"type": "boolean", "description": "Compare the whole text."},
		"known":       object{"type": "boolean", "description": "In place of value: whether there is a value."},
	}}
	byKey := object{"type": "object", "additionalProperties": object{"type": "object"}}
	group := object{"type": "object", "properties": object{"filters": byKey, "relations": byKey}}
	return object{
		"query":   text("Every word must occur in the name, the description, the place or the like, in any form or as a synonym. Operators: \"a phrase\", one OR other, -without, beginning*."),
		"words":   oneOf("exact: words match as typed only, and there are no operators.", "forms", "exact"),
		"typos":   oneOf("auto: similar spellings match too.", "off", "auto"),
		"filters": object{"type": "object", "additionalProperties": filter, "description": "All must match. " + filters},
		"relations": object{
			"type": "object", "additionalProperties": byKey,
			"description": "A related record that matches all filters in it exists (has_…) or does not (without_…). " + relations,
		},
		"any":  listOf(group, 10, "At least one of these groups must match."),
		"none": listOf(group, 10, "None of these groups may match."),
	}
}

// page are the arguments of a page of records.
func page(sorts string) object {
	return object{
		"sort": object{
			"type": "object", "description": sorts,
			"properties": object{"field": object{"type": "string"}, "order": oneOf("", "asc", "desc")},
			"required":   []string{"field", "order"},
		},
		"limit":        integer(1, maxLimit, defaultLimit, "Records of the page, each 1 credit."),
		"search_after": text("metadata.search_after of the page before, with the same sort."),
		"fields":       listOf(object{"type": "string"}, 100, "Members of each record beside the id. By default all but long texts and technical ones."),
		"max_credits":  integer(1, maxLimit, defaultCredits, "What the call may cost. Above it nothing is charged, and the user is asked."),
		asked:          text("What this tool answered when it asked for the user's agreement. Never without asking the user."),
	}
}

// sorts says by which fields the datasets can be sorted.
func (s *Server) sorts(operations map[string]string, names []string) string {
	var all []string
	for _, name := range names {
		var fields []string
		sort := s.document.member(s.document.body(operations[name]), "sort", "field")
		for _, field := range sort["enum"].([]any) {
			fields = append(fields, field.(string))
		}
		all = append(all, name+": "+strings.Join(fields, ", "))
	}
	return "Fields of " + strings.Join(all, "; ") + "."
}

// axis are the rows or columns of a pivot.
func axis(description string) object {
	return object{"type": "object", "description": description, "properties": object{
		"field": object{"type": "string"}, "limit": integer(1, 100, 10, "Values to list."),
		"interval": oneOf("Of a date.", "month", "quarter", "year"),
	}}
}

// named are operations by dataset.
func named(of []string, format string) map[string]string {
	all := map[string]string{}
	for _, d := range of {
		all[d] = fmt.Sprintf(format, d)
	}
	return all
}

var (
	no       = new(bool)
	readOnly = sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: no, DestructiveHint: no}
)

// tools are the tools of callers with the scopes of one of them.
func (s *Server) tools(caller Caller) []tool {
	d := s.document
	searches, ofBook := named(datasets, "search_%s"), named(books, "search_workspace_%s")
	facets := each(datasets, "facet_%s")
	matches := each(matched, "match_%s")
	input := d.schema(d.member(d.body(matches[0]), "inputs")["items"])
	return []tool{
		{
			name: "describe_fields", title: "Describe fields", scope: dataRead, hints: readOnly,
			text: "Lists the keys to filter a dataset by, with kinds, descriptions and values (of open lists the most frequent). Free. Without keys, related records' keys are left out, and long lists of values are cut at 20: name keys for all.",
			input: takes(
				[]string{"dataset"},
				object{
					"dataset": oneOf("A dataset, or the workspace's book of it.", slices.Concat(datasets, each(books, "workspace_%s"))...),
					"keys":    listOf(object{"type": "string"}, 100, "Only these keys, completely."),
					"query":   text("Part of a key or a description."),
					"offset":  integer(0, 1000, 0, "metadata.next_offset of the answer before."),
				},
			),
			output: s.fieldsOutput(), run: describeFields,
		}, {
			name: "count_and_facets", title: "Count and sum", scope: dataRead, hints: readOnly,
			text: "Counts the records that match, exactly, and says how they are distributed: by value, range or period, with sums, averages, minima or maxima of a number. Free. Use it before searching, and to rank: " +
				`which firms have most units under construction is {"dataset":"projects","filters":{"stage":{"value":"under_construction"}},"facets":[{"field":"account_ids","limit":100,"measure":{"field":"residential_units","of":"sum"}}]}: ` +
				`values come by count, each with its name as label and the sum as measure, so compare the measures yourself, and see that "other" is 0. A part of a city is best a box, because not every project has an address: {"location":{"value":{"within":{"north":..,"south":..,"east":..,"west":..}}}}. value is what a filter takes.`,
			input: takes([]string{"dataset"}, inDataset(datasets...), object{
				"of":      oneOf("data: all records. book: those that the workspace keeps.", "data", "book"),
				"view_id": text("Count a View instead; dataset is its dataset."),
				"facets": listOf(object{"type": "object", "properties": object{
					"field": object{"type": "string"}, "limit": integer(1, 100, 10, "Values to list."),
					"prefix":      text("Only values with these words, the last of which may be a beginning; of account_ids the accounts' names."),
					"interval":    oneOf("Of dates.", "day", "week", "month", "quarter", "year"),
					"ranges":      object{"type": "array", "description": "Of numbers: [from, to]; one end may be null.", "items": object{"type": "array"}},
					"buckets":     integer(1, 100, 10, "Of numbers: buckets of equal width."),
					"geo":         object{"type": "object", "description": `Of projects, in place of field: {"precision": 0 to 18} counts by map tile.`},
					"measure":     object{"type": "object", "properties": object{"field": text("A number."), "of": oneOf("", "sum", "avg", "min", "max")}},
					"exclude_own": object{"type": "boolean", "description": "false: the filter on the field itself counts too."},
				}}, 12, "What to count by: enums, account_ids, dates, numbers, locations."),
			}, conditionsOfTool("search_records")),
			output: d.output(facets...), as: "search_records", asScope: dataRead, run: countAndFacets,
		}, {
			name: "pivot", title: "Count by two fields", scope: dataRead, hints: readOnly,
			text: "Counts the records that match by one field or two, in rows and columns, with a sum, average, minimum, maximum or median of a number, of cells with at least 3 known values. Free. " +
				`The median cost by use and year: {"dataset":"projects","rows":{"field":"primary_use","limit":5},"columns":{"field":"permitted_at","interval":"year"},"measure":{"field":"cost","of":"median"}}. At most 1,000 cells.`,
			input: takes([]string{"dataset", "rows"}, inDataset(datasets...), object{
				"of":      oneOf("data: all records. book: those that the workspace keeps.", "data", "book"),
				"view_id": text("Those of a View instead; dataset is its dataset."),
				"rows":    axis("Enums and dates."), "columns": axis("The second field."),
				"measure": object{"type": "object", "properties": object{
					"field": object{"type": "string"}, "of": oneOf("", "sum", "average", "min", "max", "median"),
				}},
			}, conditionsOfTool("search_records")),
			output: d.output(each(datasets, "pivot_%s")...), as: "search_records", asScope: dataRead, run: pivot,
		}, {
			name: "read_question", title: "Read a question", scope: dataRead, hints: readOnly,
			text: "Turns a question in the user's words into filters and relations for the searches, with the words that stay query, and counts the records that match. Free. It searches nothing: compare sentence with what the user asked.",
			input: takes([]string{"dataset", "query"}, inDataset(datasets...), object{
				"query":     text("Such as: contractors building apartments in calgary."),
				"of":        oneOf("data: all records. book: those that the workspace keeps.", "data", "book"),
				"time_zone": text("The name of the user's time zone (UTC)."),
			}),
			output: d.output(each(datasets, "read_%s")...), run: readQuestion,
		}, {
			name: "search_records", title: "Search records", scope: dataRead, hints: readOnly,
			text: "Finds records of a dataset. 1 credit for each record returned. Filters by id link datasets: contacts by account_id, projects by account_ids, signals by project_id.",
			input: takes([]string{"dataset"}, inDataset(datasets...), s.conditions(searches, datasets), page(s.sorts(searches, datasets)), object{
				"join": object{"type": "boolean", "description": "Of accounts: rows {account, project, contact}, with the dearest project that meets has_project and the person to call first. Up to 3 credits each, limit 3 (16 at most)."},
			}),
			output: d.output(append(slices.Sorted(maps.Values(searches)), "join_accounts")...), run: searchRecords,
		}, {
			name: "search_many", title: "Search many times", scope: dataRead, hints: readOnly,
			text: "Runs several searches in one call. 1 credit for each record returned. A search that fails has an error in its result.",
			input: takes([]string{"searches"}, object{
				"searches":    listOf(object{"type": "object"}, maxSearches, "Each: dataset and arguments of search_records without join and max_credits; limit is 2 by default, and at most 50 in sum."),
				"max_credits": page("")["max_credits"], asked: page("")[asked],
			}),
			output: s.manyOutput(), run: searchMany,
		}, {
			name: "get_records", title: "Get records", scope: dataRead, hints: readOnly,
			text: "Gets records by id. 1 credit for each record found. metadata.remaining ids, the last ones, did not fit: ask again.",
			input: takes([]string{"dataset", "ids"}, inDataset(datasets...), object{
				"ids": listOf(object{"type": "string", "format": "uuid"}, maxLimit, "Ids of records."), "fields": page("")["fields"],
				"include":     listOf(object{"type": "string"}, 3, "Related records to embed, up to 25 of each: accounts have projects, signals, contacts; projects accounts, contacts, signals; contacts account, projects; signals project, accounts."),
				"max_credits": page("")["max_credits"], asked: page("")[asked],
			}),
			output: d.output(each(datasets, "get_%s_batch")...), run: getRecords,
		}, {
			name: "match_records", title: "Match records", scope: dataRead, hints: readOnly,
			text: "Finds the firm or person that a row of the user's list means, however it is written, how surely and why. 1 credit for each record returned, candidates included. metadata.remaining inputs, the last ones, did not fit: send them again.",
			input: takes([]string{"dataset", "inputs"}, inDataset(matched...), object{
				"inputs":         listOf(d.local(input, object{}, false).(object), maxLimit, "Rows; inputs times candidates are at most 50."),
				"candidates":     integer(1, 5, 1, "Records that an input may return."),
				"min_confidence": object{"type": "number", "minimum": 0, "maximum": 1, "description": "Records below are not returned (0.8)."},
				"fields":         page("")["fields"], "max_credits": page("")["max_credits"], asked: page("")[asked],
			}),
			output: d.output(matches...), run: matchRecords,
		}, {
			name: "search_book", title: "Search the book", scope: workspaceRead, hints: readOnly,
			text:   "Finds records that the workspace keeps, with its status, notes, tags and tier. 1 credit for each record returned.",
			input:  takes([]string{"dataset"}, inDataset(books...), s.conditions(ofBook, books), page(s.sorts(ofBook, books))),
			output: d.output(slices.Sorted(maps.Values(ofBook))...), as: "search_records", asScope: dataRead, ownKeys: true, run: searchBook,
		}, {
			name: "search_view", title: "Search a View", scope: workspaceRead, hints: readOnly,
			text: "Finds records of a View, a list or a stored search of the workspace, in rows as search_book has them. 1 credit for each record returned. manage_view lists the Views.",
			input: takes(
				[]string{"view_id"}, object{"view_id": text("The id of the View.")}, conditionsOfTool("search_book"),
				page("Fields are those of search_book."),
			),
			output: s.viewOutput(), as: "search_book", asScope: workspaceRead, run: searchView,
		}, {
			name: "update_book", title: "Update the book", scope: workspaceWrite,
			hints: sdk.ToolAnnotations{DestructiveHint: new(true), IdempotentHint: true, OpenWorldHint: no},
			text:  "Adds records to the workspace's book and changes its status, notes, tags and tiers of them (upsert), or takes them out, which deletes those values (delete). Free. Above 10 records the user is asked first. Items apply one by one: see each status.",
			input: takes([]string{"dataset", "action"}, inDataset(books...), object{
				"action": oneOf("upsert needs items, delete needs ids.", "upsert", "delete"),
				"items":  listOf(object{"type": "object"}, maxItems, "Of upsert: what is left out stays as it is. Members: "+s.upserts()+"."),
				"ids":    listOf(object{"type": "string", "format": "uuid"}, maxItems, "Of delete: ids of records."),
				asked:    page("")[asked],
			}),
			output: s.batchOutput(slices.Concat(each(books, "upsert_workspace_%s_batch"), each(books, "delete_workspace_%s_batch"))...),
			run:    updateBook,
		}, s.viewTool(caller), {
			name: "changes_since", title: "Changes", scope: dataRead, hints: readOnly,
			text: "Lists the records of a dataset that changed since a time or a cursor: ids and names of changed fields. Free. Without both it answers a cursor from now on, metadata.next. get_records has the records.",
			input: takes([]string{"dataset"}, inDataset(datasets...), object{
				"since": text("A time, a day such as 2026-02-14, or a relative date such as now-7d."), "cursor": text("metadata.next of the answer before."),
				"limit": integer(1, maxLimit, 20, "Changes to return."), "filters": conditionsOfTool("search_records")["filters"],
			}),
			output: s.changesOutput(), run: changesSince,
		}, {
			name: "credits", title: "Credits", scope: dataRead, hints: readOnly,
			text:  "Says what the workspace may still spend, and what it spent on what in the last 24 hours. Free.",
			input: takes(nil), output: d.output("get_usage"),
			run: func(ctx context.Context, c *call, _ arguments) (*sdk.CallToolResult, error) {
				return c.free(ctx, "Credits of the workspace.", request{method: "GET", path: "/data/usage"})
			},
		}, {
			name: "read_boards", title: "Read boards", scope: workspaceRead, hints: readOnly,
			text: "Lists the workspace's boards, or gets one. Free. A tile has the request of a chart, pivot, map or number, or the id of a View, and none of what it finds: count_and_facets, pivot and search_view take it.",
			input: takes(nil, object{
				"board_id": text("The id of a board; left out: all."),
				"offset":   integer(0, 50, 0, "Boards to skip."),
			}),
			output: s.document.envelope(object{"type": "object"}, object{"type": "object"}), run: readBoards,
		}, {
			name: "find_skills", title: "Find Skills", scope: workspaceRead, hints: readOnly,
			text: "Lists Skills, instructions that the workspace wrote for its tasks, without their content. Free.",
			input: takes(nil, object{
				"query":  text("Every word must occur in the name or the description."),
				"limit":  integer(1, maxLimit, 20, "Skills to list."),
				"offset": integer(0, 10_000, 0, "Skills to skip."),
			}),
			output: d.output("find_skills"), run: findSkills,
		}, {
			name: "get_skill", title: "Get a Skill", scope: workspaceRead, hints: readOnly,
			text: "Gets a Skill with its content. Free. A long content comes in parts: go on with metadata.next_offset.",
			input: takes(
				[]string{"locator"},
				object{
					"locator": text("Such as workspace/site-visits."),
					"offset":  integer(0, 1_000_000, 0, "metadata.next_offset of the part before."),
				},
			),
			output: s.skillOutput(), run: getSkill,
		},
	}
}
