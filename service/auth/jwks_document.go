package auth

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/MicahParks/jwkset"
)

// PublicKey is a key of a JWKS document that signs tokens.
type PublicKey struct {
	// ID and Algorithm are "" where the document has none. Keys may have one ID.
	ID, Algorithm string
	Key           crypto.PublicKey
}

// ReadJWKS returns the signing keys of a JWKS document, and the errors of those that cannot
// be read: one unreadable key must not disable the others. Only the members that define a key
// are read. Certificates and their thumbprints are not used here, and some providers publish
// wrong ones.
func ReadJWKS(text []byte) (keys []PublicKey, unusable []error, err error) {
	var document struct {
		Keys []json.RawMessage `json:"keys"`
	}
	// Editors write a byte order mark before it.
	if err := json.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &document); err != nil {
		return nil, nil, fmt.Errorf("no JWKS document: %w", err)
	}
	for i, raw := range document.Keys {
		switch key, signs, err := readJWK(raw); {
		case err != nil:
			unusable = append(unusable, fmt.Errorf("key %d, kid %.60q: %w", i+1, key.ID, err))
		case signs:
			keys = append(keys, key)
		}
	}
	return keys, unusable, nil
}

// jwk are the members of a key that are read (RFC 7517, 4; RFC 7518, 6). Members of other
// types count as absent.
type jwk map[string]json.RawMessage

func (k jwk) text(name string) (s string) {
	_ = json.Unmarshal(k[name], &s)
	return s
}

// number is a number in base64url. Some documents use the other alphabet, or padding.
func (k jwk) number(name string) string {
	return strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(k.text(name), "="))
}

func readJWK(raw json.RawMessage) (key PublicKey, signs bool, err error) {
	var members jwk
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return key, false, errors.New("it is no object")
	}
	key.ID, key.Algorithm = members.text("kid"), members.text("alg")
	if use := members.text("use"); use != "" && use != string(jwkset.UseSig) {
		return key, false, nil
	}
	parsed, err := jwkset.NewJWKFromMarshal(jwkset.JWKMarshal{
		KTY: jwkset.KTY(members.text("kty")), CRV: jwkset.CRV(members.text("crv")),
		X: members.number("x"), Y: members.number("y"), N: members.number("n"), E: members.number("e"),
	}, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{SkipAll: true})
	if err != nil {
		return key, false, err
	}
	key.Key = parsed.Key()
	return key, true, checkKey(key.Key)
}

// maxRSA is the maximum length of an RSA key in bits: verification with a longer one is slow.
const maxRSA = 8192

// checkKey refuses keys that are not public signing keys. A shared secret is not one: every
// reader of the document could sign with it.
func checkKey(key any) error {
	switch key := key.(type) {
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits < 2048 || bits > maxRSA {
			return fmt.Errorf("an RSA key of %d bits, not 2048 to %d", bits, maxRSA)
		}
		return nil
	case *ecdsa.PublicKey:
		_, err := key.ECDH() // of a point on the curve
		return err
	case ed25519.PublicKey:
		return nil
	}
	return fmt.Errorf("%T is no public key that signs", key)
}

// signsAs reports whether a key makes signatures of an algorithm of access tokens.
func (k PublicKey) signsAs(algorithm string) bool {
	if k.Algorithm != "" && k.Algorithm != algorithm {
		return false
	}
	switch key := k.Key.(type) {
	case *rsa.PublicKey:
		return algorithm == "RS256"
	case *ecdsa.PublicKey:
		return algorithm == "ES256" && key.Curve == elliptic.P256()
	case ed25519.PublicKey:
		return algorithm == "EdDSA"
	}
	return false
}

// candidates returns the keys that may have signed a token: those with its kid, or all if it
// has none, that sign with its algorithm.
func candidates(keys []PublicKey, header map[string]any) (fitting []PublicKey, err error) {
	given, named := header["kid"]
	id, isText := given.(string)
	if named && !isText {
		return nil, errors.New("kid is no text")
	}
	algorithm, _ := header["alg"].(string)
	for _, k := range keys {
		if (!named || k.ID == id) && k.signsAs(algorithm) {
			fitting = append(fitting, k)
		}
	}
	return fitting, nil
}
