package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// version is the last element of every supported base URL.
const version = "/api/v1"

// Client calls one service as one principal. It is safe for concurrent use.
type Client struct {
	// The global datasets (docs/api.md, "Search requests").
	Accounts *Matchable[Account]
	Contacts *Matchable[Contact]
	Projects *Dataset[Project]
	Signals  *Dataset[Signal]
	// Joins joins projects and people to accounts.
	Joins *Joins[JoinRow[Account]]
	// Fields describe what can be filtered by.
	Fields *Fields
	// Book has the workspace's values of global records.
	Book Books
	// Views are those of the workspace, Favorites the user's pointers to Views.
	Views     *Views
	Favorites *Favorites
	// Alerts say which records began to match the user's Views.
	Alerts *Alerts
	// The people and the Skills and settings of the workspace.
	Members       *Members
	Invitations   *Invitations
	Subscriptions *Subscriptions
	Queue         *Queue
	Webhooks      *Webhooks
	APIKeys       *APIKeys
	Identity      *Identity
	Provisioning  *Provisioning
	Audit         *Audit
	Boards        *Boards
	Skills        *Skills

	conn *conn
}

// Option is a setting of a Client.
type Option func(*settings)

type settings struct {
	base      *url.URL
	token     func(context.Context) (string, error)
	workspace string
	http      *http.Client
	retry     Retry
	timeout   time.Duration
	userAgent string
	observe   func(Answer)
}

// WithAPIKey authenticates with an API key.
func WithAPIKey(key string) Option {
	return WithToken(func(context.Context) (string, error) { return key, nil })
}

// WithToken authenticates with the result of the function, which is called for
// every attempt of every request and can renew a user's access token. It must
// be safe for concurrent use.
func WithToken(token func(context.Context) (string, error)) Option {
	return func(s *settings) { s.token = token }
}

// WithWorkspace sets the query parameter workspace_id of all requests. A key
// has a default workspace. A user must set one for the Data API and for lists
// of Views and Favorites.
func WithWorkspace(id string) Option { return func(s *settings) { s.workspace = id } }

// WithRetry replaces the default Retry.
func WithRetry(r Retry) Option { return func(s *settings) { s.retry = r } }

// WithTimeout bounds each attempt including its response body. The default, 70
// s, exceeds the longest search timeout of a service. The context bounds all
// attempts together.
func WithTimeout(d time.Duration) Option { return func(s *settings) { s.timeout = d } }

// WithHTTPClient sets the HTTP client, for proxies or certificates. The default
// one follows no redirects: the API has none.
func WithHTTPClient(h *http.Client) Option { return func(s *settings) { s.http = h } }

// WithUserAgent sets the user agent; default: atlas-go-client.
func WithUserAgent(name string) Option { return func(s *settings) { s.userAgent = name } }

// WithObserver calls the function for every attempt, including failed ones, for
// logs, metrics and credits. It must be safe for concurrent use.
func WithObserver(f func(Answer)) Option { return func(s *settings) { s.observe = f } }

// ErrNoCredentials is returned by New without an API key or token.
var ErrNoCredentials = errors.New("atlas: neither an API key nor an access token is given")

// baseOf reads a base URL. Its errors say what would be right.
func baseOf(text string) (*url.URL, error) {
	if !strings.Contains(text, "://") {
		return nil, fmt.Errorf("atlas: the base URL %q has no scheme: write %q or %q", text, "http://"+text, "https://"+text)
	}
	base, err := url.Parse(strings.TrimRight(text, "/"))
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("atlas: %q is not the address of a service, such as http://127.0.0.1:8080%s", text, version)
	}
	if !strings.HasSuffix(base.Path, version) {
		return nil, fmt.Errorf("atlas: the base URL %q must end in %s: write %q", text, version, base.Scheme+"://"+base.Host+version)
	}
	return base, nil
}

// New returns a client of the service at baseURL, which ends in /api/v1. It
// sends nothing.
func New(baseURL string, options ...Option) (*Client, error) {
	base, err := baseOf(baseURL)
	if err != nil {
		return nil, err
	}
	s := settings{
		base: base, retry: Retry{}, timeout: 70 * time.Second, userAgent: "atlas-go-client", observe: func(Answer) {},
		http: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	for _, option := range options {
		option(&s)
	}
	if s.token == nil {
		return nil, ErrNoCredentials
	}
	return of(&conn{s}), nil
}

// In returns a client for another workspace.
func (c *Client) In(workspaceID string) *Client {
	s := c.conn.settings
	s.workspace = workspaceID
	return of(&conn{s})
}

func of(c *conn) *Client {
	return &Client{
		Accounts:      matchable[Account](c, "accounts"),
		Contacts:      matchable[Contact](c, "contacts"),
		Projects:      dataset[Project](c, "projects"),
		Signals:       dataset[Signal](c, "signals"),
		Joins:         &Joins[JoinRow[Account]]{c, "/data/accounts/join"},
		Fields:        &Fields{c},
		Book:          booksOf(c),
		Views:         &Views{c},
		Favorites:     &Favorites{c},
		Alerts:        &Alerts{c},
		Members:       &Members{c},
		Invitations:   &Invitations{c},
		Subscriptions: &Subscriptions{c},
		Queue:         &Queue{c},
		Webhooks:      &Webhooks{c},
		APIKeys:       &APIKeys{c},
		Identity:      &Identity{c},
		Provisioning:  &Provisioning{c},
		Audit:         &Audit{c},
		Boards:        &Boards{c},
		Skills:        &Skills{c},
		conn:          c,
	}
}

// Dataset returns a global dataset by name, with records as received, for callers that pass
// them on.
func (c *Client) Dataset(name DatasetName) *Dataset[json.RawMessage] {
	return dataset[json.RawMessage](c.conn, string(name))
}

// Matchable is Dataset of DatasetAccounts or DatasetContacts: others cannot be matched.
func (c *Client) Matchable(name DatasetName) *Matchable[json.RawMessage] {
	return matchable[json.RawMessage](c.conn, string(name))
}

// Workspace returns the client's workspace.
func (c *Client) Workspace(ctx context.Context) (Workspace, error) {
	return get[Workspace](ctx, c.conn, "/workspace")
}

// Credits returns the used and the remaining credits of the workspace. It is
// free and never throttled.
func (c *Client) Credits(ctx context.Context) (Credits, error) {
	return get[Credits](ctx, c.conn, "/workspace/credits")
}

// Release returns the state of the global dataset. It is free.
func (c *Client) Release(ctx context.Context) (Release, error) {
	return get[Release](ctx, c.conn, "/data/release")
}

// Coverage returns which fields are known in the records of a dataset. It is free.
func (c *Client) Coverage(ctx context.Context, q CoverageQuery) ([]Coverage, error) {
	a, err := post[struct{ Values []Coverage }](ctx, c.conn, "/data/coverage", q)
	return a.Values, err
}

// Usage returns the credits by operation.
func (c *Client) Usage(ctx context.Context) (Usage, error) {
	return get[Usage](ctx, c.conn, "/data/usage")
}
