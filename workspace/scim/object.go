package scim

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"atlas/internal/fault"
	"atlas/internal/input"
)

// reason is the message of an error for the client.
func reason(err error) string {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// member returns the member of an object with a name in any case.
func member(v input.Value, name string) input.Value {
	for _, m := range v.Members {
		if lower(m.Name) == lower(name) {
			return m.Value
		}
	}
	return input.Value{}
}

// Decode reads a JSON object.
func Decode(body []byte) (input.Value, error) {
	v, issues := input.Decode(body)
	if len(issues) > 0 {
		return v, refuse(InvalidSyntax, "%s", issues[0].Message)
	}
	if len(v.Members) == 0 {
		return v, refuse(InvalidSyntax, "the body is empty: send a JSON object as application/scim+json")
	}
	return v, nil
}

// checkSchemas refuses a body that does not list the schema. It may list others, whose values
// are not stored: Entra sends one of its own.
func (s *schema) checkSchemas(v input.Value) error {
	for _, each := range member(v, "schemas").Items {
		if each.Kind == input.String && lower(each.Text) == lower(s.urn) {
			return nil
		}
	}
	return refuse(InvalidSyntax, "schemas must name %s", s.urn)
}

// read parses a resource from a body. It ignores values that are unknown, read-only or not
// stored (RFC 7644, 3.3).
func (s *schema) read(v input.Value) (object, error) {
	if err := s.checkSchemas(v); err != nil {
		return nil, err
	}
	o := object{}
	for _, m := range v.Members {
		a := find(s.attributes, m.Name)
		if a == nil || a.readOnly || a.kind == foreign {
			continue
		}
		if o[a.name] != nil {
			return nil, refuse(InvalidSyntax, "%s is given twice", a.name)
		}
		value, err := a.read(m.Value)
		if err != nil {
			return nil, err
		}
		o.set(a, value)
	}
	return o, nil
}

// set sets or, with nil, removes a value.
func (o object) set(a *attribute, value any) {
	switch v := value.(type) {
	case nil:
		delete(o, a.name)
	case object:
		if len(v) == 0 {
			delete(o, a.name)
			return
		}
		o[a.name] = v
	case []object:
		if len(v) == 0 {
			delete(o, a.name)
			return
		}
		o[a.name] = v
	default:
		o[a.name] = v
	}
}

// read parses a value of the attribute. Null and an empty text are nil.
func (a *attribute) read(v input.Value) (any, error) {
	switch {
	case a.multi && v.Kind == input.Array:
		list := make([]object, 0, len(v.Items))
		for _, item := range v.Items {
			each, err := a.readOne(item)
			if err != nil {
				return nil, err
			}
			list = append(list, each)
		}
		return list, nil
	case v.Kind == input.Null || v.Kind == input.Absent:
		return nil, nil
	case a.multi:
		each, err := a.readOne(v)
		return []object{each}, err
	case a.kind == complexKind:
		return a.readOne(v)
	case a.kind == boolean:
		return a.readBoolean(v)
	case a.kind == foreign:
		return nil, nil
	}
	return a.readText(v)
}

func (a *attribute) readText(v input.Value) (any, error) {
	// Entra wraps single values in a list.
	if v.Kind == input.Array && len(v.Items) == 1 && v.Items[0].Kind == input.Object {
		v = member(v.Items[0], "value")
	}
	if v.Kind != input.String {
		return nil, refuse(InvalidValue, "%s must be a text, not %s", a.name, v.Kind)
	}
	t := strings.TrimSpace(v.Text)
	switch {
	case t == "":
		return nil, nil
	case utf8.RuneCountInString(t) > maxText:
		return nil, refuse(InvalidValue, "%s has at most %d characters", a.name, maxText)
	case strings.ContainsFunc(t, unicode.IsControl) || !utf8.ValidString(t):
		return nil, refuse(InvalidValue, "%s must not have control characters", a.name)
	}
	return t, nil
}

func (a *attribute) readBoolean(v input.Value) (any, error) {
	if v.Kind == input.Bool {
		return v.Bool, nil
	}
	switch t := lower(strings.TrimSpace(v.Text)); {
	case v.Kind == input.String && t == "true": // Entra sends "True" and "False"
		return true, nil
	case v.Kind == input.String && t == "false":
		return false, nil
	}
	return nil, refuse(InvalidValue, "%s must be true or false", a.name)
}

// readOne parses a complex value, or an element of a list.
func (a *attribute) readOne(v input.Value) (object, error) {
	if v.Kind == input.String && a.multi {
		v = input.Value{Kind: input.Object, Members: []input.Member{{Name: "value", Value: v}}}
	}
	if v.Kind != input.Object {
		return nil, refuse(InvalidValue, "%s must be an object, not %s", a.name, v.Kind)
	}
	o := object{}
	for _, m := range v.Members {
		sub := find(a.sub, m.Name)
		if sub == nil || sub.kind == foreign {
			continue
		}
		value, err := sub.read(m.Value)
		if err != nil {
			return nil, refuse(InvalidValue, "%s.%s", a.name, reason(err))
		}
		o.set(sub, value)
	}
	for i := range a.sub {
		if a.sub[i].required && o[a.sub[i].name] == nil {
			return nil, refuse(InvalidValue, "%s needs %s", a.name, a.sub[i].name)
		}
	}
	return o, nil
}

// clone copies a resource, whose lists a patch changes.
func (o object) clone() object {
	c := make(object, len(o))
	for name, v := range o {
		switch v := v.(type) {
		case object:
			c[name] = v.clone()
		case []object:
			list := make([]object, len(v))
			for i := range v {
				list[i] = v[i].clone()
			}
			c[name] = list
		default:
			c[name] = v
		}
	}
	return c
}
