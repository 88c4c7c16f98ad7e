package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// maxLists limits the cached answers, and maxListRequest the size in bytes of requests that
// may have one: requests of different clients differ in little but the id.
const (
	maxLists       = 32
	maxListRequest = 4 << 10
)

// ready caches answers to tools/list: the schemas of all tools are long, and the same for all
// callers with the same scopes.
type ready struct {
	next http.Handler
	lock sync.Mutex
	// results are the results by the content of their requests.
	results map[string]json.RawMessage
}

// listing is a message that may be a tools/list.
type listing struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// ServeHTTP implements http.Handler. The SDK answers the first request of each kind.
func (l *ready) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "the message could not be read", http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	key, id := listKeyOf(r, body)
	if key == "" {
		l.next.ServeHTTP(w, r)
		return
	}
	l.lock.Lock()
	result, is := l.results[key]
	l.lock.Unlock()
	if is {
		w.Header().Set("Content-Type", "application/json")
		answer := slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), id, []byte(`,"result":`), result, []byte(`}`))
		_, _ = w.Write(answer)
		return
	}
	made := &recorder{header: w.Header()}
	l.next.ServeHTTP(made, r)
	l.cache(key, made)
	w.WriteHeader(made.status)
	_, _ = w.Write(made.body.Bytes())
}

// cache caches the result of an answer, if it has one.
func (l *ready) cache(key string, made *recorder) {
	var answer struct{ Result json.RawMessage }
	if made.status != http.StatusOK || !strings.HasPrefix(made.header.Get("Content-Type"), "application/json") ||
		json.Unmarshal(made.body.Bytes(), &answer) != nil || answer.Result == nil {
		return
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.results == nil || len(l.results) == maxLists {
		l.results = map[string]json.RawMessage{}
	}
	l.results[key] = answer.Result
}

// listKeyOf is the part of a tools/list request that its answer may depend on, all but the
// id; "" for other requests.
func listKeyOf(r *http.Request, body []byte) (key string, id json.RawMessage) {
	var m listing
	if len(body) > maxListRequest || !bytes.Contains(body, []byte("tools/list")) || json.Unmarshal(body, &m) != nil ||
		m.Method != "tools/list" || m.Version != "2.0" || !simpleID(m.ID) || hasOtherMembers(body) {
		return "", nil
	}
	caller, _ := r.Context().Value(callerKey{}).(Caller)
	parts := []string{strings.Join(slices.Sorted(slices.Values(caller.Scopes)), " "), string(m.Params)}
	for _, name := range []string{
		"Accept", "Content-Type", "Mcp-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name", "Last-Event-Id",
	} {
		parts = append(parts, strings.Join(r.Header.Values(name), ","))
	}
	return strings.Join(parts, "\n"), m.ID
}

// simpleID reports whether an id is a string or an integer, which answers repeat unchanged.
func simpleID(id json.RawMessage) bool {
	var text string
	var number int64
	return len(id) > 0 && string(id) != "null" && (json.Unmarshal(id, &text) == nil || json.Unmarshal(id, &number) == nil)
}

// hasOtherMembers reports whether a message has members that the SDK may check.
func hasOtherMembers(body []byte) bool {
	var all map[string]json.RawMessage
	if json.Unmarshal(body, &all) != nil {
		return true
	}
	for name := range all {
		if !slices.Contains([]string{"jsonrpc", "id", "method", "params"}, name) {
			return true
		}
	}
	return false
}
