package openapi

import (
	"github.com/go-json-experiment/json"

	"atlas/internal/schema"
)

// CollectSchemas adds the schemas that operations refer to to the components.
func (d *Document) CollectSchemas() {
	all := &d.Components.Schemas
	inContent := func(content schema.Map[MediaType]) {
		for _, m := range content {
			m.Value.Schema.Collect(all)
		}
	}
	for _, path := range d.Paths {
		for _, m := range path.Value.Operations {
			o := m.Value
			for _, p := range o.Parameters {
				p.Schema.Collect(all)
			}
			if o.RequestBody != nil {
				inContent(o.RequestBody.Content)
			}
			if o.Batch != nil {
				o.Batch.Item.Collect(all)
			}
			for _, r := range o.Responses {
				inContent(r.Value.Content)
			}
		}
	}
}

// ShareResponses moves named responses that several operations have into the components, and
// refers to them. Two different responses with one name panic.
func (d *Document) ShareResponses() {
	type use struct {
		text      string
		responses []*Response
	}
	uses := map[string]*use{}
	var names []string
	for i := range d.Paths {
		for _, o := range d.Paths[i].Value.Operations {
			for j := range o.Value.Responses {
				r := &o.Value.Responses[j].Value
				if r.Name == "" {
					continue
				}
				b, err := json.Marshal(*r)
				if err != nil {
					panic(err) // all types of this package can be marshalled
				}
				u := uses[r.Name]
				if u == nil {
					u = &use{text: string(b)}
					uses[r.Name], names = u, append(names, r.Name)
				}
				if u.text != string(b) {
					panic("openapi: two responses are named " + r.Name)
				}
				u.responses = append(u.responses, r)
			}
		}
	}
	for _, name := range names {
		if all := uses[name].responses; len(all) > 1 {
			d.Components.Responses = append(d.Components.Responses, schema.Member[Response]{Name: name, Value: *all[0]})
			for _, r := range all {
				*r = ResponseRef(name)
			}
		}
	}
}
