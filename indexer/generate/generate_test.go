package generate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"atlas/indexer/ndjson"
	"atlas/internal/fault"
	"atlas/search/query"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// row is any record, with the fields of all four kinds.
type row struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	AccountTypes []string `json:"account_types"`
	Domains      []string `json:"domains"`
	Website      string   `json:"website"`
	Phone        string   `json:"phone"`
	Description  string   `json:"description"`
	City         string   `json:"city"`
	State        string   `json:"state"`
	Country      string   `json:"country"`

	Address     string   `json:"address"`
	Stage       string   `json:"stage"`
	Disposition string   `json:"disposition"`
	PrimaryUse  string   `json:"primary_use"`
	Units       *int64   `json:"residential_units"`
	Sqft        *float64 `json:"sqft"`
	Stories     *int64   `json:"stories"`
	Cost        *float64 `json:"cost"`
	GCStatus    string   `json:"gc_status"`
	FiledAt     string   `json:"filed_at"`
	PermittedAt string   `json:"permitted_at"`
	CompletedAt string   `json:"completed_at"`
	DetectedAt  string   `json:"detected_at"`
	AccountIDs  []string `json:"account_ids"`
	ContactIDs  []string `json:"contact_ids"`
	Latitude    *float64 `json:"latitude"`
	Longitude   *float64 `json:"longitude"`

	Title       string `json:"title"`
	Email       string `json:"email"`
	Role        string `json:"role"`
	Status      string `json:"status"`
	AccountID   string `json:"account_id"`
	AccountName string `json:"account_name"`

	SignalType  string `json:"signal_type"`
	Summary     string `json:"summary"`
	ProjectID   string `json:"project_id"`
	ProjectName string `json:"project_name"`
	OccurredAt  string `json:"occurred_at"`
	Source      string `json:"source"`
	SourceURL   string `json:"source_url"`

	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
}

// fieldsOf are the keys a record of a dataset may have: the given ones of
// docs/api.md, "Records".
var fieldsOf = map[string]string{
	"accounts": "id name account_types domains website phone description city state country created_at updated_at",
	"contacts": "id name title email phone role status account_id account_name city state created_at updated_at",
	"projects": "id name description address city state country stage disposition primary_use residential_units sqft stories cost gc_status filed_at permitted_at completed_at detected_at account_ids contact_ids latitude longitude created_at updated_at",
	"signals":  "id signal_type title summary project_id project_name account_ids city state stage occurred_at detected_at source source_url created_at updated_at",
}

// decode reads a line, checking its keys.
func decode(t *testing.T, dataset string, line []byte) row {
	t.Helper()
	var one row
	if err := json.Unmarshal(line, &one); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	// Some of the lines do for the keys, which takes longer than all the rest.
	if one.ID[0] != '0' {
		return one
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(line, &keys); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	known := strings.Fields(fieldsOf[dataset])
	for k := range keys {
		if !slices.Contains(known, k) {
			t.Fatalf("%s has the key %s", dataset, k)
		}
	}
	return one
}

// load generates a world on the disk and reads it back.
func load(t *testing.T, options Options) map[string][]row {
	t.Helper()
	options.Dir = t.TempDir()
	report, err := Generate(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	world := map[string][]row{}
	total := 0
	for _, dataset := range ndjson.Datasets {
		r, err := ndjson.Open(filepath.Join(options.Dir, ndjson.FileName(dataset, ndjson.Compression(options.Compress))))
		if err != nil {
			t.Fatal(err)
		}
		for {
			_, line, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			world[dataset] = append(world[dataset], decode(t, dataset, line))
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		total += len(world[dataset])
	}
	if int64(total) != options.Records || report.Total != options.Records || report.Records.Total() != options.Records {
		t.Fatalf("%d records asked for, %d written, reported %+v", options.Records, total, report)
	}
	return world
}

// Any number of records and any seed gives exactly that many, whose links all
// lead somewhere.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		records := rapid.OneOf(rapid.Int64Range(1, 40), rapid.Int64Range(41, 2000)).Draw(rt, "records")
		var lines [4][][]byte
		keep := func(i int) func([]byte) error {
			return func(line []byte) error {
				lines[i] = append(lines[i], bytes.Clone(line))
				return nil
			}
		}
		w := newWorld(rapid.Uint64().Draw(rt, "seed"), records)
		p := &progress{total: records}
		if err := w.stream(t.Context(), sinks{keep(0), keep(1), keep(2), keep(3)}, p); err != nil {
			rt.Fatal(err)
		}
		world := map[string][]row{}
		total := 0
		for i, dataset := range ndjson.Datasets {
			for _, line := range lines[i] {
				world[dataset] = append(world[dataset], decode(t, dataset, line))
			}
			total += len(lines[i])
		}
		if int64(total) != records || p.done.Load() != records {
			rt.Fatalf("%d records asked for, %d made, %d counted", records, total, p.done.Load())
		}
		checkLinks(t, world)
		if t.Failed() {
			rt.FailNow()
		}
	})
}

