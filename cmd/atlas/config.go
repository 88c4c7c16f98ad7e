package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"atlas/internal/auth"
	"atlas/internal/credits"
	"atlas/internal/elastic"
	"atlas/mappings"
	"atlas/search"
)

// configError lists everything that is wrong with a configuration.
type configError struct{ faults []string }

func (e configError) Error() string {
	return "the configuration is not usable:\n  - " + strings.Join(e.faults, "\n  - ")
}

// faults collects what is wrong, so that all of it is told at once.
type faults []string

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

func (f *faults) addError(err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			f.addError(e)
		}
	} else if err != nil {
		f.add("%v", err)
	}
}

func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return configError{f}
}

// address checks a URL of one of the schemes.
func (f *faults) address(option, value string, schemes ...string) {
	u, err := url.Parse(value)
	switch {
	case value == "":
		f.add("%s is required", option)
	case err != nil || u.Host == "" && u.Path == "":
		f.add("%s is not an address", option) // its text may hold a password
	case !slices.Contains(schemes, u.Scheme):
		f.add("%s must begin with %s://", option, strings.Join(schemes, ":// or "))
	}
}

// elasticConfig is how to reach Elasticsearch and what the indices are called.
type elasticConfig struct {
	ElasticsearchURL      []string `name:"elasticsearch-url" env:"ATLAS_ELASTICSEARCH_URL" sep:"," placeholder:"URL" help:"Addresses of Elasticsearch nodes, separated by commas: each is asked in turn, and one that does not answer is left out for a while."`
	ElasticsearchUser     string   `name:"elasticsearch-user" env:"ATLAS_ELASTICSEARCH_USER" help:"User, where security is on."`
	ElasticsearchPassword string   `name:"elasticsearch-password" env:"ATLAS_ELASTICSEARCH_PASSWORD" help:"Password of the user."`
	ElasticsearchAPIKey   string   `name:"elasticsearch-api-key" env:"ATLAS_ELASTICSEARCH_API_KEY" help:"API key, instead of user and password."`
	ElasticsearchCA       string   `name:"elasticsearch-ca" env:"ATLAS_ELASTICSEARCH_CA" type:"path" placeholder:"FILE" help:"PEM file of the authority that signed the nodes' certificates; default: the system's."`
	ElasticsearchInsecure bool     `name:"elasticsearch-insecure" env:"ATLAS_ELASTICSEARCH_INSECURE" help:"Accept any certificate; for trials only."`
	HeldIndexPrefix       string   `name:"held-index-prefix" env:"ATLAS_HELD_INDEX_PREFIX" help:"What the names of the indices of held records begin with; default: --index-prefix. Installations that share the global indices differ in it."`
	IndexPrefix           string   `name:"index-prefix" env:"ATLAS_INDEX_PREFIX" default:"atlas-" help:"What the names of all indices and aliases begin with (default: atlas-)."`
}

func (c elasticConfig) check(f *faults) {
	if len(c.ElasticsearchURL) == 0 {
		f.add("--elasticsearch-url (ATLAS_ELASTICSEARCH_URL) is required")
	}
	for _, u := range c.ElasticsearchURL {
		f.address("--elasticsearch-url (ATLAS_ELASTICSEARCH_URL)", u, "http", "https")
	}
	if c.ElasticsearchAPIKey != "" && c.ElasticsearchUser != "" {
		f.add("give either --elasticsearch-api-key or --elasticsearch-user, not both")
	}
	if (c.ElasticsearchUser == "") != (c.ElasticsearchPassword == "") {
		f.add("--elasticsearch-user and --elasticsearch-password go together")
	}
	valid := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r)
	}
	if strings.IndexFunc(c.IndexPrefix, func(r rune) bool { return !valid(r) }) >= 0 || strings.IndexAny(c.IndexPrefix, "-_.") == 0 || len(c.IndexPrefix) > 100 {
		f.add("--index-prefix (ATLAS_INDEX_PREFIX) may hold a-z, 0-9, -, _ and ., begins with a letter or digit, and has at most 100 characters")
	}
	if c.HeldIndexPrefix != "" && (strings.IndexFunc(c.HeldIndexPrefix, func(r rune) bool { return !valid(r) }) >= 0 || strings.IndexAny(c.HeldIndexPrefix, "-_.") == 0 || len(c.HeldIndexPrefix) > 100) {
		f.add("--held-index-prefix (ATLAS_HELD_INDEX_PREFIX) takes what --index-prefix does")
	}
	if c.ElasticsearchCA != "" {
		if _, err := os.Stat(c.ElasticsearchCA); err != nil {
			f.add("--elasticsearch-ca (ATLAS_ELASTICSEARCH_CA): %v", err)
		}
	}
}

