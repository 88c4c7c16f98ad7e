package duplicates_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/indexer"
	"atlas/indexer/duplicates"
	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
	"atlas/mappings"
	"atlas/search/catalog"
	"atlas/search/match/labelled"
)

var (
	measure = flag.Bool("measure-duplicates", false, "measure with more records")
	others  = flag.Int("others", 300_000, "how many made-up firms are beside those of the permits, with -measure-duplicates")
)

// file is the accounts of a test. same says which are one firm, by id.
type file struct {
	to   *bufio.Writer
	next *rand.Rand
	same map[string]string
}

func (f *file) id() string {
	var b [16]byte
	for i := range b {
		b[i] = byte(f.next.Uint32()) // #nosec G115 -- a byte
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return uuid.UUID(b).String()
}

func (f *file) add(t testing.TB, same, name, domain, phone, city, state string) string {
	record := map[string]any{"id": f.id(), "name": name, "phone": phone, "city": city, "state": state}
	if domain != "" {
		record["domains"] = []string{domain}
	}
	line, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.to.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
	id := record["id"].(string)
	f.same[id] = same
	return id
}

// syllables make names that no other firm has.
var syllables = strings.Fields("ba be bo bri ca ce co cra da de do dri fa fe fo fra ga ge go gra ka ke ko kri la le lo ma me mo na ne no pa pe po pra ra re ro sa se so sta ta te to tra va ve vo za zen lin mar dor ton wick ford well mont ley ster")

// commonWords are in the names of many firms.
var commonWords = strings.Fields("SUMMIT ELITE PRAIRIE NORTHERN ROCKY WESTERN PACIFIC ALPINE CEDAR MAPLE EAGLE BOW RIVER FOOTHILLS CHINOOK HERITAGE PIONEER STAMPEDE GOLDEN SILVER BLUE SKY TRUE NORTH STAR LEGACY FUSION APEX CORE VISION")

var tradesOfNames = strings.Fields("HOMES CONSTRUCTION CONTRACTING RENOVATIONS DEVELOPMENTS BUILDERS DESIGN PROJECTS ELECTRIC EXCAVATING ROOFING PLUMBING LANDSCAPING CONCRETE DRYWALL ARCHITECTURE ENGINEERING GROUP PROPERTIES")

// firmName makes up the name of a firm.
func firmName(r *rand.Rand) string {
	var b strings.Builder
	for range 4 + r.IntN(2) {
		b.WriteString(syllables[r.IntN(len(syllables))])
	}
	name := strings.ToUpper(b.String())
	if r.IntN(2) == 0 {
		name = commonWords[r.IntN(len(commonWords))] + " " + name
	}
	return name + " " + tradesOfNames[r.IntN(len(tradesOfNames))]
}

// writeFirms writes the firms of the permits, records that are the same by the rules of the
// labelled set or like them, and made-up firms.
func writeFirms(t testing.TB, dir string, more int) *file {
	t.Helper()
	permits, err := os.Open("../permits/calgary-permits.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer permits.Close() //nolint:errcheck // only read
	firms, err := labelled.Firms(permits)
	if err != nil {
		t.Fatal(err)
	}
	firms = slices.DeleteFunc(firms, func(f labelled.Firm) bool { return f.Part != labelled.HeldOut })
	out, err := os.Create(filepath.Join(dir, "accounts.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	f := &file{bufio.NewWriter(out), rand.New(rand.NewPCG(7, 7)), map[string]string{}} // #nosec G404 -- not a secret
	for _, firm := range firms {
		f.add(t, firm.Same, firm.Name, firm.Domain, firm.Phone, firm.City, firm.State)
	}
	for i, in := range labelled.Inputs(firms, labelled.HeldOut, 31, 1) {
		// Of two firms of one name and two domains, a record without a domain may be either.
		if same := in.Same; in.Name != "" && in.Kind != "another domain" {
			if same == "" {
				same = fmt.Sprint("other ", i)
			}
			domain := catalog.Domain(in.Domain)
			if in.Email != "" {
				domain = catalog.Domain(in.Email)
			}
			f.add(t, same, in.Name, domain, in.Phone, in.City, in.State)
		}
	}
	for i := range more {
		city := []string{"Calgary", "Edmonton", "Red Deer", "Airdrie", "Vancouver", "Toronto"}[f.next.IntN(6)]
		name, domain, phone := firmName(f.next), "", ""
		if f.next.IntN(2) == 0 {
			domain = fmt.Sprintf("firm%d.example", i)
		}
		if f.next.IntN(2) == 0 {
			phone = fmt.Sprintf("+1 780 %07d", i)
		}
		f.add(t, fmt.Sprint("more ", i), name, domain, phone, city, "")
	}
	if err := f.to.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return f
}

func load(t testing.TB, dir string) (*elastic.Client, mappings.Names) {
	t.Helper()
	es, err := elastic.New(elastic.Config{Addresses: []string{backends.Elasticsearch(t)}})
	if err != nil {
		t.Fatal(err)
	}
	names := mappings.Names{Prefix: "duplicates-" + strings.ToLower(uuid.NewString()[:8]) + "-"}
	report, err := indexer.Load(t.Context(), indexer.Options{Dir: dir, Elastic: es, Names: names, AllowMissing: true, TempDir: t.TempDir()})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, d := range report.Datasets {
			if err := es.DeleteIndices(ctx, names.Generation(string(d.Dataset), report.Generation)); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return es, names
}

func TestDuplicates(t *testing.T) {
	t.Parallel()
	dir, more := t.TempDir(), 500
	if *measure {
		more = *others
	}
	f := writeFirms(t, dir, more)
	es, names := load(t, dir)
	began := time.Now()
	var peak uint64
	report, err := duplicates.Run(
		t.Context(),
		duplicates.Options{
			Elastic: es, Names: names, Dataset: catalog.Accounts, MinConfidence: duplicates.DefaultMinConfidence,
			TempDir: t.TempDir(),
			Progress: func(indexer.Progress) {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapAlloc)
			},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	if int(report.Records) != len(f.same) || report.GroupCount != len(report.Groups) {
		t.Errorf("%d records of %d, %d groups of %d", report.Records, len(f.same), len(report.Groups), report.GroupCount)
	}
	group := map[string]int{}
	links, right := 0, 0
	var wrong []string
	for i, g := range report.Groups {
		if len(g.Links) != len(g.Records)-1 || len(g.Records) < 2 || g.Confidence < duplicates.DefaultMinConfidence ||
			i > 0 && g.Confidence > report.Groups[i-1].Confidence {
			t.Errorf("%+v", g)
		}
		labels := map[string]string{}
		for j, r := range g.Records {
			group[r.ID] = i + 1
			labels[r.ID] = r.Name
			for _, other := range g.Records[:j] {
				if len(r.Domains) > 0 && len(other.Domains) > 0 && r.Domains[0] != other.Domains[0] {
					t.Errorf("two domains in a group: %+v, %+v", r, other)
				}
			}
		}
		for _, l := range g.Links {
			if links++; f.same[l.IDs[0]] == f.same[l.IDs[1]] {
				right++
			} else {
				wrong = append(wrong, fmt.Sprintf("%.3f %s | %s %v", l.Confidence, labels[l.IDs[0]], labels[l.IDs[1]], l.Reasons))
			}
		}
	}
	// Of the records of a firm all are to be in one group.
	of := map[string][]string{}
	for id, same := range f.same {
		of[same] = append(of[same], id)
	}
	wanted, found := 0, 0
	for _, ids := range of {
		seen := map[int]bool{}
		for _, id := range ids {
			seen[group[id]] = true
		}
		parts := len(seen)
		if seen[0] { // records in no group are alone
			parts--
			for _, id := range ids {
				if group[id] == 0 {
					parts++
				}
			}
		}
		wanted += len(ids) - 1
		found += len(ids) - parts
	}
	precision, recall := float64(right)/float64(links), float64(found)/float64(wanted)
	t.Logf("%d records, %d pairs, %d crowded keys, %d groups with %d records; %d links, precision %.4f, recall %.4f; %s, heap at most %d MB",
		report.Records, report.Pairs, report.Crowded, report.GroupCount, report.RecordCount, links, precision, recall,
		time.Since(began).Round(time.Second), peak>>20)
	if *measure {
		t.Logf("wrong:\n%s", strings.Join(wrong[:min(len(wrong), 200)], "\n"))
	} else if precision < 0.95 || recall < 0.8 {
		t.Errorf("wrong:\n%s", strings.Join(wrong, "\n"))
	}
}
