package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Caller is the authenticated sender of a request.
type Caller struct {
	// ID is the id of the key or the user, unique among both.
	ID string
	// Workspace is the workspace of the request.
	Workspace string
	// Scopes are the scopes of the caller there.
	Scopes []string
	// Authorization is the header of the request; requests of tools send it too.
	Authorization string
	// RequestID is the id of the request, also for requests of tools.
	RequestID string
	// Key is the Idempotency-Key of the request, "" for none. Requests of tools that cost or
	// change something send it, unless their agreement has another.
	Key string
}

// MetaKey is the member of _meta that is the Idempotency-Key of a message, for clients that
// cannot send a header of its own with each.
const MetaKey = "atlas/idempotency-key"

// keyed is the caller with the Idempotency-Key of a message, if that has one.
func (c Caller) keyed(meta sdk.Meta) (Caller, error) {
	given, is := meta[MetaKey]
	if !is {
		return c, nil
	}
	key, isText := given.(string)
	if !isText || key == "" {
		return c, errors.New("_meta: " + MetaKey + " must be a text, the same in a call and its repetitions, such as a random UUID")
	}
	c.Key = key
	return c, nil
}

func (c Caller) has(scope string) bool { return scope == "" || slices.Contains(c.Scopes, scope) }

type callerKey struct{}

// WithCaller returns the context of a caller's request.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// request is a request of the API.
type request struct {
	method, path string
	params       url.Values
	// body is sent as JSON; nil: none.
	body any
	// key is the Idempotency-Key, "" for none. The API ignores it for other operations.
	key string
}

// answer is an answer of the API.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send sends a request to the API, as the caller.
func (s *Server) send(ctx context.Context, c Caller, r request) (answer, error) {
	params := url.Values{"workspace_id": {c.Workspace}}
	for name, values := range r.params {
		params[name] = values
	}
	var body bytes.Buffer
	if r.body != nil {
		e := json.NewEncoder(&body)
		e.SetEscapeHTML(false)
		if err := e.Encode(r.body); err != nil {
			return answer{}, err
		}
	}
	to, err := http.NewRequestWithContext(ctx, r.method, s.Base+r.path+"?"+params.Encode(), &body)
	if err != nil {
		return answer{}, err
	}
	to.Header.Set("Authorization", c.Authorization)
	to.Header.Set("X-Request-Id", c.RequestID)
	if r.body != nil {
		to.Header.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		to.Header.Set("Idempotency-Key", r.key)
	}
	w := &recorder{header: http.Header{}}
	s.API.ServeHTTP(w, to)
	return answer{w.status, w.header, w.body.Bytes()}, nil
}

// recorder stores an answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *recorder) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

// failure is an error in the form in which the API answers it.
type failure struct {
	Code    string `json:"code"`
	Name    string `json:"name"`
	Message string `json:"message"`
	Issues  []struct {
		Code    string   `json:"code"`
		Path    []string `json:"path"`
		Message string   `json:"message"`
	} `json:"issues"`
	MergedInto string `json:"merged_into"`
}

// failure is the error that the API answered.
func (a answer) failure() failure {
	var body struct{ Error failure }
	_ = json.Unmarshal(a.body, &body)
	return body.Error
}

// problem is the error that the API answered, as text for an agent.
func (s *Server) problem(a answer) string {
	f := a.failure()
	if f.Name == "ValidationError" {
		f.Code = "invalid_input"
		if f.Message == "" {
			f.Message = "the arguments are not valid"
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Error %s: %s", f.Code, toolsIn(f.Message))
	for _, issue := range f.Issues {
		fmt.Fprintf(&text, "\n- %s (%s): %s", oneLine(strings.Join(issue.Path, ".")), issue.Code, toolsIn(issue.Message))
	}
	if what := s.Advice[f.Code]; what != "" {
		fmt.Fprintf(&text, "\nWhat to do: %s", what)
	}
	if f.MergedInto != "" {
		fmt.Fprintf(&text, "\nThe record became %s.", f.MergedInto)
	}
	for _, name := range []string{"Retry-After", "X-Credits-Next-At", "X-Request-Id"} {
		if value := a.header.Get(name); value != "" {
			fmt.Fprintf(&text, "\n%s: %s", name, value)
		}
	}
	return text.String()
}

// oneLine is a text without line breaks and other control characters.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}
