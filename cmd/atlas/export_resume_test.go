package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/client"
	"atlas/workspace"
	"atlas/workspace/people"
)

// An export that is killed repeatedly produces the same file as one that is not.
func TestExportIsKilled(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	want := s.inOrder(&s.client(s.key).Dataset("signals").Source, client.Search{})
	out := filepath.Join(t.TempDir(), "signals.ndjson")
	kills, last := 0, int64(-1)
	for done := false; !done; {
		command := exec.CommandContext(t.Context(), os.Args[0], "export", "signals", "--out", out)
		command.Env = append(os.Environ(), runAsAtlas+"=1", "ATLAS_URL="+s.base, "ATLAS_API_KEY="+s.key)
		var said bytes.Buffer
		command.Stderr = &said
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		exited := make(chan error, 1)
		go func() { exited <- command.Wait() }()
		// Kill it when the file has grown since the last kill, at any point of its
		// page. The number of kills is limited, so that the test ends.
		for killed := kills == 6; !killed; {
			select {
			case err := <-exited:
				t.Fatalf("ended before it could be killed: %v %s", err, &said)
			default:
			}
			if info, err := os.Stat(out); err == nil && info.Size() > last {
				last, killed = info.Size(), true
				if err := command.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				kills++
			}
			time.Sleep(time.Millisecond) // polling interval
		}
		if err := <-exited; err == nil {
			done = true
		} else if kills == 6 && command.ProcessState.Exited() {
			t.Fatalf("%v %s", err, &said)
		}
	}
	if got := contents(t, out); got != want {
		t.Errorf("%d rows, want %d", strings.Count(got, "\n"), strings.Count(want, "\n"))
	}
	var state struct {
		Bytes         int64
		Rows, Credits int
		Done          bool
	}
	if err := json.Unmarshal([]byte(contents(t, out+".cursor")), &state); err != nil || !state.Done ||
		state.Rows != strings.Count(want, "\n") || state.Credits != state.Rows || state.Bytes != int64(len(want)) {
		t.Errorf("%v %+v", err, state)
	}
	// Each kill charges at most one page twice.
	if used := must(s.client(s.key).Usage(t.Context()))(t).ByTool["search_signals"]; used > 2*state.Rows+kills*client.MaxPage {
		t.Errorf("%d credits for %d rows", used, state.Rows)
	}
}

// A key that may only read data can export, although it cannot read its workspace.
func TestExportWithADataKey(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	s.key = s.newKey(people.NewKey{Name: "data", Workspaces: []workspace.ID{s.pro.ID}, Scopes: []workspace.Scope{workspace.DataRead}})
	args := []string{"signals", "--max-credits", "5", "--out", filepath.Join(t.TempDir(), "out")}
	s.export(4, args...)
	if said := s.export(4, args...); !strings.Contains(said, "stopped after 10 rows") {
		t.Error(said)
	}
}

