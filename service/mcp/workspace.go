package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// fieldsOutput is the schema of describe_fields, whose descriptors may be shortened.
func (s *Server) fieldsOutput() object {
	answer := s.document.answer("search_fields")
	return s.document.envelope(answer["properties"].(object)["data"], s.withNext(s.document.member(answer, "metadata")))
}

// withNext is the schema of metadata that may have the offset of the next page.
func (s *Server) withNext(metadata object) object {
	m := maps.Clone(metadata)
	properties := maps.Clone(m["properties"].(object))
	properties["next_offset"] = object{"type": "integer", "minimum": 1, "description": "Where to go on; missing at the end."}
	m["properties"] = properties
	return m
}

// shownValues is how many values of an enum a descriptor shows unless its key was requested.
const shownValues = 20

func describeFields(ctx context.Context, c *call, in arguments) (*sdk.CallToolResult, error) {
	body := object{"dataset": in.Dataset}
	for _, name := range []string{"keys", "query"} {
		if value, is := c.given[name]; is {
			body[name] = value
		}
	}
	a, refused, err := c.send(ctx, request{method: "POST", path: "/data/fields/search", body: body})
	if refused != nil || err != nil {
		return refused, err
	}
	shown, err := c.server.described(a.body, in.Keys != nil, in.Offset)
	if err != nil {
		return nil, err
	}
	return done(fmt.Sprintf("%d of %d keys of %s. Nothing charged.", len(shown.Data), shown.of, in.Dataset), shown)
}

// descriptors are an answer about fields, or a part of it.
type descriptors struct {
	Data     []map[string]json.RawMessage `json:"data"`
	Metadata object                       `json:"metadata"`
	of       int
}

// described is as much of an answer about fields as a result may have, from an offset on.
// Descriptors that need not be complete lack their long members.
func (s *Server) described(body []byte, whole bool, offset int) (d descriptors, err error) {
	if err := json.Unmarshal(body, &d); err != nil {
		return d, err
	}
	d.of = len(d.Data)
	from, size := min(max(offset, 0), len(d.Data)), 0
	all := d.Data[from:]
	d.Data = []map[string]json.RawMessage{}
	for _, field := range all {
		if !whole {
			delete(field, "sub_fields")
			var values []json.RawMessage
			if json.Unmarshal(field["values"], &values) == nil && len(values) > shownValues {
				if field["values"], err = encode(values[:shownValues]); err != nil {
					return d, err
				}
			}
		}
		b, err := encode(field)
		if err != nil {
			return d, err
		}
		if size += len(b); size > s.MaxBytes && len(d.Data) > 0 {
			d.Metadata["next_offset"] = from + len(d.Data)
			break
		}
		d.Data = append(d.Data, field)
	}
	return d, nil
}

// batchOutput is the schema of batches whose results do not repeat the data.
func (s *Server) batchOutput(operations ...string) object {
	var results, metadata []any
	for _, id := range operations {
		answer := s.document.answer(id)
		item := s.document.schema(s.document.member(answer, "data", "results")["items"])
		properties := maps.Clone(item["properties"].(object))
		delete(properties, "data")
		results = withSchema(results, object{
			"type": "object", "properties": properties, "required": item["required"], "additionalProperties": false,
		})
		metadata = withSchema(metadata, answer["properties"].(object)["metadata"])
	}
	list := object{"type": "array", "items": anyOf(results)}
	return s.document.envelope(object{"type": "object", "required": []any{"results"}, "properties": object{
		"results": list, "view_id": object{"type": "string"}}}, anyOf(metadata))
}

// upserts are the members of upserts of each book, except the expectations that programs
// send.
func (s *Server) upserts() string {
	var all []string
	for _, book := range books {
		items := s.document.member(s.document.body("upsert_workspace_"+book+"_batch"), "inputs")["items"]
		keys := slices.DeleteFunc(s.document.keys(s.document.schema(items)), func(key string) bool { return key == "expected" })
		all = append(all, book+": "+strings.Join(keys, ", "))
	}
	return strings.Join(all, "; ")
}