func checkLinks(t *testing.T, world map[string][]row) {
	t.Helper()
	all := map[string]string{}
	accounts, projects := map[string]row{}, map[string]row{}
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	for dataset, rows := range world {
		for _, r := range rows {
			if all[r.ID] != "" || !uuid.MatchString(r.ID) {
				t.Fatalf("id %q of %s: again, or no UUID", r.ID, dataset)
			}
			all[r.ID] = dataset
			switch dataset {
			case "accounts":
				accounts[r.ID] = r
			case "projects":
				projects[r.ID] = r
			}
		}
	}
	leads := func(from, to string, ids ...string) {
		t.Helper()
		seen := map[string]bool{}
		for _, id := range ids {
			if all[id] != to || seen[id] {
				t.Errorf("%s: %s is no (or a second) link to %s", from, id, to)
			}
			seen[id] = true
		}
	}
	for _, p := range world["projects"] {
		leads("project", "accounts", p.AccountIDs...)
		leads("project", "contacts", p.ContactIDs...)
	}
	for _, c := range world["contacts"] {
		if c.AccountID != "" {
			leads("contact", "accounts", c.AccountID)
		}
		if c.AccountName != accounts[c.AccountID].Name {
			t.Errorf("contact names %q, its account is called %q", c.AccountName, accounts[c.AccountID].Name)
		}
	}
	for _, s := range world["signals"] {
		leads("signal", "projects", s.ProjectID)
		leads("signal", "accounts", s.AccountIDs...)
		p := projects[s.ProjectID]
		if s.ProjectName != p.Name || s.City != p.City || s.State != p.State {
			t.Errorf("signal says %q, %q; its project %q, %q", s.ProjectName, s.City, p.Name, p.City)
		}
		for _, id := range s.AccountIDs {
			if !slices.Contains(p.AccountIDs, id) {
				t.Errorf("signal names an account its project does not")
			}
		}
	}
}

// One world, looked at from three sides.
func TestWorld(t *testing.T) {
	t.Parallel()
	world := load(t, Options{Records: 25000, Seed: 3, Compress: "zst"})
	t.Run("links", func(t *testing.T) { checkLinks(t, world) })
	t.Run("values and chronology", func(t *testing.T) { checkValues(t, world) })
	t.Run("shape", func(t *testing.T) { checkShape(t, world) })
}

