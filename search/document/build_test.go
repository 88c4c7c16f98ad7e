package document_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"atlas/search/catalog"
	"atlas/search/document"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares JSON, indented, with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	indented := jsontext.Value(bytes.Clone(got))
	if err := indented.Indent(jsontext.WithIndent("  ")); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, got)
	}
	indented = append(indented, '\n')
	path := filepath.Join("testdata", name+".golden.json")
	if *update {
		if err := os.WriteFile(path, indented, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(indented)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// checkDocument checks the requirements of `_bulk` and Elasticsearch for every document.
func checkDocument(t *testing.T, doc []byte) {
	t.Helper()
	if !json.Valid(doc) || bytes.ContainsAny(doc, "\n\r") || doc[0] != '{' {
		t.Errorf("not one line of JSON: %.200q", doc)
	}
	value := jsontext.Value(bytes.Clone(doc))
	if err := value.Canonicalize(); err != nil {
		t.Errorf("a name twice, or bad UTF-8: %v", err)
	}
}

func publicOf(r document.Record) string { return string(r.AppendPublic(nil)) }

// family is a small set of children.
type family struct {
	count  map[catalog.Dataset]int64
	newest map[catalog.Dataset][]document.Child
}

func (f family) Count(d catalog.Dataset) int64             { return f.count[d] }
func (f family) Newest(d catalog.Dataset) []document.Child { return f.newest[d] }
func child(detected int64, r document.Record) document.Child {
	return document.Child{DetectedAt: detected, Fragment: document.Fragment(r)}
}

// full has a value for every input field.
var full = map[catalog.Dataset]string{
	catalog.Accounts: `{"updated_at":"2024-03-02T00:00:00.5Z","created_at":"2024-03-01","id":"` + id1 + `","name":"Büro Łódź & Söhne","account_types":["architect","other"],
		"domains":["büro.example","buero.example"],"website":"https://büro.example/<a>","phone":"+1 (403) 555-0100","description":"We \"build\"\nhouses.","city":"Québec","state":"QC","country":"CA","projects_count":99}`,
	catalog.Projects: `{"id":"` + id1 + `","name":"Tower Ä","description":"A tower","address":"1 Main St.","city":"Calgary","state":"AB","country":"CA","stage":"permitted","disposition":"active",
		"primary_use":"office","residential_units":0,"sqft":1234.5,"stories":12,"cost":1e21,"gc_status":"assigned","filed_at":"2024-01-01","permitted_at":"2024-01-02T03:04:05Z","completed_at":"2024-01-03",
		"detected_at":"2024-01-01","account_ids":["` + id2 + `"],"contact_ids":["` + id2 + `","` + id1 + `"],"source":"City","source_id":"BP2024-00001","source_url":"https://x.example/1","latitude":51.0447,"longitude":-114.0719,"created_at":"2024-01-01","updated_at":"2024-01-03"}`,
	catalog.Contacts: `{"id":"` + id1 + `","name":"Zoë Ångström","title":"Project Manager","email":"Zoe@Example.com","phone":"555","role":"project_manager","status":"active","account_id":"` + id2 + `",
		"account_name":"Büro","city":"Calgary","state":"AB","created_at":"2024-01-01","updated_at":"2024-01-03"}`,
	catalog.Signals: `{"id":"` + id2 + `","signal_type":"permit_filed","title":"Permit filed: Tower Ä","summary":"A tower","project_id":"` + id1 + `","project_name":"Tower Ä","account_ids":["` + id2 + `"],
		"city":"Calgary","state":"AB","stage":"filed","occurred_at":"2024-01-01","detected_at":"2024-01-01T00:00:00.001Z","source":"City","source_id":"BP 2024-00001","source_url":"https://x.example/1","created_at":"2024-01-01","updated_at":"2024-01-03"}`,
}

func TestBuild(t *testing.T) {
	t.Parallel()
	signal := record(t, catalog.Signals, full[catalog.Signals])
	for _, d := range catalog.Datasets {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			project, contact := record(t, catalog.Projects, full[catalog.Projects]), record(t, catalog.Contacts, full[catalog.Contacts])
			signals := []document.Child{child(signal.Millis("detected_at"), signal)}
			document.Build(
				project,
				family{map[catalog.Dataset]int64{catalog.Signals: 1}, map[catalog.Dataset][]document.Child{catalog.Signals: signals}},
			)
			document.Build(contact, document.None{})
			children := family{
				count: map[catalog.Dataset]int64{catalog.Signals: 1234, catalog.Projects: 1, catalog.Contacts: 2},
				newest: map[catalog.Dataset][]document.Child{
					catalog.Signals: signals, catalog.Projects: {child(0, project)}, catalog.Contacts: {child(0, contact), child(0, contact)},
				},
			}
			doc := document.Build(record(t, d, full[d]), children)
			checkDocument(t, doc)
			golden(t, "full_"+string(d), doc)

			doc = document.Build(record(t, d, with(d, "")), document.None{})
			checkDocument(t, doc)
			golden(t, "bare_"+string(d), doc)
		})
	}
}

