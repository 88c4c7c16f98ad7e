package searchtest

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"atlas/search/catalog"
	"atlas/search/document"
)

// Fixture is a file of records and of test cases on them:
//
//	records:
//	  accounts:
//	    - {id: $a1, name: Acme}
//	cases:
//	  - name: by name
//	    dataset: accounts
//	    body: {filters: {name: {value: acme}}}
//	    want: [$a1]
//
// A string of `$`, a dataset's first letter and a number stands for an id. Strings that
// look like dates, or like numbers in a form that JSON does not have, are strings.
type Fixture struct {
	World *World
	Cases []Case
}

// Case is a search request and the records that it finds.
type Case struct {
	Name    string
	Dataset catalog.Dataset
	Body    json.RawMessage // one JSON object
	// Definition is the definition of a View that finds the same records as Body, or
	// nil.
	Definition json.RawMessage
	// Want are the ids of the records on the page of Body (of 100 rows if Body has
	// no limit), in order unless Unordered is set.
	Want      []string
	Unordered bool
	// Total is the number of records that match; nil is len(Want).
	Total *int
}

// LoadedAt is the load time of a fixture's records, the default of their times.
var LoadedAt = time.Date(2024, 6, 30, 12, 0, 0, 0, time.UTC)

// Read reads a fixture file. All records and cases must be valid.
func Read(t testing.TB, path string) Fixture {
	t.Helper()
	data, err := os.ReadFile(path) // #nosec G304 -- a test's own file
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Records map[catalog.Dataset][]yaml.Node `yaml:"records"`
		Cases   []struct {
			Name      string          `yaml:"name"`
			Dataset   catalog.Dataset `yaml:"dataset"`
			Body      yaml.Node       `yaml:"body"`
			View      yaml.Node       `yaml:"definition"`
			Want      []string        `yaml:"want"`
			Unordered bool            `yaml:"unordered"`
			Total     *int            `yaml:"total"`
		} `yaml:"cases"`
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(data)))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	f := Fixture{World: NewWorld()}
	for d, nodes := range file.Records {
		for i := range nodes {
			f.World.Add(Record(t, d, string(toJSON(t, path, &nodes[i]))))
		}
	}
	names := map[string]bool{}
	for _, c := range file.Cases {
		if c.Name == "" || names[c.Name] || !catalog.IsDataset(string(c.Dataset)) {
			t.Fatalf("%s: the case %q of %q has no name of its own, or no dataset", path, c.Name, c.Dataset)
		}
		names[c.Name] = true
		want := make([]string, len(c.Want))
		for i, short := range c.Want {
			want[i] = expand(short)
		}
		read := Case{Name: c.Name, Dataset: c.Dataset, Body: toJSON(t, path, &c.Body), Want: want, Unordered: c.Unordered, Total: c.Total}
		if !c.View.IsZero() {
			read.Definition = toJSON(t, path, &c.View)
		}
		f.Cases = append(f.Cases, read)
	}
	return f
}

// Record reads the line of a record, which must be valid.
func Record(t testing.TB, d catalog.Dataset, line string) document.Record {
	t.Helper()
	r, problems := document.Parse(d, []byte(line), LoadedAt)
	if len(problems) > 0 {
		t.Fatalf("%s %.300s: %v", d, line, problems)
	}
	return r
}

// toJSON converts a YAML value to JSON. Numbers keep their spelling.
func toJSON(t testing.TB, path string, node *yaml.Node) []byte {
	t.Helper()
	fail := func(reason string) []byte {
		t.Fatalf("%s:%d: %s: %q", path, node.Line, reason, node.Value)
		return nil
	}
	switch node.Kind {
	case yaml.AliasNode:
		return toJSON(t, path, node.Alias)
	case yaml.SequenceNode:
		var items []string
		for _, n := range node.Content {
			items = append(items, string(toJSON(t, path, n)))
		}
		return []byte("[" + strings.Join(items, ",") + "]")
	case yaml.MappingNode:
		var members []string
		for i := 0; i < len(node.Content); i += 2 {
			members = append(members, jsonText(node.Content[i].Value)+":"+string(toJSON(t, path, node.Content[i+1])))
		}
		return []byte("{" + strings.Join(members, ",") + "}")
	case yaml.ScalarNode:
		switch node.Tag {
		case "!!null":
			return []byte("null")
		case "!!bool", "!!int", "!!float":
			if !json.Valid([]byte(node.Value)) {
				return fail("write it as JSON does, or quote it")
			}
			return []byte(node.Value)
		}
		return []byte(jsonText(expand(node.Value)))
	}
	return fail("no value")
}

func jsonText(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string is always valid
	}
	return string(text)
}

var (
	shortID = regexp.MustCompile(`^\$([acps])(\d{1,11})$`)
	longID  = regexp.MustCompile(`^0000000([1-4])-0000-4000-8000-0*(\d+)$`)
	letters = []string{"a", "c", "p", "s"}
)

// ID is the id of a short form: `$a1` is ID("a", 1).
func ID(letter string, n int) string {
	return fmt.Sprintf("%08d-0000-4000-8000-%012d", slices.Index(letters, letter)+1, n)
}

func expand(text string) string {
	m := shortID.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	n, _ := strconv.Atoi(m[2])
	return ID(m[1], n)
}

// Short returns the short forms of ids, for messages.
func Short(ids []string) []string {
	short := make([]string, len(ids))
	for i, id := range ids {
		short[i] = id
		if m := longID.FindStringSubmatch(id); m != nil {
			n, _ := strconv.Atoi(m[1])
			short[i] = "$" + letters[n-1] + m[2]
		}
	}
	return short
}
