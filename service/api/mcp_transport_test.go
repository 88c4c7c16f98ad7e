package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"atlas/search/query"
	"atlas/service/api"
	"atlas/service/mcp"
)

// A repeated call with its Idempotency-Key is done, and charged, once.
func TestAgentsRepeatCalls(t *testing.T) {
	t.Parallel()
	a := newAgents(t, 0)
	call := func(key, tool, arguments string) string {
		t.Helper()
		res, err := a.post(
			t, a.key, "",
			fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments),
			http.Header{"Idempotency-Key": {key}},
		)
		fatal(t, err)
		text, err := io.ReadAll(res.Body)
		fatal(t, err)
		if res.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", tool, res.StatusCode, text)
		}
		return string(text)
	}
	for i, c := range []struct{ tool, arguments, again string }{
		{"search_records", `{"dataset":"accounts","limit":3}`, "The same accounts again"},
		{"get_records", `{"dataset":"accounts","ids":` + accountIDs(2) + `}`, "The same accounts again"},
		{"match_records", `{"dataset":"accounts","inputs":[{"ref":"1","name":"firm 07"}]}`, "The same accounts again"},
		{"manage_view", `{"action":"create","dataset":"account","view_type":"static","name":"Once"}`, "The View is as follows"},
		{"update_book", `{"dataset":"accounts","action":"upsert","items":` + accountItems(3) + `}`, "3 done, 0 failed"},
	} {
		key := fmt.Sprint("call ", i)
		call(key, c.tool, c.arguments)
		used := a.used(t)
		if text := call(key, c.tool, c.arguments); !strings.Contains(text, c.again) || strings.Contains(text, `"isError":true`) ||
			a.used(t) != used {
			t.Errorf("%s again, for %d credits: %s", c.tool, a.used(t)-used, text)
		}
	}
	// A client that cannot send a header with each message sends the key in _meta.
	noted := func(key string) string {
		t.Helper()
		res, err := a.post(
			t,
			a.key,
			"",
			fmt.Sprintf(
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_records","arguments":{"dataset":"accounts","limit":2},"_meta":{"atlas/idempotency-key":%s}}}`,
				key,
			),
			nil,
		)
		fatal(t, err)
		text, err := io.ReadAll(res.Body)
		fatal(t, err)
		return string(text)
	}
	used := a.used(t)
	for i, want := range []string{"2 of 31 accounts", "The same accounts again"} {
		if text := noted(`"noted"`); !strings.Contains(text, want) || a.used(t) != used+2 {
			t.Errorf("%d: %d credits: %s", i, a.used(t)-used, text)
		}
	}
	for _, key := range []string{`""`, `7`, `null`} {
		if text := noted(key); !strings.Contains(text, "atlas/idempotency-key must be a text") || a.used(t) != used+2 {
			t.Errorf("%s: %s", key, text)
		}
	}
	if text := call("call 0", "search_records", `{"dataset":"accounts","limit":4}`); !strings.Contains(text, "idempotency_conflict") {
		t.Errorf("the key of another call: %s", text)
	}
	if text := call("kä", "search_records", `{"dataset":"accounts","limit":4}`); !strings.Contains(text, "Idempotency-Key") {
		t.Errorf("no key: %s", text)
	}
}

// waiting searches until the caller gives up, or until it is released.
type waiting struct {
	api.Engine
	searches       atomic.Bool
	began, stopped chan struct{}
}

func (w *waiting) Search(ctx context.Context, q query.Query) (query.Page, error) {
	if !w.searches.Load() {
		close(w.began)
		<-ctx.Done()
		close(w.stopped)
		return query.Page{}, ctx.Err()
	}
	return w.Engine.Search(ctx, q)
}

// A call whose client gives up is stopped, and costs nothing: a repetition is charged once.
func TestAgentsGiveUp(t *testing.T) {
	t.Parallel()
	hold := &waiting{began: make(chan struct{}), stopped: make(chan struct{})}
	a := newAgents(t, 0, func(s *api.Server) {
		if hold.Engine == nil {
			hold.Engine = s.Search
		}
		s.Search = hold
	})
	me := a.agent(t, a.key, nil)
	ctx, giveUp := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	arguments := json.RawMessage(`{"dataset":"accounts","limit":3}`)
	go func() {
		_, err := me.CallTool(ctx, &sdk.CallToolParams{Name: "search_records", Arguments: arguments})
		failed <- err
	}()
	<-hold.began
	giveUp()
	if err := <-failed; err == nil {
		t.Error("the call succeeded")
	}
	<-hold.stopped
	hold.searches.Store(true)
	me.ok("search_records", string(arguments))
	for deadline := time.Now().Add(time.Minute); a.used(t) != 3; { // the reservation is released
		if time.Now().After(deadline) {
			t.Fatalf("%d credits are used", a.used(t))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

type roundTrip func(r *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The bridge of `atlas mcp` has the same tools, and forwards questions, also to clients with
// an older version of the protocol.
func TestAgentsBridge(t *testing.T) {
	t.Parallel()
	a := newAgents(t, 0)
	var lost atomic.Bool // the next answer
	losing := roundTrip(func(r *http.Request) (*http.Response, error) {
		res, err := http.DefaultTransport.RoundTrip(r)
		if err == nil && lost.CompareAndSwap(true, false) {
			_ = res.Body.Close()
			return nil, io.ErrUnexpectedEOF
		}
		return res, err
	})
	connect := func(answer func(string) (string, map[string]any)) *agent {
		near, far := sdk.NewInMemoryTransports()
		done := make(chan error, 1)
		go func() {
			done <- mcp.Bridge{Endpoint: a.address, Token: a.key, Version: "1", HTTP: losing}.Run(t.Context(), far)
		}()
		me := newAgent(t, near, answer)
		t.Cleanup(func() {
			_ = me.Close()
			<-done
		})
		return me
	}
	asked := 0
	me := connect(func(string) (string, map[string]any) {
		asked++
		return accept("")
	})
	me.ok("search_records", `{"dataset":"accounts","limit":25}`)
	me.ok("update_book", `{"dataset":"accounts","action":"upsert","items":`+accountItems(11)+`}`)
	if asked != 2 || a.used(t) != 25 {
		t.Errorf("asked %d times, %d credits", asked, a.used(t))
	}
	if got, err := me.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "atlas://fields/accounts"}); err != nil ||
		len(got.Contents) != 1 {
		t.Error(err)
	}
	if _, err := me.ListPrompts(t.Context(), nil); err != nil {
		t.Error(err)
	}
	connect(nil).refused("search_records", `{"dataset":"accounts","limit":25}`, "ask the user")
	// A lost answer is requested again, and not charged again.
	lost.Store(true)
	before := a.used(t)
	if r := me.ok("search_records", `{"dataset":"accounts","limit":5}`); r.Metadata.Credits != 0 || lost.Load() || a.used(t) != before+5 {
		t.Errorf("%d credits: %s", a.used(t)-before, r.text)
	}
	// A refusal of the service ends one call, not the session.
	long := fmt.Sprintf(`{"dataset":"accounts","query":%q}`, strings.Repeat("x", 1<<20))
	if _, err := me.CallTool(t.Context(), &sdk.CallToolParams{Name: "search_records", Arguments: json.RawMessage(long)}); err == nil ||
		!strings.Contains(err.Error(), "payload_too_large") {
		t.Errorf("long arguments: %v", err)
	}
	me.ok("credits", `{}`)
	err := mcp.Bridge{Endpoint: a.address, Token: "atlas_wrong", Version: "1"}.Run(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "/mcp") {
		t.Errorf("a wrong key: %v", err)
	}
}