func (c elasticConfig) names() mappings.Names {
	return mappings.Names{Prefix: c.IndexPrefix, HeldPrefix: c.HeldIndexPrefix}
}

func (c elasticConfig) open(more ...func(*elastic.Config)) (*elastic.Client, error) {
	config := elastic.Config{
		Addresses: c.ElasticsearchURL, Username: c.ElasticsearchUser, Password: c.ElasticsearchPassword,
		APIKey: c.ElasticsearchAPIKey, InsecureTLS: c.ElasticsearchInsecure,
	}
	if c.ElasticsearchCA != "" {
		pem, err := os.ReadFile(c.ElasticsearchCA)
		if err != nil {
			return nil, err
		}
		config.CACert = pem
	}
	for _, set := range more {
		set(&config)
	}
	return elastic.New(config)
}

// warnOfSilence logs calls that were given up because nothing came back.
func warnOfSilence(log *slog.Logger) func(*elastic.Config) {
	return func(e *elastic.Config) {
		e.OnTimeout = func(ctx context.Context, operation string, after time.Duration) {
			log.WarnContext(ctx, "elasticsearch gave no answer, and the call was given up", "operation", operation, "after", after.String())
		}
	}
}

// apiConfig is everything `atlas serve` needs.
type apiConfig struct {
	elasticConfig
	logConfig
	mailConfig
	heldConfig
	boundsConfig
	operationConfig

	Listen            string        `env:"ATLAS_LISTEN" default:"127.0.0.1:8080" help:"Address the API listens on (default: 127.0.0.1:8080)."`
	PostgresURL       string        `name:"postgres-url" env:"ATLAS_POSTGRES_URL" placeholder:"URL" help:"Postgres as the role atlas_app, which row-level security binds. Several hosts, separated by commas, with ?target_session_attrs=read-write: whichever is the primary."`
	PostgresSystemURL string        `name:"postgres-system-url" env:"ATLAS_POSTGRES_SYSTEM_URL" placeholder:"URL" help:"Postgres as the role atlas_system, for what crosses workspaces."`
	RedisURL          string        `name:"redis-url" env:"ATLAS_REDIS_URL" placeholder:"URL" help:"Redis; or several addresses separated by commas: nodes of a Cluster or, with ?master_name=NAME on the first, Sentinels."`
	RedisPrefix       string        `name:"redis-prefix" env:"ATLAS_REDIS_PREFIX" default:"atlas:credits:" help:"What the names of all Redis keys begin with (default: atlas:credits:)."`
	CursorKeys        []string      `name:"cursor-keys" env:"ATLAS_CURSOR_KEYS" sep:"," placeholder:"KEY" help:"Keys that sign cursors and make the links of invitations, separated by commas, at least 16 bytes each: the first signs, all are accepted."`
	JWTSecret         string        `name:"jwt-secret" env:"ATLAS_JWT_SECRET" help:"Shared secret (HS256) of access tokens, for development."`
	JWKS              string        `name:"jwks" env:"ATLAS_JWKS" placeholder:"FILE|URL" help:"JWKS document with the keys that sign access tokens; without it and --jwt-secret only API keys are accepted."`
	JWTAlgorithms     []string      `name:"jwt-algorithms" env:"ATLAS_JWT_ALGORITHMS" sep:"," help:"Signature algorithms accepted with --jwks (default: RS256,ES256,EdDSA)."`
	JWTIssuer         string        `name:"jwt-issuer" env:"ATLAS_JWT_ISSUER" help:"What iss must be; required with --jwks."`
	JWTAudience       string        `name:"jwt-audience" env:"ATLAS_JWT_AUDIENCE" help:"What aud must contain; required with --jwks."`
	JWTAnyIssuer      bool          `name:"jwt-accept-any-issuer" env:"ATLAS_JWT_ACCEPT_ANY_ISSUER" help:"Accept access tokens of every issuer whose keys are in --jwks, instead of --jwt-issuer."`
	JWTAnyAudience    bool          `name:"jwt-accept-any-audience" env:"ATLAS_JWT_ACCEPT_ANY_AUDIENCE" help:"Accept access tokens that the issuer made for other applications, instead of --jwt-audience."`
	JWTAbsentVerified bool          `name:"jwt-absent-email-verified" env:"ATLAS_JWT_ABSENT_EMAIL_VERIFIED" help:"Take the e-mail address of an access token without email_verified for verified: only for an issuer that verifies every address and never sends the claim."`
	SearchTimeout     time.Duration `name:"search-timeout" env:"ATLAS_SEARCH_TIMEOUT" default:"10s" help:"What one search may take, 100ms to 60s (default: 10s)."`
	RedisTimeout      time.Duration `name:"redis-timeout" env:"ATLAS_REDIS_TIMEOUT" default:"100ms" help:"What one call to Redis may take, 1ms to 10s (default: 100ms)."`
}

