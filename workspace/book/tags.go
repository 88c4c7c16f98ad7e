package book

import (
	"slices"

	"golang.org/x/text/unicode/norm"

	"atlas/internal/input"
	"atlas/search/query"
)

// DistinctTags returns tags in their stored form: without duplicates, in the first
// spelling, in Unicode's composed form (NFC). Two tags are equal if they have the same
// folded text (docs/api.md, "Folding").
func DistinctTags(tags []string) []string {
	distinct := make([]string, 0, len(tags))
	seen := make(map[string]bool, len(tags))
	for _, tag := range tags {
		if folded := query.Fold(tag); !seen[folded] {
			seen[folded] = true
			distinct = append(distinct, norm.NFC.String(tag))
		}
	}
	return distinct
}

// readDistinct reads a list in the form of DistinctTags. Length limits apply to that
// form.
func readDistinct(issues *input.Issues, v input.Value, f query.Field, path []string) []string {
	v.Items = slices.Clone(v.Items)
	for i := range v.Items {
		v.Items[i].Text = norm.NFC.String(v.Items[i].Text)
	}
	// The body's size bounds the list; only distinct tags count.
	given := issues.Strings(v, input.List{Max: len(v.Items), Each: input.Text{Min: f.MinChars, Max: f.MaxChars}}, path...)
	tags := DistinctTags(given)
	issues.Length(len(tags), 0, f.MaxItems, path...)
	return tags
}
