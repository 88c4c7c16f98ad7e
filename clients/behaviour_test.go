package clients

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"atlas/client"
)

// behaviour is a case: a call, what the service answers to its requests, and what comes
// of it.
type behaviour struct {
	Name    string         `json:"name"`
	Call    string         `json:"call"`
	ID      string         `json:"id,omitzero"`     // of get
	Base    string         `json:"base"`            // URL, set by the test
	Retry   *retry         `json:"retry,omitempty"` // quick: no waits
	Answers []answer       `json:"answers"`
	Outcome map[string]any `json:"outcome"`
	// Of read_webhook: what was signed, and what the receiver has. The test sets Headers.
	Signed   *signed           `json:"signed,omitempty"`
	Secret   string            `json:"secret,omitzero"`
	Received string            `json:"received,omitzero"`
	Headers  map[string]string `json:"headers,omitzero"`
}

// retry are the options of retries, those of time in seconds; 0 and {}: the default.
type retry struct {
	Attempts int     `json:"attempts,omitzero"`
	First    float64 `json:"first,omitzero"`
	Within   float64 `json:"within,omitzero"`
}

// quick repeats without noticeable waits.
var quick = retry{First: 0.001}

func (r retry) inGo() client.Retry {
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	return client.Retry{Attempts: r.Attempts, First: seconds(r.First), For: seconds(r.Within)}
}

// signed is a request to a webhook.
type signed struct {
	Secrets []string `json:"secrets"`
	Age     int      `json:"age_s"` // seconds
	Body    string   `json:"body"`
}

// headers are those that the library of Standard Webhooks makes.
func (s signed) headers() (map[string]string, error) {
	at := time.Now().Add(-time.Duration(s.Age) * time.Second)
	var signatures []string
	for _, secret := range s.Secrets {
		signer, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			return nil, err
		}
		signature, err := signer.Sign("one", at, []byte(s.Body))
		if err != nil {
			return nil, err
		}
		signatures = append(signatures, signature)
	}
	return map[string]string{
		"webhook-id": "one", "webhook-timestamp": fmt.Sprint(at.Unix()),
		"webhook-signature": strings.Join(signatures, " "),
	}, nil
}

// answer is what the service does with one request.
type answer struct {
	Status  int               `json:"status"` // 0: 200
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
	Text    *string           `json:"text"` // no JSON
	Code    string            `json:"code"` // of an error
	Page    []string          `json:"page"` // ids of records
	Next    string            `json:"next"` // cursor of the page
	LeftOut []string          `json:"left_out"`
	View    string            `json:"view"`    // id
	Lost    bool              `json:"lost"`    // the connection ends without an answer
	Cut     bool              `json:"cut"`     // within the answer
	After   float64           `json:"after_s"` // of the request
	// Wants are members of the request's body, Path is its path, Key its Idempotency-Key.
	Wants map[string]any `json:"wants"`
	Path  string         `json:"path"`
	Key   string         `json:"key"`
}

func (a answer) body() []byte {
	var body any
	switch {
	case a.Body != nil:
		return a.Body
	case a.Text != nil:
		return []byte(*a.Text)
	case a.Code != "":
		body = map[string]any{"error": map[string]any{"code": a.Code, "message": "m"}}
	case a.View != "":
		at := "2026-02-14T09:30:00.000Z"
		body = map[string]any{"metadata": map[string]any{"credits": 0}, "data": map[string]any{"view": map[string]any{
			"id": a.View, "workspace_id": "w", "dataset": "project", "view_type": "static", "name": "V", "definition": map[string]any{"version": 1},
			"presentation": map[string]any{"version": 1, "sorting": []any{}, "column_visibility": map[string]any{}},
			"revision":     1, "created_by": nil, "updated_by": nil,
			"created_at": at, "updated_at": at, "is_favorite": false, "favorite_position": nil, "record_count": 0,
		}}}
	default:
		records := []map[string]any{}
		for _, id := range a.Page {
			records = append(records, map[string]any{"id": id})
		}
		meta := map[string]any{
			"total": len(records), "total_is_capped": false, "limit": 100, "offset": 0, "search_after": nil,
			"credits": len(records),
		}
		if a.Next != "" {
			meta["search_after"] = a.Next
		}
		if a.LeftOut != nil {
			meta["left_out"] = a.LeftOut
		}
		body = map[string]any{"data": records, "metadata": meta}
	}
	raw, _ := json.Marshal(body) // maps, lists and texts
	return raw
}

