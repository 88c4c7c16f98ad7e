package main

import (
	"bytes"
	"io"
	"mime/quotedprintable"
	"net/http"
	netmail "net/mail"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"atlas/cmd/internal/server"
	"atlas/internal/mail/mailtest"
)

// link runs `atlas person link`.
func (w writable) link(want int, args ...string) (stdout, stderr string) {
	w.t.Helper()
	var out bytes.Buffer
	var errs syncBuffer
	if code := run(w.t.Context(), append([]string{"person", "link"}, w.suppressArgs(args...)[1:]...), &out, &errs); code != want {
		w.t.Fatalf("atlas person link: status %d, want %d\n%s%s", code, want, &out, &errs)
	}
	return out.String(), errs.String()
}

// mailed returns the link of an e-mail, and its text.
func mailed(t *testing.T, e mailtest.Event) (link *url.URL, text string) {
	t.Helper()
	m := must(netmail.ReadMessage(strings.NewReader(e.Data)))(t)
	var r io.Reader = m.Body
	if m.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
		r = quotedprintable.NewReader(r)
	}
	text = string(must(io.ReadAll(r))(t))
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "https://") {
			return must(url.Parse(strings.TrimSpace(line)))(t), text
		}
	}
	t.Fatalf("no link in\n%s", text)
	panic("unreachable")
}

// A person gets an e-mail at the address on file, opens its page, presses the button and is
// in no answer within a minute. Nothing happens before.
func TestPersonErasesByLink(t *testing.T) {
	t.Parallel()
	letters := mailtest.Start(t, mailtest.Behaviour{})
	w := startWritable(t, func(c *server.Config) {
		c.SMTPURL, c.MailFrom, c.PublicURL = letters.URL(), "Atlas <no-reply@atlas.example>", "https://atlas.example"
		c.SuppressionKey = suppressionKey
	})
	w.index(0, "load", w.people(), "--force", "--allow-missing", "--dead-letters", filepath.Join(w.dir, "letters.ndjson"))
	w.index(0, "load", w.people(), "--force", "--allow-missing", "--dead-letters", filepath.Join(w.dir, "letters.ndjson"))
	view := w.call("POST", "/workspace/views/upsert", w.key, `{"dataset":"contact","view_type":"static","name":"Persons"}`)
	viewID := strings.Split(strings.SplitN(string(view.raw), `"id":"`, 2)[1], `"`)[0]
	for path, body := range map[string]string{
		"/workspace/contacts/upsert":                  `{"contact_id":"` + ada + `","notes":"Call her"}`,
		"/workspace/views/" + viewID + "/records/add": `{"record_id":"` + ada + `"}`,
	} {
		if a := w.call("POST", path, w.key, body); a.status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, a.status, a.raw)
		}
	}
	if _, said := w.link(1, "20000000-0000-4000-8000-00000000ada7"); !strings.Contains(said, "there is no contact") {
		t.Errorf("nobody: %s", said)
	}
	out, said := w.link(0, ada, "--json")
	if strings.Contains(strings.ToLower(out+said), "quillfeather") || strings.Contains(out, "token") || !strings.Contains(out, ada) {
		t.Errorf("atlas person link: %s%s", out, said)
	}
	letters.Next(t, "rcpt")
	letter := letters.Next(t, "email")
	link, text := mailed(t, letter)
	token := link.Query().Get("token")
	if letter.To != "Adalgisa@Quillfeather.example" || link.Host != "atlas.example" || link.Path != "/erasure" || token == "" ||
		strings.Contains(strings.ToLower(text), "quillfeather") {
		t.Fatalf("a letter to %s:\n%s", letter.To, text)
	}
	ask := func(method string) (int, string) {
		t.Helper()
		r := must(http.NewRequestWithContext(t.Context(), method, w.root+"/erasure?"+link.RawQuery, strings.NewReader("erase=contact")))(t)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		res := must(http.DefaultClient.Do(r))(t)
		defer res.Body.Close()
		return res.StatusCode, string(must(io.ReadAll(res.Body))(t))
	}
	for _, method := range []string{"GET", "HEAD", "GET"} {
		if status, page := ask(method); method == "GET" && (status != 200 || !strings.Contains(page, "Erase the entry</button>")) {
			t.Fatalf("%s: %d %s", method, status, page)
		}
	}
	if a := w.call("GET", "/data/contacts/"+ada, w.key, ""); a.status != http.StatusOK {
		t.Fatalf("opening the page has erased: %d %s", a.status, a.raw)
	}
	pressed := time.Now()
	if status, page := ask("POST"); status != 200 || !strings.Contains(page, "is being erased") || strings.Contains(page, adaName) {
		t.Fatalf("the button: %d %s", status, page)
	}
	w.eventually("the contact is gone", func() bool {
		return w.call("GET", "/data/contacts/"+ada, w.key, "").status == http.StatusNotFound &&
			w.call("GET", "/workspace/contacts/"+ada, w.key, "").status == http.StatusNotFound &&
			w.call("POST", "/workspace/contacts/upsert", w.key, `{"contact_id":"`+ada+`"}`).status == http.StatusNotFound
	})
	w.wantErased("by a link", viewID, `{"query":"Quillfeather","limit":5}`)
	if took := time.Since(pressed); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	for _, method := range []string{"GET", "POST"} {
		if status, page := ask(method); status != 404 || !strings.Contains(page, "leads nowhere") {
			t.Errorf("%s again: %d %s", method, status, page)
		}
	}
	w.eventually("the erasure ends", func() bool {
		list, _ := w.suppress(0, "list")
		return strings.Contains(list, "erased") && !strings.Contains(list, "not finished")
	})
	w.keyed("load", w.people(), "--force", "--allow-missing", "--dead-letters", filepath.Join(w.dir, "letters2.ndjson"))
	w.wantErased("after a load", viewID, `{"query":"Quillfeather","limit":5}`)
	events, _ := operatorCLI{t, w.config.PostgresSystemURL}.run(0, "audit", "list", "--action=suppression,person", "--json")
	for _, want := range []string{"person.link_made", "person.link_used", "suppression.added", `"operator"`, `"service"`} {
		if !strings.Contains(events, want) || strings.Contains(events, "uill") {
			t.Errorf("the audit log has no %s: %s", want, events)
		}
	}
	letters.Quiet(t)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	if log := strings.ToLower(w.log.String()); strings.Contains(log, strings.ToLower(token)) || strings.Contains(log, "quillfeather") {
		t.Error("the token or the address was logged")
	}
}

