package devstack

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// Secured is a node of Elasticsearch as it runs where it is reachable by
// others: it asks who calls, and speaks TLS only.
type Secured struct {
	URL string // https://127.0.0.1:23456
	// Username and Password are those of a superuser.
	Username, Password string
	// CA is the authority that signed the node's certificate, in PEM.
	CA []byte

	stop func(context.Context) error
}

// StartSecured starts a node with security on, as a process of this machine,
// for tests of the settings that reach such a one. opts is as for Start, with
// an empty Dir for a temporary folder; the node is always ephemeral.
func StartSecured(ctx context.Context, opts Options) (_ *Secured, err error) {
	removeDir := func() error { return nil }
	if opts.Dir == "" {
		if opts.Dir, err = os.MkdirTemp("", "atlas-secured-"); err != nil {
			return nil, fmt.Errorf("devstack: %w", err)
		}
		dir := opts.Dir
		removeDir = func() error { return os.RemoveAll(dir) }
		// The server's user has to pass through, when it is another one.
		if err := os.Chmod(dir, 0o755); err != nil {
			return nil, errors.Join(err, removeDir())
		}
	}
	opts.Ephemeral = true
	if err := opts.complete(); err != nil {
		return nil, errors.Join(err, removeDir())
	}
	local, err := openMachine(ctx, opts)
	if err != nil {
		return nil, errors.Join(err, removeDir())
	}
	s := &Secured{stop: func(ctx context.Context) error { return errors.Join(local.stop(ctx), removeDir()) }}
	if err := s.start(ctx, local); err != nil {
		// The cause is told, not how the clean-up of it went.
		_ = s.Stop(context.WithoutCancel(ctx))
		return nil, err
	}
	return s, nil
}

// Stop ends the node and removes its data.
func (s *Secured) Stop(ctx context.Context) error { return s.stop(ctx) }

func (s *Secured) start(ctx context.Context, m *machine) error {
	home, err := m.home("elasticsearch")
	if err != nil {
		return err
	}
	authority, certificate, key, err := certificates()
	if err != nil {
		return fmt.Errorf("certificate of the node: %w", err)
	}
	s.CA, s.Username, s.Password = authority, "operator", rand.Text()
	hash, err := bcrypt.GenerateFromPassword([]byte(s.Password), bcrypt.MinCost)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	port, err := m.startNode(ctx, esNode{name: "atlas", home: home, secured: true, files: map[string]string{
		certificateFile: string(certificate), keyFile: string(key),
		// The realm of users in files, which needs no tool and no other user.
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

// prepareKeys makes the index that API keys are kept in. The node would make it
// with the first key, but for searching users by their mail address it wants an
// analyzer of a module that this distribution is without. A clone keeps the
// settings of what it is cloned from, an analyzer of that name among them; the
// node then adds its mapping by itself.
func (s *Secured) prepareKeys(ctx context.Context, transport *http.Transport) error {
	const keys, pattern = ".security-7", "pattern-of-keys"
	client := http.Client{Transport: transport}
	for _, call := range []struct{ method, path, body string }{
		{http.MethodPut, "/" + pattern, `{"settings":{"number_of_replicas":0,"index.format":6,"index.blocks.write":true,
			"analysis":{"analyzer":{"email":{"type":"custom","tokenizer":"standard"}}}}}`},
		{http.MethodPut, "/" + pattern + "/_clone/" + keys + "?wait_for_active_shards=1", `{"settings":{"index.blocks.write":null,"index.number_of_replicas":0},"aliases":{".security":{}}}`},
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
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			return fmt.Errorf("index of API keys: %s %s: %s: %s", call.method, call.path, res.Status, body)
		}
	}
	return nil
}

// The node's files below its folder config.
const (
	certificateFile = "node.crt"
	keyFile         = "node.key"
)

// keeper is a user and a role: a superuser may not write to the index of keys.
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

// security are the lines of elasticsearch.yml for it.
func (n esNode) security() []string {
	if !n.secured {
		return nil
	}
	return []string{
		"xpack.security.http.ssl.enabled: true",
		"xpack.security.http.ssl.certificate: " + certificateFile,
		"xpack.security.http.ssl.key: " + keyFile,
		"xpack.security.authc.api_key.enabled: true",
		// It would make a user and a password of its own.
		"xpack.security.autoconfiguration.enabled: false",
	}
}

// certificates makes an authority and by it a certificate for loopback, valid
// for a day, all in PEM.
func certificates() (authority, certificate, key []byte, err error) {
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Atlas development"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, nil, err
	}
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, &rootKey.PublicKey, rootKey)
	if err != nil {
		return nil, nil, nil, err
	}
	node := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: root.NotBefore, NotAfter: root.NotAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	nodeKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, nil, err
	}
	nodeDER, err := x509.CreateCertificate(rand.Reader, node, root, &nodeKey.PublicKey, rootKey)
	if err != nil {
		return nil, nil, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(nodeKey)
	if err != nil {
		return nil, nil, nil, err
	}
	encode := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	return encode("CERTIFICATE", rootDER), encode("CERTIFICATE", nodeDER), encode("PRIVATE KEY", keyDER), nil
}
