package reading

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"atlas/search/catalog"
	"atlas/search/words"
)

// meaning is what a term means for a field.
type meaning struct {
	key    string
	values []string
	// weak terms also occur in names; narrow ones mean less than the value.
	weak, narrow bool
}

//go:embed terms.txt
var termsTable string

// terms are the meanings of terms, longestTerm the maximum number of words of a term.
var terms, longestTerm = func() (map[string][]meaning, int) {
	all, longest := map[string][]meaning{}, 0
	add := func(text string, m meaning) {
		if !slices.ContainsFunc(all[text], func(other meaning) bool { return other.key == m.key }) {
			all[text] = append(all[text], m)
		}
		longest = max(longest, strings.Count(text, " ")+1)
	}
	for line := range strings.Lines(termsTable) {
		name, list, is := strings.Cut(strings.TrimSpace(line), ":")
		if !is || strings.HasPrefix(line, "#") {
			continue
		}
		said := strings.Fields(name)
		for term := range strings.SplitSeq(list, ",") {
			term = strings.TrimSpace(term)
			plain := strings.TrimLeft(term, "~+=")
			signs := term[:len(term)-len(plain)]
			m := meaning{said[0], said[1:], strings.Contains(signs, "~"), strings.Contains(signs, "+")}
			for _, text := range words.Published.Spellings(plain, !strings.Contains(signs, "=")) {
				add(text, m)
			}
		}
	}
	for _, d := range catalog.Datasets {
		for _, f := range catalog.FilterFields(d, catalog.Book) {
			for _, t := range f.Vocabulary {
				if t.Value == "other" || t.Value == "unknown" {
					continue
				}
				for _, text := range words.Published.Spellings(strings.Join(words.Texts(catalog.Fold(t.Label)), " "), false) {
					add(text, meaning{key: f.Key, values: []string{t.Value}})
				}
			}
		}
	}
	return all, longest
}()

// nouns are the words for records of a dataset.
var nouns = listed(map[catalog.Dataset]string{
	catalog.Projects: "project permit job development site building property work portfolio",
	catalog.Accounts: "firm company account business",
	catalog.Contacts: "contact people person",
	catalog.Signals:  "signal event alert news",
})

func listed(of map[catalog.Dataset]string) map[catalog.Dataset]map[string]bool {
	all := map[catalog.Dataset]map[string]bool{}
	for d, list := range of {
		all[d] = map[string]bool{}
		for word := range strings.FieldsSeq(list) {
			for _, form := range words.Published.Forms(word) {
				all[d][form] = true
			}
		}
	}
	return all
}

func wordSet(list string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		all[word] = true
	}
	return all
}

var (
	// asking are words of questions that do not restrict the result.
	asking = wordSet("show me find list give get all any every please which who what whose that are is have has had i we want need looking search see there doing done currently now still also only just some our us worth valued value cost costs costing priced budget put yet stage status type use disposition role")
	// denying are words that negate what follows: such a text is not read.
	denying = wordSet("not no non without except excluding exclude never isnt arent but minus neither nor")
	// linking are words that lead from firms and people to their projects.
	linking = wordSet("building build builds built constructing construct developing develop develops designing design designs doing does worked with having have has working work on behind who that whose managing manage manages running leading delivering financing supplying")
	// placing are words that precede places.
	placing = wordSet("in near at from around within across of for")
	// legalForms occur only in names of firms.
	legalForms = wordSet("inc incorporated ltd ltee corp corporation llc llp ulc plc gmbh")
)

// fieldOf is the field of a meaning in a dataset.
func fieldOf(d catalog.Dataset, base catalog.BaseKind, key string) (*catalog.Field, bool) {
	fields := catalog.FilterFields(d, base)
	for i := range fields {
		if fields[i].Key == key {
			return &fields[i], true
		}
	}
	return nil, false
}

// labels are the names of fields for people; the Explorer uses the same.
var labels = map[string]string{
	"stage": "Stage", "primary_use": "Use", "cost": "Cost", "permitted_at": "Permit issued", "filed_at": "Permit filed",
	"completed_at": "Completed", "disposition": "Disposition", "gc_status": "General contractor", "residential_units": "Homes",
	"sqft": "Floor area (sq ft)", "stories": "Stories", "last_signal_at": "Latest signal", "account_type": "Kind of firm",
	"projects_count": "Projects", "contacts_count": "People", "signals_count": "Signals", "last_activity_at": "Latest activity",
	"signal_type": "Signal", "occurred_at": "Happened", "detected_at": "Detected", "icp_tier": "Tier", "atlas_score": "Atlas score",
	"city": "City", "state": "State", "country": "Country", "role": "Role", "status": "Status",
	"created_at": "Created", "updated_at": "Updated",
}

func label(key string) string {
	if l, known := labels[key]; known {
		return l
	}
	panic(fmt.Sprintf("the field %s has no label", key)) // a test reads all keys
}
