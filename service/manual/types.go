package manual

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"atlas/internal/schema"
)

// shape is a type on the page of types.
type shape struct {
	Name       string
	Text, Type markup
	Fields     []field
}

// types is the page of all types, by name.
func (r *referencer) types() page {
	var all []shape
	for _, c := range r.Components.Schemas {
		s := c.Value
		d := shape{Name: c.Name, Text: inline(s.Description), Fields: r.fields(s)}
		if len(d.Fields) == 0 {
			d.Type = r.typeOf(s)
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b shape) int { return cmp.Compare(a.Name, b.Name) })
	p := page{address: "reference/types", Title: "Types", Body: ofTypes(all)}
	for _, d := range all {
		if letter := d.Name[:1]; len(p.Headings) == 0 || p.Headings[len(p.Headings)-1].Title != letter {
			p.Headings = append(p.Headings, heading{2, d.Name, letter})
		}
	}
	return p
}

// followed is the type that a reference refers to, or the type itself.
func (r *referencer) followed(s *schema.Schema) *schema.Schema {
	if s != nil && s.Ref != "" {
		return r.Components.Schemas.Get(s.Name())
	}
	return s
}

// fields are the members of an object.
func (r *referencer) fields(s *schema.Schema) []field {
	if s == nil {
		return nil
	}
	var all []field
	for _, p := range s.Properties {
		all = append(all, field{p.Name, slices.Contains(s.Required, p.Name), r.typeOf(p.Value), inline(p.Value.Description)})
	}
	return all
}

// typeOf describes a schema in a few words. Named types are links.
func (r *referencer) typeOf(s *schema.Schema) markup {
	if s == nil {
		return ""
	}
	return markup(r.words(s))
}

func (r *referencer) words(s *schema.Schema) string {
	switch {
	case s.Ref != "":
		return fmt.Sprintf(`<a href="%s/types#%s">%[2]s</a>`, r.root, escaped(s.Name()))
	case s.Const != nil:
		return "<code>" + escaped(compact(s.Const)) + "</code>"
	case len(s.Enum) > 0:
		return "one of " + r.values(s.Enum)
	case len(s.OneOf) > 0:
		return r.alternatives(s.OneOf)
	case len(s.AnyOf) > 0:
		return r.alternatives(s.AnyOf)
	}
	kinds, several := s.Type.([]string)
	if !several {
		kind, _ := s.Type.(string)
		kinds = []string{kind}
	}
	words := make([]string, len(kinds))
	for i, kind := range kinds {
		words[i] = r.kind(s, kind)
	}
	text := strings.Join(words, " or ")
	if s.Default != nil {
		text += "; default <code>" + escaped(compact(s.Default)) + "</code>"
	}
	return text
}

func (r *referencer) values(all []any) string {
	texts := make([]string, len(all))
	for i, v := range all {
		texts[i] = "<code>" + escaped(compact(v)) + "</code>"
	}
	return strings.Join(texts, ", ")
}

func (r *referencer) alternatives(all []*schema.Schema) string {
	texts := make([]string, len(all))
	for i, s := range all {
		texts[i] = r.words(s)
	}
	return strings.Join(texts, " or ")
}

// kind is a plain type with its limits.
func (r *referencer) kind(s *schema.Schema, kind string) string {
	switch kind {
	case "string":
		if s.Format != "" {
			return escaped(s.Format)
		}
		return "string" + limits(s.MinLength, s.MaxLength, "characters")
	case "integer", "number":
		switch {
		case s.Minimum != nil && s.Maximum != nil:
			return fmt.Sprintf("%s, %v to %v", kind, s.Minimum, s.Maximum)
		case s.Minimum != nil:
			return fmt.Sprintf("%s, at least %v", kind, s.Minimum)
		case s.Maximum != nil:
			return fmt.Sprintf("%s, at most %v", kind, s.Maximum)
		}
	case "array":
		text := "array"
		if s.Items != nil {
			text += " of " + r.words(s.Items)
		}
		return text + limits(s.MinItems, s.MaxItems, "elements")
	case "object":
		if values, is := s.AdditionalProperties.(*schema.Schema); is {
			return "object by key of " + r.words(values)
		}
	case "":
		return "any value"
	}
	return escaped(kind)
}

func limits(lowest, highest int, what string) string {
	switch {
	case lowest == 0 && highest == 0:
		return ""
	case lowest == highest:
		return fmt.Sprintf(", %d %s", lowest, what)
	case highest == 0:
		return fmt.Sprintf(", at least %d %s", lowest, what)
	case lowest == 0:
		return fmt.Sprintf(", at most %d %s", highest, what)
	}
	return fmt.Sprintf(", %d to %d %s", lowest, highest, what)
}

// compact is a value as JSON on one line.
func compact(value any) string { return strings.Join(strings.Fields(indented(value)), " ") }