// check returns everything that is wrong.
func (c apiConfig) check() error {
	var f faults
	c.elasticConfig.check(&f)
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		f.add("--listen (ATLAS_LISTEN) must be host:port")
	}
	f.address("--postgres-url (ATLAS_POSTGRES_URL)", c.PostgresURL, "postgres", "postgresql")
	f.address("--postgres-system-url (ATLAS_POSTGRES_SYSTEM_URL)", c.PostgresSystemURL, "postgres", "postgresql")
	if client, err := credits.Open(c.RedisURL); err != nil {
		f.add("--redis-url (ATLAS_REDIS_URL): %v", err)
	} else {
		_ = client.Close() // it has not connected
	}
	if _, err := search.NewCursors(c.cursorKeys()...); err != nil {
		f.add("--cursor-keys (ATLAS_CURSOR_KEYS): %v", err)
	}
	f.addError(c.auth().Validate())
	c.mailConfig.check(&f)
	c.heldConfig.check(&f)
	c.boundsConfig.check(&f)
	f.within("--search-timeout (ATLAS_SEARCH_TIMEOUT)", c.SearchTimeout, 100*time.Millisecond, time.Minute)
	f.within("--redis-timeout (ATLAS_REDIS_TIMEOUT)", c.RedisTimeout, time.Millisecond, 10*time.Second)
	c.checkOperation(&f)
	return f.err()
}

func (f *faults) within(option string, d, lowest, highest time.Duration) {
	if d < lowest || d > highest {
		f.add("%s must be %s to %s", option, lowest, highest)
	}
}

func (c apiConfig) cursorKeys() [][]byte {
	var keys [][]byte
	for _, k := range c.CursorKeys {
		keys = append(keys, []byte(k))
	}
	return keys
}

func (c apiConfig) auth() auth.Config {
	return auth.Config{
		Secret: c.JWTSecret, JWKS: c.JWKS, Algorithms: c.JWTAlgorithms, Issuer: c.JWTIssuer, Audience: c.JWTAudience,
		AnyIssuer: c.JWTAnyIssuer, AnyAudience: c.JWTAnyAudience, AbsentEmailVerified: c.JWTAbsentVerified,
	}
}

var (
	errNotReady     = errors.New("no dataset has been loaded yet: run atlas index load")
	errOtherVersion = errors.New("the records were loaded by a version of Atlas that indexes other fields: run atlas index load with this one")
)
