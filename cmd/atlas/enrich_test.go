package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/client"
)

// enrich runs `atlas enrich` and checks its exit status.
func (s *service) enrich(want int, args ...string) (out, errs string) {
	s.t.Helper()
	status, out, errs := s.atlas(append([]string{"enrich"}, args...)...)
	if status != want {
		s.t.Fatalf("atlas enrich %v: status %d, want %d\n%s", args, status, want, errs)
	}
	return out, errs
}

// firmsWithDomain are accounts of the dataset that are known by a domain of their own.
func (s *service) firmsWithDomain(n int) []client.Account {
	s.t.Helper()
	var firms []client.Account
	domains := map[string]bool{}
	for a, err := range s.client(s.key).Accounts.All(s.t.Context(), client.Search{Filters: client.Filters{"domains": client.Known()}}) {
		if err != nil {
			s.t.Fatal(err)
		}
		if !domains[a.Domains[0]] && !strings.ContainsAny(a.Name, "\",;") {
			domains[a.Domains[0]] = true
			firms = append(firms, a)
		}
		if len(firms) == n {
			return firms
		}
	}
	s.t.Fatalf("%d firms with a domain", len(firms))
	return nil
}

func (s *service) used() int {
	s.t.Helper()
	return must(s.client(s.key).Credits(s.t.Context()))(s.t).Used
}

