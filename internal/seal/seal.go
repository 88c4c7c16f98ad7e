// Package seal encrypts small values that this program decrypts later: AES-256-GCM under a
// key derived from a secret.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/json"
	"errors"
)

// Seal encrypts the JSON of v. Values sealed for one purpose cannot be opened for another.
func Seal(secret []byte, purpose string, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	box, err := boxOf(secret, purpose)
	if err != nil {
		return nil, err
	}
	return box.Seal(nil, nil, text, nil), nil // #nosec G407 -- the box draws its own nonce
}

// errNotSealed is the error of Open for anything that Seal has not returned.
var errNotSealed = errors.New("this was not sealed with the secret")

// Open decrypts the result of Seal for the same secret and purpose into v.
func Open(secret []byte, purpose string, sealed []byte, v any) error {
	box, err := boxOf(secret, purpose)
	if err != nil {
		return err
	}
	text, err := box.Open(nil, nil, sealed, nil)
	if err != nil {
		return errNotSealed
	}
	return json.Unmarshal(text, v)
}

func boxOf(secret []byte, purpose string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, purpose, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