// An export stops when the credits are used up, with its own exit status. The same
// command continues when there are more.
func TestExportStopsAtTheCeiling(t *testing.T) {
	t.Parallel()
	const ceiling = 250
	s := start(t, ceiling)
	out := filepath.Join(t.TempDir(), "signals.csv")
	args := []string{"signals", "--format", "csv", "--out", out}
	said := s.export(4, append(args, "--max-credits", "130")...)
	if rows := strings.Count(contents(t, out), "\n") - 1; rows != 130 ||
		!strings.Contains(said, "stopped after 130 rows at --max-credits; credits: 130 now, 130 in all, 120 left; the same command goes on") {
		t.Errorf("%d rows, %s", rows, said)
	}
	said = s.export(4, args...)
	if !strings.Contains(said, "going on after 130 rows") ||
		!strings.Contains(said, "the credits are used up: 330 of 250 in the last 24 hours; they come back 24 hours after they were spent, the last by 2") {
		t.Error(said)
	}
	if said = s.export(4, args...); !strings.Contains(said, "stopped after 330 rows") ||
		!strings.Contains(said, "credits: 0 now, 330 in all") {
		t.Error(said)
	}
	if status, _, said := s.atlas("search", "signals"); status != 4 || !strings.Contains(said, "the credits are used up") {
		t.Errorf("%d %s", status, said)
	}
	more := int64(1_000_000)
	if _, err := s.directory.SetWorkspace(t.Context(), s.pro.ID, people.WorkspaceChange{Ceiling: &more}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the server follows", func() bool { return must(s.client(s.key).Credits(t.Context()))(t).Ceiling == int(more) })
	s.export(0, args...)
	rows := must(csv.NewReader(strings.NewReader(contents(t, out))).ReadAll())(t)
	var ids, want []string
	for _, row := range rows[1:] {
		ids = append(ids, row[0])
	}
	for signal, err := range s.client(s.key).Signals.All(t.Context(), client.Search{Sort: client.Asc("created_at")}) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, signal.ID)
	}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Error(diff)
	}

	// The budget of a key ends an export as the ceiling does.
	key, text, err := s.directory.CreateKey(t.Context(), people.NewKey{
		Name: "export", Workspaces: []workspace.ID{s.pro.ID}, Budget: workspace.KeyBudget{DailyCredits: 10},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.key = text
	args = []string{"signals", "--out", filepath.Join(t.TempDir(), "budget.ndjson")}
	s.export(4, append(args, "--max-credits", "10")...)
	if said := s.export(4, args...); !strings.Contains(said, "stopped after 10 rows; ") ||
		!strings.Contains(said, "this API key has used its budget of 10 credits") || !strings.Contains(said, "the same command goes on") {
		t.Error(said)
	}
	if status, _, said := s.atlas("search", "signals"); status != 4 || !strings.Contains(said, "this API key has used its budget") {
		t.Errorf("%d %s", status, said)
	}
	none := int64(0)
	if _, err := s.directory.ChangeKey(t.Context(), key.ID, people.KeyChange{DailyCredits: &none}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the server follows", func() bool { status, _, _ := s.atlas("search", "signals", "--limit", "1"); return status == 0 })
	s.export(0, args...)
}

// exportOverABadLine exports through a proxy that refuses requests, loses requests and
// answers, and truncates answers.
func (s *service) exportOverABadLine(t *testing.T, out string) {
	root := must(url.Parse(s.root))(t)
	var requests atomic.Int32
	line := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxy := httputil.NewSingleHostReverseProxy(root)
		// Every second request succeeds.
		switch requests.Add(1) % 8 {
		case 1:
			w.WriteHeader(http.StatusBadGateway)
			return
		case 3:
			panic(http.ErrAbortHandler)
		case 5:
			proxy.ModifyResponse = func(*http.Response) error { panic(http.ErrAbortHandler) }
		case 7:
			proxy.ModifyResponse = func(res *http.Response) error {
				res.Body = struct {
					io.Reader
					io.Closer
				}{io.LimitReader(res.Body, 1000), res.Body}
				return nil
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	line.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // it logs every lost connection
	defer line.Close()
	var said bytes.Buffer
	status := run(
		t.Context(), []string{"export", "accounts", "--out", out, "--url", line.URL + "/api/v1", "--api-key", s.key},
		&bytes.Buffer{}, &said,
	)
	want := s.inOrder(&s.client(s.key).Dataset("accounts").Source, client.Search{})
	if got := contents(t, out); status != 0 || got != want || requests.Load() < 8 {
		t.Errorf(
			"status %d, %d requests, %d rows, want %d\n%s", status, requests.Load(), strings.Count(got, "\n"),
			strings.Count(want, "\n"), &said,
		)
	}
	if !strings.Contains(said.String(), "the service does not answer (attempt 1): ") {
		t.Error(&said)
	}
}

// interruptedExport is stopped by Ctrl-C. It says so, and its output is complete up to
// there.
func (s *service) interruptedExport(t *testing.T, out string) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan int, 1)
	var said syncBuffer
	go func() {
		ended <- run(ctx, []string{"export", "signals", "--out", out, "--url", s.base, "--api-key", s.key}, &bytes.Buffer{}, &said)
	}()
	waitFor(t, "a page is written", func() bool { info, err := os.Stat(out); return err == nil && info.Size() > 0 })
	stop()
	select {
	case status := <-ended:
		if strings.Contains(said.String(), "does not answer") {
			t.Error(said.String())
		}
		if got := contents(t, out); status != 130 || !strings.Contains(said.String(), "interrupted after") || !strings.HasSuffix(got, "}\n") {
			t.Errorf("%d %s", status, said.String())
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
}
