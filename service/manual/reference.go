package manual

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/service/openapi"
)

// operation is an operation in the reference.
type operation struct {
	ID, Method, Path, Summary string
	// Address is the path on the server, with its parameters in braces.
	Address    string
	Text       markup
	Cost       string
	Open       bool // needs no key
	Parameters []parameter
	Body       *body
	Answers    []answer
	Failures   []failure
}

type parameter struct {
	Name, In   string
	Required   bool
	Type, Text markup
	// Tried means that the form has a field for it.
	Tried bool
}

type body struct {
	Required bool
	Type     markup
	Fields   []field
	Examples []example
}

type example struct{ Title, Text string }

// field is a member of an object.
type field struct {
	Name       string
	Required   bool
	Type, Text markup
}

type answer struct {
	Status               string
	Text, Type, Examples markup
}

type failure struct {
	Status string
	Codes  []string
}

// tagged are the operations of a tag of the document.
type tagged struct {
	Title, Address, Anchor string
	Text                   markup
	Operations             []operation
}

// referencer makes the reference of a document.
type referencer struct {
	openapi.Document
	root, errors string
}

// reference is a page of all operations, one for each tag, and one of the types.
func reference(o Options, m *Manual) []page {
	r := &referencer{o.Document, o.Root + "/reference", o.Root + "/" + o.Errors}
	first := page{address: "reference", Title: "Reference"}
	var all []tagged
	var pages []page
	for _, t := range o.Document.Tags {
		p := page{address: "reference/" + slug(t.Name), Title: t.Name, Live: true}
		group := tagged{t.Name, o.Root + "/" + p.address, slug(t.Name), inline(t.Description), r.operations(t.Name)}
		if len(group.Operations) == 0 {
			continue
		}
		for _, op := range group.Operations {
			p.Headings = append(p.Headings, heading{2, op.ID, op.Summary})
			m.addSection(section{page: "Reference", title: op.Summary, id: op.ID, address: group.Address + "#" + op.ID,
				text: op.Method + " " + op.Path + " " + op.ID + " " + withoutTags(op.Text)})
		}
		p.Body = r.ofTag(group)
		first.Headings = append(first.Headings, heading{2, slug(t.Name), t.Name})
		all, pages = append(all, group), append(pages, p)
	}
	first.Body = r.overview(all, m.document)
	return append(pages, first, r.types())
}

var htmlTag = regexp.MustCompile(`<[^>]*>`)

func withoutTags(text markup) string { return htmlTag.ReplaceAllString(string(text), "") }

func (r *referencer) operations(tag string) []operation {
	var all []operation
	for _, path := range r.Paths {
		base := r.Servers[0].URL
		if len(path.Value.Servers) > 0 {
			base = path.Value.Servers[0].URL
		}
		for _, m := range path.Value.Operations {
			o := m.Value
			if !slices.Contains(o.Tags, tag) {
				continue
			}
			op := operation{ID: o.ID, Method: strings.ToUpper(m.Name), Path: path.Name, Summary: o.Summary,
				Address: strings.TrimSuffix(base, "/") + path.Name, Text: inline(o.Description), Open: len(o.Security) == 0}
			if c := o.Credits; c != nil && c.Amount > 0 {
				op.Cost = fmt.Sprintf("%d credit per %s", c.Amount, c.Per)
			}
			for _, p := range o.Parameters {
				op.Parameters = append(op.Parameters, r.parameter(p))
			}
			if o.RequestBody != nil {
				op.Body = r.body(*o.RequestBody)
			}
			for _, a := range o.Responses {
				r.answer(&op, a.Name, a.Value)
			}
			all = append(all, op)
		}
	}
	return all
}

func (r *referencer) parameter(p openapi.Parameter) parameter {
	if name, is := strings.CutPrefix(p.Ref, "#/components/parameters/"); is {
		p = r.Components.Parameters.Get(name)
	}
	return parameter{
		Name: p.Name, In: p.In, Required: p.Required, Type: r.typeOf(p.Schema), Text: inline(p.Description),
		Tried: p.In != "header",
	}
}

func (r *referencer) body(b openapi.RequestBody) *body {
	made := &body{Required: b.Required}
	for _, media := range b.Content {
		m := media.Value
		made.Type, made.Fields = r.typeOf(m.Schema), r.fields(r.followed(m.Schema))
		for _, e := range m.Examples {
			title := e.Value.Summary
			if title == "" {
				title = e.Name
			}
			made.Examples = append(made.Examples, example{title, indented(e.Value.Value)})
		}
		if m.Example != nil {
			made.Examples = append(made.Examples, example{"Example", indented(m.Example)})
		}
		if len(made.Examples) == 0 && m.Schema != nil {
			made.Examples = append(made.Examples, example{"All members", indented(m.Schema.Sample())})
		}
	}
	return made
}

var codeOfFailure = regexp.MustCompile("(?m)^- `([a-z_]+)`:")

func (r *referencer) answer(op *operation, status string, a openapi.Response) {
	if name, is := strings.CutPrefix(a.Ref, "#/components/responses/"); is {
		a = r.Components.Responses.Get(name)
	}
	if codes := codeOfFailure.FindAllStringSubmatch(a.Description, -1); codes != nil {
		f := failure{Status: status + " " + statusText(status)}
		for _, c := range codes {
			f.Codes = append(f.Codes, strings.Replace(c[1], "validation", "invalid_input", 1))
		}
		op.Failures = append(op.Failures, f)
		return
	}
	shown := answer{Status: status + " " + statusText(status), Text: inline(a.Description)}
	for _, media := range a.Content {
		shown.Type = r.typeOf(media.Value.Schema)
		var b strings.Builder
		if media.Value.Example != nil {
			b.WriteString(code("json", indented(media.Value.Example)))
		}
		for _, e := range media.Value.Examples {
			b.WriteString(code("json", indented(e.Value.Value)))
		}
		shown.Examples = markup(b.String())
	}
	op.Answers = append(op.Answers, shown)
}

func statusText(status string) string {
	var n int
	_, _ = fmt.Sscan(status, &n)
	return http.StatusText(n)
}

// indented is a value as JSON for people.
func indented(value any) string {
	b, err := json.Marshal(value, jsontext.WithIndent("  "), jsontext.EscapeForHTML(false), json.Deterministic(true))
	if err != nil {
		panic(err) // a defect of the document: a test makes all pages
	}
	return string(b)
}
