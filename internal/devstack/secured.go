package devstack

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

// Secured is a node of Elasticsearch with security: it requires credentials and
// TLS.
type Secured struct {
	URL string // https://127.0.0.1:23456
	// Username and Password are those of a superuser.
	Username, Password string
	// CA is the authority of the node's certificate, in PEM.
	CA []byte

	stop func(context.Context) error
}

// StartSecured starts a node with security on as a process of this machine, for tests of
// the connection settings. opts is as for Start; an empty Dir means a temporary folder. The
// data is always ephemeral.
func StartSecured(ctx context.Context, opts Options) (*Secured, error) {
	local, stop, err := openEphemeral(ctx, opts, "atlas-secured-")
	if err != nil {
		return nil, err
	}
	s := &Secured{stop: stop}
	if err := s.start(ctx, local); err != nil {
		_ = s.Stop(context.WithoutCancel(ctx)) // the first error is more informative
		return nil, err
	}
	return s, nil
}

// Stop ends the node and removes its data.
func (s *Secured) Stop(ctx context.Context) error { return s.stop(ctx) }

func (s *Secured) start(ctx context.Context, m *machine) error {
	certificates, err := makeCertificates()
	if err != nil {
		return err
	}
	s.CA, s.Username, s.Password = certificates.authority, "operator", rand.Text()
	hash, err := bcrypt.GenerateFromPassword([]byte(s.Password), bcrypt.MinCost)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.CA)
	port, err := m.startNode(ctx, esNode{kind: "elasticsearch", settings: []string{
		"cluster.name: atlas-dev",
		`node.name: "atlas"`,
		"discovery.type: single-node",
		"xpack.security.enabled: true",
		"xpack.security.http.ssl.enabled: true",
		"xpack.security.http.ssl.certificate: " + certificateFile,
		"xpack.security.http.ssl.key: " + keyFile,
		"xpack.security.authc.api_key.enabled: true",
		// Otherwise the node would create a user and a password.
		"xpack.security.autoconfiguration.enabled: false",
	}, files: map[string]string{
		certificateFile: string(certificates.server), keyFile: string(certificates.key),
		// The realm of users in files needs no tool and no other user.
		"users":       s.Username + ":" + string(hash) + "\n" + keeper + ":" + string(hash) + "\n",
		"users_roles": "superuser:" + s.Username + "\n" + keeper + ":" + keeper + "\n",
		"roles.yml":   keeperRole,
	}}, func(ctx context.Context, port int) error {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
		return elasticsearchAnswers(ctx, transport, "https://"+loopback(port), url.UserPassword(s.Username, s.Password))
	})
	if err != nil {
		return err
	}
	s.URL = "https://" + loopback(port)
	return s.prepareKeys(ctx, &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true})
}

// prepareKeys creates the index of API keys. The node would create it with the first key,
// but its mapping needs an analyzer of a module that this distribution lacks. A clone has
// the settings of its source, which has an analyzer of that name; the node then adds its
// mapping.
func (s *Secured) prepareKeys(ctx context.Context, transport *http.Transport) error {
	const keys, pattern = ".security-7", "pattern-of-keys"
	client := http.Client{Transport: transport}
	for _, call := range []struct{ method, path, body string }{
		{http.MethodPut, "/" + pattern, `{"settings":{"number_of_replicas":0,"index.format":6,"index.blocks.write":true,
			"analysis":{"analyzer":{"email":{"type":"custom","tokenizer":"standard"}}}}}`},
		{
			http.MethodPut, "/" + pattern + "/_clone/" + keys + "?wait_for_active_shards=1",
			`{"settings":{"index.blocks.write":null,"index.number_of_replicas":0},"aliases":{".security":{}}}`,
		},
		{http.MethodDelete, "/" + pattern, ""},
	} {
		req, err := http.NewRequestWithContext(ctx, call.method, s.URL+call.path, strings.NewReader(call.body))
		if err != nil {
			return err
		}
		req.SetBasicAuth(keeper, s.Password)
		if call.body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
		_ = res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			return fmt.Errorf("index of API keys: %s %s: %s: %s", call.method, call.path, res.Status, body)
		}
	}
	return nil
}

// keeper is a user and a role that may write to the index of keys, which a
// superuser may not.
const (
	keeper     = "keeper"
	keeperRole = keeper + `:
  cluster: [all]
  indices:
  - names: ['*']
    privileges: [all]
    allow_restricted_indices: true
`
)
