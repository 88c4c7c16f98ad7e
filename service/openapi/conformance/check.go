package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Transport returns a transport that checks each exchange and reports violations as
// test errors.
func (d *Document) Transport(t testing.TB, next http.RoundTripper) http.RoundTripper {
	return transport{d, t, next}
}

type transport struct {
	document *Document
	t        testing.TB
	next     http.RoundTripper
}

// RoundTrip reads both bodies completely.
func (tr transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent []byte
	if r.Body != nil {
		var err error
		if sent, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close()
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(sent))
	}
	res, err := tr.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	got, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(got))
	if err != nil {
		return res, nil // the reader of the body gets the error
	}
	for _, problem := range tr.document.Check(r, sent, res, got) {
		tr.t.Errorf(
			"%s %s %.500s\n→ %d %.500s\nis not as the document says: %s", r.Method, r.URL.RequestURI(), sent,
			res.StatusCode, got, problem,
		)
	}
	return res, nil
}

// Check lists the differences between an exchange and the document.
func (d *Document) Check(r *http.Request, sent []byte, res *http.Response, got []byte) []string {
	o, path := d.find(r.Method, r.URL.Path)
	if o == nil {
		if res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusMethodNotAllowed {
			return nil
		}
		return []string{"the document has no such operation"}
	}
	problems := o.answer(res, got)
	refused := o.refusals(r, path, sent)
	accepted := res.StatusCode < http.StatusMultipleChoices
	switch {
	case accepted:
		for _, reason := range refused {
			problems = append(problems, "a request was accepted that the document does not allow: "+reason)
		}
		problems = append(problems, o.items(sent, got)...)
	case len(refused) == 0 && !o.depends && expressible(got):
		problems = append(problems, "a request was refused, as to its shape, that the document allows")
	}
	return problems
}

// answer lists the problems of an answer.
func (o *operation) answer(res *http.Response, got []byte) (problems []string) {
	documented, ok := o.responses[strconv.Itoa(res.StatusCode)]
	if !ok {
		return []string{"this status of " + o.id + " is not documented"}
	}
	kind := res.Header.Get("Content-Type")
	switch {
	case res.StatusCode == http.StatusNotModified:
		if len(got) > 0 {
			problems = append(problems, "a 304 has a body")
		}
	case !strings.HasPrefix(kind, "application/json"):
		problems = append(problems, "the answer is "+kind)
	default:
		if problem := bodyProblem(documented.body, got); problem != "" {
			problems = append(problems, "the answer: "+problem)
		}
	}
	for name, h := range documented.headers {
		values, there := res.Header[name]
		switch {
		case !there && h.required:
			problems = append(problems, "the header "+name+" is missing")
		case there:
			if err := h.schema.Validate(typed(values[0], map[bool]string{true: "integer"}[h.numeric])); err != nil {
				problems = append(problems, name+": "+err.Error())
			}
		}
	}
	for name := range res.Header {
		if _, ok := documented.headers[name]; !ok && definedByAPI(name) {
			problems = append(problems, "the header "+name+" is not documented")
		}
	}
	return problems
}

// definedByAPI reports whether the API defines a header, as opposed to HTTP.
func definedByAPI(name string) bool {
	return strings.HasPrefix(name, "X-") && name != "X-Content-Type-Options" || name == "Retry-After" || name == "Allow"
}

// refusals lists the reasons for which the document does not allow a request.
func (o *operation) refusals(r *http.Request, path map[string]string, sent []byte) (reasons []string) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		reasons = append(reasons, err.Error())
	}
	for _, p := range o.params {
		var given []string
		switch p.in {
		case "path":
			given = []string{path[p.name]}
		case "query":
			given = query[p.name]
		case "header":
			given = r.Header.Values(p.name)
		}
		reasons = append(reasons, p.refusals(given)...)
	}
	for name := range query {
		if !slices.ContainsFunc(o.params, func(p parameter) bool { return p.in == "query" && p.name == name }) {
			reasons = append(reasons, name+" is no parameter")
		}
	}
	switch {
	case o.body == nil:
	case len(bytes.TrimSpace(sent)) > 0:
		if problem := o.bodyProblem(sent); problem != "" {
			reasons = append(reasons, problem)
		}
		if !utf8.Valid(sent) {
			reasons = append(reasons, "the body is no UTF-8")
		}
		if kind := r.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/json") {
			reasons = append(reasons, "the body is "+kind)
		}
	case o.mustBody:
		reasons = append(reasons, "there is no body")
	}
	return reasons
}

func (p parameter) refusals(given []string) (reasons []string) {
	switch {
	case len(given) == 0 && p.required:
		return []string{p.name + " is missing"}
	case len(given) == 0:
		return nil
	case len(given) > 1:
		return []string{p.name + " is given more than once"}
	}
	var value any = typed(given[0], p.kind)
	if p.list {
		elements := []any{}
		if given[0] != "" {
			for element := range strings.SplitSeq(given[0], ",") {
				elements = append(elements, strings.TrimSpace(element))
			}
		}
		value = elements
	}
	if err := p.schema.Validate(value); err != nil {
		return []string{p.name + ": " + err.Error()}
	}
	return nil
}

// typed converts a text of a URL or a header to a value of the type, if possible.
func typed(text, kind string) any {
	switch kind {
	case "integer":
		if _, err := strconv.ParseInt(text, 10, 64); err == nil {
			return json.Number(strings.TrimPrefix(text, "+"))
		}
	case "boolean":
		if text == "true" || text == "false" {
			return text == "true"
		}
	}
	return text
}

// expressible reports whether a schema can express all reasons of a validation error.
func expressible(got []byte) bool {
	var e struct {
		Error struct {
			Name   string
			Issues []struct{ Code string }
		}
	}
	if json.Unmarshal(got, &e) != nil || e.Error.Name != "ValidationError" {
		return false
	}
	for _, issue := range e.Error.Issues {
		if issue.Code == "custom" {
			return false
		}
	}
	return true
}

// items lists the items of a batch that succeeded although the document does not allow
// them, and those that failed validation although it does.
func (o *operation) items(sent, got []byte) (problems []string) {
	if o.item == nil {
		return nil
	}
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(sent))
	var answer struct {
		Data struct {
			Results []struct {
				Status string
				Error  struct{ Issues []struct{ Code string } }
			}
		}
		Metadata struct{ Remaining int }
	}
	if err != nil || json.Unmarshal(got, &answer) != nil {
		return []string{"the batch cannot be read"}
	}
	items, _ := object(body)[o.batch].([]any)
	if len(items) != len(answer.Data.Results)+answer.Metadata.Remaining {
		return []string{fmt.Sprintf("%d items have %d results", len(items), len(answer.Data.Results))}
	}
	for i, result := range answer.Data.Results {
		err := o.item.Validate(items[i])
		if err != nil {
			err = o.item.Validate(withoutNulls(o.item, items[i]))
		}
		custom := false
		for _, issue := range result.Error.Issues {
			custom = custom || issue.Code == "custom"
		}
		switch {
		case err != nil && result.Status != "invalid_input" && result.Status != "invalid_view_definition":
			problems = append(problems, fmt.Sprintf("item %d was not refused as to its shape: %v", i, err))
		case err == nil && result.Status == "invalid_input" && !custom:
			problems = append(problems, fmt.Sprintf("item %d was refused as to its shape, which the document allows", i))
		}
	}
	return problems
}
