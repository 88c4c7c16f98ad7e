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

// version ends the path of every base URL this client can speak to.
const version = "/api/v1"

// Client calls one service as one principal. It is safe for concurrent use.
type Client struct {
	// The global datasets (docs/api.md, "Search requests").
	Accounts *Dataset[Account]
	Contacts *Dataset[Contact]
	Projects *Dataset[Project]
	Signals  *Dataset[Signal]
	// Fields tells what can be filtered by.
	Fields *Fields
	// Book is what the workspace keeps on global records.
	Book Books
	// Views are the workspace's, Favorites the user's own pointers to them.
	Views     *Views
	Favorites *Favorites
	// The workspace's people, and what it says about itself.
	Members       *Members
	Invitations   *Invitations
	Subscriptions *Subscriptions
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

// WithAPIKey calls with an API key.
func WithAPIKey(key string) Option {
	return WithToken(func(context.Context) (string, error) { return key, nil })
}

// WithToken calls with what the function returns, asked anew for every attempt
// of every request: a user's access token can be renewed there. It must be safe
// for concurrent use.
func WithToken(token func(context.Context) (string, error)) Option {
	return func(s *settings) { s.token = token }
}

// WithWorkspace acts in this workspace: the query parameter workspace_id of all
// requests. A key has a default without it; a user must name one for the Data
// API and for lists of Views and Favorites.
func WithWorkspace(id string) Option { return func(s *settings) { s.workspace = id } }

// WithRetry replaces the default of Retry.
func WithRetry(r Retry) Option { return func(s *settings) { s.retry = r } }

// WithTimeout bounds each attempt of a request, its answer's body included;
// default: 70 s, which is past the longest search a service can be set to. What
// bounds all of them together is the context.
func WithTimeout(d time.Duration) Option { return func(s *settings) { s.timeout = d } }

// WithHTTPClient sends through another client, for proxies or certificates of
// one's own. Redirects are not followed by the default one: the API has none.
func WithHTTPClient(h *http.Client) Option { return func(s *settings) { s.http = h } }

// WithUserAgent names the program; default: atlas-go-client.
func WithUserAgent(name string) Option { return func(s *settings) { s.userAgent = name } }

// WithObserver is told of every attempt, also of failed ones: for logs, metrics
// and bookkeeping of credits. It must be safe for concurrent use.
func WithObserver(f func(Answer)) Option { return func(s *settings) { s.observe = f } }

// ErrNoCredentials is returned by New without an API key or token.
var ErrNoCredentials = errors.New("atlas: neither an API key nor an access token is given")

// New returns a client of the service at baseURL, which ends in /api/v1. Nothing
// is sent yet.
func New(baseURL string, options ...Option) (*Client, error) {
	base, err := url.Parse(strings.TrimRight(baseURL, "/"))
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("atlas: %q is not the address of a service", baseURL)
	}
	if !strings.HasSuffix(base.Path, version) {
		return nil, fmt.Errorf("atlas: the base URL %q must end in %s", baseURL, version)
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

// In returns a client that differs in its workspace only.
func (c *Client) In(workspaceID string) *Client {
	s := c.conn.settings
	s.workspace = workspaceID
	return of(&conn{s})
}

func of(c *conn) *Client {
	return &Client{
		Accounts:      dataset[Account](c, "accounts"),
		Contacts:      dataset[Contact](c, "contacts"),
		Projects:      dataset[Project](c, "projects"),
		Signals:       dataset[Signal](c, "signals"),
		Fields:        &Fields{c},
		Book:          booksOf(c),
		Views:         &Views{c},
		Favorites:     &Favorites{c},
		Members:       &Members{c},
		Invitations:   &Invitations{c},
		Subscriptions: &Subscriptions{c},
		Skills:        &Skills{c},
		conn:          c,
	}
}

// Dataset returns a global dataset by its name, with records as the bytes that
// came: for who passes them on.
func (c *Client) Dataset(name string) *Dataset[json.RawMessage] {
	return dataset[json.RawMessage](c.conn, name)
}

// Workspace tells about the workspace the client acts in.
func (c *Client) Workspace(ctx context.Context) (Workspace, error) {
	a, err := call[Workspace](ctx, c.conn, request{method: http.MethodGet, path: "/workspace", repeatable: true})
	return a.Data, err
}

// Credits tells what the workspace has used and has left. It costs nothing and
// is never throttled.
func (c *Client) Credits(ctx context.Context) (Credits, error) {
	a, err := call[Credits](ctx, c.conn, request{method: http.MethodGet, path: "/workspace/credits", repeatable: true})
	return a.Data, err
}

// Usage tells which operations used the credits.
func (c *Client) Usage(ctx context.Context) (Usage, error) {
	a, err := call[Usage](ctx, c.conn, request{method: http.MethodGet, path: "/data/usage", repeatable: true})
	return a.Data, err
}