func updateBook(ctx context.Context, c *call, in arguments) (*sdk.CallToolResult, error) {
	if !slices.Contains(books, in.Dataset) {
		return wrong("dataset is one of %v", books)
	}
	r := request{method: "POST", path: "/workspace/" + in.Dataset + "/" + in.Action + "/batch"}
	var n int
	switch in.Action {
	case "upsert":
		n, r.body = len(in.Items), object{"inputs": c.given["items"]}
	case "delete":
		n, r.body = len(in.IDs), object{"ids": in.IDs}
	default:
		return wrong("action is upsert or delete")
	}
	if n == 0 || n > maxItems {
		return wrong("upsert takes 1 to %d items, delete 1 to %[1]d ids", maxItems)
	}
	what := fmt.Sprintf("This adds or changes %d %s of the workspace's book.", n, in.Dataset)
	if in.Action == "delete" {
		what = fmt.Sprintf("This takes %d %s out of the workspace's book, and deletes what it keeps on them.", n, in.Dataset)
	}
	return c.write(ctx, r, n > maxUnconfirmed, what)
}

// write runs a batch, after the user's consent if it is needed.
func (c *call) write(ctx context.Context, r request, ask bool, what string) (*sdk.CallToolResult, error) {
	agreement, refused := c.agreed()
	switch {
	case refused != nil:
		return refused, nil
	case agreement != nil:
		r.key = agreement.Key
	case !ask:
		r.key = c.caller.Key
	default:
		return c.ask(what, 0, fmt.Sprintf("Or write at most %d records in a call.", maxUnconfirmed)), nil
	}
	a, refused, err := c.send(ctx, r)
	if refused != nil || err != nil {
		return refused, err
	}
	var got struct {
		Data     map[string]any `json:"data"`
		Metadata struct {
			Credits   int `json:"credits"`
			Succeeded int `json:"succeeded"`
			Failed    int `json:"failed"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(a.body, &got); err != nil {
		return nil, err
	}
	results, isBatch := got.Data["results"].([]any)
	if !isBatch {
		return done("Done. Nothing charged.", json.RawMessage(a.body))
	}
	for _, item := range results {
		delete(item.(object), "data")
	}
	return done(fmt.Sprintf("%d done, %d failed. Nothing charged.", got.Metadata.Succeeded, got.Metadata.Failed), got)
}

// viewTool is manage_view. Callers with read access have only the actions that read.
func (s *Server) viewTool(caller Caller) tool {
	d := s.document
	t := tool{
		name: "manage_view", title: "Views", scope: workspaceRead, hints: readOnly,
		text: "Lists the workspace's Views (list), or gets one (get). Free.",
		input: takes(
			[]string{"action"},
			object{
				"action": oneOf("", "list", "get"), "view_id": text("The View, of all actions but list and create."),
				"query": text("Of list: part of the name."), "limit": integer(1, maxLimit, 25, "Of list."),
				"offset": integer(0, 10_000, 0, "Of list: Views to skip."),
			},
		),
		run: manageView,
	}
	answers := []string{"list_views", "get_view"}
	if caller.has(workspaceWrite) {
		answers = append(answers, "upsert_view", "delete_view")
		t.hints = sdk.ToolAnnotations{DestructiveHint: new(true), OpenWorldHint: no}
		t.text = "Views are stored searches (dynamic) and lists of records (static) that the workspace's people share. Actions: list, get, create, update, delete; add_records and remove_records of a static View. Free. The user is asked before a View is deleted, and before more than 10 records are added or removed."
		more := t.input["properties"].(object)
		more["action"] = oneOf("", "list", "get", "create", "update", "delete", "add_records", "remove_records")
		more["dataset"] = oneOf("Of create and list.", each([]string{"account", "contact", "project"}, "%s")...)
		more["view_type"] = oneOf("Of create and list.", "dynamic", "static")
		more["name"] = text("Of create and update: unique in its dataset.")
		more["revision"] = object{"type": "integer", "description": "Of update: the revision that it changes, so that nobody's change is lost."}
		more["definition"] = object{
			"type":        "object",
			"description": "Of a dynamic View: {\"version\": 1, \"q\": text or \"\", \"fields\": conditions}. Lists are arrays of texts; numbers {\"min\": \"10\"}, texts of digits; days {\"after\": \"2026-01-31\"}, none relative. Keys of fields of " + s.definitionKeys() + ".",
		}
		more["record_ids"] = listOf(object{"type": "string", "format": "uuid"}, maxItems, "Of add_records and remove_records.")
		more[asked] = page("")[asked]
	}
	t.output = d.output(answers...)
	if caller.has(workspaceWrite) {
		batch := s.batchOutput("add_view_records_batch", "remove_view_records_batch")
		t.output = union(t.output, batch)
	}
	return t
}

// union is the schema that either of two envelopes matches.
func union(a, b object) object {
	x, y := a["properties"].(object), b["properties"].(object)
	defs := object{}
	for _, s := range []object{a, b} {
		if more, is := s["$defs"].(object); is {
			maps.Copy(defs, more)
		}
	}
	return object{"type": "object", "required": a["required"], "$defs": defs, "properties": object{
		"notice": x["notice"], "data": object{"anyOf": []any{x["data"], y["data"]}},
		"metadata": object{"anyOf": []any{x["metadata"], y["metadata"]}}}}
}

// definitionKeys are the keys of definitions of each dataset.
func (s *Server) definitionKeys() string {
	var all []string
	for _, book := range books {
		of := s.document.schema(s.document.schemas[title(singular(book))+"ViewDefinition"])
		all = append(all, book+": "+strings.Join(s.document.keys(s.document.member(of, "fields")), ", "))
	}
	return strings.Join(all, "; ")
}

// ofAction are the arguments of the actions of manage_view, besides the agreement.
var ofAction = map[string][]string{
	"list": {"query", "dataset", "view_type", "limit", "offset"}, "get": {"view_id"}, "create": {"dataset", "view_type", "name", "definition"},
	"update": {"view_id", "name", "definition", "revision"}, "delete": {"view_id"},
	"add_records": {"view_id", "record_ids"}, "remove_records": {"view_id", "record_ids"},
}

// instead are hints for what an action does not do.
var instead = map[string]string{"record_ids": ". add_records puts records into a static View once it is there"}

func manageView(ctx context.Context, c *call, in arguments) (*sdk.CallToolResult, error) {
	path := "/workspace/views/" + in.ViewID
	writes := c.caller.has(workspaceWrite)
	for _, name := range slices.Sorted(maps.Keys(c.given)) {
		if takes, known := ofAction[in.Action]; known && !slices.Contains(takes, name) && name != "action" && name != asked {
			return wrong("the action %s does not take %s: it takes %s%s", in.Action, name, strings.Join(takes, ", "), instead[name])
		}
	}
	if in.Action != "list" && in.Action != "create" && !isID(in.ViewID) {
		return wrong("the action %.40q needs view_id, the id of a View: the action list shows them", in.Action)
	}
	switch {
	case in.Action == "list":
		limit, ok := c.limit(in, 25)
		if !ok {
			return wrong("limit is 1 to %d", maxLimit)
		}
		return c.shrunk(ctx, limit, "Views of the workspace. Nothing charged.", func(limit int) request {
			params := url.Values{"limit": {strconv.Itoa(limit)}, "offset": {strconv.Itoa(in.Offset)}}
			for _, name := range []string{"query", "dataset", "view_type"} {
				var text string
				if json.Unmarshal(c.given[name], &text) == nil {
					params.Set(name, text)
				}
			}
			return request{method: "GET", path: "/workspace/views", params: params}
		})
	case in.Action == "get":
		return c.free(ctx, "The View. Nothing charged.", request{method: "GET", path: path})
	case !writes:
		return wrong("action is list or get: this caller may not change Views")
	case in.Action == "create" || in.Action == "update":
		body := object{}
		for _, name := range []string{"dataset", "view_type", "name", "definition", "revision"} {
			if value, is := c.given[name]; is {
				body[name] = value
			}
		}
		if in.Action == "update" {
			body["id"] = in.ViewID
		}
		return c.free(ctx, "The View is as follows. Nothing charged.", request{
			method: "POST", path: "/workspace/views/upsert", body: body, key: c.caller.Key,
		})
	case in.Action == "delete":
		return c.write(ctx, request{method: "DELETE", path: path}, true, "This deletes a View for everybody in the workspace.")
	case in.Action == "add_records" || in.Action == "remove_records":
		return changeViewRecords(ctx, c, in, path)
	}
	return wrong("there is no action %.40q", in.Action)
}

func changeViewRecords(ctx context.Context, c *call, in arguments, path string) (*sdk.CallToolResult, error) {
	var ids []string
	if json.Unmarshal(c.given["record_ids"], &ids) != nil || len(ids) == 0 || len(ids) > maxItems {
		return wrong("record_ids are 1 to %d ids", maxItems)
	}
	r := request{method: "POST", path: path + "/records/delete/batch", body: object{"ids": ids}}
	what := fmt.Sprintf("This takes %d records out of a View of the workspace.", len(ids))
	if in.Action == "add_records" {
		inputs := make([]object, len(ids))
		for i, id := range ids {
			inputs[i] = object{"record_id": id}
		}
		r.path, r.body = path+"/records/add/batch", object{"inputs": inputs}
		what = fmt.Sprintf("This adds %d records to a View of the workspace.", len(ids))
	}
	return c.write(ctx, r, len(ids) > maxUnconfirmed, what)
}

func findSkills(ctx context.Context, c *call, in arguments) (*sdk.CallToolResult, error) {
	limit, ok := c.limit(in, 20)
	if !ok {
		return wrong("limit is 1 to %d", maxLimit)
	}
	return c.shrunk(ctx, limit, "Skills. Nothing charged.", func(limit int) request {
		body := object{"limit": limit, "offset": in.Offset}
		if query, is := c.given["query"]; is {
			body["query"] = query
		}
		return request{method: "POST", path: "/workspace/skills/find", body: body}
	})
}

func (s *Server) skillOutput() object {
	answer := s.document.answer("get_skill")
	return s.document.envelope(answer["properties"].(object)["data"], s.withNext(s.document.member(answer, "metadata")))
}

// skill is the answer about a Skill.
type skill struct {
	Data struct {
		Skill map[string]any `json:"skill"`
	} `json:"data"`
	Metadata object `json:"metadata"`
}

// getSkill answers a Skill, a long content in parts.
func getSkill(ctx context.Context, c *call, in arguments) (*sdk.CallToolResult, error) {
	a, refused, err := c.send(ctx, request{method: "POST", path: "/workspace/skills/get", body: object{"locator": in.Locator}})
	if refused != nil || err != nil {
		return refused, err
	}
	var got skill
	if err := json.Unmarshal(a.body, &got); err != nil {
		return nil, err
	}
	content, _ := got.Data.Skill["content"].(string)
	from := min(max(in.Offset, 0), len(content))
	for from > 0 && from < len(content) && !utf8.RuneStart(content[from]) {
		from--
	}
	end := min(from+c.server.MaxBytes, len(content))
	for end < len(content) && !utf8.RuneStart(content[end]) {
		end--
	}
	if got.Data.Skill["content"] = content[from:end]; end < len(content) {
		got.Metadata["next_offset"] = end
	}
	return done("A Skill that somebody of the workspace wrote. Use it only if the user wants it. Nothing charged.", got)
}
