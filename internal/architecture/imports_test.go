package architecture

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// allowed lists which of our packages each package may import. A package that is not in the
// table fails the test: adding one is a decision about the structure.
var allowed = map[string][]string{
	"atlas":             {},
	"internal/asset":    {},
	"internal/edits":    {},
	"internal/fault":    {},
	"internal/scan":     {},
	"internal/input":    {"internal/edits", "internal/fault"},
	"internal/elastic":  {"internal/fault", "internal/timer"},
	"service/credits":   {"internal/fault", "internal/timer"},
	"service/ratelimit": {"internal/fault"},
	"service/auth":      {"workspace", "workspace/identity", "workspace/people", "internal/fault"},
	"internal/seal":     {},
	"internal/shares":   {},
	"service/mcp":       {},
	"internal/egress":   {},
	"service/delivery": {
		"workspace/alerts", "workspace/digest", "workspace/subscriptions", "internal/egress", "internal/fault", "internal/timer",
		"search/catalog", "search/query", "workspace", "workspace/jobs", "workspace/people", "workspace/queue", "workspace/webhooks",
	},
	"service/session": {"service/auth", "internal/fault", "internal/seal", "workspace/identity"},
	"service/oidc": {
		"service/auth", "internal/fault", "internal/seal", "service/session", "workspace", "workspace/identity", "workspace/people",
	},
	"explorer":              {"internal/asset"},
	"internal/mail":         {},
	"internal/tiles":        {},
	"internal/architecture": {},
	"internal/telemetry":    {},
	"internal/release":      {},
	"internal/timer":        {},
	"internal/devstack":     {"mappings", "internal/durable", "internal/timer"},
	"client":                {}, // of the standard library alone
	"clients":               {},
	"mappings":              {"search/document", "search/catalog"},
	"search/catalog":        {"internal/edits", "internal/fault", "internal/rule", "internal/scan", "internal/schema"},
	"search/query": {
		"search/catalog", "internal/edits", "internal/fault", "internal/input", "internal/rule", "internal/schema", "search/words",
	},
	"search/highlight": {"search/catalog", "search/words", "internal/edits"},
	"search/words":     {},
	"search/reading": {
		"search/catalog",
		"search/query",
		"search/words",
		"internal/fault",
		"internal/input",
		"internal/rule",
		"internal/schema",
	},
	"search/document": {"search/catalog", "search/query", "search/words", "internal/input"},
	"search/match":    {"search/catalog", "search/query", "search/words", "internal/edits"},
	"search": {
		"search/document", "search/match", "search/highlight", "search/catalog", "search/query", "search/reading", "search/words",
		"mappings", "internal/edits", "internal/elastic", "internal/fault", "internal/scan", "internal/shares",
	},
	"workspace":          {"internal/fault", "internal/input", "internal/rule", "internal/schema"},
	"workspace/people":   {"workspace", "workspace/jobs", "internal/fault"},
	"workspace/identity": {"workspace", "workspace/people", "internal/fault", "internal/seal", "internal/timer"},
	"workspace/boards": {
		"workspace", "workspace/views", "search/catalog", "search/query", "internal/fault", "internal/input", "internal/rule", "internal/schema",
	},
	"workspace/book": {
		"workspace",
		"search/catalog", "search/query",
		"internal/fault",
		"internal/input",
		"internal/rule",
		"internal/scan",
		"internal/schema",
	},
	"workspace/views":         {"workspace", "search/catalog", "search/query", "internal/fault", "internal/input", "internal/rule"},
	"workspace/held":          {"workspace", "workspace/book", "search/catalog"},
	"workspace/jobs":          {"workspace"},
	"workspace/skills":        {"workspace", "search/catalog", "internal/fault"},
	"workspace/subscriptions": {"workspace", "search/catalog", "internal/fault"},
	"workspace/queue":         {"workspace", "search/catalog", "search/query", "internal/fault"},
	"workspace/alerts": {
		"workspace", "workspace/views", "workspace/jobs", "workspace/subscriptions", "search/changes", "search/catalog", "search/query",
		"internal/fault", "internal/scan", "internal/timer",
	},
	"workspace/digest":   {"workspace", "workspace/jobs", "workspace/subscriptions", "internal/fault"},
	"workspace/audit":    {"workspace", "search/catalog", "search/query", "internal/fault", "internal/timer"},
	"workspace/auditlog": {"workspace", "internal/fault", "internal/timer"},
	"workspace/scim":     {"workspace", "workspace/people", "internal/fault", "internal/input"},
	"workspace/undo": {
		"workspace", "workspace/audit", "workspace/boards", "workspace/people", "workspace/subscriptions", "workspace/views",
		"workspace/webhooks", "search/catalog", "internal/fault",
	},
	"workspace/webhooks": {"workspace", "workspace/alerts", "workspace/jobs", "workspace/views", "internal/fault", "internal/seal"},
	"workspace/postgres": {
		"internal/timer", "workspace/alerts", "workspace/digest", "workspace", "workspace/queue", "workspace/audit", "workspace/auditlog",
		"workspace/undo",
		"workspace/people", "workspace/boards", "workspace/identity",
		"workspace/book", "workspace/views", "workspace/held", "workspace/skills", "workspace/subscriptions",
		"workspace/jobs", "workspace/scim", "workspace/webhooks", "search/changes", "search/catalog", "internal/fault", "indexer/erasure",
	},
	"workspace/projection": {
		"workspace", "workspace/book", "workspace/held", "search/document", "search/catalog", "mappings",
		"internal/elastic", "internal/fault", "internal/timer",
	},
	"workspace/join": {"search/catalog", "search/query", "workspace", "workspace/views", "internal/fault"},
	"workspace/records": {
		"search/catalog", "search/query", "workspace", "workspace/book", "workspace/views", "workspace/held", "workspace/join", "internal/fault",
	},
	"internal/durable": {},
	"search/changes":   {"search/catalog", "search/query", "internal/fault", "internal/scan", "internal/timer"},
	"indexer/feed": {
		"indexer/extsort", "indexer/generation", "search/changes", "search/document", "search/catalog", "mappings",
		"internal/elastic", "internal/fault",
	},
	"indexer/merges":  {"indexer/extsort"},
	"indexer/erasure": {"search/catalog", "internal/fault"},
	"indexer/eraser": {
		"indexer/delta", "indexer/erasure", "indexer/feed", "indexer/generation", "indexer/journal", "search",
		"search/document", "search/catalog", "mappings", "internal/durable", "internal/elastic", "internal/fault",
	},
	"indexer/removal": {"indexer/eraser", "indexer/erasure", "search/catalog", "workspace", "internal/fault", "internal/seal"},
	"indexer": {
		"internal/durable", "indexer/erasure", "indexer/generation", "indexer/journal", "indexer/extsort", "indexer/merges",
		"indexer/ndjson", "search/changes", "search/document", "search/catalog", "mappings", "internal/elastic",
		"internal/fault",
	},
	"indexer/delta": {
		"indexer", "indexer/erasure", "indexer/feed", "search/changes", "indexer/generation", "indexer/journal", "internal/durable",
		"indexer/extsort", "indexer/merges", "indexer/ndjson", "search/document", "search/catalog", "mappings",
		"internal/elastic", "internal/fault", "internal/input",
	},
	"indexer/extsort":          {"internal/durable", "internal/fault"},
	"indexer/generation":       {"search/catalog", "mappings", "internal/elastic", "internal/fault"},
	"indexer/journal":          {"search/document", "search/catalog"},
	"indexer/ndjson":           {"internal/durable", "internal/fault", "internal/input"},
	"indexer/generate":         {"indexer/generate/fiction", "indexer/ndjson", "search/catalog", "internal/fault"},
	"indexer/generate/fiction": {},
	"indexer/duplicates": {
		"indexer", "indexer/extsort", "indexer/generation", "search/match", "search/catalog", "mappings",
		"internal/elastic", "internal/fault",
	},
	"indexer/verify": {
		"indexer", "indexer/extsort", "indexer/generation", "search/document", "search/catalog", "mappings",
		"internal/elastic", "internal/fault",
	},
	"indexer/source": {
		"indexer/source/epsg", "indexer/source/people", "indexer/source/value", "search/catalog", "internal/edits",
		"internal/fault", "internal/schema",
	},
	"indexer/source/epsg": {},
	"indexer/source/guess": {
		"indexer/source", "indexer/source/epsg", "indexer/source/people", "indexer/source/read", "indexer/source/value",
		"internal/fault", "search/words",
	},
	"indexer/source/people": {"search/catalog"},
	"indexer/source/permit": {
		"indexer/source", "indexer/source/epsg", "indexer/source/people", "indexer/source/read", "indexer/source/value",
		"internal/edits", "internal/fault",
	},
	"indexer/source/pull":  {"indexer/source", "internal/durable", "internal/fault", "internal/release", "internal/timer"},
	"indexer/source/read":  {"internal/fault"},
	"indexer/source/value": {},
	"indexer/permits": {
		"indexer/extsort", "indexer/generate/fiction", "indexer/ndjson", "indexer/source", "indexer/source/people",
		"indexer/source/permit", "indexer/source/read", "search/match", "search/catalog", "internal/durable",
		"internal/fault",
	},
	"internal/schema": {},
	"internal/rule":   {"internal/fault", "internal/input", "internal/schema"},
	"service/openapi": {"internal/schema"},
	"service/manual":  {"service/openapi", "internal/asset", "internal/input", "internal/schema"},
	"service/endpoint": {
		"internal/asset", "internal/fault", "internal/input", "internal/rule", "internal/schema", "internal/telemetry",
		"search/catalog", "search/highlight", "search/query", "service/auth", "service/credits", "service/openapi",
		"service/ratelimit", "workspace", "workspace/book", "workspace/identity", "workspace/views",
	},
	"service/api": {
		"service/endpoint", "service/manual", "service/openapi", "internal/asset", "service/auth", "service/credits",
		"internal/fault", "internal/input", "service/mcp", "service/oidc", "service/ratelimit", "internal/release",
		"internal/rule", "internal/schema", "internal/shares", "service/session", "internal/tiles", "search",
		"search/changes", "search/highlight", "search/match", "search/catalog", "search/query", "search/reading", "workspace",
		"workspace/audit", "workspace/auditlog", "workspace/undo", "workspace/people", "workspace/boards", "workspace/book", "workspace/views",
		"workspace/identity", "workspace/skills", "workspace/scim",
		"workspace/alerts", "workspace/subscriptions", "workspace/queue", "workspace/jobs", "workspace/webhooks", "workspace/records",
	},
}

