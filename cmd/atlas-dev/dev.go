package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"atlas/cmd/internal/cli"
	"atlas/cmd/internal/server"
	"atlas/indexer/permits"
	"atlas/internal/devstack"
	"atlas/internal/durable"
	"atlas/service/auth"
	"atlas/service/endpoint"
	"atlas/service/mcp"
	"atlas/workspace"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
)

type devCmd struct {
	cli.Log
	server.Mail
	server.Bounds

	Port       int      `default:"0" help:"Port of the API on 127.0.0.1 (default: 8080, or a free one when that is taken)."`
	Dir        string   `default:".atlas" type:"path" help:"Folder of data, logs and dev.json (default: .atlas)."`
	Fresh      bool     `help:"Begin without the data of earlier runs."`
	Empty      bool     `help:"Load no sample data."`
	Sources    []string `placeholder:"NAME,…" help:"Sources whose rows in the program are loaded: calgary, austin, chicago, burlington, blds; those of the others than Calgary are made up (default: calgary)."`
	Workspaces int      `default:"2" help:"How many Pro workspaces there are, 1 to 1000 (default: 2); a free one is added."`
	Explorer   string   `name:"explorer-dir" type:"path" placeholder:"DIR" help:"Serve the Explorer from this folder, also when it is built later, instead of the one in the binary."`
	Ceiling    int64    `default:"0" help:"Credit ceiling of each workspace in credits per 24 hours (default: 250000)."`

	ElasticsearchURL  string `name:"elasticsearch-url" env:"ATLAS_ELASTICSEARCH_URL" placeholder:"URL" help:"Use this Elasticsearch instead of starting one."`
	PostgresURL       string `name:"postgres-url" env:"ATLAS_POSTGRES_URL" placeholder:"URL" help:"Use this Postgres instead of starting one: an administrator's address, or with --postgres-system-url that of atlas_app."`
	PostgresSystemURL string `name:"postgres-system-url" env:"ATLAS_POSTGRES_SYSTEM_URL" placeholder:"URL" help:"Address of atlas_system in that Postgres."`
	RedisURL          string `name:"redis-url" env:"ATLAS_REDIS_URL" placeholder:"URL" help:"Use this Redis instead of starting one."`

	IndexPrefix string `name:"index-prefix" env:"ATLAS_INDEX_PREFIX" default:"atlas-" help:"What the names of all indices begin with (default: atlas-)."`

	RedisTimeout time.Duration `name:"redis-timeout" env:"ATLAS_REDIS_TIMEOUT" default:"100ms" help:"What one call to Redis may take, 1ms to 10s (default: 100ms)."`
}

// Help is shown below the options.
func (devCmd) Help() string {
	return "Ctrl-C stops everything that was started. A later start goes on with the same data. Everything listens on loopback only; nothing here is fit for production."
}

func (c *devCmd) Check() error {
	var f cli.Problems
	if c.Port < 0 || c.Port > 65535 {
		f.Add("--port must be 1 to 65535")
	}
	if c.Workspaces < 1 || c.Workspaces > 1000 {
		f.Add("--workspaces must be 1 to 1000")
	}
	if c.Ceiling < 0 || c.Ceiling > workspace.MaxCeiling {
		f.Add("--ceiling must be 1 to %d", workspace.MaxCeiling)
	}
	for _, name := range c.Sources {
		if !slices.Contains(permits.WithSamples(), name) {
			f.Add("--sources has no %s; there are %s", name, strings.Join(permits.WithSamples(), ", "))
		}
	}
	if c.PostgresSystemURL != "" && c.PostgresURL == "" {
		f.Add("--postgres-system-url needs --postgres-url, the address of atlas_app")
	}
	return f.Err()
}

// devFile is .atlas/dev.json: what a developer or a test needs to call the
// service.
type devFile struct {
	BaseURL          string `json:"base_url"`
	ElasticsearchURL string `json:"elasticsearch_url"`
	IndexPrefix      string `json:"index_prefix"`
	PostgresURL      string `json:"postgres_url"`

	PostgresSystemURL string `json:"postgres_system_url"`

	RedisURL   string         `json:"redis_url"`
	PID        int            `json:"pid"`
	Workspaces []devWorkspace `json:"workspaces"`
}

type devWorkspace struct {
	ID     workspace.ID   `json:"id"`
	Name   string         `json:"name"`
	Plan   workspace.Plan `json:"plan"`
	APIKey string         `json:"api_key"`
	Users  []devUser      `json:"users"`
}

type devUser struct {
	ID    workspace.UserID `json:"id"`
	Email string           `json:"email"`
	Name  string           `json:"name"`
	Role  people.Role      `json:"role"`
	Token string           `json:"token"`
}

const (
	devFileName    = "dev.json"
	devSecretsName = "secrets.json"
	devTokenTTL    = 30 * 24 * time.Hour
	devStopTimeout = 40 * time.Second
	devRedisPrefix = "atlas:credits:"
)