// service answers the requests of all cases. The first element of a path is the case.
type service struct {
	cases []behaviour
	lock  sync.Mutex
	asked map[int]int
	keys  map[int][]string
	wrong map[int][]string
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var of int
	path := r.URL.EscapedPath()
	if _, err := fmt.Sscanf(path, "/%d/", &of); err != nil || of >= len(s.cases) {
		http.Error(w, "no case", http.StatusTeapot)
		return
	}
	sent, _ := io.ReadAll(r.Body)
	s.lock.Lock()
	n := s.asked[of]
	s.asked[of]++
	s.keys[of] = append(s.keys[of], r.Header.Get("Idempotency-Key"))
	s.lock.Unlock()
	if n >= len(s.cases[of].Answers) {
		http.Error(w, "asked too often", http.StatusTeapot)
		return
	}
	a := s.cases[of].Answers[n]
	s.check(of, a, r, path, sent)
	s.checkKey(of, n)
	for name, value := range a.Headers {
		w.Header().Set(name, value)
	}
	body := a.body()
	time.Sleep(time.Duration(a.After * float64(time.Second)))
	switch {
	case a.Lost:
		panic(http.ErrAbortHandler)
	case a.Cut:
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		_, _ = w.Write(body[:len(body)/2])
		panic(http.ErrAbortHandler)
	}
	if len(a.Page) > 0 {
		w.Header().Set("X-Credits-Charged", fmt.Sprint(len(a.Page)))
	}
	if a.Status != 0 {
		w.WriteHeader(a.Status)
	}
	_, _ = w.Write(body)
}

// checkKey notes if a repetition has not the key of the first attempt, or another call has.
func (s *service) checkKey(of, n int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	key := s.keys[of][n]
	if (key == "") != (s.cases[of].Call == "accept") {
		s.wrong[of] = append(s.wrong[of], "no key")
	}
	if n == 0 {
		return
	}
	before := s.cases[of].Answers[n-1]
	if failed := before.Lost || before.Cut || before.Status >= 300; failed != (key == s.keys[of][n-1]) {
		s.wrong[of] = append(s.wrong[of], fmt.Sprintf("request %d has the key %s after %s", n, key, s.keys[of][n-1]))
	}
}

// check notes what is wrong with a request.
func (s *service) check(of int, a answer, r *http.Request, path string, sent []byte) {
	var problems []string
	if got := r.Header.Get("Authorization"); got != "Bearer k" {
		problems = append(problems, "authorization "+got)
	}
	if want := fmt.Sprintf("/%d/api/v1%s", of, a.Path); a.Path != "" && path != want {
		problems = append(problems, "path "+path+", want "+want)
	}
	if got := r.Header.Get("Idempotency-Key"); a.Key != "" && got != a.Key {
		problems = append(problems, "key "+got+", want "+a.Key)
	}
	var body map[string]any
	if len(sent) > 0 && json.Unmarshal(sent, &body) != nil {
		problems = append(problems, "a body that is no object: "+string(sent))
	}
	for name, want := range a.Wants {
		if diff := cmp.Diff(want, body[name]); diff != "" {
			problems = append(problems, name+" "+diff)
		}
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	s.wrong[of] = append(s.wrong[of], problems...)
}

// TestClientsBehaveAlike: each client does in each case what the table says.
// ATLAS_CLIENTS names those of other languages that scripts/clients has installed.
func TestClientsBehaveAlike(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("behaviour.json")
	if err != nil {
		t.Fatal(err)
	}
	runners := map[string]func(*testing.T, []behaviour) []map[string]any{"go": inGo}
	for _, language := range strings.Fields(os.Getenv("ATLAS_CLIENTS")) {
		runners[language] = func(t *testing.T, cases []behaviour) []map[string]any { return in(t, language, cases) }
	}
	for language, run := range runners {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			s := &service{asked: map[int]int{}, keys: map[int][]string{}, wrong: map[int][]string{}}
			if err := json.Unmarshal(raw, &s.cases); err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(s)
			defer server.Close()
			for i := range s.cases {
				s.cases[i].Base = fmt.Sprintf("%s/%d/api/v1", server.URL, i)
				if s.cases[i].Retry == nil {
					s.cases[i].Retry = &quick
				}
				if signed := s.cases[i].Signed; signed != nil {
					var err error
					if s.cases[i].Headers, err = signed.headers(); err != nil {
						t.Fatal(err)
					}
				}
			}
			for i, got := range run(t, s.cases) {
				c := s.cases[i]
				if diff := cmp.Diff(c.Outcome, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.Name, diff)
				}
				if s.asked[i] != len(c.Answers) || len(s.wrong[i]) > 0 {
					t.Errorf("%s: %d requests, want %d; wrong: %v", c.Name, s.asked[i], len(c.Answers), s.wrong[i])
				}
			}
		})
	}
}

