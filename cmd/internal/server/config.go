package server

import (
	"errors"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"atlas/cmd/internal/cli"
	"atlas/internal/tiles"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/words"
	"atlas/service/auth"
	"atlas/service/credits"
	"atlas/service/endpoint"
)

// Config is everything `atlas serve` needs.
type Config struct {
	cli.Elastic
	cli.Log
	Mail
	Held
	Bounds
	Operation
	AuditLog
	SignIn
	Webhooks
	cli.Suppression
	ErasureForm bool `name:"erasure-form" env:"ATLAS_ERASURE_FORM" help:"Let anybody ask for a link to have an entry erased, by its e-mail address, at /erasure/request: the letter goes to the address on file."`

	Listen            string        `env:"ATLAS_LISTEN" default:"127.0.0.1:8080" help:"Address the API listens on (default: 127.0.0.1:8080)."`
	PostgresURL       string        `name:"postgres-url" env:"ATLAS_POSTGRES_URL" placeholder:"URL" help:"Postgres as the role atlas_app, which row-level security binds. Several hosts, separated by commas, with ?target_session_attrs=read-write: whichever is the primary."`
	PostgresSystemURL string        `name:"postgres-system-url" env:"ATLAS_POSTGRES_SYSTEM_URL" placeholder:"URL" help:"Postgres as the role atlas_system, for what crosses workspaces."`
	RedisURL          string        `name:"redis-url" env:"ATLAS_REDIS_URL" placeholder:"URL" help:"Redis; or several addresses separated by commas: nodes of a Cluster or, with ?master_name=NAME on the first, Sentinels."`
	RedisPrefix       string        `name:"redis-prefix" env:"ATLAS_REDIS_PREFIX" default:"atlas:credits:" help:"What the names of all Redis keys begin with (default: atlas:credits:)."`
	CursorKeys        []string      `name:"cursor-keys" env:"ATLAS_CURSOR_KEYS" sep:"," placeholder:"KEY" help:"Keys that sign cursors and make ETags and the links of invitations, separated by commas, at least 16 bytes each: the first signs, all are accepted."`
	AcceptExampleKeys bool          `name:"accept-example-keys" env:"ATLAS_ACCEPT_EXAMPLE_KEYS" help:"Accept cursor keys of examples on an address that others reach: only where something else keeps them out, as in docker-compose.yml."`
	SecurityContact   string        `name:"security-contact" env:"ATLAS_SECURITY_CONTACT" placeholder:"URI" help:"Address for reports of vulnerabilities in /.well-known/security.txt, such as mailto:security@example.com (default: the page /docs/reporting)."`
	JWTSecret         string        `name:"jwt-secret" env:"ATLAS_JWT_SECRET" help:"Shared secret (HS256) of access tokens, for development."`
	JWKS              string        `name:"jwks" env:"ATLAS_JWKS" placeholder:"FILE|URL" help:"JWKS document with the keys that sign access tokens of users. Optional: without it and --jwt-secret only API keys are accepted."`
	JWTAlgorithms     []string      `name:"jwt-algorithms" env:"ATLAS_JWT_ALGORITHMS" sep:"," help:"Signature algorithms accepted with --jwks (default: RS256,ES256,EdDSA)."`
	JWTIssuer         string        `name:"jwt-issuer" env:"ATLAS_JWT_ISSUER" help:"What iss must be; required with --jwks."`
	JWTAudience       string        `name:"jwt-audience" env:"ATLAS_JWT_AUDIENCE" help:"What aud must contain; required with --jwks."`
	JWTAnyIssuer      bool          `name:"jwt-accept-any-issuer" env:"ATLAS_JWT_ACCEPT_ANY_ISSUER" help:"Accept access tokens of every issuer whose keys are in --jwks, instead of --jwt-issuer."`
	JWTAnyAudience    bool          `name:"jwt-accept-any-audience" env:"ATLAS_JWT_ACCEPT_ANY_AUDIENCE" help:"Accept access tokens that the issuer made for other applications, instead of --jwt-audience."`
	JWTAbsentVerified bool          `name:"jwt-absent-email-verified" env:"ATLAS_JWT_ABSENT_EMAIL_VERIFIED" help:"Take the e-mail address of an access token without email_verified for verified: only for an issuer that verifies every address and never sends the claim."`
	JWTRequireScopes  bool          `name:"jwt-require-scopes" env:"ATLAS_JWT_REQUIRE_SCOPES" help:"Refuse what an access token does not name in scope or scp; without it a token that names no scope of Atlas has all."`
	JWTMaxLifetime    time.Duration `name:"jwt-max-lifetime" env:"ATLAS_JWT_MAX_LIFETIME" default:"720h" help:"Refuse access tokens that are good for longer: exp - iat, or what is left without iat (default: 720h)."`
	CORSOrigins       []string      `name:"cors-origins" env:"ATLAS_CORS_ORIGINS" sep:"," placeholder:"ORIGIN" help:"Origins whose pages may call the API from a browser, separated by commas, such as https://app.example (default: none)."`
	SearchTimeout     time.Duration `name:"search-timeout" env:"ATLAS_SEARCH_TIMEOUT" default:"10s" help:"What one search may take, 100ms to 60s (default: 10s)."`
	Synonyms          string        `name:"synonyms" env:"ATLAS_SYNONYMS" type:"path" placeholder:"FILE" help:"Synonyms of your own: groups of terms separated by commas, one in a line. All servers need the same."`
	MapTiles          string        `name:"map-tiles" env:"ATLAS_MAP_TILES" placeholder:"URL|FILE" help:"Vector tiles of the map of the Explorer: https://HOST/…/{z}/{x}/{y}.pbf, which browsers ask and the service never does, or a PMTiles file, which the service gives out. Without it the map has outlines and names of cities."`
	MapAttribution    string        `name:"map-attribution" env:"ATLAS_MAP_ATTRIBUTION" default:"© OpenStreetMap contributors" placeholder:"TEXT" help:"Whose the tiles are; the map says it (default: © OpenStreetMap contributors)."`
	RedisTimeout      time.Duration `name:"redis-timeout" env:"ATLAS_REDIS_TIMEOUT" default:"100ms" help:"What one call to Redis may take, 1ms to 10s (default: 100ms)."`

	// DevelopmentSessions lets links of atlas-dev sign in to the Explorer, without TLS.
	DevelopmentSessions bool `kong:"-"`
	// ExplorerDir is a folder with the built Explorer, for development. Default: the one
	// in the binary.
	ExplorerDir string `kong:"-"`
}

