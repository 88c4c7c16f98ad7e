package auth

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Leeway is the tolerated clock difference for exp, nbf and iat.
const Leeway = 30 * time.Second

// DefaultMaxLifetime is the default maximum lifetime of an access token. Providers let it be
// set to 30 days at most, and default to a day.
const DefaultMaxLifetime = 30 * 24 * time.Hour

// MinSecret is the minimum length of a shared secret in bytes, the size of the hash
// (RFC 7518, 3.2).
const MinSecret = 32

// DefaultAlgorithms are the signature algorithms accepted with a JWKS document.
var DefaultAlgorithms = []string{"RS256", "ES256", "EdDSA"}

// Config says which users' tokens are accepted. With neither a secret nor a JWKS only API
// keys are.
type Config struct {
	// Secret is the shared secret of HS256, for development: MinSecret bytes or
	// more. It excludes JWKS.
	Secret string
	// JWKS is the file path or https URL (http on loopback) of the signing keys. It
	// excludes Secret.
	JWKS string
	// Algorithms are the algorithms accepted with JWKS, a subset of
	// DefaultAlgorithms; empty means all of them.
	Algorithms []string
	// Issuer is what `iss` must be, Audience what `aud` must contain. With a JWKS both
	// are required, because the issuer also signs for other applications. With a
	// secret, an empty value is not checked.
	Issuer, Audience string
	// AnyIssuer and AnyAudience disable these checks for a JWKS.
	AnyIssuer, AnyAudience bool
	// AbsentEmailVerified is for an issuer that verifies every address and never sends
	// email_verified: an address without it counts as verified. With a secret it
	// always does.
	AbsentEmailVerified bool
	// RequireScopes: a token without an Atlas scope gets none, instead of all.
	RequireScopes bool
	// MaxLifetime is the maximum lifetime of a token: exp − iat, or the remaining time without
	// iat. 0 means DefaultMaxLifetime.
	MaxLifetime time.Duration
	// JWKSRefresh is the interval of reading the document; 0 means 5 min. A token
	// with an unknown key triggers an earlier read, at most every JWKSMinInterval.
	JWKSRefresh time.Duration
	// JWKSMinInterval is the minimum time between two reads for unknown keys; 0 means
	// 10 s.
	JWKSMinInterval time.Duration
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Log is for background work; nil is slog.Default.
	Log *slog.Logger
}

// Validate returns all errors of the configuration, joined.
func (c Config) Validate() error {
	var faults []error
	if c.Secret != "" && c.JWKS != "" {
		faults = append(faults, errors.New("--jwt-secret (ATLAS_JWT_SECRET) and --jwks (ATLAS_JWKS) exclude each other: give one"))
	}
	if c.Secret != "" && len(c.Secret) < MinSecret {
		faults = append(
			faults,
			fmt.Errorf(
				"--jwt-secret (ATLAS_JWT_SECRET) must have at least %d bytes; openssl rand -hex %d prints one",
				MinSecret,
				MinSecret/2,
			),
		)
	}
	for _, algorithm := range c.Algorithms {
		if !slices.Contains(DefaultAlgorithms, algorithm) {
			faults = append(
				faults,
				fmt.Errorf(
					"--jwt-algorithms (ATLAS_JWT_ALGORITHMS): %q is not one of %s",
					algorithm,
					strings.Join(DefaultAlgorithms, ", "),
				),
			)
		}
	}
	if c.Secret != "" && len(c.Algorithms) > 0 {
		faults = append(faults, errors.New("--jwt-algorithms (ATLAS_JWT_ALGORITHMS) is for --jwks: --jwt-secret means HS256"))
	}
	faults = append(faults, c.checkRequired("issuer", c.Issuer, c.AnyIssuer), c.checkRequired("audience", c.Audience, c.AnyAudience))
	if c.AbsentEmailVerified && c.JWKS == "" {
		faults = append(faults, errors.New("--jwt-absent-email-verified (ATLAS_JWT_ABSENT_EMAIL_VERIFIED) is for --jwks"))
	}
	if c.MaxLifetime < 0 {
		faults = append(faults, errors.New("--jwt-max-lifetime (ATLAS_JWT_MAX_LIFETIME) must not be negative"))
	}
	if c.JWKSRefresh < 0 || c.JWKSMinInterval < 0 {
		faults = append(faults, errors.New("the intervals of reading the JWKS must not be negative"))
	}
	if isURL(c.JWKS) {
		if err := checkURL(c.JWKS); err != nil {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// checkRequired checks the option for the issuer or the audience.
func (c Config) checkRequired(what, value string, waived bool) error {
	switch {
	case c.JWKS != "" && value == "" && !waived:
		return fmt.Errorf("--jwt-%s (ATLAS_JWT_%s) is required with --jwks: without it tokens made for others are accepted; --jwt-accept-any-%s says that this is meant",
			what, strings.ToUpper(what), what)
	case waived && (c.JWKS == "" || value != ""):
		return fmt.Errorf("--jwt-accept-any-%s is for --jwks without --jwt-%s", what, what)
	}
	return nil
}

// isURL reports whether a JWKS is a URL rather than a file.
func isURL(jwks string) bool {
	return strings.HasPrefix(jwks, "https://") || strings.HasPrefix(jwks, "http://")
}

func checkURL(jwks string) error {
	u, err := url.Parse(jwks)
	if err != nil || u.Host == "" {
		return errors.New("--jwks (ATLAS_JWKS) is not an address: a file, or one such as https://login.example/jwks.json")
	}
	ip := net.ParseIP(u.Hostname())
	if u.Scheme == "http" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		// Whoever can modify it in transit can sign any token.
		return errors.New("--jwks (ATLAS_JWKS) must be read over https, such as https://login.example/jwks.json")
	}
	return nil
}

// withDefaults replaces zero fields by their defaults.
func (c Config) withDefaults() Config {
	if len(c.Algorithms) == 0 {
		c.Algorithms = DefaultAlgorithms
	}
	if c.Secret != "" {
		c.Algorithms = []string{"HS256"}
	}
	if c.MaxLifetime == 0 {
		c.MaxLifetime = DefaultMaxLifetime
	}
	if c.JWKSRefresh == 0 {
		c.JWKSRefresh = 5 * time.Minute
	}
	if c.JWKSMinInterval == 0 {
		c.JWKSMinInterval = 10 * time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}