func checkValues(t *testing.T, world map[string][]row) {
	stamp := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
	reference := Reference.Format("2006-01-02T15:04:05.000Z")
	// ordered fails unless the times that are known ascend.
	ordered := func(what string, times ...string) {
		t.Helper()
		last := ""
		for _, at := range times {
			if at == "" {
				continue
			}
			if !stamp.MatchString(at) || at < last || at > reference {
				t.Fatalf("%s: times %q", what, times)
			}
			last = at
		}
	}
	oneOf := func(v query.Vocabulary, values ...string) {
		t.Helper()
		for _, value := range values {
			if value != "" && !v.Has(value) {
				t.Fatalf("%q is no word of the vocabulary", value)
			}
		}
	}
	host := regexp.MustCompile(`^([a-z0-9-]{1,63}\.)+example$|^example\.(com|org|net)$`)
	seen := map[string]map[string]bool{}
	note := func(field string, values ...string) {
		if seen[field] == nil {
			seen[field] = map[string]bool{}
		}
		for _, v := range values {
			seen[field][v] = true
		}
	}
	for _, a := range world["accounts"] {
		ordered("account", a.CreatedAt, a.UpdatedAt)
		oneOf(query.AccountTypes, a.AccountTypes...)
		note("account_types", a.AccountTypes...)
		for _, d := range a.Domains {
			if !host.MatchString(d) {
				t.Fatalf("domain %q", d)
			}
		}
		if a.Name == "" || a.CreatedAt == "" || a.UpdatedAt == "" || len(a.AccountTypes) == 0 {
			t.Fatalf("account %+v", a)
		}
	}
	for _, c := range world["contacts"] {
		ordered("contact", c.CreatedAt, c.UpdatedAt)
		oneOf(query.ContactRoles, c.Role)
		oneOf(query.ContactStatuses, c.Status)
		note("role", c.Role)
		note("status", c.Status)
		box, at, _ := strings.Cut(c.Email, "@")
		if c.Email != "" && (box == "" || !host.MatchString(at)) {
			t.Fatalf("address %q", c.Email)
		}
		if c.Name == "" || c.CreatedAt == "" {
			t.Fatalf("contact %+v", c)
		}
	}
	projects := map[string]row{}
	for _, p := range world["projects"] {
		projects[p.ID] = p
		ordered("project", p.FiledAt, p.PermittedAt, p.CompletedAt, p.UpdatedAt)
		ordered("project", p.DetectedAt, p.UpdatedAt)
		ordered("project", p.CreatedAt, p.UpdatedAt)
		oneOf(query.Stages, p.Stage)
		oneOf(query.Dispositions, p.Disposition)
		oneOf(query.PrimaryUses, p.PrimaryUse)
		oneOf(query.GCStatuses, p.GCStatus)
		note("stage", p.Stage)
		note("disposition", p.Disposition)
		note("primary_use", p.PrimaryUse)
		note("gc_status", p.GCStatus)
		switch {
		case p.Name == "" || p.DetectedAt == "" || p.CreatedAt == "",
			(p.Stage == "completed") != (p.CompletedAt != ""),
			p.Stage == "completed" && p.Disposition != "active",
			p.Disposition == "refused" && p.PermittedAt != "",
			p.Disposition == "expired" && p.Stage == "pre_filing",
			(p.Stage == "pre_filing" || p.Stage == "filed" || p.Stage == "under_review" || p.Stage == "approved") && p.PermittedAt != "",
			p.Stage == "pre_filing" && p.FiledAt != "",
			(p.Latitude == nil) != (p.Longitude == nil),
			p.Cost != nil && *p.Cost < 0, p.Sqft != nil && *p.Sqft < 0, p.Stories != nil && *p.Stories < 1, p.Units != nil && *p.Units < 0:
			t.Fatalf("project %+v", p)
		}
	}
	once := map[string]bool{}
	for _, s := range world["signals"] {
		ordered("signal", s.OccurredAt, s.DetectedAt, s.CreatedAt, s.UpdatedAt)
		oneOf(query.SignalTypes, s.SignalType)
		oneOf(query.Stages, s.Stage)
		note("signal_type", s.SignalType)
		p := projects[s.ProjectID]
		same := map[string]string{"permit_filed": p.FiledAt, "permit_issued": p.PermittedAt, "project_completed": p.CompletedAt}
		if at, ok := same[s.SignalType]; ok && at != s.OccurredAt {
			t.Fatalf("%s at %s, the project says %s", s.SignalType, s.OccurredAt, at)
		}
		if want := map[string]string{"project_cancelled": "cancelled", "project_on_hold": "on_hold", "permit_expired": "expired"}[s.SignalType]; want != "" && p.Disposition != want {
			t.Fatalf("%s of a project that is %s", s.SignalType, p.Disposition)
		}
		if s.SignalType != "cost_changed" && s.SignalType != "stage_changed" {
			if once[s.ProjectID+s.SignalType] {
				t.Fatalf("a second %s of one project", s.SignalType)
			}
			once[s.ProjectID+s.SignalType] = true
		}
		if s.SignalType == "gc_assigned" && p.GCStatus != "assigned" {
			t.Fatalf("gc_assigned, but the project is %q", p.GCStatus)
		}
		if s.Title == "" || s.OccurredAt == "" || s.DetectedAt == "" {
			t.Fatalf("signal %+v", s)
		}
	}
	// Every word of every vocabulary occurs.
	for field, v := range map[string]query.Vocabulary{"account_types": query.AccountTypes, "role": query.ContactRoles, "status": query.ContactStatuses,
		"stage": query.Stages, "disposition": query.Dispositions, "primary_use": query.PrimaryUses, "gc_status": query.GCStatuses, "signal_type": query.SignalTypes} {
		for _, value := range v.Values() {
			if !seen[field][value] {
				t.Errorf("no record has %s %s", field, value)
			}
		}
	}
}

