package workspace_test

import (
	"errors"
	"fmt"
	"hash/crc32"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"atlas/internal/fault"
	"atlas/workspace"
)

func TestParseUUID(t *testing.T) {
	t.Parallel()
	const good = "0197a1b2-0000-7000-8000-00000000abcd"
	for _, s := range []string{good, strings.ToUpper(good)} {
		id, err := workspace.ParseID(s)
		if err != nil || id.String() != good {
			t.Errorf("%s: %v, %v", s, id, err)
		}
	}
	for _, s := range []string{
		"", "x", good[:35], good + "0", "{" + good + "}", "urn:uuid:" + good, strings.ReplaceAll(good, "-", ""),
		strings.Replace(good, "-", "_", 1), strings.Replace(good, "0", "g", 1), " " + good[1:], good[:35] + "\n",
		strings.Replace(good, "0197", "01９", 1), // full-width digits: 36 bytes
	} {
		if id, err := workspace.ParseID(s); err == nil {
			t.Errorf("%q was read as %v", s, id)
		}
	}
	if (workspace.ID{}).Check() == nil || workspace.NewID().Check() != nil {
		t.Error("the zero workspace is not told apart")
	}
}

// drawKey draws an id and a secret.
func drawKey(t *rapid.T) (workspace.KeyID, workspace.Secret) {
	id := rapid.SliceOfN(rapid.Byte(), 16, 16).Filter(func(b []byte) bool { return !slices.Equal(b, make([]byte, 16)) }).Draw(t, "id")
	return workspace.KeyID(id), workspace.Secret(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "secret"))
}

// plain is the text of a key from before keys had a checksum.
func plain(id workspace.KeyID, secret workspace.Secret) string { return "atlas_" + secret.Text(id) }

func TestKeyTexts(t *testing.T) {
	t.Parallel()
	recognizable := regexp.MustCompile(`^atlas_k1_[0-9A-Za-z]{71}$`)
	rapid.Check(t, func(t *rapid.T) {
		id, secret := drawKey(t)
		text := secret.Token(id)
		if !recognizable.MatchString(text) {
			t.Errorf("no scanner recognizes %s", text)
		}
		if start := (workspace.Key{ID: id, Form: workspace.Checked}).Start(); !strings.HasPrefix(text, start) || len(start) != 31 {
			t.Errorf("%s does not begin with %s", text, start)
		}
		if start := (workspace.Key{ID: id}).Start(); !strings.HasPrefix(plain(id, secret), start) {
			t.Errorf("%s does not begin with %s", plain(id, secret), start)
		}
		for _, text := range []string{text, plain(id, secret)} {
			gotID, gotSecret, err := workspace.ParseKey(text)
			if err != nil || gotID != id || gotSecret != secret {
				t.Fatalf("%s: %v %v", text, gotID, err)
			}
		}
		// A slip in one character is found, without a look-up.
		i := rapid.IntRange(len("atlas_k1_"), len(text)-1).Draw(t, "position")
		changed := []byte(text)
		changed[i] = rapid.Byte().Filter(func(b byte) bool { return b != text[i] }).Draw(t, "byte")
		if _, _, err := workspace.ParseKey(string(changed)); !errors.Is(err, workspace.ErrChecksum) {
			t.Fatalf("%s is read as %s: %v", changed, text, err)
		}
		// No other text of the plain form is a valid form of the key.
		text = plain(id, secret)
		i = rapid.IntRange(0, len(text)-1).Draw(t, "position of the plain form")
		changed = []byte(text)
		changed[i] = rapid.Byte().Filter(func(b byte) bool { return b != text[i] }).Draw(t, "byte of the plain form")
		otherID, other, err := workspace.ParseKey(string(changed))
		if err == nil && otherID == id && other == secret && !strings.EqualFold(text, string(changed)) {
			t.Fatalf("%s and %s are one key", text, changed)
		}
	})
}

// The checksum is the one that others compute: CRC-32 of IEEE, in base62 with leading zeros.
func TestChecksumOfKeys(t *testing.T) {
	t.Parallel()
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	for range 100 {
		text := workspace.NewSecret().Token(workspace.NewKeyID())
		sum, want := crc32.ChecksumIEEE([]byte(text[:74])), ""
		for range 6 {
			want, sum = string(digits[sum%62])+want, sum/62
		}
		if text[74:] != want {
			t.Errorf("%s, want %s", text, want)
		}
	}
}