// Run starts the missing backends, fills them, and serves until ctx ends.
func (c *devCmd) Run(ctx context.Context, s *cli.Streams) (err error) {
	began := time.Now()
	say := func(format string, args ...any) { fmt.Fprintf(s.Err, format+"\n", args...) }
	stack, err := devstack.Start(ctx, devstack.Options{
		Dir: c.Dir, Fresh: c.Fresh, FastStart: true, Log: say,
		ElasticsearchURL: c.ElasticsearchURL, PostgresURL: c.PostgresURL, RedisURL: c.RedisURL,
	})
	if err != nil {
		return err
	}
	defer func() {
		say("stopping the backends")
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), devStopTimeout)
		defer cancel()
		err = errors.Join(err, stack.Stop(stop))
	}()
	urls := postgres.URLs{App: c.PostgresURL, System: c.PostgresSystemURL}
	if urls.System == "" {
		if urls, err = postgres.Prepare(ctx, stack.PostgresURL, "atlas"); err != nil {
			return err
		}
	}
	if _, err := postgres.Migrate(ctx, urls.System); err != nil {
		return err
	}
	secrets, err := c.secrets()
	if err != nil {
		return err
	}
	config := c.serveConfig(stack, urls, secrets)
	if err := config.Check(); err != nil {
		return err
	}
	file := devFile{
		ElasticsearchURL:  stack.ElasticsearchURL,
		IndexPrefix:       c.IndexPrefix,
		PostgresURL:       urls.App,
		PostgresSystemURL: urls.System,
		RedisURL:          stack.RedisURL,
		PID:               os.Getpid(),
	}
	if file.Workspaces, err = c.seed(ctx, urls.System, secrets); err != nil {
		return err
	}
	if err := c.fill(ctx, config, say); err != nil {
		return err
	}
	logFile, err := os.OpenFile(filepath.Join(c.Dir, "atlas.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer logFile.Close()
	first := file.Workspaces[0].Users[0]
	link, err := signInLink(ctx, config, first)
	if err != nil {
		return err
	}
	return server.Run(ctx, config, c.Logger(logFile), func(addr string) {
		file.BaseURL = "http://" + addr + "/api/v1"
		if err := writeJSON(filepath.Join(c.Dir, devFileName), file); err != nil {
			say("dev.json could not be written: %v", err)
		}
		printSummary(s.Out, file, filepath.Join(c.Dir, devFileName), "http://"+addr+link, time.Since(began))
	})
}

func (c *devCmd) serveConfig(stack *devstack.Stack, urls postgres.URLs, secrets devSecrets) server.Config {
	listen, mail := c.listen(), c.Mail
	if mail.AcceptURL == server.DefaultAcceptURL {
		mail.AcceptURL = "http://" + listen + "/invitations#"
	}
	return server.Config{
		Mail:    mail,
		Bounds:  c.Bounds,
		Elastic: cli.Elastic{ElasticsearchURL: []string{stack.ElasticsearchURL}, IndexPrefix: c.IndexPrefix},
		Listen:  listen, PostgresURL: urls.App, PostgresSystemURL: urls.System, RedisURL: stack.RedisURL,
		RedisPrefix: devRedisPrefix, CursorKeys: []string{secrets.CursorKey}, JWTSecret: secrets.JWTSecret,
		SearchTimeout: 10 * time.Second, RedisTimeout: c.RedisTimeout,
		Operation: server.Operation{
			MaxRequests: endpoint.DefaultMaxRequests,
			MCP:         true,
			MCPMaxBytes: mcp.DefaultMaxBytes,
			MaxCalls:    server.DefaultMaxCalls,
			Drain:       5 * time.Second,
			FreeRate:    server.DefaultFreeRate,
			FreeBurst:   server.DefaultFreeBurst,
		},

		SignIn:   server.SignIn{PublicURL: "http://" + listen},
		Webhooks: server.Webhooks{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}},

		DevelopmentSessions: true, ExplorerDir: c.Explorer,
	}
}

// listen prefers port 8080. Another one is chosen here, because links of invitations
// name it.
func (c *devCmd) listen() string {
	if c.Port != 0 {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(c.Port))
	}
	l, err := net.Listen("tcp", "127.0.0.1:8080")
	if err != nil {
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return "127.0.0.1:0"
		}
	}
	defer l.Close()
	return l.Addr().String()
}

// devSecrets are stored, so that tokens and cursors stay valid after a restart.
type devSecrets struct {
	CursorKey string `json:"cursor_key"`
	JWTSecret string `json:"jwt_secret"`
}

func (c *devCmd) secrets() (devSecrets, error) {
	path := filepath.Join(c.Dir, devSecretsName)
	var s devSecrets
	if raw, err := os.ReadFile(path); err == nil && json.Unmarshal(raw, &s) == nil && s.CursorKey != "" && s.JWTSecret != "" { // #nosec G304 -- a file that who runs the command names
		return s, nil
	}
	s = devSecrets{CursorKey: rand.Text(), JWTSecret: rand.Text() + rand.Text()}
	return s, writeJSON(path, s)
}

