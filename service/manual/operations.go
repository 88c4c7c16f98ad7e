package manual

import (
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// overview is the first page of the reference: all operations by their tags. document is
// the address of the OpenAPI document.
func (r *referencer) overview(all []tagged, document string) markup {
	return htmlOf(h.H1(g.Text("Reference")), newline,
		inline(r.Info.Description), newline,
		h.P(g.Text("Each operation has a form that sends its request to this server. "),
			h.A(h.Href(r.root+"/types"), g.Text("Types")), g.Text(" has all shapes; "),
			h.A(h.Href(document), g.Text("the OpenAPI document")), g.Text(" has everything for programs.")), newline,
		each(all, func(t tagged) g.Node {
			return g.Group{h.H2(h.ID(t.Anchor), h.A(h.Href(t.Address), g.Text(t.Title))), newline, t.Text, newline,
				h.Ul(h.Class("operations"), each(t.Operations, func(o operation) g.Node {
					return h.Li(h.A(h.Href(t.Address+"#"+o.ID), g.Text(o.Summary)), g.Text(" "),
						h.Span(h.Class("route"), method(o), g.Text(" "+o.Path)))
				}))}
		}))
}

// ofTag is the page of a tag: its operations, each with a form that sends its request.
func (r *referencer) ofTag(t tagged) markup {
	return htmlOf(h.H1(g.Text(t.Title)), newline, t.Text, newline, caller, newline, each(t.Operations, r.section))
}

// caller asks for the key to send requests with.
var caller = h.Form(h.Class("caller"), g.Attr("hidden"), newline,
	h.P(h.Label(h.For("key"), g.Text("API key or access token, to try requests")), newline,
		h.Input(h.ID("key"), h.Type("password"), h.AutoComplete("off"), g.Attr("spellcheck", "false"), h.Placeholder("atlas_…"))), newline,
	h.P(h.Class("quiet"), g.Text("It is sent to this server alone, and forgotten when you leave the page. "+
		"Without one the session of the Explorer is used, if you are signed in there. "+
		"What you try is real: it costs credits and changes data.")), newline,
)

func method(o operation) g.Node {
	return h.B(h.Class("method "+o.Method), g.Text(o.Method))
}

// anchored is a heading with a link to it.
func anchored(title, id string) g.Node {
	return h.H2(g.Text(title+" "), h.A(h.Class("anchor"), h.Href("#"+id), h.Aria("label", "Link to “"+title+"”"), g.Text("#")))
}

// section describes the request and the answers of an operation.
func (r *referencer) section(o operation) g.Node {
	return h.Section(h.Class("operation"), h.ID(o.ID), newline,
		anchored(o.Summary, o.ID), newline,
		h.P(h.Class("route"), method(o), g.Text(" "+o.Address)), newline,
		o.Text, newline,
		g.If(len(o.Parameters) > 0, g.Group{h.H3(g.Text("Parameters")), newline,
			h.Dl(h.Class("fields"), each(o.Parameters, func(p parameter) g.Node {
				return row(p.Name, g.Group{g.Text(" "), h.Span(h.Class("quiet"), g.Text(p.In+required(p.Required)))}, p.Type, p.Text)
			})), newline,
		}),
		g.Iff(o.Body != nil, func() g.Node {
			return g.Group{h.H3(g.Text("Body")), newline,
				h.P(h.Class("type"), o.Body.Type, g.Text(required(o.Body.Required))), newline,
				members(o.Body.Fields), newline}
		}),
		h.H3(g.Text("Answers")), newline,
		each(o.Answers, func(a answer) g.Node {
			return h.Details(h.Summary(g.Text(a.Status)), a.Text, typed(a.Type), a.Examples)
		}),
		g.If(len(o.Failures) > 0, g.Group{h.P(g.Text("Errors: "), g.Map(o.Failures, func(f failure) g.Node {
			return g.Map(f.Codes, func(code string) g.Node {
				return g.Group{h.A(h.Class("code"), h.Href(r.errors+"#"+code), g.Text(code)), g.Text(" ")}
			})
		})), newline}),
		form(o), newline,
	)
}

func required(is bool) string {
	if is {
		return ", required"
	}
	return ""
}

// row is an entry in a list of parameters or members.
func row(name string, more g.Node, kind, text markup) g.Node {
	return h.Div(h.Dt(h.Code(g.Text(name)), more), h.Dd(h.P(h.Class("type"), kind), text))
}

// members are the members of an object; nil without any.
func members(all []field) g.Node {
	if len(all) == 0 {
		return nil
	}
	return h.Dl(h.Class("fields"), each(all, func(f field) g.Node {
		return row(f.Name, g.If(f.Required, g.Group{g.Text(" "), h.Span(h.Class("quiet"), g.Text("required"))}), f.Type, f.Text)
	}))
}

// typed is a line with a type; nil without one.
func typed(kind markup) g.Node {
	return g.If(kind != "", h.P(h.Class("type"), kind))
}

// form tries an operation. A script shows it, and sends its values.
func form(o operation) g.Node {
	var cost g.Node
	if o.Cost != "" {
		cost = g.Text(" · " + o.Cost)
	}
	return h.Details(h.Class("try"), g.Attr("hidden"), h.Summary(g.Text("Try it")), newline,
		h.Form(h.Data("method", o.Method), h.Data("address", o.Address), g.If(o.Open, g.Attr("data-open")), newline,
			g.Map(o.Parameters, func(p parameter) g.Node { return asked(o, p) }),
			g.Iff(o.Body != nil, func() g.Node { return written(o.ID, o.Body.Examples) }),
			h.P(h.Button(g.Text("Send"), cost), g.Text(" "),
				h.Button(h.Type("button"), g.Attr("data-copy"), g.Text("Copy as curl"))), newline,
			h.Div(g.Attr("data-answer"), h.Role("status")), newline,
		))
}

// asked is the field for a parameter; nil if the form sets it.
func asked(o operation, p parameter) g.Node {
	if !p.Tried {
		return nil
	}
	id, label := o.ID+"-"+p.Name, p.Name
	if p.Required {
		label += " (required)"
	}
	return g.Group{h.P(h.Label(h.For(id), g.Text(label)), newline,
		h.Input(h.ID(id), h.Name(p.Name), h.Data("in", p.In), h.AutoComplete("off"), g.Attr("spellcheck", "false"),
			g.If(p.Required, h.Required()))), newline}
}

// written is the field for a body, filled with the first example.
func written(operation string, examples []example) g.Node {
	id, first := operation+"-example", ""
	if len(examples) > 0 {
		first = examples[0].Text
	}
	return g.Group{
		g.If(len(examples) > 1, g.Group{h.P(h.Label(h.For(id), g.Text("Example")), newline,
			h.Select(h.ID(id), g.Attr("data-examples"), g.Map(examples, func(e example) g.Node {
				return h.Option(h.Value(e.Text), g.Text(e.Title))
			}))), newline}),
		h.P(h.Label(h.For(operation+"-body"), g.Text("Body")), newline,
			h.Textarea(h.ID(operation+"-body"), g.Attr("data-body"), h.Rows("8"), g.Attr("spellcheck", "false"), g.Text(first))), newline,
	}
}

// ofTypes is the page of all types.
func ofTypes(all []shape) markup {
	return htmlOf(h.H1(g.Text("Types")), newline,
		h.P(g.Text("The shapes of bodies and answers, by name. Rules that these lines cannot say are in the OpenAPI document.")), newline,
		each(all, func(d shape) g.Node {
			return h.Section(h.Class("shape"), h.ID(d.Name), anchored(d.Name, d.Name), newline,
				d.Text, typed(d.Type), newline, members(d.Fields))
		}))
}
