package api

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/search/catalog"
	"atlas/service/endpoint"
	"atlas/workspace/webhooks"
)

const referencePage = "../../docs/api.md"

// reference is the text of docs/api.md between two others.
func reference(t *testing.T, from, to string) string {
	t.Helper()
	raw, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	_, part, found := strings.Cut(string(raw), from)
	part, _, ended := strings.Cut(part, to)
	if !found || !ended {
		t.Fatalf("%s has nothing between %q and %q", referencePage, from, to)
	}
	return part
}

// tableUnder returns the cells of the table in a section of docs/api.md.
func tableUnder(t *testing.T, heading string) (rows [][]string) {
	t.Helper()
	for line := range strings.Lines(reference(t, "\n"+heading+"\n", "\n## ")) {
		if row, ok := strings.CutPrefix(strings.TrimSpace(line), "| "); ok {
			rows = append(rows, strings.Split(row, "|"))
		}
	}
	return rows
}

var backquoted = regexp.MustCompile("`([a-z0-9_]+)`")

// namesIn lists the names in backquotes, sorted, each once.
func namesIn(text string) []string {
	names := map[string]bool{}
	for _, m := range backquoted.FindAllStringSubmatch(text, -1) {
		names[m[1]] = true
	}
	return slices.Sorted(maps.Keys(names))
}

func TestReferenceNamesEveryOperation(t *testing.T) {
	t.Parallel()
	named := namesIn(reference(t, "\n", "\n## Health"))
	// The table has the book's routes for accounts.
	ofAccounts := regexp.MustCompile(`_workspace_(contact|project)(s?)`)
	var unthrottled []string
	for _, r := range (&Server{}).Routes() {
		if _, found := slices.BinarySearch(named, ofAccounts.ReplaceAllString(r.Operation, "_workspace_account$2")); !found {
			t.Errorf("%s does not name %s", referencePage, r.Operation)
		}
		if r.Throttling == endpoint.Never {
			unthrottled = append(unthrottled, r.Operation)
		}
	}
	slices.Sort(unthrottled)
	if diff := cmp.Diff(unthrottled, namesIn(reference(t, "**Never throttled**:", "\n"))); diff != "" {
		t.Errorf("never throttled (-routes +%s):\n%s", referencePage, diff)
	}
}

// TestReferenceSaysWhatDrawsTokens: each kind of free operation has a section, and the
// section of the limit links to it.
func TestReferenceSaysWhatDrawsTokens(t *testing.T) {
	t.Parallel()
	limit := reference(t, "## The limit for free operations", "\n## ")
	page := reference(t, "\n", "\n## Health")
	for _, r := range (&Server{}).Routes() {
		if r.Throttling != endpoint.Limited {
			continue
		}
		_, operation, _ := strings.Cut(r.Operation, "_")
		if kind, _, _ := strings.Cut(r.Operation, "_"); kind != "get" {
			operation = map[string]string{
				"facet": "facets", "pivot": "pivot", "suggest": "suggestions", "test": "webhooks", "replay": "webhooks",
				"read": "changes-of-the-workspace",
			}[kind]
		}
		if !strings.Contains(limit, "(#"+operation+")") ||
			!strings.Contains(strings.ToLower(page), "\n## "+strings.ReplaceAll(operation, "-", " ")+"\n") {
			t.Errorf("%s does not say that %s draws on the limit", referencePage, r.Operation)
		}
	}
}

// The table under "Records" and the sentence above it list the fields of the catalog.
func TestReferenceListsFields(t *testing.T) {
	t.Parallel()
	doubles := map[string]bool{}
	cells := map[string]map[catalog.Dataset]string{}
	order := []catalog.Dataset{catalog.Accounts, catalog.Contacts, catalog.Projects, catalog.Signals}
	for _, row := range tableUnder(t, "## Records") {
		if len(row) > len(order) {
			of := map[catalog.Dataset]string{}
			for i, d := range order {
				of[d] = row[i+1]
			}
			cells[strings.TrimSpace(row[0])] = of
		}
	}
	for _, d := range order {
		searched, inWords, unfiltered := map[string]bool{}, map[string]bool{}, map[string]bool{}
		for _, f := range catalog.Fields(d) {
			if f.Query {
				searched[f.Name] = true
			}
			if f.Words || f.FirmNames {
				inWords[f.Name] = true
			}
			if f.Kind == catalog.Plain && f.Name != "id" {
				unfiltered[f.Name] = true
			}
			if f.Type == catalog.Double {
				doubles[f.Name] = true
			}
		}
		for title, want := range map[string]map[string]bool{
			"searched by `query`": searched, "also, unless `words` is `exact`": inWords, "without a filter": unfiltered,
		} {
			if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), namesIn(cells[title][d])); diff != "" {
				t.Errorf("%s, %s (-catalog +%s):\n%s", d, title, referencePage, diff)
			}
		}
	}
	sentence := reference(t, "empty lists are `[]`.", "are doubles;")
	if diff := cmp.Diff(slices.Sorted(maps.Keys(doubles)), namesIn(sentence)); diff != "" {
		t.Errorf("doubles (-catalog +%s):\n%s", referencePage, diff)
	}
}

func TestReferenceListsEvents(t *testing.T) {
	t.Parallel()
	var listed []webhooks.Event
	for line := range strings.Lines(reference(t, "\n| Event | When | `data` |\n|---|---|---|\n", "\n\n")) {
		listed = append(listed, webhooks.Event(strings.Split(line, "`")[1]))
	}
	want := append(webhooks.Events(), webhooks.TestEvent)
	slices.Sort(listed)
	slices.Sort(want)
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("%s lists other events (-want +got):\n%s", referencePage, diff)
	}
}

func TestReferenceListsVocabularies(t *testing.T) {
	t.Parallel()
	listed := map[string]string{} // by key, or key and dataset
	for _, row := range tableUnder(t, "## Enumerations") {
		key := strings.NewReplacer("`", "", "(", "", ")", "").Replace(row[0])
		listed[strings.TrimSpace(key)] = strings.TrimSpace(row[1])
	}
	for _, d := range catalog.Datasets {
		for _, f := range slices.Concat(catalog.Fields(d), catalog.OverlayFields(d)) {
			if f.Kind != catalog.Enum || f.Dynamic() {
				continue
			}
			got, found := listed[f.Key+" "+string(d)]
			if !found {
				got = listed[f.Key]
			}
			if want := strings.Join(f.Vocabulary.Values(), ", "); got != want {
				t.Errorf("%s: %s of %s: %q, want %q", referencePage, f.Key, d, got, want)
			}
		}
	}
}

// The section on the book lists the effects of each value that a workspace writes, and the
// searchable ones.
func TestReferenceListsOverlayFields(t *testing.T) {
	t.Parallel()
	written, filters := namesIn(reference(t, "\nAn upsert names the record by", "\n")), namesIn(
		reference(t, "\n- Searches accept the dataset's filters, and", "\n"),
	)
	var want []string
	for _, d := range catalog.Held {
		for _, f := range catalog.OverlayFields(d) {
			if f.Kind != catalog.Plain {
				want = append(want, f.Key)
			}
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(slices.Compact(want), filters); diff != "" {
		t.Errorf("filters of the book (-catalog +%s):\n%s", referencePage, diff)
	}
	for _, f := range catalog.WrittenFields() {
		if !slices.Contains(written, f.Name) {
			t.Errorf("%s does not say how an upsert changes %s", referencePage, f.Name)
		}
	}
}
