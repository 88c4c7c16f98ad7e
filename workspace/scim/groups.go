package scim

import (
	"bytes"
	"slices"
	"time"

	"atlas/internal/input"
	"atlas/workspace"
	"atlas/workspace/people"
)

func meta(created, modified time.Time) object {
	return object{
		"created": created.UTC().Format(workspace.TimeFormat), "lastModified": modified.UTC().Format(workspace.TimeFormat),
	}
}

// object returns the group in the form of its schema.
func (g Group) object() object {
	o := object{"displayName": g.DisplayName, "meta": meta(g.Created, g.Modified)}
	if !g.ID.IsZero() {
		o["id"] = idText(g.ID)
	}
	if g.ExternalID != "" {
		o["externalId"] = g.ExternalID
	}
	if len(g.Members) > 0 {
		list := make([]object, len(g.Members))
		for i, m := range g.Members {
			list[i] = object{"value": idText(m)}
		}
		o["members"] = list
	}
	return o
}

// with returns the group with the values of an object.
func (g Group) with(o object) (Group, error) {
	g.DisplayName, _ = o["displayName"].(string)
	g.ExternalID, _ = o["externalId"].(string)
	list, _ := o["members"].([]object)
	switch {
	case g.DisplayName == "":
		return g, refuse(InvalidValue, "displayName is required")
	case len(list) > MaxMembers:
		return g, refuse(TooMany, "a group has at most %d members", MaxMembers)
	}
	g.Members = make([]UserID, 0, len(list))
	for _, each := range list {
		value, _ := each["value"].(string)
		id, err := workspace.ParseUUID(value)
		if err != nil {
			return g, refuse(InvalidValue, "members: %.100q is not the id of a User", value)
		}
		g.Members = append(g.Members, UserID(id))
	}
	slices.SortFunc(g.Members, func(a, b UserID) int { return bytes.Compare(a[:], b[:]) })
	g.Members = slices.Compact(g.Members)
	g.Size, g.HasMembers = len(g.Members), true
	return g, nil
}

// NewGroup parses a group from the body of a POST.
func NewGroup(v input.Value) (Group, error) {
	o, err := groupSchema.read(v)
	if err != nil {
		return Group{}, err
	}
	return Group{ID: GroupID(workspace.NewUUID()), Version: 1}.with(o)
}

// Replaced returns the group after a PUT.
func (g Group) Replaced(v input.Value) (Group, error) {
	o, err := groupSchema.read(v)
	if err != nil {
		return Group{}, err
	}
	return g.with(o)
}

// Patched returns the group after a PATCH.
func (g Group) Patched(p Patch) (Group, error) {
	o, err := groupSchema.patched(g.object(), p)
	if err != nil {
		return Group{}, err
	}
	return g.with(o)
}

// Same reports whether all values that a provider sets are equal.
func (g Group) Same(h Group) bool {
	return g.DisplayName == h.DisplayName && g.ExternalID == h.ExternalID && slices.Equal(g.Members, h.Members)
}

// GroupFilter reads a filter of groups.
func GroupFilter(text string, given bool) (Filter, error) {
	if !given {
		return Filter{}, nil
	}
	return parseFilter(&groupSchema, text)
}

// AsksMembers reports whether a filter depends on members.
func (f Filter) AsksMembers() bool { return asks(f.root, "members") }

func asks(n node, name string) bool {
	switch n := n.(type) {
	case both:
		return asks(n.left, name) || asks(n.right, name)
	case either:
		return asks(n.left, name) || asks(n.right, name)
	case not:
		return asks(n.of, name)
	case some:
		return n.attribute.name == name
	case compare:
		return n.attribute.name == name
	}
	return false
}

// Groups returns those that match a filter.
func (f Filter) Groups(all []Group) (taken []Group) {
	for _, g := range all {
		if f.takes(g.object()) {
			taken = append(taken, g)
		}
	}
	return taken
}

// GroupRoles are the roles that a group can give. Owner is none of them: an owner can give the
// workspace away.
func GroupRoles() []people.Role { return []people.Role{people.Admin, people.MemberRole} }
