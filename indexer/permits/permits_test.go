package permits_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/indexer/ndjson"
	"atlas/indexer/permits"
	source "atlas/indexer/source/read"
	"atlas/internal/fault"
	"atlas/search/catalog"
)

type record = map[string]any

// today is the day up to which the fictitious projects of the sample lead.
var today = time.Date(2026, 11, 23, 15, 4, 5, 0, time.UTC)

// convert runs a conversion into a fresh folder and returns its records by
// dataset, in the files' order.
func convert(t *testing.T, in permits.Input, sample time.Time) (*permits.Report, map[string][]record) {
	t.Helper()
	dir := t.TempDir()
	report, err := permits.ConvertSample(t.Context(), permits.Options{Inputs: []permits.Input{in}, Dir: dir}, sample)
	if err != nil {
		t.Fatal(err)
	}
	records := map[string][]record{}
	for _, dataset := range ndjson.Datasets {
		records[dataset] = read(t, filepath.Join(dir, dataset+".ndjson"))
	}
	return report, records
}

func text(s string) permits.Input { return permits.Memory("permits.csv", []byte(s)) }

func read(t *testing.T, path string) []record {
	t.Helper()
	r, err := ndjson.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	list := []record{}
	for {
		_, line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		var one record
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		list = append(list, one)
	}
}

func byID(records []record) map[string]record {
	m := map[string]record{}
	for _, r := range records {
		m[r["id"].(string)] = r
	}
	return m
}

// The golden records come from another program, which shares no code with this one, and were
// checked by eye. So no flag overwrites them.
func TestGoldenPermits(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Permits []struct {
			Permit  string
			Project record
			Signals []record
		}
		Accounts []record
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	report, got := convert(t, permits.Calgary(), time.Time{})
	if want := (ndjson.Counts{Accounts: 1081, Projects: 4000, Signals: 11387}); report.Records != want || report.Rows != 4000 ||
		report.Permits != 4000 ||
		report.RefusedRows+report.UnreadCells+report.RepeatedPermits+int64(len(report.UnknownStatuses)) != 0 {
		t.Errorf("%+v", report)
	}
	projects, accounts := byID(got["projects"]), byID(got["accounts"])
	signals := map[string][]record{}
	for _, s := range got["signals"] {
		signals[s["project_id"].(string)] = append(signals[s["project_id"].(string)], s)
	}
	for _, p := range golden.Permits {
		t.Run(p.Permit, func(t *testing.T) {
			id := p.Project["id"].(string)
			if diff := cmp.Diff(p.Project, projects[id]); diff != "" {
				t.Errorf("project: %s", diff)
			}
			if diff := cmp.Diff(p.Signals, signals[id]); diff != "" {
				t.Errorf("signals: %s", diff)
			}
		})
	}
	for _, a := range golden.Accounts {
		if diff := cmp.Diff(a, accounts[a["id"].(string)]); diff != "" {
			t.Errorf("%s: %s", a["name"], diff)
		}
	}
	if len(golden.Permits) < 12 || len(golden.Accounts) < 4 {
		t.Error("the golden file lost records")
	}
}

// head is the first row of the city's file.
const head = "permitnum,statuscurrent,applieddate,issueddate,completeddate,permitclass,permitclassgroup,description,applicantname,contractorname,housingunits,estprojectcost,totalsqft,originaladdress,latitude,longitude\n"

// row writes a permit whose columns are valid except those given.
func row(number string, cells map[string]string) string {
	values := map[string]string{"permitnum": number, "statuscurrent": "New", "applieddate": "2024-05-02T00:00:00.000",
		"permitclass": "1106 - House", "permitclassgroup": "Single Family", "description": "A house", "originaladdress": "1 A ST"}
	for k, v := range cells {
		values[k] = v
	}
	var b strings.Builder
	for i, name := range strings.Split(strings.TrimSpace(head), ",") {
		if i > 0 {
			b.WriteByte(',')
		}
		v := values[name]
		if strings.ContainsAny(v, ",\"\n") {
			v = `"` + strings.ReplaceAll(v, `"`, `""`) + `"`
		}
		b.WriteString(v)
	}
	return b.String() + "\n"
}