func TestMalformedKeys(t *testing.T) {
	t.Parallel()
	// With the right checksum: a number above 128 or 256 bits, no id.
	withSum := func(parts string) string {
		const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		sum, text := crc32.ChecksumIEEE([]byte("atlas_k1_"+parts)), ""
		for range 6 {
			text, sum = string(digits[sum%62])+text, sum/62
		}
		return "atlas_k1_" + parts + text
	}
	zeros := func(n int) string { return strings.Repeat("0", n) }
	if _, _, err := workspace.ParseKey(withSum(zeros(21) + "1" + zeros(43))); err != nil {
		t.Errorf("a key: %v", err)
	}
	for name, text := range map[string]string{
		"too large an id": withSum(strings.Repeat("z", 22) + zeros(43)), "too large a secret": withSum(zeros(21) + "1" + strings.Repeat("z", 43)),
		"no id": withSum(zeros(65)), "a hyphen": withSum(zeros(20) + "-1" + zeros(43)), "short": withSum(zeros(64)), "long": withSum(zeros(66)),
		"only the prefix": "atlas_k1_",
	} {
		if id, _, err := workspace.ParseKey(text); err == nil {
			t.Errorf("%s: %s was read as %s", name, text, id)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	id, secret := workspace.NewKeyID(), workspace.NewSecret()
	f.Add(secret.Token(id))
	f.Add(plain(id, secret))
	f.Add("atlas_")
	f.Fuzz(func(t *testing.T, text string) {
		id, secret, err := workspace.ParseKey(text)
		if err != nil || text == secret.Token(id) {
			return
		}
		want := plain(id, secret)
		if len(text) != len(want) || !strings.EqualFold(want[:42], text[:42]) || want[42:] != text[42:] {
			t.Errorf("%q was read as %q", text, want)
		}
	})
}

func TestNetworksOfKeys(t *testing.T) {
	t.Parallel()
	parse := func(texts ...string) (all []netip.Prefix) {
		for _, text := range texts {
			n, err := workspace.ParseNetwork(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			all = append(all, n)
		}
		return all
	}
	key := workspace.Key{Networks: parse("203.0.113.0/24", "198.51.100.7", "2001:db8::/48", "::ffff:192.0.2.1")}
	for from, want := range map[string]bool{
		"203.0.113.255": true, "203.0.114.0": false, "198.51.100.7": true, "198.51.100.8": false, "2001:db8:0:1::1": true, "2001:db9::1": false,
		"192.0.2.1": true,
	} {
		if key.Admits(netip.MustParseAddr(from)) != want {
			t.Errorf("from %s: %v", from, !want)
		}
	}
	if key.Admits(netip.Addr{}) || !(workspace.Key{}).Admits(netip.Addr{}) {
		t.Error("an address that is not known")
	}
	for _, text := range []string{
		"", "203.0.113.1/24", "203.0.113.0/33", "203.0.113", "fe80::1%eth0", "::ffff:203.0.113.0/120", "example.com",
		" 203.0.113.0/24", "203.0.113.0/24,",
	} {
		if n, err := workspace.ParseNetwork(text); err == nil {
			t.Errorf("%q was read as %s", text, n)
		}
	}
	for _, c := range []struct {
		of, in []netip.Prefix
		want   bool
	}{
		{nil, nil, true}, {parse("203.0.113.0/24"), nil, true}, {nil, parse("203.0.113.0/24"), false},
		{parse("203.0.113.0/25", "203.0.113.9"), parse("203.0.113.0/24"), true}, {parse("203.0.112.0/23"), parse("203.0.113.0/24"), false},
		{parse("203.0.113.9", "198.51.100.1"), parse("203.0.113.0/24"), false}, {parse("0.0.0.0/0"), parse("::/0"), false},
	} {
		if got := workspace.Within(c.of, c.in); got != c.want {
			t.Errorf("%v within %v: %v", c.of, c.in, got)
		}
	}
}

func TestSecretsDoNotShow(t *testing.T) {
	t.Parallel()
	secret := workspace.NewSecret()
	text := secret.Token(workspace.NewKeyID())[31:74]
	for _, shown := range []string{fmt.Sprint(secret), fmt.Sprintf("%v %+v %#v %s", secret, secret, secret, secret)} {
		if strings.Contains(shown, text) || strings.Contains(shown, fmt.Sprint(secret[0], secret[1])) {
			t.Errorf("a secret shows: %s", shown)
		}
	}
	if workspace.NewSecret() == secret {
		t.Error("two secrets are equal")
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	now := time.Now()
	long := strings.Repeat("é", workspace.MaxName)
	good := workspace.Workspace{ID: workspace.NewID(), Name: long, Plan: workspace.Pro, CreditCeiling: 1, TimeZone: "America/Edmonton"}
	key := workspace.Key{
		ID: workspace.NewKeyID(), Name: "k", Workspaces: []workspace.ID{workspace.NewID()}, Scopes: workspace.AllScopes(), CreatedAt: now,
	}
	changed := func(change func(*workspace.Workspace)) error { w := good; change(&w); return w.Validate() }
	changedKey := func(change func(*workspace.Key)) error { k := key; change(&k); return k.Validate() }
	past := now.Add(-time.Second)
	for name, c := range map[string]struct {
		err  error
		want string // code and field of the issue
	}{
		"good":                {good.Validate(), ""},
		"no id":               {changed(func(w *workspace.Workspace) { w.ID = workspace.ID{} }), "invalid_format id"},
		"no name":             {changed(func(w *workspace.Workspace) { w.Name = "" }), "too_small name"},
		"a longer name":       {changed(func(w *workspace.Workspace) { w.Name += "x" }), "too_big name"},
		"a NUL":               {changed(func(w *workspace.Workspace) { w.Name = "a\x00b" }), "invalid_format name"},
		"an escape":           {changed(func(w *workspace.Workspace) { w.Name = "a\x1b[2Jb" }), "invalid_format name"},
		"no UTF-8":            {changed(func(w *workspace.Workspace) { w.Name = "a\xff" }), "invalid_format name"},
		"spaces around":       {changed(func(w *workspace.Workspace) { w.Name = " a" }), "invalid_format name"},
		"no plan":             {changed(func(w *workspace.Workspace) { w.Plan = "gold" }), "invalid_union plan"},
		"no ceiling":          {changed(func(w *workspace.Workspace) { w.CreditCeiling = 0 }), "too_small ceiling"},
		"a huge ceiling":      {changed(func(w *workspace.Workspace) { w.CreditCeiling = workspace.MaxCeiling + 1 }), "too_big ceiling"},
		"no zone":             {changed(func(w *workspace.Workspace) { w.TimeZone = "" }), "invalid_format time_zone"},
		"a zone that is none": {changed(func(w *workspace.Workspace) { w.TimeZone = "Mars/Olympus" }), "invalid_format time_zone"},
		"a good key":          {key.Validate(), ""},
		"a key of none":       {changedKey(func(k *workspace.Key) { k.Workspaces = nil }), "too_small workspaces"},
		"a key of the zero":   {changedKey(func(k *workspace.Key) { k.Workspaces = []workspace.ID{{}} }), "custom workspaces"},
		"a workspace twice":   {changedKey(func(k *workspace.Key) { k.Workspaces = append(k.Workspaces, k.Workspaces[0]) }), "custom workspaces"},
		"too many":            {changedKey(func(k *workspace.Key) { k.Workspaces = many(workspace.MaxKeyWorkspaces + 1) }), "too_big workspaces"},
		"no scope":            {changedKey(func(k *workspace.Key) { k.Scopes = nil }), "too_small scopes"},
		"another scope":       {changedKey(func(k *workspace.Key) { k.Scopes = []workspace.Scope{"data:write"} }), "invalid_union scopes"},
		"a scope twice":       {changedKey(func(k *workspace.Key) { k.Scopes = []workspace.Scope{"data:read", "data:read"} }), "custom scopes"},
		"ended before it was": {changedKey(func(k *workspace.Key) { k.ExpiresAt = &past }), "custom expires_at"},
	} {
		got := ""
		if e, ok := errors.AsType[*fault.Error](c.err); ok && len(e.Issues) == 1 {
			got = string(e.Issues[0].Code) + " " + strings.Join(e.Issues[0].Path, ".")
		} else if c.err != nil {
			got = c.err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	err := workspace.Workspace{}.Validate()
	if e, ok := errors.AsType[*fault.Error](err); !ok || len(e.Issues) != 5 {
		t.Errorf("not every fault is named: %v", err)
	}
}

func many(n int) (ids []workspace.ID) {
	for range n {
		ids = append(ids, workspace.NewID())
	}
	return ids
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	now := time.Now()
	later := now.Add(time.Second)
	for name, c := range map[string]struct {
		key  workspace.Key
		want string
	}{
		"in force":         {workspace.Key{ExpiresAt: &later}, ""},
		"at its end":       {workspace.Key{ExpiresAt: &now}, "expired"},
		"restricted":       {workspace.Key{Restricted: true}, "restricted"},
		"revoked":          {workspace.Key{RevokedAt: &now}, "revoked"},
		"revoked for good": {workspace.Key{RevokedAt: &later, Restricted: true}, "revoked"},
	} {
		got := c.key.Refusal(now)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
