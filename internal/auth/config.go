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

// Leeway is how far a token's clock may be from ours, for exp and nbf.
const Leeway = 30 * time.Second

// MinSecret is the least length of a shared secret, in bytes: that of the hash
// (RFC 7518, 3.2).
const MinSecret = 32

// DefaultAlgorithms are the signatures accepted with a JWKS document.
var DefaultAlgorithms = []string{"RS256", "ES256", "EdDSA"}

// Config says which users' tokens are accepted. With neither a secret nor a
// JWKS, none are: only API keys.
type Config struct {
	// Secret is the shared secret of HS256, for development: MinSecret bytes or
	// more. It excludes JWKS.
	Secret string
	// JWKS is where the signing keys are: the path of a file, or an https
	// address (http on loopback). It excludes Secret.
	JWKS string
	// Algorithms are the signatures accepted with JWKS, out of
	// DefaultAlgorithms; empty is all of them.
	Algorithms []string
	// Issuer and Audience are what `iss` must be and `aud` must contain. With a
	// JWKS both are required: the issuer signs for other applications too. With a
	// secret, empty checks nothing.
	Issuer, Audience string
	// AnyIssuer and AnyAudience waive them, with a JWKS.
	AnyIssuer, AnyAudience bool
	// AbsentEmailVerified is for an issuer that verifies every address and never
	// sends email_verified: an address counts as verified unless its token denies
	// it. With a secret it always does.
	AbsentEmailVerified bool
	// JWKSRefresh is how often the document is read anew; 0 is 5 min. A token
	// of an unknown key has it read sooner, at most every JWKSMinInterval.
	JWKSRefresh time.Duration
	// JWKSMinInterval is the least time between two readings on account of
	// unknown keys; 0 is 10 s.
	JWKSMinInterval time.Duration
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Log gets what happens in the background; nil is slog.Default.
	Log *slog.Logger
}

// Validate returns every fault of the configuration, joined.
func (c Config) Validate() error {
	var faults []error
	if c.Secret != "" && c.JWKS != "" {
		faults = append(faults, errors.New("a JWT secret and a JWKS exclude each other: give one"))
	}
	if c.Secret != "" && len(c.Secret) < MinSecret {
		faults = append(faults, fmt.Errorf("the JWT secret must have at least %d bytes", MinSecret))
	}
	for _, algorithm := range c.Algorithms {
		if !slices.Contains(DefaultAlgorithms, algorithm) {
			faults = append(faults, fmt.Errorf("the JWT algorithm %q is not one of %s", algorithm, strings.Join(DefaultAlgorithms, ", ")))
		}
	}
	if c.Secret != "" && len(c.Algorithms) > 0 {
		faults = append(faults, errors.New("JWT algorithms are for a JWKS: a secret means HS256"))
	}
	faults = append(faults, c.checkRequired("issuer", c.Issuer, c.AnyIssuer), c.checkRequired("audience", c.Audience, c.AnyAudience))
	if c.AbsentEmailVerified && c.JWKS == "" {
		faults = append(faults, errors.New("--jwt-absent-email-verified is for a JWKS"))
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

// checkRequired judges the issuer or the audience that tokens must be for.
func (c Config) checkRequired(what, value string, waived bool) error {
	switch {
	case c.JWKS != "" && value == "" && !waived:
		return fmt.Errorf("a JWKS needs --jwt-%s (ATLAS_JWT_%s): without it tokens made for others are accepted; --jwt-accept-any-%s says that this is meant",
			what, strings.ToUpper(what), what)
	case waived && (c.JWKS == "" || value != ""):
		return fmt.Errorf("--jwt-accept-any-%s is for a JWKS without --jwt-%s", what, what)
	}
	return nil
}

// isURL reports whether a JWKS is at an address rather than in a file.
func isURL(jwks string) bool {
	return strings.HasPrefix(jwks, "https://") || strings.HasPrefix(jwks, "http://")
}

func checkURL(jwks string) error {
	u, err := url.Parse(jwks)
	if err != nil || u.Host == "" {
		return errors.New("the address of the JWKS is not a URL")
	}
	ip := net.ParseIP(u.Hostname())
	if u.Scheme == "http" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		// Whoever can change it on the way can sign any token.
		return errors.New("the JWKS must be read over https")
	}
	return nil
}

// withDefaults fills in what was left out.
func (c Config) withDefaults() Config {
	if len(c.Algorithms) == 0 {
		c.Algorithms = DefaultAlgorithms
	}
	if c.Secret != "" {
		c.Algorithms = []string{"HS256"}
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