func TestEnrich(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	firms, dir := s.firmsWithDomain(6), t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	at := func(i int) (name, domain, id string) { return firms[i].Name, firms[i].Domains[0], firms[i].ID }

	t.Run("every byte of the rows stays", func(t *testing.T) {
		name, domain, id := at(0)
		other, website, otherID := at(1)
		path := write("kept.csv", "\ufeff\"Company\";Web-Site;Note;Note\r\n"+
			name+";https://www."+domain+"/about;\" a \"\"quoted\"\" ; note\r\nin lines\";=1+1\r\n"+
			"\r\n;;only a note;\r\n"+
			"\""+other+"\";"+website+"; kept ;\n"+
			"Nobody at All;nobody-at-all.example;;\r\n"+
			other+";"+website+";again;\r\n\r\n")
		out := filepath.Join(dir, "kept.out.csv")
		before := s.used()
		_, said := s.enrich(0, path, "--out", out, "--fields", "name,phone")
		cells := func(a client.Account) string {
			var b bytes.Buffer
			phone := a.Phone
			if strings.HasPrefix(phone, "+") {
				phone = "'" + phone
			}
			w := csv.NewWriter(&b)
			w.Comma = ';'
			_ = w.Write([]string{a.ID, a.Name, phone})
			w.Flush()
			return strings.TrimSuffix(b.String(), "\n")
		}
		rows := must(io.ReadAll(must(os.Open(out))(t)))(t)
		confidence := func(id string) string {
			_, rest, _ := strings.Cut(string(rows), ";matched;")
			for _, part := range strings.Split(string(rows), ";matched;")[1:] {
				if c, after, _ := strings.Cut(part, ";"); strings.HasPrefix(after, id) {
					return c
				}
			}
			t.Errorf("no %s in %s", id, rest)
			return ""
		}
		want := "\ufeff\"Company\";Web-Site;Note;Note;atlas_status;atlas_confidence;atlas_id;atlas_name;atlas_phone\r\n" +
			name + ";https://www." + domain + "/about;\" a \"\"quoted\"\" ; note\r\nin lines\";=1+1;matched;" + confidence(id) +
			";" + cells(firms[0]) + "\r\n" +
			"\r\n;;only a note;;skipped;;;;\r\n" +
			"\"" + other + "\";" + website + "; kept ;;matched;" + confidence(otherID) + ";" + cells(firms[1]) + "\n" +
			"Nobody at All;nobody-at-all.example;;;no_match;;;;\r\n" +
			other + ";" + website + ";again;;matched;" + confidence(otherID) + ";" + cells(firms[1]) + "\r\n\r\n"
		if diff := cmp.Diff(want, string(rows)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		for _, want := range []string{
			"name: Company, domain: Web-Site", "4 rows to find, at most 4 credits",
			"complete: 5 rows (3 matched, 1 no_match, 1 skipped)", "credits: 2 now, 2 in all",
		} {
			if !strings.Contains(said, want) {
				t.Errorf("no %q in\n%s", want, said)
			}
		}
		if used := s.used() - before; used != 2 { // equal rows are one
			t.Errorf("%d credits", used)
		}
		// An earlier input is not charged again, even if its output is lost.
		text, said := s.enrich(0, path, "--out", "-", "--fields", "name,phone")
		if text != want || s.used()-before != 2 || !strings.Contains(said, "in the standard output; credits: 0 now") {
			t.Errorf("%d credits, %s\n%s", s.used()-before, said, text)
		}
		if _, said := s.enrich(0, path, "--out", out, "--fields", "name,phone"); !strings.Contains(said, "complete already: 5 rows") {
			t.Error(said)
		}
		if _, said := s.enrich(1, path, "--out", out, "--fields", "name"); !strings.Contains(said, "belongs to another enrichment") {
			t.Error(said)
		}
	})
	t.Run("columns", func(t *testing.T) {
		_, domain, id := at(2)
		path := write("columns.csv", "Name,Name,x\n1,"+firms[2].Name+","+domain+"\n")
		out, said := s.enrich(0, path, "--out", "-", "--column", "name=#2", "--column", "domain=X", "--prefix", "", "--fields", "city")
		if rows := must(csv.NewReader(strings.NewReader(out)).ReadAll())(t); !slices.Equal(
			rows[0], []string{"Name", "Name", "x", "status", "confidence", "id", "city"},
		) ||
			rows[1][3] != "matched" || rows[1][5] != id || rows[1][6] != firms[2].City {
			t.Errorf("%q\n%s", rows, said)
		}
		persons := must(s.client(s.key).Contacts.Search(t.Context(), client.Search{
			Filters: client.Filters{"email": client.Known()}, Limit: 1,
		}))(t).Records
		given, family, _ := strings.Cut(persons[0].Name, " ")
		path = write("persons.csv", fmt.Sprintf("First Name\tLast Name\tE-mail\n%s\t%s\t%s\n", given, family, persons[0].Email))
		out, said = s.enrich(0, path, "--dataset", "contacts", "--out", "-", "--fields", "title")
		if !strings.Contains(out, "\tmatched\t") || !strings.Contains(out, persons[0].ID) ||
			!strings.Contains(said, "name: First Name + Last Name, email: E-mail") {
			t.Errorf("%s\n%s", out, said)
		}
	})
	t.Run("what the service refuses", func(t *testing.T) {
		name, domain, id := at(3)
		path := write("refused.csv", "name,domain\n"+strings.Repeat("long", 300)+",a.example\n"+name+","+domain+"\n")
		before := s.used()
		summary, said := s.enrich(0, path, "--out", filepath.Join(dir, "refused.out.csv"), "--json")
		var got struct {
			Complete      bool
			Rows, Credits int
			Statuses      map[string]int
			Refused       []string
		}
		if err := json.Unmarshal([]byte(summary), &got); err != nil || !got.Complete || got.Rows != 2 || got.Credits != 1 ||
			got.Statuses["refused"] != 1 || got.Statuses["matched"] != 1 ||
			len(got.Refused) != 1 || !strings.HasPrefix(got.Refused[0], "line 2 is refused: name ") || s.used()-before != 1 {
			t.Errorf("%v %+v %s", err, got, said)
		}
		if text := contents(t, filepath.Join(dir, "refused.out.csv")); !strings.Contains(text, id) {
			t.Error(text)
		}
	})
	t.Run("files that cannot be read", func(t *testing.T) {
		for _, c := range []struct {
			text, want string
			status     int
		}{
			{"", "has no header", 1},
			{"\n\n", "has no header", 1},
			{"name,city\nA,B\nC\n", "line 3: the row has 1 cells, the header 2", 1},
			{"name,city\nA,B\nC,D,E\n", "line 3: the row has 3 cells", 1},
			{"name,city\n\nA,\"B\nC,D\n", "in the row that begins in line 3", 1},
			{"name,city\nA,B\nC,\"D\n" + strings.Repeat("E,F\n", 5<<20), "the row after line 2 has more than 16 MB: a quote may not be closed", 1},
			{"name,city\nA \"B\" C,D\n", "line 2: bare", 1},
			{"name,city\nCaf\xe9,D\n", "line 2: the text of column 1 is not UTF-8", 1},
			{"\xff\xfen\x00a\x00", "is UTF-16", 1},
			{"n\x00a\x00m\x00e\x00\n\x00A\x00", "has NUL characters, as a file in UTF-16", 1},
			{"name,city\rA,B\r", "CR alone", 1},
			{"Our customers\n\nname,city\nA,B\n", `"Our customers" is no header, for it names one column and row 2 has 2: delete the lines above`, 1},
			{"Our customers;;\n;;\nname;city;phone\nA;B;1\n", `is no header`, 1},
			{"sep=;\nname;city\nA;B;C\n", "line 3: the row has 3 cells", 1},
			{"nmae,town\nA,B\n", `no column is known as the name, domain, email or phone of accounts; say which, such as --column name="nmae"`, 2},
			{"Firm,firm\nA,B\n", `the columns #1, #2 are all called "Firm": say which is meant`, 2},
			{"name,atlas_id\nA,B\n", `has a column "atlas_id" already: give another --prefix`, 2},
		} {
			path := write("broken.csv", c.text)
			before := s.used()
			out, said := s.enrich(c.status, path, "--out", "-")
			if !strings.Contains(said, c.want) || out != "" || s.used() != before {
				t.Errorf("%q: %s%s", c.text, said, out)
			}
		}
		path := write("header.csv", "name,city")
		if out, _ := s.enrich(0, path, "--out", "-"); out != "name,city,atlas_status,atlas_confidence,atlas_id,atlas_name" {
			t.Errorf("a header alone: %q", out)
		}
	})
	t.Run("goes on", func(t *testing.T) {
		var text strings.Builder
		text.WriteString("name,domain\n")
		for i := range firms {
			name, domain, _ := at(i)
			fmt.Fprintf(&text, "%s,%s\nNobody %d,\n", name, domain, i)
		}
		path, out := write("steps.csv", text.String()), filepath.Join(dir, "steps.out.csv")
		before := s.used()
		for range 10 {
			if status, _, said := s.atlas("enrich", path, "--out", out, "--max-credits", "3"); status == 0 {
				break
			} else if status != 4 || !strings.Contains(said, "at --max-credits") {
				t.Fatalf("%d %s", status, said)
			}
		}
		rows := must(csv.NewReader(strings.NewReader(contents(t, out))).ReadAll())(t)
		if used := s.used() - before; used > len(firms) || len(rows) != 1+2*len(firms) {
			t.Errorf("%d credits, %q", used, rows)
		}
		for i, f := range firms {
			if rows[1+2*i][4] != f.ID || rows[2+2*i][2] != "no_match" {
				t.Errorf("%s: %q, %q", f.ID, rows[1+2*i], rows[2+2*i])
			}
		}
		write("steps.csv", text.String()+"more,\n")
		if _, said := s.enrich(1, path, "--out", out); !strings.Contains(said, "the file that is read has been changed since it began") {
			t.Error(said)
		}
	})
}

// An enrichment that is killed after the service has answered, and before it has the answer,
// gets the same one again and is charged once.
func TestEnrichIsKilled(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	firms, dir := s.firmsWithDomain(150), t.TempDir()
	path, out := filepath.Join(dir, "in.csv"), filepath.Join(dir, "out.csv")
	var text strings.Builder
	text.WriteString("id,domain\n")
	for _, f := range firms {
		fmt.Fprintf(&text, "%s,%s\n", f.ID, f.Domains[0])
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	root := must(url.Parse(s.root))(t)
	var killing atomic.Pointer[os.Process]
	line := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.Clone(r.Context())
		q.URL.Scheme, q.URL.Host, q.RequestURI = root.Scheme, root.Host, ""
		res, err := http.DefaultTransport.RoundTrip(q)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close() //nolint:errcheck // read to the end
		body := must(io.ReadAll(res.Body))(t)
		if p := killing.Load(); p != nil && strings.HasSuffix(r.URL.Path, "/match") {
			_ = p.Kill()
			return
		}
		for name, values := range res.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(res.StatusCode)
		_, _ = w.Write(body)
	}))
	defer line.Close()
	s.base = line.URL + "/api/v1"
	before := s.used()
	kill := func(more ...string) {
		command := exec.CommandContext(t.Context(), os.Args[0], append([]string{"enrich", path, "--out", out}, more...)...)
		command.Env = append(os.Environ(), runAsAtlas+"=1", "ATLAS_URL="+s.base, "ATLAS_API_KEY="+s.key)
		var said bytes.Buffer
		command.Stderr = &said
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		killing.Store(command.Process)
		if err := command.Wait(); err == nil || command.ProcessState.Exited() {
			t.Fatalf("not killed: %v %s", err, &said)
		}
		killing.Store(nil)
	}
	kill()
	kill("--max-credits", "30") // continues with the interrupted batch
	if _, said := s.enrich(4, path, "--out", out, "--max-credits", "20"); !strings.Contains(said, "credits: 20 now") {
		t.Error(said)
	}
	kill()
	s.enrich(0, path, "--out", out)
	rows := must(csv.NewReader(strings.NewReader(contents(t, out))).ReadAll())(t)
	if len(rows) != len(firms)+1 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows[1:] {
		if row[0] != row[4] && row[2] != "ambiguous" { // some domains are those of two firms
			t.Errorf("%q", row)
		}
	}
	if used := s.used() - before; used != len(firms) {
		t.Errorf("%d credits for %d rows", used, len(firms))
	}
}

