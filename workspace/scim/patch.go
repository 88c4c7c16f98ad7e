package scim

import (
	"slices"

	"atlas/internal/input"
)

// Patch has the operations of a PATCH, in order.
type Patch []operation

// operation is one operation of a PATCH (RFC 7644, 3.5.2).
type operation struct {
	op, path string
	value    input.Value
}

// The operations, as the standard writes them; Entra capitalizes them.
const (
	opAdd     = "add"
	opReplace = "replace"
	opRemove  = "remove"
)

// ParsePatch reads the body of a PATCH.
func ParsePatch(v input.Value) (Patch, error) {
	message := schema{urn: PatchMessage, name: "patch"}
	if err := message.checkSchemas(v); err != nil {
		return nil, err
	}
	list := member(v, "Operations")
	switch {
	case list.Kind != input.Array || len(list.Items) == 0:
		return nil, refuse(InvalidSyntax, "Operations must be a list of at least one operation")
	case len(list.Items) > MaxOperations:
		return nil, refuse(TooMany, "a PATCH has at most %d operations", MaxOperations)
	}
	var p Patch
	for _, item := range list.Items {
		op, path := member(item, "op"), member(item, "path")
		o := operation{lower(op.Text), path.Text, member(item, "value")}
		switch {
		case item.Kind != input.Object || op.Kind != input.String || !slices.Contains([]string{opAdd, opReplace, opRemove}, o.op):
			return nil, refuse(InvalidSyntax, "an operation needs an op: add, replace or remove")
		case path.Kind != input.Absent && path.Kind != input.Null && path.Kind != input.String:
			return nil, refuse(InvalidPath, "a path must be a text")
		case o.op != opRemove && o.value.Kind == input.Absent:
			return nil, refuse(InvalidValue, "the operation %s needs a value", o.op)
		}
		p = append(p, o)
	}
	return p, nil
}