// checkShape needs a world of a size where its shape shows.
func checkShape(t *testing.T, world map[string][]row) {
	projectsOf, domains, names, cities := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	people, emails := map[string]int{}, map[string]int{}
	signalsOf, staffOf, linked := map[string]int{}, map[string]int{}, map[string]int{}
	var noFirm, noPeople, noStories, noCity, noCost, accents int
	for _, p := range world["projects"] {
		for _, a := range p.AccountIDs {
			projectsOf[a]++
		}
		for _, c := range p.ContactIDs {
			linked[c]++
		}
		cities[p.City]++
		count(&noFirm, len(p.AccountIDs) == 0)
		count(&noPeople, len(p.ContactIDs) == 0)
		count(&noStories, p.Stories == nil)
		count(&noCity, p.City == "")
		count(&noCost, p.Cost == nil)
		count(&accents, !ascii(p.Name))
	}
	n := float64(len(world["projects"]))
	between(t, "projects without a firm", float64(noFirm)/n, 0.05, 0.25)
	between(t, "projects without contacts", float64(noPeople)/n, 0.30, 0.70)
	between(t, "projects without stories", float64(noStories)/n, 0.40, 0.50)
	between(t, "projects without a city", float64(noCity)/n, 0.01, 0.03)
	between(t, "projects without a cost", float64(noCost)/n, 0.14, 0.22)
	between(t, "accented project names", float64(accents)/n, 0.05, 0.60)
	between(t, "projects of the hottest city", float64(slices.Max(values(cities)))/n, 0.04, 0.20)

	var exactlyOne, several, multi, none int
	firmAccents := 0
	for _, a := range world["accounts"] {
		names[a.Name]++
		count(&exactlyOne, projectsOf[a.ID] == 1)
		count(&several, projectsOf[a.ID] > 1)
		count(&multi, len(a.Domains) > 1)
		count(&none, len(a.Domains) == 0)
		count(&firmAccents, !ascii(a.Name))
		for _, d := range a.Domains {
			domains[d]++
		}
	}
	accounts := float64(len(world["accounts"]))
	links := 0
	for _, n := range projectsOf {
		links += n
	}
	between(t, "accounts with one project", float64(exactlyOne)/accounts, 0.40, 0.70)
	between(t, "projects of the biggest firm, of all links", float64(slices.Max(values(projectsOf)))/float64(links), 0.02, 0.15)
	between(t, "accounts of equal name", 1-float64(len(names))/accounts, 0.02, 0.60)
	between(t, "accounts with several domains", float64(multi)/accounts, 0.07, 0.13)
	between(t, "accounts without a domain", float64(none)/accounts, 0.16, 0.24)
	between(t, "accented firm names", float64(firmAccents)/accounts, 0.10, 0.60)
	shared := 0
	for _, n := range domains {
		count(&shared, n > 1)
	}
	between(t, "shared domains", float64(shared)/accounts, 0.005, 0.03)

	noAccount, noProject := 0, 0
	for _, c := range world["contacts"] {
		people[c.Name]++
		if c.Email != "" {
			emails[c.Email]++
		}
		staffOf[c.AccountID]++
		count(&noAccount, c.AccountID == "")
		count(&noProject, linked[c.ID] == 0)
	}
	contacts := float64(len(world["contacts"]))
	between(t, "contacts without an account", float64(noAccount)/contacts, 0.06, 0.08)
	between(t, "contacts without a project", float64(noProject)/contacts, 0.20, 0.80)
	between(t, "contacts of equal name", 1-float64(len(people))/contacts, 0.3, 0.9)
	repeats := 0
	for _, n := range emails {
		count(&repeats, n > 1)
	}
	between(t, "shared addresses", float64(repeats)/contacts, 0.0005, 0.05)

	for _, s := range world["signals"] {
		signalsOf[s.ProjectID]++
	}
	between(t, "projects without signals", 1-float64(len(signalsOf))/n, 0.10, 0.25)
	between(t, "most signals of a project", float64(slices.Max(values(signalsOf))), 60, 20000)
}

func count(n *int, yes bool) {
	if yes {
		*n++
	}
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > 127 })
}

func values(m map[string]int) []int {
	list := []int{0}
	for k, n := range m {
		if k != "" {
			list = append(list, n)
		}
	}
	return list
}

func between(t *testing.T, what string, got, low, high float64) {
	t.Helper()
	if got < low || got > high {
		t.Errorf("%s: %.4f, want %.4f to %.4f", what, got, low, high)
	}
}