func TestRules(t *testing.T) {
	t.Parallel()
	_, got := convert(t, text("\xEF\xBB\xBF"+head+
		row("1", map[string]string{
			"applicantname": "  Acme   Homes ", "contractorname": "ACME HOMES", "applieddate": "2024-03-01",
			"description": "two\nlines, \"quoted\"",
		})+
		row("2", map[string]string{
			"contractorname": "acme homes", "applieddate": "2023-01-01T05:00:00",
			"issueddate": "2025-01-01T00:00:00.000",
		})+
		row("3", map[string]string{"applieddate": "", "originaladdress": "", "applicantname": "Other & Co"})+
		row("4", map[string]string{
			"permitclass": "House of Cards", "statuscurrent": "Hold", "issueddate": "2024-06-01",
			"completeddate": "2024-07-01T00:00:00.000",
		})+
		row("5", map[string]string{
			"permitclass": "9999", "permitclassgroup": "Commercial", "statuscurrent": "Refused", "housingunits": "",
			"estprojectcost": " 1.5e3 ", "totalsqft": "0",
		})+
		row("6", map[string]string{
			"permitclass": "3405 - Motel, Office and Retail", "permitclassgroup": "Commercial",
			"statuscurrent": "Completed",
		})), time.Time{})

	if n := len(got["accounts"]); n != 2 {
		t.Fatalf("%d accounts, want 2: %v", n, got["accounts"])
	}
	acme := got["accounts"][0]
	want := record{"id": acme["id"], "name": "Acme   Homes", "account_types": []any{"developer", "general_contractor"}, "domains": []any{},
		"city": "Calgary", "state": "AB", "country": "CA", "created_at": "2023-01-01T05:00:00.000Z", "updated_at": "2025-01-01T00:00:00.000Z"}
	if diff := cmp.Diff(want, acme); diff != "" {
		t.Error(diff)
	}
	// A permit without dates leaves them to the load.
	want = record{"id": got["accounts"][1]["id"], "name": "Other & Co", "account_types": []any{"developer"}, "domains": []any{},
		"city": "Calgary", "state": "AB", "country": "CA"}
	if diff := cmp.Diff(want, got["accounts"][1]); diff != "" {
		t.Error(diff)
	}
	type brief struct {
		Name, Stage, Disposition, Use, GC string
		Accounts                          int
		Units, Cost, Sqft, Completed      any
		Signals                           string
	}
	wantProjects := []brief{
		{
			Name: "1 A ST, House", Stage: "filed", Disposition: "active", Use: "single_family", GC: "assigned",
			Accounts: 1, Signals: "permit_filed/filed",
		},
		{
			Name: "1 A ST, House", Stage: "filed", Disposition: "active", Use: "single_family", GC: "assigned",
			Accounts: 1, Signals: "permit_filed/filed permit_issued/permitted",
		},
		{Name: "House", Stage: "filed", Disposition: "active", Use: "single_family", GC: "unknown", Accounts: 1},
		{Name: "1 A ST, House of Cards", Stage: "permitted", Disposition: "on_hold", Use: "single_family", GC: "unknown",
			Signals: "permit_filed/filed permit_issued/permitted project_on_hold/permitted"},
		{
			Name: "1 A ST", Stage: "filed", Disposition: "refused", Use: "other", GC: "unknown", Cost: 1500.0,
			Sqft: 0.0, Signals: "permit_filed/filed",
		},
		{
			Name: "1 A ST, Motel, Office and Retail", Stage: "completed", Disposition: "active", Use: "office",
			GC: "unknown", Signals: "permit_filed/filed",
		},
	}
	var gotProjects []brief
	for _, p := range got["projects"] {
		var events []string
		for _, s := range got["signals"] {
			if s["project_id"] == p["id"] {
				events = append(events, s["signal_type"].(string)+"/"+s["stage"].(string))
			}
		}
		gotProjects = append(gotProjects, brief{p["name"].(string), p["stage"].(string), p["disposition"].(string), p["primary_use"].(string),
			p["gc_status"].(string), len(p["account_ids"].([]any)), p["residential_units"], p["cost"], p["sqft"],
			p["completed_at"], strings.Join(events, " ")})
	}
	if diff := cmp.Diff(wantProjects, gotProjects); diff != "" {
		t.Error(diff)
	}
	if d := got["projects"][0]["description"]; d != "two\nlines, \"quoted\"" {
		t.Errorf("a quoted field reads %q", d)
	}
	if at := got["signals"][len(got["signals"])-3]; at["signal_type"] != "project_on_hold" || at["occurred_at"] != "2024-07-01T00:00:00.000Z" {
		t.Errorf("the hold reads %v", at)
	}
}

