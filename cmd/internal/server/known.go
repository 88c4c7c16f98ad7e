package server

import (
	"net"
	"slices"
	"strings"

	"atlas/cmd/internal/cli"
	"atlas/service/api"
)

// knownKeys are the prefixes of keys in examples of this repository, folded: they are
// public. Placeholders must be replaced wherever the server listens. The others are
// acceptable for trials on one's own machine.
var (
	placeholder = []string{"change"}
	knownKeys   = []string{"only-for-trials", "a development secret", "a key that signs cursors", "a key of the servers"}
)

func begins(key string, with []string) bool {
	key = strings.ToLower(strings.TrimSpace(key))
	return slices.ContainsFunc(with, func(beginning string) bool { return strings.HasPrefix(key, beginning) })
}

// checkKnown refuses keys of examples. Whoever knows the secret of access tokens can act as
// the owner of every workspace.
func (c Config) checkKnown(f *cli.Problems) {
	open := !onLoopback(c.Listen)
	refuse := func(option, key, instead string, accepted bool) {
		switch {
		case begins(key, placeholder):
			f.Add("%s: a key that begins with CHANGE stands in an example, where everybody reads it; %s", option, instead)
		case begins(key, knownKeys) && open && !accepted:
			f.Add("%s: this key stands in an example, where everybody reads it, and --listen (ATLAS_LISTEN) is not an address of this machine alone; %s", option, instead)
		}
	}
	if i := slices.IndexFunc(c.CursorKeys, func(key string) bool { return begins(key, placeholder) || begins(key, knownKeys) }); i >= 0 {
		refuse("--cursor-keys (ATLAS_CURSOR_KEYS)", c.CursorKeys[i], "openssl rand -hex 16 prints one", c.AcceptExampleKeys)
	}
	refuse("--jwt-secret (ATLAS_JWT_SECRET)", c.JWTSecret, "openssl rand -hex 16 prints one", false)
	if c.SecurityContact != "" {
		if err := api.CheckContact(c.SecurityContact); err != nil {
			f.Add("--security-contact (ATLAS_SECURITY_CONTACT): %v", err)
		}
	}
}

// onLoopback reports whether only programs of this machine reach an address.
func onLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return true // another check reports it
	}
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
