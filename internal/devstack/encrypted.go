package devstack

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// Encrypted are a Postgres and a Redis that require TLS and a password. Secured is the same
// for Elasticsearch.
type Encrypted struct {
	// PostgresURL is the administrator's address, with sslmode=verify-full.
	PostgresURL string
	// RedisURL is like rediss://:password@127.0.0.1:23456/0, without the authority.
	RedisURL string
	// CAFile has the authority of their certificates, in PEM.
	CAFile string

	stop func(context.Context) error
}

// StartEncrypted starts both as processes of this machine, for tests of the connection
// settings. opts is as for Start; an empty Dir means a temporary folder. The data is always
// ephemeral.
func StartEncrypted(ctx context.Context, opts Options) (*Encrypted, error) {
	local, stop, err := openEphemeral(ctx, opts, "atlas-encrypted-")
	if err != nil {
		return nil, err
	}
	e := &Encrypted{CAFile: filepath.Join(local.opts.Dir, authorityFile), stop: stop}
	if err := e.start(ctx, local); err != nil {
		_ = e.Stop(context.WithoutCancel(ctx)) // the first error is more informative
		return nil, err
	}
	return e, nil
}

// Stop ends both servers and removes their data.
func (e *Encrypted) Stop(ctx context.Context) error { return e.stop(ctx) }

func (e *Encrypted) start(ctx context.Context, m *machine) error {
	certificates, err := makeCertificates()
	if err != nil {
		return err
	}
	if err := os.WriteFile(e.CAFile, certificates.authority, 0o600); err != nil {
		return err
	}
	if e.PostgresURL, err = m.encryptedPostgres(ctx, certificates, e.CAFile); err != nil {
		return err
	}
	e.RedisURL, err = m.encryptedRedis(ctx, certificates)
	return err
}

func (m *machine) encryptedPostgres(ctx context.Context, c certificates, ca string) (string, error) {
	home, data, bin, err := m.makePostgres(ctx)
	if err != nil {
		return "", err
	}
	const access = "pg_hba.conf"
	dir, err := m.writeTLS(home, c, map[string]string{access: "hostssl all all 127.0.0.1/32 scram-sha-256\n"})
	if err != nil {
		return "", err
	}
	password := rand.Text()
	if err := m.setPostgresPassword(ctx, bin, home, data, password); err != nil {
		return "", err
	}
	settings := append(unsafePostgres(), "ssl=on", "hba_file="+filepath.Join(dir, access),
		"ssl_cert_file="+filepath.Join(dir, certificateFile), "ssl_key_file="+filepath.Join(dir, keyFile))
	address := func(port int) string {
		return (&url.URL{
			Scheme: "postgres", User: url.UserPassword(postgresAdmin, password), Host: loopback(port), Path: "/postgres",
			RawQuery: url.Values{"sslmode": {"verify-full"}, "sslrootcert": {ca}}.Encode(),
		}).String()
	}
	port, err := m.servePostgres(ctx, "postgres", bin, data, settings, address)
	if err != nil {
		return "", err
	}
	return address(port), nil
}

// setPostgresPassword sets the administrator's password in a server that nobody else can
// reach.
func (m *machine) setPostgresPassword(ctx context.Context, bin, home, data, password string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "postgres"), "--single", "-D", data, "postgres") // #nosec G204 -- a program of this machine, with arguments of this one
	m.confine(cmd, home)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	go func() {
		_, _ = fmt.Fprintf(in, "ALTER ROLE %s PASSWORD '%s'\n", postgresAdmin, password) // the server says what it lacks
		_ = in.Close()
	}()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("password of Postgres: %w\n%s", err, out)
	}
	return nil
}

func (m *machine) encryptedRedis(ctx context.Context, c certificates) (string, error) {
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		return "", errNoRedis
	}
	home, err := m.home("redis")
	if err != nil {
		return "", err
	}
	dir, err := m.writeTLS(home, c, nil)
	if err != nil {
		return "", err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.authority)
	password := rand.Text()
	port, err := m.serve(ctx, server{
		kind: "redis", stopSignal: syscall.SIGTERM, home: home,
		command: func(port int) *exec.Cmd {
			args := []string{
				"--port", "0", "--tls-port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", home, "--daemonize", "no",
				"--tls-cert-file", filepath.Join(dir, certificateFile), "--tls-key-file", filepath.Join(dir, keyFile),
				"--tls-ca-cert-file", filepath.Join(dir, authorityFile), "--tls-auth-clients", "no", "--requirepass", password,
			}
			return exec.Command(binary, append(args, redisSettings(true)...)...) // #nosec G204 -- a program of this machine, with arguments of this one
		},
		probe: func(ctx context.Context, port int) error {
			client := redis.NewClient(&redis.Options{
				Addr: loopback(port), Password: password, DialTimeout: 3 * time.Second, MaxRetries: -1,
				TLSConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			})
			return errors.Join(client.Ping(ctx).Err(), client.Close())
		},
	})
	if err != nil {
		return "", err
	}
	return (&url.URL{Scheme: "rediss", User: url.UserPassword("", password), Host: loopback(port), Path: "/0"}).String(), nil
}