// A public record has all keys in the catalog's order, for any order of the input.
// Unknown values are null, unknown lists empty.
func TestPublicRecord(t *testing.T) {
	t.Parallel()
	for _, d := range catalog.Datasets {
		for name, line := range map[string]string{"full": full[d], "bare": with(d, "")} {
			r := record(t, d, line)
			document.Build(r, document.None{})
			dec := jsontext.NewDecoder(strings.NewReader(publicOf(r)))
			if _, err := dec.ReadToken(); err != nil {
				t.Fatal(err)
			}
			for _, f := range catalog.Fields(d) {
				key, err := dec.ReadToken()
				if err != nil {
					t.Fatal(err)
				}
				if key.String() != f.Name {
					t.Fatalf("%s %s: the key %s stands where %s belongs", name, d, key, f.Name)
				}
				value, err := dec.ReadValue()
				if err != nil {
					t.Fatal(err)
				}
				if want := f.List(); (value.Kind() == '[') != want {
					t.Errorf("%s %s %s: %s", name, d, f.Name, value)
				}
				if name == "full" && f.Derive == nil && (value.Kind() == 'n' || string(value) == "[]") {
					t.Errorf("the full record of %s has no %s", d, f.Name)
				}
				if f.Type == catalog.Time && value.Kind() == '"' && len(value) != len(`"2024-01-01T00:00:00.000Z"`) {
					t.Errorf("%s %s %s: %s has no milliseconds", name, d, f.Name, value)
				}
			}
			if end, err := dec.ReadToken(); err != nil || end.Kind() != '}' {
				t.Errorf("%s %s: then comes %v, %v", name, d, end, err)
			}
		}
	}
	bare := record(t, catalog.Accounts, with(catalog.Accounts, ""))
	document.Build(bare, document.None{})
	want := `{"id":"` + id1 + `","name":"N","account_types":[],"domains":[],"website":null,"phone":null,"description":null,"city":null,"state":null,"country":null,` +
		`"projects_count":0,"contacts_count":0,"signals_count":0,"last_activity_at":null,"created_at":"` + loadedText + `","updated_at":"` + loadedText + `"}`
	if diff := cmp.Diff(want, publicOf(bare)); diff != "" {
		t.Errorf("a bare account (-want +got):\n%s", diff)
	}
}

// Numbers are written in their usual form and read back unchanged.
func TestDoubles(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"0": "0", "-0": "0", "-0.0": "0", "1": "1", "1.50": "1.5", "-114.0719": "-114.0719", "1e6": "1000000", "0.1": "0.1",
		"123456789012345": "123456789012345", "1e20": "100000000000000000000", "1e21": "1e+21", "0.000001": "0.000001",
		"1e-7": "1e-07", "1e-400": "0",
	} {
		r := record(t, catalog.Projects, with(catalog.Projects, `"cost":`+given))
		if got := publicOf(r); !strings.Contains(got, `"cost":`+want+`,`) {
			t.Errorf("%s is written otherwise than %s: %s", given, want, got)
		}
	}
}

// A load replaces derived values, and removes them when the children are deleted.
func TestDerive(t *testing.T) {
	t.Parallel()
	signal := record(t, catalog.Signals, full[catalog.Signals])
	r := record(t, catalog.Projects, with(catalog.Projects, `"signals_count":5`))
	document.Build(r, family{
		map[catalog.Dataset]int64{catalog.Signals: 2345},
		map[catalog.Dataset][]document.Child{catalog.Signals: {child(1_700_000_000_000, signal), child(1, signal)}},
	})
	if r.Value("signals_count") != int64(2345) || r.Millis("last_signal_at") != 1_700_000_000_000 {
		t.Errorf("signals_count %v, last_signal_at %v", r.Value("signals_count"), r.Value("last_signal_at"))
	}
	document.Build(r, document.None{})
	if r.Value("signals_count") != int64(0) || r.Value("last_signal_at") != nil {
		t.Errorf("signals_count %v, last_signal_at %v", r.Value("signals_count"), r.Value("last_signal_at"))
	}
}
