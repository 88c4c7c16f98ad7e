package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"

	"atlas/service/credits"
)

var update = flag.Bool("update", false, "write the generated parts of docs/operators.md anew")

var docs = filepath.Join("..", "..", "docs")

func document(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(docs, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestSettingsAreDocumented compares the tables of docs/operators.md with the options
// of atlas serve and the variables of the other commands.
func TestSettingsAreDocumented(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&commands{}, program().Vars)
	if err != nil {
		t.Fatal(err)
	}
	served, table := settingsTable(t, parser)
	page := document(t, "operators.md")
	mended := withTable(t, withTable(t, page, "settings", table), "other settings", otherSettingsTable(parser, served))
	if page == mended {
		return
	}
	if !*update {
		t.Fatalf("docs/operators.md does not list the options as they are; run go test ./cmd/atlas -run %s -update. Want:\n%s", t.Name(), mended)
	}
	if err := os.WriteFile(filepath.Join(docs, "operators.md"), []byte(mended), 0o644); err != nil {
		t.Fatal(err)
	}
}

// withTable replaces the table of a page at the place of this name.
func withTable(t *testing.T, page, place, table string) string {
	t.Helper()
	begin, end := "<!-- "+place+" -->\n", "<!-- /"+place+" -->"
	head, rest, found := strings.Cut(page, begin)
	_, tail, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("docs/operators.md has no place for the %s", place)
	}
	return head + begin + table + end + tail
}

// defaultInHelp matches the default in a help text. The table has a column for it.
var defaultInHelp = regexp.MustCompile(` \(default: [^)]*\)`)

// settingsCells returns an option's default and meaning.
func settingsCells(f *kong.Flag) (standard, help string) {
	help = f.Help
	if f.HasDefault && f.Default != "" {
		standard, help = "`"+f.Default+"`", defaultInHelp.ReplaceAllString(help, "")
	}
	return standard, strings.ReplaceAll(help, "|", "\\|")
}

// settingsTable has a row for each option of atlas serve. served are their variables.
func settingsTable(t *testing.T, parser *kong.Kong) (served map[string]bool, table string) {
	t.Helper()
	at := slices.IndexFunc(parser.Model.Children, func(n *kong.Node) bool { return n.Name == "serve" })
	if at < 0 {
		t.Fatal("there is no command serve")
	}
	serve := parser.Model.Children[at]
	served = map[string]bool{}
	var rows []string
	for _, group := range serve.AllFlags(true) {
		for _, f := range group {
			if f.Name == "help" || f.Name == "version" {
				continue
			}
			if len(f.Envs) != 1 || f.Help == "" {
				t.Errorf("--%s: variables %v, help %q; each option has one of both", f.Name, f.Envs, f.Help)
				continue
			}
			served[f.Envs[0]] = true
			standard, help := settingsCells(f)
			rows = append(rows, fmt.Sprintf("| `%s` | `--%s` | %s | %s |\n", f.Envs[0], f.Name, standard, help))
		}
	}
	slices.Sort(rows)
	return served, "| variable | option | default | meaning |\n|---|---|---|---|\n" + strings.Join(rows, "")
}

// otherSettingsTable has a row for each variable that atlas serve does not have, with
// the commands that do.
func otherSettingsTable(parser *kong.Kong, served map[string]bool) string {
	commands, flags := map[string][]string{}, map[string]*kong.Flag{}
	var walk func(n *kong.Node, name string)
	walk = func(n *kong.Node, name string) {
		for _, f := range n.Flags {
			for _, e := range f.Envs {
				if served[e] {
					continue
				}
				if commands[e] = append(commands[e], "`"+name+"`"); flags[e] == nil {
					flags[e] = f // the first command has the most complete text
				}
			}
		}
		for _, c := range n.Children {
			walk(c, name+" "+c.Name)
		}
	}
	walk(parser.Model.Node, "atlas")
	table := "| variable | option | of | default | meaning |\n|---|---|---|---|---|\n"
	for _, e := range slices.Sorted(maps.Keys(flags)) {
		standard, help := settingsCells(flags[e])
		table += fmt.Sprintf("| `%s` | `--%s` | %s | %s | %s |\n", e, flags[e].Name, strings.Join(commands[e], ", "), standard, help)
	}
	return table
}

// TestOperatorsPageIsTrue checks that the commands, options, variables and addresses of
// docs/operators.md exist.
func TestOperatorsPageIsTrue(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&commands{}, program().Vars)
	if err != nil {
		t.Fatal(err)
	}
	commands, options, variables := map[string]bool{}, map[string]bool{}, map[string]bool{}
	var walk func(n *kong.Node, name string)
	walk = func(n *kong.Node, name string) {
		commands[name] = true
		for _, f := range n.Flags {
			options["--"+f.Name] = true
			for _, e := range f.Envs {
				variables[e] = true
			}
		}
		for _, c := range n.Children {
			walk(c, name+" "+c.Name)
		}
	}
	walk(parser.Model.Node, "atlas")
	page := document(t, "operators.md")
	for _, command := range regexp.MustCompile("`(atlas(?: [a-z][a-z-]*)*)").FindAllStringSubmatch(page, -1) {
		if !commands[command[1]] {
			t.Errorf("there is no command %q", command[1])
		}
	}
	others := regexp.MustCompile(`(?m)^(pg_|psql|redis-|until redis-).*`) // commands of other programs
	for _, option := range regexp.MustCompile(`(?:^|[^\w-])(--[a-z][a-z-]+)`).FindAllStringSubmatch(others.ReplaceAllString(page, ""), -1) {
		if !options[option[1]] && !slices.Contains([]string{"--profile", "--build"}, option[1]) { // options of docker compose
			t.Errorf("there is no option %s", option[1])
		}
	}
	for _, variable := range regexp.MustCompile(`\bATLAS_[A-Z_]+[A-Z]\b`).FindAllString(page, -1) {
		if !variables[variable] {
			t.Errorf("there is no variable %s", variable)
		}
	}
	addresses := regexp.MustCompile(`(?m)^rediss?://\S+`).FindAllString(page, -1)
	if len(addresses) < 4 {
		t.Errorf("%d examples of Redis addresses", len(addresses))
	}
	for _, address := range addresses {
		client, err := credits.Open(strings.Replace(address, "/etc/atlas/ca.pem", otherAuthority(t), 1))
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		_ = client.Close()
	}
}

