package oidc

import (
	"context"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/coreos/go-oidc/v3/oidc"

	"atlas/service/auth"
)

// keysAway is the prefix of the error about keys that cannot be read.
const keysAway = "the provider's keys"

// maxKeys is the maximum length of the provider's keys, in bytes.
const maxKeys = 1 << 20

// keySet verifies signatures by the provider's keys, which are parsed like those of access
// tokens: the library rejects all keys because of one wrong certificate.
type keySet struct {
	address string
	client  *http.Client

	mu    sync.Mutex
	known []auth.PublicKey
}

// VerifySignature implements oidc.KeySet. The caller has checked the algorithm. Keys are read
// again for a token that none of them signed: the provider may have new ones.
func (k *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	k.mu.Lock()
	known := k.known
	k.mu.Unlock()
	if payload, err := verifyBy(ctx, known, token); err == nil {
		return payload, nil
	}
	found, err := k.read(ctx)
	if err != nil {
		return nil, fmt.Errorf(keysAway+": %w", err)
	}
	k.mu.Lock()
	k.known = found
	k.mu.Unlock()
	return verifyBy(ctx, found, token)
}

func verifyBy(ctx context.Context, known []auth.PublicKey, token string) ([]byte, error) {
	first, _, _ := strings.Cut(token, ".")
	raw, err := base64.RawURLEncoding.DecodeString(first)
	if err != nil {
		return nil, err
	}
	var header struct{ Kid, Alg string }
	if err := json.Unmarshal(raw, &header); err != nil {
		return nil, err
	}
	var fitting []crypto.PublicKey
	for _, key := range known {
		if (header.Kid == "" || key.ID == header.Kid) && (key.Algorithm == "" || key.Algorithm == header.Alg) {
			fitting = append(fitting, key.Key)
		}
	}
	if len(fitting) == 0 {
		return nil, errors.New("no key has the kid and the algorithm of the token")
	}
	return (&oidc.StaticKeySet{PublicKeys: fitting}).VerifySignature(ctx, token)
}

func (k *keySet) read(ctx context.Context) ([]auth.PublicKey, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, k.address, nil)
	if err != nil {
		return nil, err
	}
	response, err := k.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", response.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxKeys+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxKeys {
		return nil, fmt.Errorf("more than %d bytes", maxKeys)
	}
	keys, unusable, err := auth.ReadJWKS(text)
	if err == nil && len(keys) == 0 {
		err = errors.Join(append(unusable, errors.New("none can be used"))...)
	}
	return keys, err
}
