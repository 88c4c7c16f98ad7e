package query

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"atlas/internal/input"
	"atlas/search/catalog"
)

// namesFirm reports whether a text is probably the name of a firm: it ends with a legal
// form, or contains one that has no other meaning.
func namesFirm(text string) bool {
	words := catalog.Words(catalog.Fold(text))
	for i, w := range words {
		form := catalog.LegalForms[w]
		last := i == len(words)-1
		if i > 0 && form != "" && (last || len(w) > 2 && w != "company" && w != "limited") {
			return true
		}
	}
	return false
}

// byMatch is the hint, for a search without results, that match finds what the text names;
// "" if the text is probably not a name.
func byMatch(d catalog.Dataset, text string) string {
	text = strings.TrimSpace(text)
	if words := len(catalog.Words(catalog.Fold(text))); strings.Contains(text, "@") || words == 0 || words == 1 && d != catalog.Accounts {
		return ""
	}
	body := cmp.Or(
		input.Wrapped(`{"inputs":[{"ref":"1","name":`, input.Value{Kind: input.String, Text: text}, `}]}`),
		`{"inputs":[`+exampleMatchInput+`]}`,
	)
	of, finds, then := d, "the "+d.Singular()+" that a name means, however it is written", ""
	if d != catalog.Accounts && namesFirm(text) {
		of, finds = catalog.Accounts, "the firm that a name means, however it is written"
		for _, key := range []string{"account_ids", "account_id"} {
			if slices.Contains(catalog.Keys(catalog.FilterFields(d, catalog.Data)), key) {
				then = fmt.Sprintf(`; the filter %q finds the %s of its id`, key, d)
			}
		}
	}
	if !slices.Contains(Matched, of) {
		return ""
	}
	return fmt.Sprintf("`match_%s` finds %s: %s%s", of, finds, body, then)
}