// The same list again, with and without the workspace named, is a free replay; newly loaded
// firms are found, and charged once.
func TestEnrichAgain(t *testing.T) {
	t.Parallel()
	w := startWritable(t)
	w.load(map[string]string{"accounts": account(1, `,"name":"Bow Valley Builders"`)})
	in := must(w.client(w.key).Workspace(t.Context()))(t).ID
	path := filepath.Join(t.TempDir(), "firms.csv")
	if err := os.WriteFile(path, []byte("name\nBow Valley Builders\nKananaskis Concrete\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(credits, matched int, args ...string) {
		t.Helper()
		before := w.used()
		_, said := w.enrich(0, append([]string{path, "--min-confidence", "0.5"}, args...)...)
		if used := w.used() - before; used != credits || !strings.Contains(said, fmt.Sprintf("%d matched", matched)) {
			t.Errorf("%v: %d credits, want %d\n%s", args, used, credits, said)
		}
	}
	out := path + ".out.csv"
	check(1, 1, "--out", out, "--workspace", in)
	check(0, 1, "--out", "-")
	check(0, 1, "--out", out, "--restart")
	w.index(0, "apply", "--accounts", w.file(account(2, `,"name":"Kananaskis Concrete"`)))
	check(1, 2, "--out", out, "--restart")
	check(0, 2, "--out", out, "--restart", "--workspace", in)
	check(0, 2, "--out", "-")
}
