package devstack

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Files of a server with TLS, in one folder.
const (
	authorityFile   = "ca.crt"
	certificateFile = "server.crt"
	keyFile         = "server.key"
)

// certificates are an authority's, and that of a server on loopback which it signed, with
// the server's key: in PEM, valid for a day.
type certificates struct{ authority, server, key []byte }

func makeCertificates() (certificates, error) {
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Atlas development authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificates{}, fmt.Errorf("key of the authority: %w", err)
	}
	serverKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificates{}, fmt.Errorf("key of the server: %w", err)
	}
	authorityDER, err := x509.CreateCertificate(rand.Reader, authority, authority, &authorityKey.PublicKey, authorityKey)
	if err != nil {
		return certificates{}, fmt.Errorf("certificate of the authority: %w", err)
	}
	serverDER, err := x509.CreateCertificate(rand.Reader, server, authority, &serverKey.PublicKey, authorityKey)
	if err != nil {
		return certificates{}, fmt.Errorf("certificate of the server: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(serverKey)
	if err != nil {
		return certificates{}, fmt.Errorf("key of the server: %w", err)
	}
	encode := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	return certificates{
		authority: encode("CERTIFICATE", authorityDER),
		server:    encode("CERTIFICATE", serverDER),
		key:       encode("PRIVATE KEY", keyDER),
	}, nil
}

// writeTLS writes the three files and, by name, others into a folder of the server, which
// refuses a key that other accounts can read.
func (m *machine) writeTLS(home string, c certificates, others map[string]string) (dir string, err error) {
	dir = filepath.Join(home, "tls")
	if err := makeDir(dir); err != nil {
		return "", err
	}
	files := map[string]string{authorityFile: string(c.authority), certificateFile: string(c.server), keyFile: string(c.key)}
	maps.Copy(files, others)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	return dir, m.own(dir)
}
