package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"atlas/cmd/internal/cli"
	"atlas/cmd/internal/server"
	"atlas/indexer/generate"
	"atlas/internal/devstack"
	"atlas/internal/elastic"
	"atlas/internal/elastic/elastictest"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
)

// securedNode is a node with authentication and TLS. The command that operators use
// loads its data.
type securedNode struct {
	*devstack.Secured
	ca   string // file
	dead string // the address of an unavailable node
}

const securedPrefix = "secured-"

func startSecured(t *testing.T) securedNode {
	t.Helper()
	node, err := devstack.StartSecured(t.Context(), devstack.Options{ESHeap: "512m", Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s := securedNode{Secured: node, ca: filepath.Join(t.TempDir(), "ca.crt")}
	if err := os.WriteFile(s.ca, node.CA, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.dead = "https://" + l.Addr().String()
	l.Close()
	return s
}

// load loads a small dataset with these settings and returns the exit status.
func (n securedNode) load(t *testing.T, d *pgtest.Databases, options ...string) (status int, said string) {
	t.Helper()
	dir := t.TempDir()
	if _, err := generate.Generate(t.Context(), generate.Options{Records: 400, Seed: 3, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	var errs syncBuffer // its progress and its log
	status = run(t.Context(), append([]string{
		"index", "load", dir, "--postgres-system-url=" + d.System, "--index-prefix=" + securedPrefix,
		"--elasticsearch-url=" + n.dead + "," + n.URL, "--elasticsearch-ca=" + n.ca, "--retry-for=5s",
	}, options...), &out, &errs)
	return status, out.String() + errs.String()
}

// key makes an API key with only the given privileges.
func (n securedNode) key(t *testing.T, name, privileges string) string {
	t.Helper()
	es, err := elastic.New(elastic.Config{Addresses: []string{n.URL}, Username: n.Username, Password: n.Password, CACert: n.CA})
	if err != nil {
		t.Fatal(err)
	}
	res, err := es.Do(t.Context(), elastictest.Request{
		Method: http.MethodPost, Path: "/_security/api_key",
		Body: fmt.Appendf(nil, `{"name":%q,"role_descriptors":{"atlas":%s}}`, name, privileges),
	})
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Encoded string }
	if err := json.Unmarshal(res.Body, &answer); err != nil || answer.Encoded == "" {
		t.Fatalf("%v in %s", err, res.Body)
	}
	return answer.Encoded
}

// The privileges that docs/operators.md requires for an API key.
const (
	servePrivileges = `{"indices":[
		{"names":["secured-*"],"privileges":["read","view_index_metadata","monitor","maintenance"]},
		{"names":["secured-feed"],"privileges":["write","create_index"]},
		{"names":["e2e-*"],"privileges":["read","write","create_index","manage","view_index_metadata"]}]}`
	loadPrivileges = `{"indices":[{"names":["secured-*"],"privileges":["read","write","create_index","manage","view_index_metadata"]}]}`
)

// One node for all subtests: its start takes 15 s.
func TestSecuredElasticsearch(t *testing.T) {
	t.Parallel()
	node := startSecured(t)
	database := pgtest.New(t)
	loading, serving := node.key(t, "load", loadPrivileges), node.key(t, "serve", servePrivileges)

	if status, said := node.load(t, database, "--elasticsearch-user="+node.Username, "--elasticsearch-password=wrong"); status != 1 ||
		strings.Contains(said, "wrong") {
		t.Errorf("loading with a wrong password: status %d\n%s", status, said)
	}
	if status, said := node.load(t, database, "--elasticsearch-api-key="+serving); status != 1 {
		t.Errorf("loading with the key for serving: status %d\n%s", status, said)
	}
	if status, said := node.load(t, database, "--elasticsearch-api-key="+loading); status != 0 {
		t.Fatalf("loading with the key for it: status %d\n%s", status, said)
	}
	if status, said := node.load(t, database, "--elasticsearch-user="+node.Username, "--elasticsearch-password="+node.Password); status != 0 {
		t.Fatalf("loading with user and password: status %d\n%s", status, said)
	}

	for _, c := range []struct {
		name   string
		change func(*cli.Elastic)
		serves bool
	}{
		{"password", func(c *cli.Elastic) {}, true},
		{"key", func(c *cli.Elastic) {
			c.ElasticsearchUser, c.ElasticsearchPassword, c.ElasticsearchAPIKey = "", "", serving
		}, true},
		{"any certificate", func(c *cli.Elastic) { c.ElasticsearchCA, c.ElasticsearchInsecure = "", true }, true},
		{"wrong password", func(c *cli.Elastic) { c.ElasticsearchPassword = "s3cret-but-wrong" }, false},
		{"nobody", func(c *cli.Elastic) { c.ElasticsearchUser, c.ElasticsearchPassword = "", "" }, false},
		{"unknown authority", func(c *cli.Elastic) { c.ElasticsearchCA = "" }, false},
		{"no TLS", func(c *cli.Elastic) { c.ElasticsearchURL = []string{strings.Replace(node.URL, "https", "http", 1)} }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, 1000, func(config *server.Config) {
				config.ElasticsearchURL = []string{node.dead, node.URL}
				config.ElasticsearchUser, config.ElasticsearchPassword, config.ElasticsearchCA = node.Username, node.Password, node.ca
				config.IndexPrefix = securedPrefix
				c.change(&config.Elastic)
			})
			if c.serves {
				s.searchAndWrite(t)
			} else {
				s.isUnavailable(t)
			}
			if strings.Contains(s.log.String(), "s3cret") || strings.Contains(s.log.String(), serving) ||
				strings.Contains(s.log.String(), node.Password) {
				t.Errorf("a secret is logged:\n%s", s.log)
			}
		})
	}
}

// searchAndWrite searches the global records and reads their release, and writes and searches a book.
func (s *service) searchAndWrite(t *testing.T) {
	t.Helper()
	if a := s.call("GET", "/health/ready", "", ""); a.status != http.StatusOK {
		t.Fatalf("readiness: %d %s\n%s", a.status, a.raw, s.log)
	}
	ids := s.search("accounts", `{"limit": 2}`).ids(t)
	if len(ids) != 2 {
		t.Fatalf("found %v", ids)
	}
	if a := s.call("GET", "/data/release", s.key, ""); a.status != http.StatusOK {
		t.Errorf("release: %d %s", a.status, a.raw)
	}
	if a := s.call(
		"POST", "/workspace/accounts/upsert", s.key, fmt.Sprintf(`{"account_id":%q,"tags":["kept"]}`, ids[1]),
	); a.status != http.StatusOK {
		t.Fatalf("upsert: %d %s", a.status, a.raw)
	}
	a := s.call("POST", "/workspace/accounts/search", s.key, `{"filters":{"tags":{"value":"kept"}}}`)
	if a.status != http.StatusOK || a.body.Metadata.Total != 1 {
		t.Errorf("the book: %d %s\n%s", a.status, a.raw, s.log)
	}
	system, err := postgres.OpenSystem(t.Context(), s.config.PostgresSystemURL, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer system.Close()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		state, err := system.FeedState(t.Context())
		if err == nil && state.Generation != "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the feed of changes does not begin: %+v, %v\n%s", state, err, s.log)
		}
	}
}

// isUnavailable checks the answer to clients when the settings do not fit: an uncharged
// server error that ends when an operator corrects the settings.
func (s *service) isUnavailable(t *testing.T) {
	t.Helper()
	if a := s.call("GET", "/health/ready", "", ""); a.status != http.StatusServiceUnavailable ||
		!strings.Contains(string(a.raw), "elasticsearch") {
		t.Errorf("readiness: %d %s", a.status, a.raw)
	}
	began := time.Now()
	a := s.call("POST", "/data/accounts/search", s.key, `{"limit": 2}`)
	if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" || time.Since(began) > 10*time.Second {
		t.Errorf("search: %d %v %s after %v", a.status, a.header, a.raw, time.Since(began))
	}
	usage := s.call("GET", "/data/usage", s.key, "")
	if !strings.Contains(string(usage.raw), `"used_credits":0`) {
		t.Errorf("usage: %s", usage.raw)
	}
}
