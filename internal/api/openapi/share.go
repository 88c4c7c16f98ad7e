package openapi

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

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

// ShareResponses moves responses that several operations have into the
// components, named by their status's text and a number, and refers to them.
func (d *Document) ShareResponses() {
	seen := map[string]int{}
	each := func(do func(status, text string, r *Response)) {
		for i := range d.Paths {
			for _, o := range d.Paths[i].Value.Operations {
				for j := range o.Value.Responses {
					r := &o.Value.Responses[j]
					b, err := json.Marshal(r.Value)
					if err != nil {
						panic(err) // all types of this package can be marshalled
					}
					do(r.Name, r.Name+string(b), &r.Value)
				}
			}
		}
	}
	each(func(_, text string, _ *Response) { seen[text]++ })
	names, count := map[string]string{}, map[string]int{}
	each(func(status, text string, r *Response) {
		if seen[text] < 2 {
			return
		}
		if names[text] == "" {
			count[status]++
			code, _ := strconv.Atoi(status)
			names[text] = fmt.Sprintf("%s%d", strings.ReplaceAll(http.StatusText(code), " ", ""), count[status])
			d.Components.Responses = append(d.Components.Responses, schema.Member[Response]{Name: names[text], Value: *r})
		}
		*r = ResponseRef(names[text])
	})
}