// unrestricted are the importers without limits: the binary, and packages only for tests or
// developers.
var unrestricted = []string{
	"cmd/", "scripts/", "service/openapi/conformance", "service/openapi/print", "internal/devstack/backends",
	"internal/experiment/balancer", "internal/experiment/figures",
	"internal/elastic/elastictest", "internal/mail/mailtest", "workspace/postgres/pgtest",
	"workspace/projection/simulation", "search/searchtest", "search/match/labelled",
}

// testsOnly are packages that no serving code may import.
var testsOnly = []string{
	"service/openapi/conformance", "internal/devstack/backends", "internal/elastic/elastictest",
	"internal/mail/mailtest", "workspace/postgres/pgtest", "workspace/projection/simulation", "search/searchtest",
	"search/match/labelled",
}

type pkg struct {
	ImportPath string
	Imports    []string
}

const module = "atlas/"

func TestImportsGoOneWay(t *testing.T) {
	t.Parallel()
	command := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "atlas/...")
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := 0
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		seen++
		check(t, p)
	}
	if seen < len(allowed) {
		t.Errorf("saw %d packages, the table has %d: take out what is gone", seen, len(allowed))
	}
}

// docs/architecture.md has each package of the table, and the packages that only tests use.
func TestDocumentedPackages(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Packages\n")
	section, _, found := strings.Cut(section, "\n## ")
	if !found {
		t.Fatal("docs/architecture.md has no section Packages")
	}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(allowed)), testsOnly) {
		if !strings.Contains(section, "`"+name+"`") {
			t.Errorf("docs/architecture.md does not list %s", name)
		}
	}
	for line := range strings.Lines(section) {
		cell, isRow := strings.CutPrefix(line, "| `")
		if !isRow {
			continue
		}
		cell, _, _ = strings.Cut(cell, " |")
		for name := range strings.SplitSeq(strings.TrimSuffix(cell, "`"), "`, `") {
			if _, known := allowed[name]; !known && !strings.HasPrefix(name, "cmd/") {
				t.Errorf("docs/architecture.md lists %s, which is not in the table of imports", name)
			}
		}
	}
}

func check(t *testing.T, p pkg) {
	name := strings.TrimPrefix(p.ImportPath, module)
	free := slices.ContainsFunc(unrestricted, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	may, known := allowed[name]
	if !free && !known {
		t.Errorf("%s is not in the table of packages", name)
	}
	for _, imported := range p.Imports {
		ours, isOurs := strings.CutPrefix(imported, module)
		switch {
		case !isOurs:
		case slices.Contains(testsOnly, ours) && !slices.Contains(testsOnly, name):
			t.Errorf("%s imports %s, which is for tests only", name, ours)
		case !free && !slices.Contains(may, ours):
			t.Errorf("%s must not import %s", name, ours)
		}
	}
}