// patched returns a resource after the operations.
func (s *schema) patched(before object, p Patch) (object, error) {
	o := before.clone()
	for _, op := range p {
		if err := s.apply(o, op); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (s *schema) apply(o object, op operation) error {
	if op.path != "" {
		target, err := parsePath(s, op.path)
		if err != nil {
			return err
		}
		if target.attribute.readOnly || target.sub != nil && target.sub.readOnly {
			return refuse(Mutability, "%s is set by Atlas", target.attribute.name)
		}
		return o.change(target, op)
	}
	if op.op == opRemove {
		return refuse(NoTarget, "the operation remove needs a path")
	}
	if op.value.Kind != input.Object {
		return refuse(InvalidValue, "without a path the value of %s must be an object of attributes", op.op)
	}
	// The members are attributes or, from Entra, paths.
	for _, m := range op.value.Members {
		target, err := parsePath(s, m.Name)
		if err != nil {
			return err
		}
		if target.attribute.readOnly {
			continue // as in a whole resource
		}
		if err := o.change(target, operation{op.op, m.Name, m.Value}); err != nil {
			return err
		}
	}
	return nil
}

// change applies an operation to a target.
func (o object) change(t path, op operation) error {
	if t.ignored() {
		return nil
	}
	a := t.attribute
	switch {
	case a.multi:
		list, _ := o[a.name].([]object)
		list, err := changeList(list, t, op)
		if err == nil {
			o.set(a, list)
		}
		return err
	case t.sub != nil:
		part, _ := o[a.name].(object)
		if part == nil {
			part = object{}
		}
		value, err := t.sub.read(op.value)
		if op.op == opRemove {
			value, err = nil, nil
		}
		part.set(t.sub, value)
		o.set(a, part)
		return err
	case op.op == opRemove:
		if a.required {
			return refuse(InvalidValue, "%s is required and cannot be removed", a.name)
		}
		delete(o, a.name)
		return nil
	}
	value, err := a.read(op.value)
	if parts, ok := value.(object); ok && err == nil { // others stay
		merged, _ := o[a.name].(object)
		merged = merged.clone()
		for name, v := range parts {
			merged[name] = v
		}
		value = merged
	}
	if err == nil {
		o.set(a, value)
	}
	return err
}

// changeList applies an operation to a list.
func changeList(list []object, t path, op operation) ([]object, error) {
	if t.filter != nil {
		return changeSome(list, t, op)
	}
	if t.sub != nil {
		return nil, refuse(InvalidPath, "say which of %s: %s[type eq \"work\"].%s", t.attribute.name, t.attribute.name, t.sub.name)
	}
	if op.op == opRemove && op.value.Kind == input.Absent {
		return nil, nil
	}
	given, err := t.attribute.read(op.value)
	if err != nil {
		return nil, err
	}
	values, _ := given.([]object)
	switch op.op {
	case opAdd:
		return merge(list, values), nil
	case opRemove: // Entra sends the elements to remove in the value
		gone := map[string]bool{}
		for _, v := range values {
			gone[t.attribute.key(v)] = true
		}
		return slices.DeleteFunc(list, func(each object) bool { return gone[t.attribute.key(each)] }), nil
	}
	return merge(nil, values), nil
}

// key identifies elements of the list.
func (a *attribute) key(o object) string {
	value, _ := o["value"].(string)
	if find(a.sub, "value").exact {
		return value
	}
	return fold(value)
}

// merge adds elements to a list. An element replaces one with the same value. A new primary
// element becomes the only primary one.
func merge(list, added []object) []object {
	at := make(map[string]int, len(list))
	for i, each := range list {
		value, _ := each["value"].(string)
		at[fold(value)] = i
	}
	for _, each := range added {
		value, _ := each["value"].(string)
		if each["primary"] == true {
			for _, other := range list {
				delete(other, "primary")
			}
		}
		i, there := at[fold(value)]
		if !there {
			at[fold(value)] = len(list)
			list = append(list, each)
			continue
		}
		for name, v := range each {
			list[i][name] = v
		}
	}
	return list
}

// changeSome applies an operation to the elements that match a filter.
func changeSome(list []object, t path, op operation) ([]object, error) {
	if op.op == opRemove && t.sub == nil {
		left := slices.DeleteFunc(list, t.filter.takes)
		return left, nil // also if there was none: then the operation is a repetition
	}
	value := op.value
	if t.sub != nil && op.op != opRemove {
		value = input.Value{Kind: input.Object, Members: []input.Member{{Name: t.sub.name, Value: value}}}
	}
	found := false
	for _, each := range list {
		if !t.filter.takes(each) {
			continue
		}
		found = true
		if op.op == opRemove {
			if t.sub.required {
				return nil, refuse(InvalidValue, "%s needs %s: remove the whole element", t.attribute.name, t.sub.name)
			}
			delete(each, t.sub.name)
			continue
		}
		if err := each.fill(t.attribute, value); err != nil {
			return nil, err
		}
	}
	if found || op.op == opRemove {
		return list, nil
	}
	// Entra replaces the address of a type that the person does not have yet.
	fresh, ok := t.start()
	if !ok {
		return nil, refuse(NoTarget, "no element of %s is as the path %.100q says", t.attribute.name, op.path)
	}
	if err := fresh.fill(t.attribute, value); err != nil {
		return nil, err
	}
	if fresh["value"] == nil {
		return nil, refuse(NoTarget, "no element of %s is as the path %.100q says", t.attribute.name, op.path)
	}
	return merge(list, []object{fresh}), nil
}

// fill sets the parts of an element from an object.
func (o object) fill(a *attribute, v input.Value) error {
	if v.Kind != input.Object {
		return refuse(InvalidValue, "%s must be an object, not %s", a.name, v.Kind)
	}
	for _, m := range v.Members {
		sub := find(a.sub, m.Name)
		if sub == nil || sub.kind == foreign {
			continue
		}
		value, err := sub.read(m.Value)
		if err == nil && value == nil && sub.required {
			err = refuse(InvalidValue, "%s needs %s", a.name, sub.name)
		}
		if err != nil {
			return err
		}
		o.set(sub, value)
	}
	return nil
}