// in makes the calls in another language.
func in(t *testing.T, language string, cases []behaviour) []map[string]any {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "../scripts/clients", language, "behave")
	var input, said, problems bytes.Buffer
	for _, c := range cases {
		if err := json.NewEncoder(&input).Encode(c); err != nil {
			t.Fatal(err)
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &input, &said, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, &said, &problems)
	}
	var all []map[string]any
	for lines := bufio.NewScanner(&said); lines.Scan(); {
		var outcome map[string]any
		if err := json.Unmarshal(lines.Bytes(), &outcome); err != nil {
			t.Fatalf("%v: %s", err, lines.Bytes())
		}
		all = append(all, outcome)
	}
	if len(all) != len(cases) {
		t.Fatalf("%d outcomes of %d cases\n%s", len(all), len(cases), &problems)
	}
	return all
}

func inGo(t *testing.T, cases []behaviour) (all []map[string]any) {
	for _, c := range cases {
		api, err := client.New(c.Base, client.WithAPIKey("k"), client.WithRetry(c.Retry.inGo()))
		if err != nil {
			t.Fatal(err)
		}
		outcome, err := callWorkspace(t.Context(), api, c)
		if outcome == nil && err == nil {
			outcome, err = callGo(t.Context(), api, c)
		}
		if err != nil {
			outcome = failureGo(err)
		}
		raw, err := json.Marshal(outcome)
		var plain map[string]any
		if err == nil {
			err = json.Unmarshal(raw, &plain)
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, plain)
	}
	return all
}

