package permits_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"atlas/indexer/permits"
	"atlas/indexer/source"
	"atlas/search/match/labelled"
)

// others are pairs of names in the ways in which the cities that ship write them, and whether
// they are one firm. Firms of one name with another trade or number are not.
var others = []struct {
	a, b string
	same bool
}{
	{"POWER CONSTRUCTION COMPANY, LLC", "POWER CONST CO LLC", true},
	{"WALSH  CONSTRUCTION", "Walsh Construction Company", true}, {"LINN-MATHES, INC.", "LINN-MATHES  INC", true},
	{"1712 S. WICKLOW DEVELOPMENT CORP", "1712 S. WICKLOW DEVELOPMENT", true},
	{"Fox Service Co.", "FOX Service Company", true},
	{"BRIGHTWIRE ELECTRIC CO., INC", "Brightwire Electric Co. Inc", true},
	{"CHILDREN'S LAKESIDE HOSPITAL", "CHILDRENS LAKESIDE HOSPITAL", true},
	{"Northwind Heating & Cooling", "NORTHWIND HEATING AND COOLING", true},
	{"BLUE HERON CONSTRUCTION COMPAN", "Blue Heron Construction Company", true},
	{"1712 S. WICKLOW LLC", "1718 S. WICKLOW LLC", false}, {"Copperline Electric", "Copperline Plumbing", false},
	{"Stonecrop Homes", "Stonecrop Builders", false}, {"LAKE TOWER I LLC", "LAKE TOWER II LLC", false},
	{"100 N HARBOR VIEW LLC", "1000 N HARBOR VIEW LLC", false}, {"ABC Electric", "ABD Electric", false},
	{"Riverstone Homes", "Riverton Homes", false},
}

// The rules link what they should: labelled firms of Calgary with noise, hard pairs, firms
// unknown to them, and names as other cities write them.
func TestLinksAreRight(t *testing.T) {
	t.Parallel()
	file, err := os.Open("calgary-permits.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	firms, err := labelled.Firms(file)
	if err != nil {
		t.Fatal(err)
	}
	var known bytes.Buffer
	same := map[string]string{} // by id of the account
	for _, f := range firms {
		if f.Part == labelled.HeldOut {
			same[f.ID] = f.Same
			line, err := json.Marshal(map[string]any{"id": f.ID, "name": f.Name, "phone": f.Phone, "city": f.City, "state": f.State})
			if err != nil {
				t.Fatal(err)
			}
			known.Write(append(line, '\n'))
		}
	}
	var rows bytes.Buffer
	w := csv.NewWriter(&rows)
	_ = w.Write([]string{"no", "firm", "phone", "town", "day"})
	want := map[string]string{} // by name
	right := 0
	for _, part := range []labelled.Part{labelled.HeldOut, labelled.Absent} {
		for i, in := range labelled.Inputs(firms, part, 20, 4) {
			if in.Name == "" || in.Domain != "" || in.Email != "" { // permits have no domains
				continue
			}
			if _, twice := want[in.Name]; twice {
				continue
			}
			want[in.Name] = in.Same
			if in.Same != "" {
				right++
			}
			_ = w.Write([]string{strconv.Itoa(int(part)) + "-" + strconv.Itoa(i), in.Name, in.Phone, in.City, "2024-01-01"})
		}
	}
	for i, o := range others {
		id := "00000000-0000-4000-8000-0000000000" + strconv.Itoa(10+i)
		line, err := json.Marshal(map[string]any{"id": id, "name": o.a})
		if err != nil {
			t.Fatal(err)
		}
		known.Write(append(line, '\n'))
		same[id] = o.a
		want[o.b] = ""
		if o.same {
			want[o.b] = o.a
			right++
		}
		_ = w.Write([]string{"o" + strconv.Itoa(i), o.b, "", "", "2024-01-01"})
	}
	w.Flush()
	accounts := filepath.Join(t.TempDir(), "accounts.ndjson")
	if err := os.WriteFile(accounts, known.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := source.Parse("x", []byte("version: 1\nsource: x\ntitle: X\npublic: [firm, phone]\nkey: \"{no}\"\nproject: {name: \"{no}\", filed_at: \"{day}\"}\nfirms: {name: \"{firm}\", type: other, cell: firm, phone: \"{phone}\", city: \"{town}\"}\nchanges: {link: spelling}\n"))
	if err != nil {
		t.Fatal(err)
	}
	report := mustConvert(t, permits.Options{
		Source: d, Inputs: []permits.Input{permits.Memory("x.csv", rows.Bytes())}, Dir: t.TempDir(),
		Accounts: []string{accounts},
	})
	good := 0
	for _, l := range report.Links.New {
		if want[l.Name] != "" && want[l.Name] == same[l.AccountID] {
			good++
		} else {
			t.Logf("%q is not %q: %.3f %v", l.Name, l.Account, l.Confidence, l.Reasons)
		}
	}
	precision, recall := float64(good)/float64(len(report.Links.New)), float64(good)/float64(right)
	t.Logf("%d names, %d with a right account, %d linked: precision %.4f, recall %.3f", len(want), right, len(report.Links.New), precision, recall)
	if precision < 0.99 || recall < 0.6 {
		t.Error("the rules link too much or too little")
	}
}
