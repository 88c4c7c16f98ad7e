package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"atlas/search/searchtest"
	"atlas/service/endpoint"
	"atlas/workspace"
)

// mistake is a row of testdata/mistakes.yaml.
type mistake struct {
	Send, As, Type, Body string
	Header               map[string]string
	Answer               string
	Says                 []string
	Before               string
}

// maxMessage is the maximum length of an error message, in characters: one sentence.
const maxMessage = 700

// TestMistakes makes each mistake of the table. The message must have what the table
// requires.
func TestMistakes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/mistakes.yaml")
	fatal(t, err)
	var rows []mistake
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	decoder.KnownFields(true)
	fatal(t, decoder.Decode(&rows))
	w := newViewWorld(t)
	var page struct {
		After string `json:"search_after"`
	}
	w.call(t, w.key, "POST", "/data/accounts/search", `{"limit":1}`).into(t, nil, &page)
	names := strings.NewReplacer(
		"{key}", w.key, "{half}", w.key[:len(w.key)-5], "{stale}", workspace.NewSecret().Token(workspace.KeyID(workspace.NewUUID())),
		"{id}", unknownID, "{account}", searchtest.ID("a", 1), "{contact}", searchtest.ID("c", 1), "{project}", searchtest.ID("p", 1),
		"{static}", w.create(t, w.key, viewBody("project", "static", "S")).ID, "{dynamic}",
		w.create(t, w.key, viewBody("project", "dynamic", "D")).ID,
		"{cursor}", page.After,
	)
	callers := map[string]string{"": "Bearer " + w.key, "reader": "Bearer " + w.reader, "member": "Bearer " + w.member, "nobody": ""}
	good := map[string]int{}
	for i, m := range rows {
		good[m.Before]++
		method, target, _ := strings.Cut(names.Replace(m.Send), " ")
		r, err := http.NewRequestWithContext(
			t.Context(), method, strings.TrimSuffix(w.base, endpoint.Version)+target,
			strings.NewReader(names.Replace(m.Body)),
		)
		fatal(t, err)
		as, known := callers[m.As]
		if !known {
			as = names.Replace(m.As)
		}
		if as != "" {
			r.Header.Set("Authorization", as)
		}
		if m.Body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		if m.Type != "" {
			r.Header.Set("Content-Type", m.Type)
		}
		for name, value := range m.Header {
			r.Header.Set(name, value)
		}
		res, err := (&http.Client{Transport: document().Transport(t, http.DefaultTransport)}).Do(r)
		fatal(t, err)
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		fatal(t, err)
		said, code := messagesOf(body)
		name := fmt.Sprintf("%d: %s %.200s %s", i+1, m.Send, m.Body, m.As)
		if got := strings.TrimSpace(fmt.Sprintf("%d %s", res.StatusCode, code)); got != m.Answer {
			t.Errorf("%s: %s, want %s: %s", name, got, m.Answer, body)
		}
		var missing []string
		for _, want := range m.Says {
			if !strings.Contains(said, names.Replace(want)) {
				missing = append(missing, want)
			}
		}
		if missing != nil {
			t.Errorf("%s\n\tdoes not say %q:\n\t%s", name, missing, said)
		}
		t.Logf("%s\n\t%d %s", name, res.StatusCode, said)
		if n := utf8.RuneCountInString(said); n > maxMessage*2 || strings.Contains(said, w.key) || strings.Contains(said, w.key[6:20]) {
			t.Errorf("%s: %d characters, or a secret: %s", name, n, said)
		}
	}
	t.Logf("%d mistakes; before: %v", len(rows), good)
}

// messagesOf is what an error answer says, and its code.
func messagesOf(body []byte) (said, code string) {
	type problem struct {
		Code, Message string
		Issues        []struct {
			Path    []string
			Message string
		}
	}
	var e struct {
		Error    problem
		Data     json.RawMessage
		Metadata struct{ Hints []string }
	}
	if json.Unmarshal(body, &e) != nil {
		return string(body), "no JSON"
	}
	all := []problem{e.Error}
	var batch struct {
		Results []struct{ Error problem }
	}
	_ = json.Unmarshal(e.Data, &batch) // an array of records is none
	for _, r := range batch.Results {
		all = append(all, r.Error)
	}
	for _, p := range all {
		said += p.Message
		for _, issue := range p.Issues {
			said += "; " + strings.Join(issue.Path, ".") + ": " + issue.Message
		}
	}
	said += strings.Join(e.Metadata.Hints, "; ")
	code = e.Error.Code
	if e.Error.Issues != nil {
		code = "invalid_input"
	}
	return said, code
}