func callGo(ctx context.Context, api *client.Client, c behaviour) (map[string]any, error) {
	view := func(v client.View, err error) (map[string]any, error) {
		return map[string]any{"ids": []string{v.ID}}, err
	}
	switch c.Call {
	case "search":
		charged := 0
		page, err := api.Projects.Search(ctx, client.Search{Limit: 2})
		if err != nil {
			return nil, err
		}
		charged = page.Credits
		out := map[string]any{"ids": idsOf(page.Records)}
		for name, value := range map[string]any{"next": page.Next, "charged": charged} {
			if value != "" && value != 0 && (name != "charged" || c.Outcome["charged"] != nil) {
				out[name] = value
			}
		}
		if len(page.Records) > 0 && page.Records[0].Stage != "" {
			out["stage"] = page.Records[0].Stage
		}
		return out, nil
	case "all":
		records, err := client.Collect(api.Projects.All(ctx, client.Search{}))
		return map[string]any{"ids": idsOf(records)}, err
	case "all_with_key":
		records, err := client.Collect(api.Projects.All(client.WithIdempotencyKey(ctx, "mine"), client.Search{MaxBytes: 1000}))
		return map[string]any{"ids": idsOf(records)}, err
	case "get":
		id := c.ID
		if id == "" {
			id = "p"
		}
		p, err := api.Projects.Get(ctx, id)
		return map[string]any{"ids": []string{p.ID}}, err
	case "get_all":
		b, err := api.Projects.GetAll(ctx, []string{"a", "b"}, client.Shown{})
		var ids []string
		for _, i := range b.Items {
			if i.Err == nil {
				ids = append(ids, i.Data.ID)
			}
		}
		return map[string]any{"ids": ids, "codes": codesOf(b)}, err
	case "join":
		rows, err := client.Collect(api.Joins.All(ctx, client.Join{Search: client.Search{MaxBytes: 1000}, ProjectBy: "sqft"}))
		var ids []string
		for _, r := range rows {
			project, contact := "", ""
			if r.Project != nil {
				project = r.Project.ID
			}
			if r.Contact != nil {
				contact = r.Contact.ID
			}
			ids = append(ids, r.Account.ID+" "+project+" "+contact)
		}
		return map[string]any{"ids": ids}, err
	case "search_batch":
		b, err := api.SearchBatch(ctx, []client.BatchSearch{{Dataset: "projects", Search: client.Search{Limit: 1}}, {Dataset: "accounts"}})
		if err != nil {
			return nil, err
		}
		found, err := client.RecordsOf[client.Project](b.Items[0].Data)
		return map[string]any{"ids": idsOf(found), "codes": codesOf(b), "charged": b.Items[0].Data.Credits}, err
	case "create_view":
		return view(api.Views.Upsert(ctx, client.ViewUpsert{Dataset: "project", Type: "static", Name: "V"}))
	case "change_view":
		return view(api.Views.Upsert(ctx, client.ViewUpsert{ID: "v", Name: "V"}))
	case "change_revision":
		return view(api.Views.Upsert(ctx, client.ViewUpsert{ID: "v", Name: "V", Revision: 2}))
	case "delete_view":
		return map[string]any{"ids": []string{}}, api.Views.Delete(ctx, "v")
	case "changes":
		page, err := api.Projects.Changes(ctx, client.ChangesRequest{Cursor: "c1", Records: true})
		if err != nil {
			return nil, err
		}
		var ids, ops []string
		for _, change := range page.Changes {
			ids, ops = append(ids, change.ID), append(ops, string(change.Op))
		}
		return map[string]any{"ids": ids, "ops": ops, "next": page.Next}, nil
	case "follow":
		return nil, last(api.Projects.Follow(ctx, client.ChangesRequest{Cursor: "c1"}))
	}
	return nil, fmt.Errorf("there is no call %q", c.Call)
}

func last[T any](walk iter.Seq2[T, error]) (err error) {
	for _, err = range walk {
	}
	return err
}

// codesOf are the codes of the items of a batch that failed, "" of the others.
func codesOf[T any](b client.Batch[T]) []string {
	codes := make([]string, len(b.Items))
	for i, item := range b.Items {
		if e, failed := errors.AsType[*client.Error](item.Err); failed {
			codes[i] = string(e.Code)
		}
	}
	return codes
}

func idsOf(records []client.Project) []string {
	ids := []string{}
	for _, r := range records {
		ids = append(ids, r.ID)
	}
	return ids
}

func failureGo(err error) map[string]any {
	e, answered := errors.AsType[*client.Error](err)
	if !answered {
		if strings.Contains(err.Error(), "EOF") {
			return map[string]any{"lost": true}
		}
		return map[string]any{"failed": true}
	}
	out := map[string]any{"code": e.Code, "status": e.Status}
	var issues []string
	for _, i := range e.Issues {
		issues = append(issues, strings.Join(i.Path, "."))
	}
	if issues != nil {
		out["issues"] = issues
	}
	if e.MergedInto != "" {
		out["merged_into"] = e.MergedInto
	}
	if e.Current != nil {
		out["current"] = e.Current.Status
	}
	if credits, is := errors.AsType[*client.OutOfCreditsError](err); is {
		out["used"], out["ceiling"] = credits.Window.Used, credits.Window.Ceiling
	}
	return out
}
