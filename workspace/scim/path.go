package scim

import "strings"

// path is the target of an operation of a PATCH: attribute, attribute.sub,
// attribute[filter] or attribute[filter].sub (RFC 7644, 3.5.2).
type path struct {
	attribute, sub *attribute
	filter         node // nil: none
}

// ignored reports whether the target is not stored.
func (p path) ignored() bool {
	return p.attribute.kind == foreign || p.sub != nil && p.sub.kind == foreign
}

func parsePath(of *schema, text string) (path, error) {
	if len(text) > MaxFilter {
		return path{}, refuse(InvalidPath, "a path has at most %d bytes", MaxFilter)
	}
	p := &parser{text: text, of: of}
	name := p.word()
	if rest, extension, ok := of.ofSchema(name); ok && rest == "" && (extension || name != "") {
		if !extension {
			return path{}, refuse(InvalidPath, "the path %.100q names no attribute", text)
		}
		return path{attribute: &foreignAttribute}, nil
	}
	a, sub, err := p.resolve(name)
	if err != nil || name == "" {
		return path{}, refuse(InvalidPath, "a %s has no attribute %.100q", of.name, text)
	}
	target := path{attribute: a, sub: sub}
	if p.at < len(text) && text[p.at] == '[' {
		if sub != nil || !a.multi && a.kind != foreign {
			return path{}, refuse(InvalidPath, "only a list has conditions in brackets, and %s is none", a.name)
		}
		p.at++
		if target.filter, err = p.brackets(a); err != nil {
			return path{}, refuse(InvalidPath, "the path %.100q: %s", text, reason(err))
		}
		if rest, ok := strings.CutPrefix(text[p.at:], "."); ok {
			if target.sub = a.within(rest); target.sub == nil {
				return path{}, refuse(InvalidPath, "%s has no %.100q", a.name, rest)
			}
			p.at = len(text)
		}
	}
	if p.at < len(text) {
		return path{}, refuse(InvalidPath, "the path %.100q does not end where an attribute does", text)
	}
	return target, nil
}

// start returns the values that an element needs to match a filter of eq comparisons: if no
// element matches, such a one can be added.
func (p path) start() (object, bool) {
	switch n := p.filter.(type) {
	case compare:
		if n.op != "eq" || n.value == nil || n.attribute.kind == foreign {
			return nil, false
		}
		return object{n.attribute.name: n.value}, true
	case both:
		left, ok := path{filter: n.left}.start()
		right, also := path{filter: n.right}.start()
		for name, v := range right {
			if ok && also {
				left[name] = v
			}
		}
		return left, ok && also
	}
	return nil, false
}
