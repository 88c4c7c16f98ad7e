package book

import (
	"math"
	"slices"

	"golang.org/x/text/unicode/norm"

	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/catalog"
)

// DistinctTags returns tags in their stored form: without duplicates, in the first
// spelling, in Unicode's composed form (NFC). Two tags are equal if they have the same
// folded text (docs/api.md, "Folding").
func DistinctTags(tags []string) []string {
	distinct := make([]string, 0, len(tags))
	seen := make(map[string]bool, len(tags))
	for _, tag := range tags {
		if folded := catalog.Fold(tag); !seen[folded] {
			seen[folded] = true
			distinct = append(distinct, norm.NFC.String(tag))
		}
	}
	return distinct
}

// distinctRule reads a list in the form of DistinctTags. Length limits apply to that
// form.
func distinctRule(f catalog.Field) rule.Rule[[]string] {
	each := rule.Text(f.MinChars, f.MaxChars)
	given := rule.Array("strings", each, 0, math.MaxInt) // the body's size bounds it
	return rule.New(schema.Array(
		each.Schema, 0, f.MaxItems,
	), input.Array, "an array of strings", func(issues *input.Issues, v input.Value, path []string) ([]string, bool) {
		v.Items = slices.Clone(v.Items)
		for i := range v.Items {
			v.Items[i].Text = norm.NFC.String(v.Items[i].Text)
		}
		tags := DistinctTags(given.Read(issues, v, path...))
		return tags, issues.Length(len(tags), 0, f.MaxItems, path...)
	}).
		Instead(func(v input.Value) string {
			if v.Kind == input.Null {
				return "[]"
			}
			return given.Suggestion(v)
		})
}
