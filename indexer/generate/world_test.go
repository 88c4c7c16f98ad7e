package generate

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"atlas/indexer/ndjson"
	"atlas/search/catalog"
)

// For any number of records and any seed, the number is exact and all links refer to
// existing records.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		records := rapid.OneOf(rapid.Int64Range(1, 40), rapid.Int64Range(41, 2000)).Draw(rt, "records")
		var lines [4][][]byte
		collect := func(i int) func([]byte) error {
			return func(line []byte) error {
				lines[i] = append(lines[i], bytes.Clone(line))
				return nil
			}
		}
		w := newWorld(rapid.Uint64().Draw(rt, "seed"), records)
		p := &progress{total: records}
		if err := w.stream(t.Context(), sinks{collect(0), collect(1), collect(2), collect(3)}, p); err != nil {
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

// TestWorld checks the links, values and distributions of one world.
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
	// ordered fails unless the known times ascend.
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
	oneOf := func(v catalog.Vocabulary, values ...string) {
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
		oneOf(catalog.AccountTypes, a.AccountTypes...)
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
		oneOf(catalog.ContactRoles, c.Role)
		oneOf(catalog.ContactStatuses, c.Status)
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
		oneOf(catalog.Stages, p.Stage)
		oneOf(catalog.Dispositions, p.Disposition)
		oneOf(catalog.PrimaryUses, p.PrimaryUse)
		oneOf(catalog.GCStatuses, p.GCStatus)
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
		oneOf(catalog.SignalTypes, s.SignalType)
		oneOf(catalog.Stages, s.Stage)
		note("signal_type", s.SignalType)
		p := projects[s.ProjectID]
		same := map[string]string{"permit_filed": p.FiledAt, "permit_issued": p.PermittedAt, "project_completed": p.CompletedAt}
		if at, ok := same[s.SignalType]; ok && at != s.OccurredAt {
			t.Fatalf("%s at %s, the project says %s", s.SignalType, s.OccurredAt, at)
		}
		if want := map[string]string{
			"project_cancelled": "cancelled", "project_on_hold": "on_hold", "permit_expired": "expired",
		}[s.SignalType]; want != "" &&
			p.Disposition != want {
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
	for field, v := range map[string]catalog.Vocabulary{
		"account_types": catalog.AccountTypes, "role": catalog.ContactRoles, "status": catalog.ContactStatuses,
		"stage": catalog.Stages, "disposition": catalog.Dispositions, "primary_use": catalog.PrimaryUses,
		"gc_status": catalog.GCStatuses, "signal_type": catalog.SignalTypes,
	} {
		for _, value := range v.Values() {
			if !seen[field][value] {
				t.Errorf("no record has %s %s", field, value)
			}
		}
	}
}

// checkShape needs a world that is large enough to show its distributions.
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

// The staff of an account are the contacts whose account it is.
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
	// Every contact is drawn: with few accounts, all are found.
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