// Check returns a cli.ConfigError with every problem.
func (c Config) Check() error {
	var f cli.Problems
	c.Elastic.Check(&f)
	f.Address("--listen (ATLAS_LISTEN)", c.Listen, "127.0.0.1:8080")
	f.URL("--postgres-url (ATLAS_POSTGRES_URL)", c.PostgresURL, "postgres", "postgresql")
	f.URL("--postgres-system-url (ATLAS_POSTGRES_SYSTEM_URL)", c.PostgresSystemURL, "postgres", "postgresql")
	if c.RedisURL == "" {
		f.Add("--redis-url (ATLAS_REDIS_URL) is required, such as redis://127.0.0.1:6379/0")
	} else if client, err := credits.Open(c.RedisURL); err != nil {
		f.Add("--redis-url (ATLAS_REDIS_URL): %v, such as redis://127.0.0.1:6379/0", err)
	} else {
		_ = client.Close() // it has not connected yet
	}
	if _, err := c.Cursors(); err != nil {
		f.Add("--cursor-keys (ATLAS_CURSOR_KEYS): %v; openssl rand -hex 16 prints one", err)
	}
	c.checkKnown(&f)
	for _, origin := range c.CORSOrigins {
		if err := endpoint.CheckOrigin(origin); err != nil {
			f.Add("--cors-origins (ATLAS_CORS_ORIGINS): %v", err)
		}
	}
	f.AddError(c.auth().Validate())
	f.AddError(c.oidc().Validate())
	c.SignIn.Check(&f)
	c.Mail.Check(&f)
	c.Webhooks.Check(&f)
	c.Held.Check(&f)
	c.Bounds.Check(&f)
	c.AuditLog.Check(&f)
	f.Duration("--search-timeout (ATLAS_SEARCH_TIMEOUT)", c.SearchTimeout, 100*time.Millisecond, time.Minute)
	f.Duration("--redis-timeout (ATLAS_REDIS_TIMEOUT)", c.RedisTimeout, time.Millisecond, 10*time.Second)
	c.checkOperation(&f)
	if source, err := tiles.Open(c.MapTiles, c.MapAttribution); err != nil {
		f.Add("--map-tiles (ATLAS_MAP_TILES): %v", err)
	} else if source.Archive != nil {
		_ = source.Archive.Close() // it is opened later where it is served
	}
	if keys, err := c.SuppressionKeys(); err != nil {
		f.AddError(err)
	} else if c.ErasureForm && (len(keys) == 0 || !c.mail().Enabled() || c.PublicURL == "") {
		f.Add("--erasure-form (ATLAS_ERASURE_FORM) needs --suppression-key, --smtp-url and --public-url: it has letters sent")
	}
	if _, err := c.tables(); err != nil {
		f.Add("--synonyms (ATLAS_SYNONYMS): %v", err)
	}
	return f.Err()
}

// tables are the tables for reading texts.
func (c Config) tables() (*words.Tables, error) {
	if c.Synonyms == "" {
		return words.Published, nil
	}
	f, err := os.Open(c.Synonyms)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	raw, err := io.ReadAll(io.LimitReader(f, words.MaxTable+1))
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(raw) {
		return nil, errors.New("the file is not UTF-8")
	}
	return words.Extend(string(raw), catalog.Fold)
}

// Cursors signs and checks cursors with the configured keys.
func (c Config) Cursors() (*search.Cursors, error) { return search.NewCursors(c.cursorKeys()...) }

func (c Config) cursorKeys() [][]byte {
	var keys [][]byte
	for _, k := range c.CursorKeys {
		keys = append(keys, []byte(k))
	}
	return keys
}

func (c Config) auth() auth.Config {
	return auth.Config{
		Secret: c.JWTSecret, JWKS: c.JWKS, Algorithms: c.JWTAlgorithms, Issuer: c.JWTIssuer, Audience: c.JWTAudience,
		AnyIssuer: c.JWTAnyIssuer, AnyAudience: c.JWTAnyAudience, AbsentEmailVerified: c.JWTAbsentVerified,
		RequireScopes: c.JWTRequireScopes, MaxLifetime: c.JWTMaxLifetime,
	}
}

var (
	ErrNotLoaded    = errors.New("no dataset has been loaded yet: run atlas index load")
	ErrOtherVersion = errors.New("the records were loaded by a version of Atlas that indexes other fields: run atlas index load with this one")
)