// metricTypes returns the types of the metrics of a server, by name.
func metricTypes(exposition string) map[string]string {
	types := map[string]string{}
	for line := range strings.Lines(exposition) {
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(strings.TrimSpace(rest), " ")
			types[name] = kind
		}
	}
	return types
}

// checkMetricsDocumented compares the metrics of a server with the table of
// docs/operators.md, the dashboard and the alerts.
func checkMetricsDocumented(t *testing.T, exposition string) {
	t.Helper()
	types := metricTypes(exposition)
	listed := map[string]bool{}
	for _, match := range regexp.MustCompile("(?m)^\\| `(atlas_[a-z_]+)").FindAllStringSubmatch(document(t, "operators.md"), -1) {
		if listed[match[1]] = true; types[match[1]] == "" {
			t.Errorf("docs/operators.md lists %s, which no server shows", match[1])
		}
	}
	for name := range types {
		if strings.HasPrefix(name, "atlas_") && !listed[name] {
			t.Errorf("docs/operators.md does not list %s", name)
		}
	}
	used := 0
	for _, e := range append(dashboardExpressions(t), alertExpressions(t)...) {
		used += checkExpression(t, e, types, exposition)
	}
	if used < 20 {
		t.Errorf("the dashboard and the alerts use %d metrics", used)
	}
}

var (
	usedMetric  = regexp.MustCompile(`\b((?:atlas|go|process)_[a-z_]+)(?:\{([^}]*)\})?`)
	usedMatcher = regexp.MustCompile(`([a-z_]+)(=~|!=|=)"([^"]*)"`)
	usedLabels  = regexp.MustCompile(`\bby \(([a-z_, ]+)\)`)
)

// checkExpression checks that the metrics, labels and label values of an expression
// exist.
func checkExpression(t *testing.T, expression string, types map[string]string, exposition string) (used int) {
	t.Helper()
	var labels []string
	for _, match := range usedMetric.FindAllStringSubmatch(expression, -1) {
		used++
		base := match[1]
		for _, suffix := range []string{"_bucket", "_count", "_sum"} {
			if cut, ok := strings.CutSuffix(base, suffix); ok && types[cut] == "histogram" {
				base = cut
			}
		}
		if types[base] == "" {
			t.Errorf("no server shows %s, in %s", match[1], expression)
		}
		for _, matcher := range usedMatcher.FindAllStringSubmatch(match[2], -1) {
			labels = append(labels, matcher[1])
			// Outcomes and statuses appear only after failures.
			if matcher[2] == "=" && matcher[1] != "outcome" && !strings.Contains(exposition, fmt.Sprintf("%s=%q", matcher[1], matcher[3])) {
				t.Errorf("nothing has %s, in %s", matcher[0], expression)
			}
		}
	}
	for _, match := range usedLabels.FindAllStringSubmatch(expression, -1) {
		labels = append(labels, strings.Split(match[1], ", ")...)
	}
	for _, label := range labels {
		// Prometheus adds the label instance.
		if label != "instance" && !strings.Contains(exposition, "{"+label+`="`) && !strings.Contains(exposition, ","+label+`="`) {
			t.Errorf("no metric has the label %s, in %s", label, expression)
		}
	}
	return used
}

func dashboardExpressions(t *testing.T) (all []string) {
	t.Helper()
	var dashboard struct {
		Title  string
		Panels []struct {
			Title, Type string
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(document(t, "dashboard.json")), &dashboard); err != nil {
		t.Fatal("docs/dashboard.json:", err)
	}
	for _, p := range dashboard.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("the panel %q shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			all = append(all, target.Expr)
		}
	}
	return all
}

// alertExpressions also checks that docs/operators.md explains each alert.
func alertExpressions(t *testing.T) (all []string) {
	t.Helper()
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr, For string
				Annotations      map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(document(t, "alerts.yml")), &rules); err != nil {
		t.Fatal("docs/alerts.yml:", err)
	}
	page := document(t, "operators.md")
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if r.Alert == "" || r.Expr == "" || r.Annotations["summary"] == "" {
				t.Errorf("an alert without name, expression or summary: %+v", r)
			}
			if !strings.Contains(page, "\n| `"+r.Alert+"` |") {
				t.Errorf("docs/operators.md does not explain the alert %s", r.Alert)
			}
			all = append(all, r.Expr)
		}
	}
	return all
}
