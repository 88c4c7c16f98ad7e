package query

import (
	"slices"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/search/catalog"
)

// Bounds of the groups of one request, of `any` and `none` together (docs/api.md, "Search
// requests").
const (
	MaxGroups = 10
	// MaxGroupConditions bounds the keys of filters and relations in groups. A relation
	// and each key in it count.
	MaxGroupConditions = 50
)

// groupsRule reads the groups of `any` or of `none`.
func groupsRule(d catalog.Dataset, base catalog.BaseKind) rule.Rule[[]conditions] {
	return rule.Array("groups", groupRule(d, base), 1, MaxGroups).Advise(fault.TooSmall, "leave it out if there are no groups")
}

// addAny adds groups of which one must match.
func (c *conditions) addAny(groups []conditions) {
	some := make(Any, len(groups))
	for i, g := range groups {
		some[i] = g.where
		c.terms += g.terms
	}
	c.where = append(c.where, some)
}

// addNone adds groups of which none may match.
func (c *conditions) addNone(groups []conditions) {
	for _, g := range groups {
		c.add(conditions{All{Not{g.where}}, g.terms})
	}
}

// boundGroups checks the bounds of all groups of a request.
func boundGroups(issues *input.Issues, r *input.Reader, _ *request) {
	some, none := r.Take("any").Items, r.Take("none").Items
	groups := slices.Concat(some, none)
	if len(groups) > MaxGroups && max(len(some), len(none)) <= MaxGroups {
		issues.Add(fault.TooBig, r.Path(), "any and none must have at most %d groups together, have %d", MaxGroups, len(groups))
	}
	n := 0
	for _, g := range groups {
		n += countConditions(g)
	}
	if n > MaxGroupConditions {
		issues.Add(fault.TooBig, r.Path(), "the groups must have at most %d conditions together, have %d", MaxGroupConditions, n)
	}
}

// groupRule reads a group { filters, relations }, whose conditions must all match.
func groupRule(d catalog.Dataset, base catalog.BaseKind) rule.Rule[conditions] {
	all := rule.Object(
		rule.OptionalFunc("filters", filtersRule(d, base), (*conditions).add),
		rule.OptionalFunc("relations", relationsRule(d), (*conditions).add),
		rule.Elsewhere[conditions](outsideRequest(d, base)),
	)
	all.Schema.MinProperties = 1
	name := d.Title() + "Group"
	if base != catalog.Data {
		name = "Workspace" + name
	}
	return rule.New(all.Schema, input.Object, "an object", func(issues *input.Issues, v input.Value, path []string) (conditions, bool) {
		before := len(*issues)
		c := all.Read(issues, v, path...)
		if len(c.where) == 0 && len(*issues) == before {
			issues.Add(fault.TooSmall, path, "a group must have at least 1 condition")
		}
		return c, true
	}).Instead(func(v input.Value) string {
		if v.Kind != input.Object || v.Get("filters").Kind == input.Absent && v.Get("relations").Kind == input.Absent {
			return `{"filters":` + exampleFilters(d) + "}"
		}
		return v.JSON()
	}).Described("At least one condition. All must be met.").Named(name)
}

func countConditions(group input.Value) int {
	relations := group.Get("relations").Members
	n := len(group.Get("filters").Members) + len(relations)
	for _, m := range relations {
		n += len(m.Value.Members)
	}
	return n
}
