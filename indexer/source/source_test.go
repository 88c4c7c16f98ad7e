package source

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"atlas/internal/fault"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := json.Marshal(Document())
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("source.json", document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("source.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What ships is right, and right by the schema that editors use.
func TestShipped(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	for _, name := range Names() {
		text, err := Text(name)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Parse(name+".yaml", text)
		if err != nil {
			t.Error(err)
			continue
		}
		if d.Name != name || d.Licence == "" || d.Tried == "" {
			t.Errorf("%s: %q, %q, %q", name, d.Name, d.Licence, d.Tried)
		}
		asJSON, err := yaml.YAMLToJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(Names()) < 5 || len(Shipped()) != len(Names()) {
		t.Error(Names())
	}
}

const small = `version: 1
source: here
title: Here
key: "{id}"
project:
  name: "{label}"
`

func TestProblemsHavePlaces(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		small + "  sots: x\n":                                          `7:3: project has no key "sots"`,
		small + "  costt: x\n":                                         `did you mean cost?`,
		small + "  cost: {x}\n":                                        `7:9: project.cost is a template that needs quotes`,
		small + "  cost: \"{x\"\n":                                     `7:9: project.cost.of has a { without its }`,
		small + "  status: {of: \"{s}\", table: {Open: opne}}\n":       `project.status.table.Open is "opne"; it must be a stage (`,
		small + "  primary_use: house\n":                               `7:16: project.primary_use is "house"; it must be one of single_family`,
		small + "  location: {x: \"{x}\", y: \"{y}\", epsg: 27700}\n":  `project.location.epsg EPSG:27700 is not known`,
		small + "  location: {x: \"{x}\"}\n":                           `needs x, y and epsg together`,
		small + "  name: x\n":                                          `already`,
		small + "skip:\n  - {of: \"{x}\"}\n":                           `8:5: skip.0 needs either is or is_not`,
		small + "firms: {name: \"{x}\", type: boss}\n":                 `firms.0.type is "boss"`,
		small + "firms: {name: \"{x}\", type: owner, persons: keep}\n": `must say what allows`,
		small + "values: {zone: Mars}\n":                               `values.zone is no time zone`,
		small + "columns: {a: \"{b}\", b: \"{a}\"}\n":                  `columns.a names the column "b", which is made here or later`,
		small + "columns: {a: {of: \"{b}\", match: \"(\"}}\n":          `columns.a.match is no regular expression`,
		"version: 1\n\tsource: x":                                      `2:1: is no YAML`,
		"version: 2\n":                                                 `1:1: needs the key source`,
		"":                                                             `must be one YAML document`,
		"- a\n":                                                        `must be a mapping`,
		small + "namespace: &a b\n":                                    `must be a text`,
		small + "pull: {interface: soda, url: https://x.example, token: s3cret}\n": `must be the name of an environment variable`,
	} {
		_, err := Parse("f.yaml", []byte(text))
		if fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v, want %s", text, err, want)
		}
	}
	if _, err := Parse("f.yaml", []byte(small)); err != nil {
		t.Error(err)
	}
}

func TestPoints(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]float64{
		"(41.88, -87.62)": {41.88, -87.62}, "POINT (-87.62 41.88)": {41.88, -87.62}, "41.88 -87.62": {41.88, -87.62},
	} {
		latitude, longitude, err := ParsePoint(text)
		if err != nil || latitude != want[0] || longitude != want[1] {
			t.Error(text, latitude, longitude, err)
		}
	}
	for _, text := range []string{"", "41", "1 2 3", "x"} {
		if _, _, err := ParsePoint(text); err == nil {
			t.Error(text)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(small))
	for _, name := range Names() {
		text, _ := Text(name)
		f.Add(text)
	}
	f.Fuzz(func(_ *testing.T, text []byte) { _, _ = Parse("f.yaml", text) })
}

var update = flag.Bool("update", false, "write the table of the documentation again")

// The page has a table of all keys.
func TestDocumentedKeys(t *testing.T) {
	t.Parallel()
	const page = "../../docs/sources.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), "\n## Keys\n")
	_, after, found := strings.Cut(rest, "\n## ")
	if !found {
		t.Fatal("the page has no section Keys")
	}
	want := before + "\n## Keys\n\n" + Keys() + "\n## " + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Error("the table of keys is another; go test ./indexer/source -update writes it")
	}
}