// Anybody may request an e-mail where the operator permits it: it goes to the address on
// file, and its button erases.
func TestPersonAsksForTheLetter(t *testing.T) {
	t.Parallel()
	letters := mailtest.Start(t, mailtest.Behaviour{})
	w := startWritable(t, func(c *server.Config) {
		c.SMTPURL, c.MailFrom, c.PublicURL = letters.URL(), "Atlas <no-reply@atlas.example>", "https://atlas.example"
		c.SuppressionKey, c.ErasureForm = suppressionKey, true
	})
	w.index(0, "load", w.people(), "--force", "--allow-missing", "--dead-letters", filepath.Join(w.dir, "letters.ndjson"))
	post := func(path, body string) (int, string) {
		t.Helper()
		r := must(http.NewRequestWithContext(t.Context(), http.MethodPost, w.root+path, strings.NewReader(body)))(t)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		res := must(http.DefaultClient.Do(r))(t)
		defer res.Body.Close()
		return res.StatusCode, string(must(io.ReadAll(res.Body))(t))
	}
	_, unknown := post("/erasure/request", "email=nobody%40quarry.example")
	status, known := post("/erasure/request", "email="+url.QueryEscape(strings.ToUpper(adaEmail)))
	if status != 200 || known != unknown || !strings.Contains(known, "If this address is on file") {
		t.Fatalf("%d %s, and of an unknown address %s", status, known, unknown)
	}
	if rcpt := letters.Next(t, "rcpt"); !strings.Contains(rcpt.To, "Adalgisa@Quillfeather.example") {
		t.Fatalf("%+v", rcpt)
	}
	link, _ := mailed(t, letters.Next(t, "email"))
	if status, page := post(link.Path+"?"+link.RawQuery, "erase=contact"); status != 200 {
		t.Fatalf("the button: %d %s", status, page)
	}
	w.eventually("the contact is gone", func() bool {
		return w.call("GET", "/data/contacts/"+ada, w.key, "").status == http.StatusNotFound
	})
	letters.Quiet(t)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	if log := strings.ToLower(w.log.String()); strings.Contains(log, "quillfeather") || strings.Contains(log, "nobody@") {
		t.Error("an address was logged")
	}
}

// The form is refused where no e-mail can be sent.
func TestErasureFormNeedsLetters(t *testing.T) {
	t.Parallel()
	err := server.Config{ErasureForm: true}.Check()
	if err == nil || !strings.Contains(err.Error(), "--erasure-form (ATLAS_ERASURE_FORM) needs") {
		t.Errorf("%v", err)
	}
}
