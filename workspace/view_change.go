package workspace

import (
	"math"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/query"
)

// ViewChange is the request to create or change a View.
type ViewChange struct {
	// ID is the View to change, nil to create one.
	ID *ViewID
	// Dataset and Type are "" when left out.
	Dataset query.Dataset
	Type    ViewType
	// Name is "" when left out.
	Name string
	// Definition is parsed once the dataset and type of the View are known.
	Definition input.Value
	// Presentation is nil when left out.
	Presentation *Presentation
	// Revision is the expected revision of the View, 0 when left out.
	Revision int
}

// ParseViewChange parses the body of an upsert: fault.InvalidInput with every
// issue except those of the definition.
func ParseViewChange(body input.Value) (ViewChange, error) {
	var issues input.Issues
	var c ViewChange
	r := issues.Object(body)
	if id := r.Take("id"); id.Kind != input.Absent {
		if text, ok := issues.UUID(id, "id"); ok {
			parsed, _ := ParseViewID(text)
			c.ID = &parsed
		}
	}
	creates := body.Get("id").Kind == input.Absent
	oneOf := r.OneOf
	if creates {
		oneOf = r.RequiredOneOf
	}
	c.Dataset = DatasetOfView(oneOf("dataset", ViewDatasets()...))
	c.Type = ViewType(oneOf("view_type", ViewTypes()...))
	if name := r.Take("name"); creates || name.Kind != input.Absent {
		c.Name, _ = issues.String(name, input.Text{Min: 1, Max: MaxViewName}, "name")
		if c.Name != "" && !ValidName(c.Name) {
			issues.Add(fault.InvalidFormat, []string{"name"}, "must not contain control characters")
		}
	}
	c.Definition = r.Take("definition")
	if creates && c.Type == DynamicView && c.Definition.Kind == input.Absent {
		issues.WrongType([]string{"definition"}, "an object { version, q, fields }", c.Definition)
	}
	if presentation := r.Take("presentation"); presentation.Kind != input.Absent {
		p := ParsePresentation(&issues, presentation, "presentation")
		c.Presentation = &p
	}
	c.Revision = r.Int("revision", 1, math.MaxInt32, 0)
	r.Done()
	return c, issues.Err()
}

// apply returns the View after the change: fault.ViewImmutableField,
// fault.InvalidViewDefinition, fault.RevisionConflict. It does not check whether
// the name is free.
func (c ViewChange) apply(v View) (View, error) {
	if c.Dataset != "" && c.Dataset != v.Dataset {
		return View{}, immutableField("dataset", v.Dataset.Singular())
	}
	if c.Type != "" && c.Type != v.Type {
		return View{}, immutableField("view_type", string(v.Type))
	}
	if c.Definition.Kind != input.Absent {
		definition, err := ParseDefinition(c.Definition, v.Dataset, v.Type)
		if err != nil {
			return View{}, err
		}
		v.Definition = definition
	}
	if c.Revision != 0 && c.Revision != v.Revision {
		return View{}, fault.New(fault.RevisionConflict,
			"the View has revision %d, not %d: read it again and repeat the change", v.Revision, c.Revision)
	}
	if c.Name != "" {
		v.Name = c.Name
	}
	if c.Presentation != nil {
		v.Presentation = *c.Presentation
	}
	return v, nil
}

func immutableField(field, stored string) error {
	return fault.New(fault.ViewImmutableField, "the %s of a View cannot be changed; this one's is %s", field, stored)
}