// A status that begins with "Hold" says why, and is a hold all the same.
func TestHolds(t *testing.T) {
	t.Parallel()
	report, got := convert(t, text(head+
		row("1", map[string]string{"statuscurrent": "Hold"})+
		row("2", map[string]string{"statuscurrent": "Hold - Applicant"})+
		row("3", map[string]string{"statuscurrent": "Holding for fees"})+
		row("4", map[string]string{"statuscurrent": "On Hold"})), time.Time{})
	var dispositions []any
	for _, p := range got["projects"] {
		dispositions = append(dispositions, p["disposition"])
	}
	if diff := cmp.Diff([]any{"on_hold", "on_hold", "on_hold", "active"}, dispositions); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int64{"On Hold": 1}, report.UnknownStatuses); diff != "" {
		t.Error(diff)
	}
}

func TestBadRows(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 1001)
	lines := []string{
		strings.TrimSpace(head), // 1
		row("1", nil),           // 2
		row("2", map[string]string{"applieddate": "2024-13-01"}), // 3
		row("3", map[string]string{"estprojectcost": "NaN"}),     // 4
		row("4", map[string]string{"housingunits": "1.5"}),       // 5
		row("", nil), // 6
		row("6", map[string]string{"originaladdress": "", "permitclass": "9999"}), // 7
		"too,few,fields", // 8
		`7,New,"stray`,   // 9: the rows after it must survive
		row("8", nil),    // 10
		row("9", map[string]string{"description": "a\nb"}), // 11, 12
		`10,"bad"quote`, // 13
		"",              // 14
		row("11", map[string]string{"statuscurrent": "Lost"}),        // 15
		row("12", map[string]string{"applicantname": "\xff\xfe"}),    // 16
		row("13", map[string]string{"latitude": "91"}),               // 17
		row("14", map[string]string{"contractorname": long}),         // 18
		row("15", map[string]string{"originaladdress": long[:1990]}), // 19: 995 characters
		row("1", map[string]string{"statuscurrent": "Lost"}),         // 20
		row("16", map[string]string{"description": "a\x00b"}),        // 21
		strings.Repeat("x", 1<<20) + "x",                             // 22
		row("17", map[string]string{"totalsqft": "0x10"}),            // 23
		`18,"open to the end`,                                        // 24
	}
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\n")
	}
	report, got := convert(t, text(strings.Join(lines, "\r\n")), time.Time{})
	var numbers []string
	for _, p := range got["projects"] {
		numbers = append(numbers, p["id"].(string))
	}
	var refused []string
	for _, r := range report.Refused {
		if r.Reason == "" {
			t.Errorf("line %d has no reason", r.Line)
		}
		refused = append(refused, fmt.Sprintf("%d %s", r.Line, r.Field))
	}
	want := []string{"3 applieddate", "4 estprojectcost", "5 housingunits", "6 permitnum", "7 originaladdress", "8 ", "9 ", "13 ",
		"16 applicantname", "17 latitude", "18 contractorname", "19 originaladdress", "21 description", "22 ", "23 totalsqft", "24 "}
	if diff := cmp.Diff(want, refused); diff != "" {
		t.Error(diff)
	}
	if len(numbers) != 5 || numbers[0] != numbers[4] {
		t.Errorf("projects %v, want permits 1, 8, 9, 11, 1", numbers)
	}
	if report.Rows != 21 || report.RefusedRows != 16 || report.RepeatedPermits != 1 ||
		!cmp.Equal(report.UnknownStatuses, map[string]int64{"Lost": 2}) {
		t.Errorf("report %+v", report)
	}
	if _, err := json.Marshal(report); err != nil {
		t.Error(err)
	}
}