// devNamespace makes the ids of workspaces and users equal in each run.
var devNamespace = uuid.MustParse("6f0c1f64-6d2f-5d54-9d5c-3f0a3b1c7e10")

// seed creates the workspaces with their members and keys. The text of a key is
// known only at its creation, so the keys of the last run come from its
// dev.json.
func (c *devCmd) seed(ctx context.Context, systemURL string, secrets devSecrets) ([]devWorkspace, error) {
	system, err := postgres.OpenSystem(ctx, systemURL, postgres.Options{})
	if err != nil {
		return nil, err
	}
	defer system.Close()
	directory := people.NewDirectory(system, nil)
	known := c.knownKeys()
	var all []devWorkspace
	for i := range c.Workspaces + 1 {
		name, plan := fmt.Sprintf("Workspace %d", i+1), workspace.Pro
		if i == c.Workspaces {
			name, plan = "Free workspace", workspace.Free
		}
		w, err := c.seedOne(ctx, directory, name, plan, known, secrets)
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

func (c *devCmd) seedOne(
	ctx context.Context,
	directory *people.Directory,
	name string,
	plan workspace.Plan,
	known map[workspace.ID]string,
	secrets devSecrets,
) (devWorkspace, error) {
	id := workspace.ID(uuid.NewSHA1(devNamespace, []byte(name)))
	w, err := directory.EnsureWorkspace(ctx, id, name, plan, c.Ceiling)
	if err != nil {
		return devWorkspace{}, err
	}
	out := devWorkspace{ID: w.ID, Name: w.Name, Plan: w.Plan, APIKey: known[w.ID], Users: []devUser{}}
	accepted := false
	if out.APIKey != "" {
		if accepted, err = directory.Accepts(ctx, out.APIKey, w.ID); err != nil {
			return devWorkspace{}, err
		}
	}
	if !accepted {
		_, out.APIKey, err = directory.CreateKey(
			ctx,
			people.NewKey{Name: "Development", Workspaces: []workspace.ID{w.ID}, Scopes: workspace.AllScopes()},
		)
		if err != nil {
			return devWorkspace{}, err
		}
	}
	for _, role := range []people.Role{people.Owner, people.Admin, people.MemberRole} {
		user, err := c.seedUser(ctx, directory, w, role, secrets)
		if err != nil {
			return devWorkspace{}, err
		}
		out.Users = append(out.Users, user)
	}
	return out, nil
}

func (c *devCmd) seedUser(
	ctx context.Context,
	directory *people.Directory,
	w workspace.Workspace,
	role people.Role,
	secrets devSecrets,
) (devUser, error) {
	user := uuid.NewSHA1(devNamespace, []byte(w.Name+"/"+string(role)))
	email := fmt.Sprintf("%s@%s.example", role, w.ID.String()[:8])
	m, err := directory.EnsureMember(
		ctx,
		w.ID,
		people.Member{ID: workspace.UserID(user), Email: email, Name: string(role) + " of " + w.Name, Role: role},
	)
	if err != nil {
		return devUser{}, err
	}
	token, err := auth.Mint(secrets.JWTSecret, auth.Claims{User: m.ID, Email: m.Email, Name: m.Name}, devTokenTTL)
	return devUser{m.ID, m.Email, m.Name, m.Role, token}, err
}

func (c *devCmd) knownKeys() map[workspace.ID]string {
	keys := map[workspace.ID]string{}
	var last devFile
	raw, err := os.ReadFile(filepath.Join(c.Dir, devFileName))
	if err == nil && json.Unmarshal(raw, &last) == nil {
		for _, w := range last.Workspaces {
			keys[w.ID] = w.APIKey
		}
	}
	return keys
}

func writeJSON(path string, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return durable.Replace(path, append(raw, '\n'))
}

func printSummary(w io.Writer, f devFile, path, explorer string, took time.Duration) {
	first := f.Workspaces[0]
	fmt.Fprintf(w, `
Atlas serves on %[1]s (started in %.0[4]f s; Ctrl-C stops it)

Explorer, signed in as %[7]s (once, within ten minutes; then: atlas-dev link):
  %[6]s

API key of %[2]q:
  %[3]s

Try it:
  curl -s %[1]s/data/projects/search -H 'Authorization: Bearer %[3]s' -H 'Content-Type: application/json' -d '{"query": "garage", "limit": 3}'
  curl -s %[1]s/data/accounts/search -H 'Authorization: Bearer %[3]s' -H 'Content-Type: application/json' -d '{"relations": {"has_project": {"stage": {"value": "under_construction"}, "primary_use": {"value": "multifamily"}, "cost": {"value": [1000000, null]}}}, "sort": {"field": "projects_count", "order": "desc"}}'
  curl -s '%[1]s/data/usage' -H 'Authorization: Bearer %[3]s'

Every command of README.md and docs works in a shell after this (atlas, operators' commands too):
  eval "$(scripts/dev env)"

All workspaces, keys and users' tokens: %[5]s
`, f.BaseURL, first.Name, first.APIKey, took.Seconds(), path, explorer, first.Users[0].Email)
}
