package views

import (
	"math"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/search/catalog"
	"atlas/workspace"
)

// Change is the request to create or change a View.
type Change struct {
	// ID is the View to change, nil to create one.
	ID *ID
	// Dataset and Type are "" when left out.
	Dataset catalog.Dataset
	Type    Type
	// Name is "" when left out.
	Name string
	// Definition is parsed once the dataset and type of the View are known.
	Definition input.Value
	// Presentation is nil when left out.
	Presentation *Presentation
	// Revision is the expected revision of the View, 0 when left out.
	Revision int
}

// The members of a change of a View.
var (
	DatasetRule  = rule.Map(rule.Enum(Datasets()...), DatasetOfView).Named("ViewDataset")
	TypeRule     = rule.Enum(Types()...).Named("ViewType")
	NameRule     = workspace.NameRule(MaxName)
	RevisionRule = rule.Integer(1, math.MaxInt32)

	idRule = rule.Pointer(rule.UUID[ID]())
)

// ParseChange parses the body of an upsert: fault.InvalidInput with every
// issue except those of the definition.
func ParseChange(body input.Value) (Change, error) {
	var issues input.Issues
	if body.Kind != input.Object {
		issues.WrongType(nil, "an object", body)
		body = input.Value{Kind: input.Object} // missing members are issues too
	}
	r := issues.Object(body)
	r.Elsewhere(outsideChange)
	creates := body.Get("id").Kind == input.Absent
	c := Change{
		ID:         idRule.Member(&issues, r, "id", false),
		Dataset:    DatasetRule.Member(&issues, r, "dataset", creates),
		Type:       TypeRule.Member(&issues, r, "view_type", creates),
		Name:       NameRule.Member(&issues, r, "name", creates),
		Definition: r.Take("definition"),
	}
	if creates && c.Type == Dynamic && c.Definition.Kind == input.Absent {
		issues.WrongTypeInstead([]string{"definition"}, "an object", c.Definition, `{"version":1,"q":"","fields":{}}`)
	}
	c.Presentation = rule.Pointer(PresentationRule).Member(&issues, r, "presentation", false)
	c.Revision = RevisionRule.Member(&issues, r, "revision", false)
	r.Done()
	if len(issues) > 0 && c.Definition.Kind != input.Absent && creates {
		c.reportDefinition(&issues, body)
	}
	return c, issues.Err()
}

// outsideChange is the hint about an unknown member of a change of a View.
func outsideChange(m input.Member) string {
	switch m.Name {
	case "record_ids", "records", "ids":
		return "records are added to a Static View by `add_view_records_batch`"
	case "query", "q":
		return "texts go into the definition: " + input.Wrapped(`"definition":{"version":1,"q":`, m.Value, `,"fields":{}}`)
	case "filters", "fields":
		return `conditions go into the definition: "definition":{"version":1,"q":"","fields":{"city":["Calgary"]}}`
	}
	return ""
}

// reportDefinition adds the problems of the definition to other issues, so that one answer
// has all. If the dataset is not valid, it takes the nearest one; if none is near, it only
// reports problems common to all datasets.
func (c Change) reportDefinition(issues *input.Issues, body input.Value) {
	g, t := grammarReader{dataset: c.Dataset}, c.Type
	if g.dataset == "" {
		near := input.Nearest(body.Get("dataset").Text, Datasets())
		g.dataset, g.anyFields = DatasetOfView(near), near == ""
	}
	if t == "" {
		t = Dynamic
	}
	g.definition(c.Definition, t)
	for _, p := range g.problems {
		issues.Add(fault.Custom, p.path(), "%s", p.text)
	}
}

// apply returns the View after the change: fault.ViewImmutableField,
// fault.InvalidViewDefinition, fault.RevisionConflict. It does not check whether
// the name is free.
func (c Change) apply(v View) (View, error) {
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