func TestFileThatIsNoPermits(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty":         "",
		"other columns": "id,name\n1,2\n",
		"binary":        "PK\x03\x04\x00\x00",
		"twice":         strings.TrimSpace(head) + ",latitude\n",
	} {
		dir := filepath.Join(t.TempDir(), "out")
		_, err := permits.ConvertSample(
			t.Context(), permits.Options{Inputs: []permits.Input{permits.Memory(name, []byte(text))}, Dir: dir},
			time.Time{},
		)
		if fault.CodeOf(err) != fault.BadRequest {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s: the folder was made", name)
		}
	}
	broken := permits.Input{Name: "broken", Open: func(o source.Options) (*source.File, error) {
		return source.Read(io.MultiReader(strings.NewReader(head+row("1", nil)), failing{}), o)
	}}
	dir := t.TempDir()
	if _, err := permits.ConvertSample(
		t.Context(), permits.Options{Inputs: []permits.Input{broken}, Dir: dir}, time.Time{},
	); fault.CodeOf(err) != fault.Internal {
		t.Errorf("a disk that fails: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := permits.ConvertSample(
		ctx, permits.Options{Inputs: []permits.Input{permits.Calgary()}, Dir: dir}, time.Time{},
	); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("failed runs left %v", left)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// Equal input gives equal bytes, packed too.
func TestSameBytesTwice(t *testing.T) {
	t.Parallel()
	for _, c := range []ndjson.Compression{ndjson.Gzip, ndjson.Zstd} {
		first, second := t.TempDir(), t.TempDir()
		for _, dir := range []string{first, second} {
			if _, err := permits.ConvertSample(
				t.Context(), permits.Options{Inputs: []permits.Input{permits.Calgary()}, Dir: dir, Compression: c},
				today,
			); err != nil {
				t.Fatal(err)
			}
		}
		for _, dataset := range ndjson.Datasets {
			a, err := os.ReadFile(filepath.Join(first, ndjson.FileName(dataset, c)))
			if err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(filepath.Join(second, ndjson.FileName(dataset, c)))
			if err != nil {
				t.Fatal(err)
			}
			if len(a) == 0 || !bytes.Equal(a, b) {
				t.Errorf("%s differs", ndjson.FileName(dataset, c))
			}
		}
	}
}

func TestSample(t *testing.T) {
	t.Parallel()
	_, plain := convert(t, permits.Calgary(), time.Time{})
	report, got := convert(t, permits.Calgary(), today)
	if report.Records.Contacts < 2000 || report.Records.Contacts != int64(len(got["contacts"])) {
		t.Errorf("%d contacts", report.Records.Contacts)
	}
	// The values from the permits are unchanged, and come first.
	for dataset, added := range map[string]string{"projects": "contact_ids", "accounts": "domains", "signals": ""} {
		var original []record
		for _, r := range got[dataset] {
			if !fictitious(r) && r["source"] != "City of Calgary building permits (day assumed)" {
				original = append(original, cloneWithout(r, added))
			}
		}
		for i, r := range plain[dataset] {
			plain[dataset][i] = cloneWithout(r, added)
		}
		if !reflect.DeepEqual(plain[dataset], original) {
			t.Errorf("the sample changes more of %s than %q", dataset, added)
		}
	}
	accounts := byID(got["accounts"])
	domains := map[string]int{}
	for _, a := range got["accounts"] {
		for _, d := range a["domains"].([]any) {
			if !strings.HasSuffix(d.(string), ".example") {
				t.Errorf("domain %s", d)
			}
			domains[d.(string)]++
		}
		if len(a["domains"].([]any)) == 0 {
			t.Errorf("%s has no domain", a["name"])
		}
	}
	emails, linked := map[string]int{}, map[string]int{}
	contacts := byID(got["contacts"])
	for _, p := range got["projects"] {
		for _, id := range p["contact_ids"].([]any) {
			linked[id.(string)]++
			c := contacts[id.(string)]
			if c == nil || !slices.Contains(p["account_ids"].([]any), c["account_id"]) {
				t.Fatalf("project %v has contact %v, who is of none of its accounts", p["id"], c)
			}
		}
	}
	idle := 0
	for _, c := range got["contacts"] {
		emails[c["email"].(string)]++
		a := accounts[c["account_id"].(string)]
		if a == nil || a["name"] != c["account_name"] {
			t.Fatalf("contact %v has account %v", c, a)
		}
		_, domain, _ := strings.Cut(c["email"].(string), "@")
		if domains[domain] == 0 {
			t.Errorf("address %s is at no account's domain", c["email"])
		}
		if !catalog.ContactRoles.Has(c["role"].(string)) || !catalog.ContactStatuses.Has(c["status"].(string)) {
			t.Errorf("contact %v", c)
		}
		if !fictitious(c) {
			t.Errorf("contact %v is not marked", c)
		}
		if c["created_at"].(string) > c["updated_at"].(string) {
			t.Errorf("contact %v was updated before it was created", c)
		}
		if linked[c["id"].(string)] == 0 {
			idle++
		}
	}
	if n := repeated(domains); !cmp.Equal(n, []int{2}) {
		t.Errorf("domains shared: %v, want one, by two accounts", n)
	}
	if n := repeated(emails); !cmp.Equal(n, []int{2}) {
		t.Errorf("addresses shared: %v, want one, by two contacts", n)
	}
	if idle < 5 || idle > 100 {
		t.Errorf("%d contacts have no project, want a few", idle)
	}
	if len(contacts) != len(got["contacts"]) {
		t.Error("contact ids repeat")
	}
}

func repeated(counts map[string]int) []int {
	var list []int
	for _, n := range counts {
		if n > 1 {
			list = append(list, n)
		}
	}
	return list
}

func cloneWithout(r record, key string) record {
	c := record{}
	for k, v := range r {
		if k != key {
			c[k] = v
		}
	}
	return c
}