// The staff of an account are those whose account it is.
func TestStaffIsTheInverseOfEmployer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(1, rapid.Int64Range(1, 20_000_000).Draw(rt, "records"))
		d := newDice()
		d.set(w, anAccount, 0)
		for range 50 {
			a := rapid.Int64Range(0, w.Accounts-1).Draw(rt, "account")
			if c := w.staff(d, a); c >= 0 && w.employer(c) != a {
				rt.Fatalf("contact %d is of account %d, not %d", c, w.employer(c), a)
			}
			if c := w.freelancer(d); c >= 0 && w.employer(c) != -1 {
				rt.Fatalf("contact %d has an account", c)
			}
		}
	})
	// And all of them are found: with few accounts, every contact is drawn.
	w := newWorld(1, 500)
	d := newDice()
	d.set(w, anAccount, 1)
	found := map[int64]bool{}
	for a := range w.Accounts {
		for range 2000 {
			found[w.staff(d, a)] = true
		}
	}
	for range 2000 {
		found[w.freelancer(d)] = true
	}
	for c := range w.Contacts {
		if !found[c] {
			t.Errorf("contact %d of account %d is nobody's staff", c, w.employer(c))
		}
	}
}

func TestSameBytesTwice(t *testing.T) {
	t.Parallel()
	for _, compress := range []string{"", "gz", "zst"} {
		var worlds [3][4][]byte
		for n, seed := range []uint64{42, 42, 43} {
			dir := t.TempDir()
			if _, err := Generate(t.Context(), Options{Records: 5000, Seed: seed, Dir: dir, Compress: compress}); err != nil {
				t.Fatal(err)
			}
			for i, dataset := range ndjson.Datasets {
				data, err := os.ReadFile(filepath.Join(dir, ndjson.FileName(dataset, ndjson.Compression(compress))))
				if err != nil {
					t.Fatal(err)
				}
				worlds[n][i] = data
			}
		}
		for i, dataset := range ndjson.Datasets {
			if len(worlds[0][i]) == 0 || !bytes.Equal(worlds[0][i], worlds[1][i]) {
				t.Errorf("%s %s differs", dataset, compress)
			}
			if bytes.Equal(worlds[0][i], worlds[2][i]) {
				t.Errorf("%s %s is the same for another seed", dataset, compress)
			}
		}
	}
}

// A million records take no more memory than a few thousand: what is live
// after a collection stays under a bound that one of them kept each would
// break many times over.
func TestMemoryIsFlat(t *testing.T) {
	const bound = 24 << 20
	discard := func([]byte) error { return nil }
	var peak, looks atomic.Uint64
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	w := newWorld(5, memoryRecords)
	p := &progress{total: memoryRecords}
	last := int64(0)
	p.tell = func(done, _ int64) {
		if done-last < memoryRecords/20 {
			return
		}
		last = done
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		peak.Store(max(peak.Load(), m.HeapAlloc))
		looks.Add(1)
	}
	if err := w.stream(t.Context(), sinks{discard, discard, discard, discard}, p); err != nil {
		t.Fatal(err)
	}
	if p.done.Load() != memoryRecords || looks.Load() < 10 {
		t.Fatalf("%d records done, looked %d times", p.done.Load(), looks.Load())
	}
	if peak.Load() > before.HeapAlloc+bound {
		t.Errorf("the heap grew from %d to %d bytes", before.HeapAlloc, peak.Load())
	}
	t.Logf("heap %d kB before, at most %d kB while %d records were made", before.HeapAlloc>>10, peak.Load()>>10, w.Total())
}

func TestStopsAndRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Generate(ctx, Options{Records: 100_000_000, Dir: dir, Progress: func(done, total int64) {
		if done > total {
			t.Errorf("%d of %d done", done, total)
		}
		cancel()
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("it left %v", left)
	}
	for _, o := range []Options{{Records: 0}, {Records: -1}, {Records: MaxRecords + 1}, {Records: 1, Compress: "rar"}} {
		o.Dir = dir
		if _, err := Generate(t.Context(), o); fault.CodeOf(err) != fault.BadRequest {
			t.Errorf("%+v: %v", o, err)
		}
	}
	full := errors.New("disk full")
	fail := func([]byte) error { return full }
	w := newWorld(1, 1_000_000)
	if err := w.stream(t.Context(), sinks{fail, fail, fail, fail}, &progress{}); !errors.Is(err, full) {
		t.Errorf("a sink that fails: %v", err)
	}
	if Reference.After(time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)) {
		t.Error("the reference day moved: every dataset changes with it")
	}
}

func BenchmarkGenerate(b *testing.B) {
	discard := func([]byte) error { return nil }
	for b.Loop() {
		w := newWorld(1, 100_000)
		if err := w.stream(b.Context(), sinks{discard, discard, discard, discard}, &progress{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(100_000*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
