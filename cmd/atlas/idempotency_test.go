package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atlas/workspace"
	"atlas/workspace/people"
)

// tripwire forwards connections to backends. Once armed, it calls trip in place of
// forwarding the chunk of that number, in whichever direction, and forwards nothing more.
type tripwire struct {
	left    atomic.Int64 // until it trips; 0: not armed
	tripped atomic.Bool
	trip    func()
}

// to listens and forwards to the backend of an address, and returns the address to use in
// its place.
func (w *tripwire) to(t *testing.T, backend string) string {
	t.Helper()
	u, err := url.Parse(backend)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func(host string) {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", host)
			if err != nil {
				_ = client.Close()
				continue
			}
			go w.forward(client, server)
			go w.forward(server, client)
		}
	}(u.Host)
	u.Host = listener.Addr().String()
	return u.String()
}

func (w *tripwire) forward(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	chunk := make([]byte, 64<<10)
	for {
		n, err := from.Read(chunk)
		if err != nil || w.tripped.Load() {
			return
		}
		if w.left.Load() > 0 && w.left.Add(-1) == 0 {
			w.tripped.Store(true)
			w.trip()
			return
		}
		if _, err := to.Write(chunk[:n]); err != nil {
			return
		}
	}
}

// send sends a request with a key and returns the status, whether the answer is a replay, and
// the body. Without an answer the status is 0.
func send(t *testing.T, base, token, idempotencyKey, path, body string) (status int, replayed bool, wait time.Duration, text []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", idempotencyKey)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, false, 0, nil
	}
	defer res.Body.Close()
	if text, err = io.ReadAll(res.Body); err != nil {
		return 0, false, 0, nil
	}
	seconds, _ := time.ParseDuration(res.Header.Get("Retry-After") + "s")
	return res.StatusCode, res.Header.Get("Idempotency-Replayed") == "true", seconds, text
}

// A server is killed (SIGKILL) at each chunk of bytes that it exchanges with Redis and
// Postgres during a request; another one gets the repetition. Charges and creations happen
// once.
func TestKilledBetweenEffectAndAnswer(t *testing.T) {
	t.Parallel()
	s := start(t, 1_000_000)
	for name, c := range map[string]struct {
		path, body string
		every      int // every how many chunks
		check      func(in workspace.ID, key string) error
	}{
		"search": {"/data/accounts/search", `{"limit":3}`, 1, func(_ workspace.ID, key string) error {
			return s.expect(key, "/workspace/credits", func(text string) bool { return strings.Contains(text, `"used":3`) })
		}},
		"view": {
			"/workspace/views/upsert", `{"dataset":"account","view_type":"static","name":"One"}`, 2,
			func(in workspace.ID, key string) error {
				return s.expect(
					key, "/workspace/views?workspace_id="+in.String(),
					func(text string) bool { return strings.Count(text, `"name":"One"`) == 1 },
				)
			},
		},
		"batch of views": {
			"/workspace/views/upsert/batch",
			`{"inputs":[{"dataset":"account","view_type":"static","name":"One"},{"dataset":"account","view_type":"static","name":"Two"}]}`,
			5, func(in workspace.ID, key string) error {
				return s.expect(key, "/workspace/views?workspace_id="+in.String(), func(text string) bool {
					return strings.Count(text, `"name":"One"`) == 1 && strings.Count(text, `"name":"Two"`) == 1
				})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killed, stored := 0, 0
			for at := 1; ; at += c.every {
				if at > 200 {
					t.Fatal("a request that never ends")
				}
				ws, err := s.directory.CreateWorkspace(t.Context(), fmt.Sprint(name, at), workspace.Pro, 1000)
				if err != nil {
					t.Fatal(err)
				}
				key := s.newKey(people.NewKey{Name: "k", Workspaces: []workspace.ID{ws.ID}, Scopes: workspace.AllScopes()})
				wire := &tripwire{}
				p := startProcess(t, s, "ATLAS_REDIS_URL="+wire.to(t, s.config.RedisURL), "ATLAS_POSTGRES_URL="+wire.to(t, s.config.PostgresURL))
				var once sync.Once
				wire.trip = func() { once.Do(func() { _ = p.cmd.Process.Kill() }) }
				wire.left.Store(int64(at))
				status, _, _, text := send(t, p.root+"/api/v1", key, "k", c.path, c.body)
				wire.left.Store(0)
				if status != 0 && status != http.StatusOK {
					t.Fatalf("chunk %d: %d %s", at, status, text)
				}
				// The repetition, as clients send it.
				for deadline := time.Now().Add(time.Minute); ; {
					repeatedStatus, replayed, wait, text := send(t, s.base, key, "k", c.path, c.body)
					if repeatedStatus == http.StatusOK {
						if status == http.StatusOK && !replayed {
							t.Errorf("chunk %d: the first was answered, and the repetition is not its answer: %s", at, text)
						}
						if replayed {
							stored++
						}
						break
					}
					if repeatedStatus != http.StatusConflict || !strings.Contains(string(text), "idempotency_in_progress") || wait <= 0 ||
						time.Now().After(deadline) {
						t.Fatalf("chunk %d: %d %s", at, repeatedStatus, text)
					}
					time.Sleep(wait) // as Retry-After asks
				}
				if err := c.check(ws.ID, key); err != nil {
					t.Errorf("killed at chunk %d (answered: %v): %v", at, status == http.StatusOK, err)
				}
				_ = p.cmd.Process.Kill()
				if status == http.StatusOK {
					break
				}
				killed++
			}
			t.Logf("killed %d times; %d of the repetitions got a stored answer", killed, stored)
			if killed < 3 {
				t.Errorf("killed %d times", killed)
			}
		})
	}
}

// expect reads a path and checks the answer.
func (s *service) expect(key, path string, holds func(text string) bool) error {
	r, err := http.NewRequest(http.MethodGet, s.base+path, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var body json.RawMessage
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
		return err
	}
	if !holds(string(body)) {
		return fmt.Errorf("%s: %s", path, body)
	}
	return nil
}
