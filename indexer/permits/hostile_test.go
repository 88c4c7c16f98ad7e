package permits_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"atlas/indexer/permits"
	"atlas/indexer/source"
	"atlas/search/catalog"
	"atlas/search/document"
)

// Hostile cells are reported by line. Their rows are left out or become records that a load
// accepts, and do not affect the rows around them.
func TestHostileCells(t *testing.T) {
	t.Parallel()
	of := func(no, address, work, builder string) string {
		return no + ",House," + address + "," + work + ",Open,,,1/5/2016,,,,," + builder + ",\n"
	}
	text := describedHead + of("1", "1 A ST", "ok", "Acme LLC") + of("2", "1 A ST", "a\x00b", "\x00\x00 LLC") +
		of("3", `"=cmd|' /C calc'!A0"`, `"@SUM(1)"`, "+Acme LLC") +
		of("4", "1 A ST", strings.Repeat("x", 900_000), "Acme LLC") + of("5", "1 A ST", strings.Repeat("x", 10<<20), "Acme LLC") +
		of("6", "1 A ST", `"no end`, "Acme LLC") +
		of(strings.Repeat("k", 5000), strings.Repeat("s", 5000), "\u202e\a", strings.Repeat("n", 5000)+" LLC") +
		of("\x00", "1 A ST", "ok", "Acme LLC") +
		strings.Repeat(",", 10_000) + "\n" + strings.Repeat("x,", 10_000) + "\n" + of("9", "1 A ST", "ok", "Acme LLC")
	report, got := rows(t, strings.ReplaceAll(described, "%REPEATS%", "latest"), text)
	lines := map[int64]string{}
	for _, r := range append(report.Refused, report.Unread...) {
		lines[r.Line] += r.Reason + ". "
	}
	for line, say := range map[int64]string{
		3: "NUL", 5: "longer than 20000", 6: "longer than 1048576 bytes", 7: "quote is not closed",
		8: "longer than 1000", 9: "empty", 10: "empty", 11: "10000 fields",
	} {
		if !strings.Contains(lines[line], say) {
			t.Errorf("line %d: %q, not %q", line, lines[line], say)
		}
	}
	if report.Permits != 6 || report.RefusedRows != 5 || lines[2] != "" || lines[4] != "" || lines[12] != "" {
		t.Errorf("%d permits, %d left out: %v", report.Permits, report.RefusedRows, lines)
	}
	for _, d := range catalog.Datasets {
		for _, r := range got[string(d)] {
			line, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if _, problems := document.Parse(d, line, time.Now()); len(problems) > 0 || strings.Contains(string(line), `\u0000`) {
				t.Errorf("%.300s: %v", line, problems)
			}
		}
	}
}

// The source terms are beside the records, also for several sources.
func TestTerms(t *testing.T) {
	t.Parallel()
	terms := func(dir string) catalog.Sources {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, catalog.SourcesFile))
		if err != nil {
			t.Fatal(err)
		}
		all, err := catalog.ParseSources(text)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	o := madeUp(t, "austin")
	mustConvert(t, o)
	all := terms(o.Dir)
	of, is := all[o.Source.Title]
	if !is || len(all) != 1 || *of.Licence != o.Source.Licence || *of.Attribution != o.Source.Attribution ||
		*of.Terms != o.Source.Terms || *of.Page != o.Source.Page {
		t.Errorf("%+v", all)
	}
	dir := t.TempDir()
	if err := permits.Samples(t.Context(), dir, []string{"calgary", "blds"}, today); err != nil {
		t.Fatal(err)
	}
	if all := terms(dir); len(all) != 2 {
		t.Errorf("%+v", all)
	}
	_, err := source.Parse(
		"here.yaml",
		[]byte(strings.ReplaceAll(described, "%REPEATS%", "latest")+"page: example.org\nterms: javascript:1\nlicence: "+
			strings.Repeat("x", 1001)+"\n"),
	)
	for _, say := range []string{"page must begin with https://", "terms must begin with https://", "licence is longer"} {
		if err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q is not in: %v", say, err)
		}
	}
}
