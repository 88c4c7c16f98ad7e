package api_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"atlas/service/api"
	"atlas/service/auth"
	"atlas/service/endpoint"
	"atlas/workspace"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
)

const keysPath = "/workspace/api-keys"

// apiKey is a key as the API shows it.
type apiKey struct {
	ID, Name, Start, State, Secret string
	Scopes, Networks               []string
	ByOperator                     bool     `json:"by_operator"`
	CreatedBy                      *string  `json:"created_by"`
	CreatedByKey                   *string  `json:"created_by_key"`
	DailyCredits                   *int64   `json:"daily_credits"`
	ExpiresAt                      *string  `json:"expires_at"`
	LastUsedAt                     *string  `json:"last_used_at"`
	LastNetwork                    *string  `json:"last_network"`
	OldSecretUntil                 *string  `json:"old_secret_until"`
	OutsidePolicy                  []string `json:"outside_policy"`
}

// makeKey makes a key, which must succeed. more are further members of the body.
func (w *world) makeKey(t *testing.T, by, more string) (made apiKey) {
	t.Helper()
	var data struct {
		APIKey apiKey `json:"api_key"`
	}
	w.call(t, by, "POST", keysPath, `{"name":"made",`+more+`}`).into(t, &data, nil)
	return data.APIKey
}

// from sends a request from an address, through a proxy that the server trusts.
func (w *world) from(t *testing.T, address, token, method, path, body string) answer {
	t.Helper()
	return w.send(t, token, method, path, body, http.Header{"X-Forwarded-For": {address}})
}

// keysOf lists the keys of a workspace.
func (w *world) keysOf(t *testing.T, by string) map[string]apiKey {
	t.Helper()
	var data struct {
		APIKeys []apiKey `json:"api_keys"`
	}
	w.call(t, by, "GET", keysPath, "").into(t, &data, nil)
	all := map[string]apiKey{}
	for _, k := range data.APIKeys {
		all[k.ID] = k
	}
	return all
}

// wantAnswer checks the status of an answer, and that its text says something.
func wantAnswer(t *testing.T, what string, a answer, status int, says string) {
	t.Helper()
	if a.status != status || !strings.Contains(a.text, says) {
		t.Errorf("%s: %d %s; want %d and %q", what, a.status, a.text, status, says)
	}
}

// trusting makes the server see clients through a proxy on its own machine.
func trusting(w *world) {
	w.server.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

func TestKeysOfAWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.workspace(t, "A", workspace.Pro, 0)
	owner := w.member(t, in, "owner@a.example", people.Owner)
	by := tokenFor(t, owner)
	operatorsID, operators := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}})

	made := w.makeKey(t, by, `"scopes":["data:read","workspace:read"],"networks":["127.0.0.1","2001:db8::/32","::1"],"daily_credits":50`)
	if !strings.HasPrefix(made.Secret, made.Start) || made.State != "active" || made.ByOperator ||
		made.DailyCredits == nil || *made.DailyCredits != 50 ||
		made.CreatedBy == nil || *made.CreatedBy != owner.ID.String() || made.CreatedByKey != nil ||
		!slices.Equal(made.Networks, []string{"127.0.0.1/32", "2001:db8::/32", "::1/128"}) {
		t.Errorf("made: %+v", made)
	}
	end, err := time.Parse(time.RFC3339, *made.ExpiresAt)
	fatal(t, err)
	if left := time.Until(end); left < 90*24*time.Hour-time.Minute || left > 90*24*time.Hour {
		t.Errorf("the key has %s left", left)
	}
	wantAnswer(t, "the new key", w.call(t, made.Secret, "GET", "/workspace", ""), 200, in.String())
	skill := w.call(t, made.Secret, "POST", "/workspace/skills/create", `{}`)
	wantAnswer(t, "a scope that it lacks", skill, 403, "lacks the scope workspace:write")
	wantAnswer(t, "keys without workspace:admin", w.call(t, made.Secret, "GET", keysPath, ""), 403, "workspace:admin")
	eventually(t, "the note of the use", func() bool {
		k := w.keysOf(t, by)[made.ID]
		return k.LastUsedAt != nil && k.LastNetwork != nil && *k.LastNetwork == "127.0.0.1/32"
	})
	all := w.keysOf(t, operators)
	if k := all[operatorsID.String()]; len(all) != 2 || !k.ByOperator || k.CreatedBy != nil || all[made.ID].Secret != "" {
		t.Errorf("keys: %+v", all)
	}
	never := w.makeKey(t, by, `"scopes":["data:read"],"never_expires":true`)
	if never.ExpiresAt != nil {
		t.Errorf("never is %s", *never.ExpiresAt)
	}
	for body, says := range map[string]string{
		`{"name":"x"}`:             "scopes",
		`{"name":"x","scopes":[]}`: "scopes",
		`{"name":"x","scopes":["data:read","data:read"]}`:                                          "each scope once",
		`{"name":"x","scopes":["data:write"]}`:                                                     "data:read",
		`{"name":"x","scopes":["data:read"],"networks":["10.0.0.1/8"]}`:                            "the network is 10.0.0.0/8",
		`{"name":"x","scopes":["data:read"],"networks":[` + strings.Repeat(`"::",`, 20) + `"::"]}`: "20",
		`{"name":"x","scopes":["data:read"],"expires_in_days":5,"never_expires":true}`:             "contradicts",
		`{"name":"x","scopes":["data:read"],"expires_in_days":0}`:                                  "expires_in_days",
		`{"name":"x","scopes":["data:read"],"expires_at":"2030-01-01"}`:                            "expires_at",
	} {
		wantAnswer(t, body, w.call(t, by, "POST", keysPath, body), 400, says)
	}
	wantAnswer(t, "revoking", w.call(t, by, "DELETE", keysPath+"/"+made.ID, ""), 200, "true")
	wantAnswer(t, "revoking again", w.call(t, by, "DELETE", keysPath+"/"+made.ID, ""), 200, "true")
	wantAnswer(t, "the revoked key", w.call(t, made.Secret, "GET", "/workspace", ""), 403, "revoked")
	wantAnswer(t, "rotating it", w.call(t, by, "POST", keysPath+"/"+made.ID+"/rotate", ""), 404, "has ended")
	if k := w.keysOf(t, by)[made.ID]; k.State != "revoked" {
		t.Errorf("revoked: %+v", k)
	}
}

// A key is valid only in its networks, in every way of using it; an unknown address is in no
// network.
func TestNetworksOfAKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	trusting(w)
	in := w.workspace(t, "A", workspace.Pro, 0)
	networks := []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8:1::/48")}
	id, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}, Networks: networks})
	const no = "may not be used from this network"
	for address, status := range map[string]int{
		"203.0.113.9": 200, "203.0.114.9": 403, "2001:db8:1:2::3": 200, "2001:db8:2::3": 403, "::ffff:203.0.113.9": 200, "unknown": 403,
		"203.0.113.9, 198.51.100.1": 403, "198.51.100.1, 203.0.113.9": 200,
	} {
		a := w.from(t, address, key, "GET", "/workspace", "")
		if a.status != status || status != 200 && !strings.Contains(a.text, no) {
			t.Errorf("from %s: %d %s", address, a.status, a.text)
		}
	}
	wantAnswer(t, "from the proxy itself", w.call(t, key, "GET", "/workspace", ""), 403, no)
	wantAnswer(t, "another secret", w.from(t, "198.51.100.1", workspace.NewSecret().Token(id), "GET", "/workspace", ""), 401, "not valid")
	hello := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_workspace","arguments":{}}}`
	for address, status := range map[string]int{"203.0.113.9": 200, "198.51.100.1": 403} {
		r, err := http.NewRequestWithContext(
			t.Context(),
			"POST",
			strings.TrimSuffix(w.base, endpoint.Version)+"/mcp",
			strings.NewReader(hello),
		)
		fatal(t, err)
		r.Header = http.Header{
			"Authorization": {"Bearer " + key}, "X-Forwarded-For": {address}, "Content-Type": {"application/json"},
			"Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2025-06-18"},
		}
		res, err := http.DefaultClient.Do(r)
		fatal(t, err)
		_ = res.Body.Close()
		if res.StatusCode != status {
			t.Errorf("an agent from %s: %d", address, res.StatusCode)
		}
	}
	// The proxy is no longer configured, so no address is known.
	w.server.TrustedProxies = nil
	wantAnswer(t, "through a proxy that nobody named", w.from(t, "203.0.113.9", key, "GET", "/workspace", ""), 403, no)
	any := []netip.Prefix{}
	_, err := w.directory.ChangeKey(t.Context(), id, people.KeyChange{Networks: &any})
	fatal(t, err)
	eventually(t, "the end of the limit", func() bool { return w.from(t, "203.0.113.9", key, "GET", "/workspace", "").status == 200 })
}

// An expired key gets its own error, only with the right secret.
func TestExpiredKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.workspace(t, "A", workspace.Pro, 0)
	id, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}, ExpiresIn: time.Millisecond})
	time.Sleep(2 * time.Millisecond)
	wantAnswer(t, "its secret", w.call(t, key, "GET", "/workspace", ""), 403, "this API key has expired")
	wantAnswer(t, "another secret", w.call(t, workspace.NewSecret().Token(id), "GET", "/workspace", ""), 401, "not valid")
	wantAnswer(t, "a slip", w.call(t, key[:len(key)-1]+string(key[len(key)-1]^1), "GET", "/workspace", ""), 401, "checksum")
}

// However a caller tries, no key may do more than its creator.
func TestNobodyMakesAStrongerKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	trusting(w)
	in, other := w.workspace(t, "A", workspace.Pro, 0), w.workspace(t, "B", workspace.Pro, 0)
	owner := w.member(t, in, "owner@a.example", people.Owner)
	weakToken, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"sub": owner.ID.String(), "iss": issuer, "aud": audience, "exp": time.Now().Add(time.Hour).Unix(),
		"scope": "workspace:read workspace:write workspace:admin",
	}).SignedString([]byte(secret))
	fatal(t, err)
	adminOf := func(more string) apiKey {
		return w.makeKey(t, tokenFor(t, owner), `"scopes":["workspace:read","workspace:write","workspace:admin"]`+more)
	}
	plain := adminOf(``)
	short := adminOf(`,"expires_in_days":5`)
	netted := adminOf(`,"networks":["203.0.113.0/24"]`)
	poor := adminOf(`,"daily_credits":5`)
	slow := adminOf(`,"requests_per_second":50`)
	foreign := w.makeKey(t, tokenFor(t, w.member(t, other, "owner@b.example", people.Owner)), `"scopes":["workspace:read"]`)
	_, operators := w.key(t, people.NewKey{Workspaces: []workspace.ID{in, other}})
	operatorsKey := keyIDOf(t, operators)
	colleagues := w.makeKey(t, tokenFor(t, owner), `"scopes":["workspace:read"]`)
	const fine, rotate = `"scopes":["workspace:read"]`, "/rotate"
	stronger := w.makeKey(t, tokenFor(t, owner), `"scopes":["data:read"]`)
	one := func(id string) string { return keysPath + "/" + id }
	body := func(more string) string { return `{"name":"x",` + more + `}` }
	for _, c := range []struct {
		what, by, method, path, body string
		status                       int
		says                         string
	}{
		{"a scope that the token lacks", weakToken, "POST", keysPath, body(`"scopes":["data:read"]`), 403, "you lack the scope data:read"},
		{"a scope that the key lacks", plain.Secret, "POST", keysPath, body(`"scopes":["data:read"]`), 403, "you lack the scope data:read"},
		{"never, by a key that ends", plain.Secret, "POST", keysPath, body(fine + `,"never_expires":true`), 403, "ends with that"},
		{"later than the key", short.Secret, "POST", keysPath, body(fine + `,"expires_in_days":6`), 403, "ends with that"},
		{"a wider network", netted.Secret, "POST", keysPath, body(fine + `,"networks":["203.0.112.0/23"]`), 403, "networks of that only"},
		{"any network", netted.Secret, "POST", keysPath, body(fine + `,"networks":[]`), 403, "networks of that only"},
		{"more credits", poor.Secret, "POST", keysPath, body(fine), 403, "budget"},
		{"more requests", slow.Secret, "POST", keysPath, body(fine + `,"requests_per_second":50`), 403, "budget"},
		{"a longer life for itself", short.Secret, "POST", one(short.ID) + rotate, `{"expires_in_days":6}`, 403, "ends with that"},
		{"the secret of a colleague's key", plain.Secret, "POST", one(colleagues.ID) + rotate, ``, 403, "rotates itself and"},
		{"the secret of a stronger key", weakToken, "POST", one(stronger.ID) + rotate, ``, 403, "you lack the scope"},
		{"the secret of an operator's key", tokenFor(t, owner), "POST", one(operatorsKey.String()) + rotate, ``, 403, "an operator made"},
		{"another workspace's key", tokenFor(t, owner), "POST", one(foreign.ID) + rotate, ``, 404, "there is no API key"},
		{"to end another workspace's key", tokenFor(t, owner), "DELETE", one(foreign.ID), ``, 404, "there is no API key"},
		{"one for another workspace", tokenFor(t, owner), "POST", keysPath + "?workspace_id=" + other.String(), body(fine), 403, "no access"},
	} {
		wantAnswer(t, c.what, w.from(t, "203.0.113.9", c.by, c.method, c.path, c.body), c.status, c.says)
	}
	wantAnswer(t, "the other workspace's key", w.call(t, foreign.Secret, "GET", "/workspace", ""), 200, other.String())
	// Absent members default to those of the creating key.
	var child struct {
		APIKey apiKey `json:"api_key"`
	}
	w.from(t, "203.0.113.9", short.Secret, "POST", keysPath, `{"name":"x",`+fine+`}`).into(t, &child, nil)
	if *child.APIKey.ExpiresAt != *short.ExpiresAt || *child.APIKey.CreatedBy != owner.ID.String() ||
		*child.APIKey.CreatedByKey != short.ID {
		t.Errorf("a key of a key: %+v of %+v", child.APIKey, short)
	}
	w.from(t, "203.0.113.9", netted.Secret, "POST", keysPath, `{"name":"x",`+fine+`}`).into(t, &child, nil)
	if !slices.Equal(child.APIKey.Networks, netted.Networks) {
		t.Errorf("networks: %v of %v", child.APIKey.Networks, netted.Networks)
	}
}

func TestRotationOfAKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.workspace(t, "A", workspace.Pro, 0)
	by := tokenFor(t, w.member(t, in, "owner@a.example", people.Owner))
	// Another server, which does not learn of the rotation.
	gate, err := auth.New(w.system, w.config)
	fatal(t, err)
	t.Cleanup(gate.Close)
	server := &api.Server{
		Core: endpoint.Core{
			Gate:   gate,
			Ledger: w.ledger,
			Log:    w.server.Log,
		},
		Search:     w.server.Search,
		Workspaces: w.server.Workspaces,
		People:     w.server.People,
	}
	listening := httptest.NewServer(server.Handler())
	t.Cleanup(listening.Close)
	second := &world{base: listening.URL + endpoint.Version}

	made := w.makeKey(t, by, `"scopes":["workspace:read"]`)
	rotate := func(body string) apiKey {
		var data struct {
			APIKey apiKey `json:"api_key"`
		}
		w.call(t, by, "POST", keysPath+"/"+made.ID+"/rotate", body).into(t, &data, nil)
		return data.APIKey
	}
	everywhere := func(what, key string, status int, says string) {
		t.Helper()
		wantAnswer(t, what, w.call(t, key, "GET", "/workspace", ""), status, says)
		wantAnswer(t, what+", on another server", second.call(t, key, "GET", "/workspace", ""), status, says)
	}
	everywhere("before", made.Secret, 200, in.String())
	first := rotate("")
	if first.ID != made.ID || first.Secret == made.Secret || first.OldSecretUntil == nil || *first.ExpiresAt != *made.ExpiresAt {
		t.Errorf("rotated: %+v", first)
	}
	everywhere("the new secret, at once", first.Secret, 200, in.String())
	everywhere("the old secret", made.Secret, 200, in.String())
	everywhere("a guess", workspace.NewSecret().Token(keyIDOf(t, made.Secret)), 401, "not valid")
	later := rotate(`{"old_secret_hours":0,"expires_in_days":120}`)
	if *later.ExpiresAt <= *made.ExpiresAt || later.OldSecretUntil != nil {
		t.Errorf("rotated again: %+v", later)
	}
	wantAnswer(t, "the newest secret", w.call(t, later.Secret, "GET", "/workspace", ""), 200, in.String())
	wantAnswer(t, "a secret that ended", w.call(t, first.Secret, "GET", "/workspace", ""), 403, "was rotated")
	wantAnswer(t, "the one before", w.call(t, made.Secret, "GET", "/workspace", ""), 401, "not valid")
	eventually(t, "the end on another server", func() bool { return second.call(t, first.Secret, "GET", "/workspace", "").status == 403 })

	// After many concurrent rotations, one secret is the newest, and one is the former.
	var secrets sync.Map
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { secrets.Store(rotate("").Secret, true) })
	}
	group.Wait()
	good := 0
	secrets.Range(func(key, _ any) bool {
		if w.call(t, key.(string), "GET", "/workspace", "").status == 200 {
			good++
		}
		return true
	})
	if good != 2 {
		t.Errorf("%d secrets are good, of 8 rotations at once", good)
	}
	wantAnswer(t, "too long", w.call(t, by, "POST", keysPath+"/"+made.ID+"/rotate", `{"old_secret_hours":169}`), 400, "168")
}

// rotateKey rotates a key, which must succeed.
func (w *world) rotateKey(t *testing.T, by, id, body string) apiKey {
	t.Helper()
	var data struct {
		APIKey apiKey `json:"api_key"`
	}
	w.call(t, by, "POST", keysPath+"/"+id+"/rotate", body).into(t, &data, nil)
	return data.APIKey
}

const adminScopes = `"scopes":["data:read","workspace:read","workspace:write","workspace:admin"]`

// A secret that a rotation replaced still reads for a while, but creates, rotates and revokes
// no key, also on a server that has not learned of the rotation.
func TestReplacedSecretManagesNoKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.workspace(t, "A", workspace.Pro, 0)
	owner := tokenFor(t, w.member(t, in, "owner@a.example", people.Owner))
	made := w.makeKey(t, owner, adminScopes)
	child := w.makeKey(t, made.Secret, adminScopes)
	refused := func(what string) {
		t.Helper()
		const says = "this secret of the API key has been replaced"
		rotated := w.call(t, made.Secret, "POST", keysPath+"/"+made.ID+"/rotate", `{"old_secret_hours":0}`)
		wantAnswer(t, what+" rotates its key", rotated, 403, says)
		wantAnswer(t, what+" makes a key", w.call(t, made.Secret, "POST", keysPath, `{"name":"x","scopes":["data:read"]}`), 403, says)
		wantAnswer(t, what+" revokes its key", w.call(t, made.Secret, "DELETE", keysPath+"/"+made.ID, ""), 403, says)
		wantAnswer(t, what+" revokes another", w.call(t, made.Secret, "DELETE", keysPath+"/"+child.ID, ""), 403, says)
		wantAnswer(t, what+" reads", w.call(t, made.Secret, "GET", keysPath, ""), 200, made.ID)
	}
	// The server has the former key in its cache.
	_, fresh, err := w.directory.RotateKey(t.Context(), keyIDOf(t, made.Secret), time.Hour)
	fatal(t, err)
	refused("the old secret, at once,")
	wantAnswer(t, "the new secret", w.call(t, fresh, "GET", keysPath, ""), 200, made.ID)
	refused("the old secret")
	again := w.rotateKey(t, fresh, made.ID, "")
	w.makeKey(t, again.Secret, adminScopes)
	wantAnswer(t, "what was made before", w.call(t, child.Secret, "GET", keysPath, ""), 200, child.ID)
}

// People rotate only keys that they created: of a colleague's key they would have a secret
// that does not end with them. Owners and admins revoke any.
func TestPeopleRotateTheirOwnKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.workspace(t, "A", workspace.Pro, 0)
	owner := tokenFor(t, w.member(t, in, "owner@a.example", people.Owner))
	admin := tokenFor(t, w.member(t, in, "admin@a.example", people.Admin))
	owners, admins := w.makeKey(t, owner, adminScopes), w.makeKey(t, admin, adminScopes)
	child := w.makeKey(t, admins.Secret, `"scopes":["data:read"]`)
	_, operators := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}})
	ofOperator := w.makeKey(t, operators, `"scopes":["data:read"]`)
	w.rotateKey(t, admin, admins.ID, "")
	w.rotateKey(t, admin, child.ID, "")
	for what, c := range map[string]struct{ by, id string }{
		"an owner's": {admin, owners.ID}, "an admin's": {owner, admins.ID}, "one that an admin's key made": {owner, child.ID},
		"one that an operator's key made": {owner, ofOperator.ID},
	} {
		wantAnswer(
			t,
			"rotating "+what,
			w.call(t, c.by, "POST", keysPath+"/"+c.id+"/rotate", ""),
			403,
			"only who made this API key rotates it",
		)
	}
	wantAnswer(t, "revoking an owner's", w.call(t, admin, "DELETE", keysPath+"/"+owners.ID, ""), 200, "true")
	wantAnswer(t, "revoking an admin's", w.call(t, owner, "DELETE", keysPath+"/"+admins.ID, ""), 200, "true")
}

// Changes of a key also apply to the keys that it created.
func TestKeysFollowTheKeyThatMadeThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	trusting(w)
	in := w.workspace(t, "A", workspace.Pro, 0)
	owner := tokenFor(t, w.member(t, in, "owner@a.example", people.Owner))
	const from, wider = "203.0.113.9", `,"networks":["203.0.113.0/24"]`
	change := func(c people.KeyChange) func(*testing.T, apiKey) {
		return func(t *testing.T, k apiKey) {
			_, err := w.directory.ChangeKey(t.Context(), keyIDOf(t, k.Secret), c)
			fatal(t, err)
		}
	}
	networks := func(all ...string) *[]netip.Prefix {
		list := []netip.Prefix{}
		for _, one := range all {
			list = append(list, netip.MustParsePrefix(one))
		}
		return &list
	}
	for name, c := range map[string]struct {
		more string // of each key
		do   func(*testing.T, apiKey)
		ends bool
	}{
		"a rotation at once": {``, func(t *testing.T, k apiKey) { w.rotateKey(t, owner, k.ID, `{"old_secret_hours":0}`) }, true},
		"a rotation":         {``, func(t *testing.T, k apiKey) { w.rotateKey(t, owner, k.ID, ``) }, false},
		"a rotation of itself": {``, func(t *testing.T, k apiKey) {
			w.rotateKey(t, k.Secret, k.ID, `{"old_secret_hours":0}`)
		}, true},
		"a rotation at once by the operator": {``, func(t *testing.T, k apiKey) {
			_, _, err := w.directory.RotateKey(t.Context(), keyIDOf(t, k.Secret), 0)
			fatal(t, err)
		}, true},
		"a rotation by the operator": {``, func(t *testing.T, k apiKey) {
			_, _, err := w.directory.RotateKey(t.Context(), keyIDOf(t, k.Secret), time.Hour)
			fatal(t, err)
		}, false},
		"a restriction": {``, func(t *testing.T, k apiKey) {
			id := keyIDOf(t, k.Secret)
			_, err := w.directory.RestrictKey(t.Context(), id, true)
			fatal(t, err)
			_, err = w.directory.RestrictKey(t.Context(), id, false)
			fatal(t, err)
		}, true},
		"networks":          {``, change(people.KeyChange{Networks: networks("203.0.113.0/24")}), true},
		"narrower networks": {wider, change(people.KeyChange{Networks: networks("203.0.113.0/25")}), true},
		"wider networks":    {wider, change(people.KeyChange{Networks: networks("2001:db8::/32", "203.0.112.0/23")}), false},
		"no networks":       {wider, change(people.KeyChange{Networks: networks()}), false},
		"a budget":          {``, change(people.KeyChange{DailyCredits: new(int64(5))}), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var parent, child, grandchild struct {
				APIKey apiKey `json:"api_key"`
			}
			body := `{"name":"x",` + adminScopes + c.more + `}`
			w.from(t, from, owner, "POST", keysPath, body).into(t, &parent, nil)
			w.from(t, from, parent.APIKey.Secret, "POST", keysPath, body).into(t, &child, nil)
			w.from(t, from, child.APIKey.Secret, "POST", keysPath, body).into(t, &grandchild, nil)
			c.do(t, parent.APIKey)
			all := w.keysOf(t, owner)
			for _, k := range []apiKey{child.APIKey, grandchild.APIKey} {
				if ended := all[k.ID].State == "revoked"; ended != c.ends {
					t.Errorf("%+v", all[k.ID])
				}
			}
			if all[parent.APIKey.ID].State != "active" {
				t.Errorf("the key itself: %+v", all[parent.APIKey.ID])
			}
		})
	}
	t.Run("an earlier end", func(t *testing.T) {
		t.Parallel()
		parent := w.makeKey(t, owner, adminScopes+`,"never_expires":true`)
		child := w.makeKey(t, parent.Secret, adminScopes+`,"never_expires":true`)
		long, short := w.makeKey(t, child.Secret, adminScopes), w.makeKey(t, child.Secret, adminScopes+`,"expires_in_days":1`)
		rotated := w.rotateKey(t, owner, parent.ID, `{"expires_in_days":7}`)
		w.rotateKey(t, owner, parent.ID, `{"never_expires":true}`)
		all := w.keysOf(t, owner)
		for id, want := range map[string]*string{child.ID: rotated.ExpiresAt, long.ID: rotated.ExpiresAt, short.ID: short.ExpiresAt} {
			if k := all[id]; k.State != "active" || k.ExpiresAt == nil || *k.ExpiresAt != *want {
				t.Errorf("%+v, want the end %s", k, *want)
			}
		}
	})
}

// The log names the keys and people that requests change.
func TestLinesNameKeysAndMembers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	log := &logged{}
	in := w.workspace(t, "A", workspace.Pro, 0)
	by := tokenFor(t, w.member(t, in, "owner@a.example", people.Owner))
	person := w.member(t, in, "member@a.example", people.MemberRole)
	w.server.Log = slog.New(slog.NewJSONHandler(log, nil))
	target := func(operation, want string) {
		t.Helper()
		for _, line := range log.take(t) {
			if line["msg"] == "request" && (line["operation"] != operation || line["target"] != want) {
				t.Errorf("%v, want %s of %s", line, operation, want)
			}
		}
	}
	made := w.makeKey(t, by, adminScopes)
	target("create_api_key", made.ID)
	w.rotateKey(t, by, made.ID, "")
	target("rotate_api_key", made.ID)
	w.call(t, by, "DELETE", keysPath+"/"+made.ID, "").into(t, nil, nil)
	target("revoke_api_key", made.ID)
	w.call(t, by, "PATCH", "/workspace/members/"+person.ID.String(), `{"role":"admin"}`).into(t, nil, nil)
	target("update_member", person.ID.String())
	w.call(t, by, "DELETE", "/workspace/members/"+person.ID.String(), "").into(t, nil, nil)
	target("remove_member", person.ID.String())
}

func keyIDOf(t *testing.T, text string) workspace.KeyID {
	t.Helper()
	id, _, err := workspace.ParseKey(text)
	fatal(t, err)
	return id
}

// Keys end with their creator, and with them the keys that those created.
func TestKeysEndWithTheirMaker(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const admin = `"scopes":["data:read","workspace:read","workspace:write","workspace:admin"]`
	type cast struct {
		in, other                            workspace.ID
		person                               people.Member
		operators                            string
		operatorsID                          workspace.KeyID
		ofPerson, child, grandchild, another apiKey
		ofOperator                           apiKey
	}
	scene := func() (c cast) {
		c.in, c.other = w.workspace(t, "A", workspace.Pro, 0), w.workspace(t, "B", workspace.Pro, 0)
		c.person = w.member(t, c.in, "admin-"+c.in.String()+"@a.example", people.Admin)
		c.operatorsID, c.operators = w.key(t, people.NewKey{Workspaces: []workspace.ID{c.in, c.other}})
		c.ofPerson = w.makeKey(t, tokenFor(t, c.person), admin)
		c.child = w.makeKey(t, c.ofPerson.Secret, admin)
		c.grandchild = w.makeKey(t, c.child.Secret, `"scopes":["workspace:read"]`)
		c.another = w.makeKey(
			t,
			tokenFor(t, w.member(t, c.in, "owner-"+c.in.String()+"@a.example", people.Owner)),
			`"scopes":["workspace:read"]`,
		)
		c.ofOperator = w.makeKey(t, c.operators, `"scopes":["workspace:read"]`)
		return c
	}
	members := people.NewMembers(w.server.Workspaces.(*postgres.Store), nil)
	for name, c := range map[string]struct {
		end func(*testing.T, cast)
		// ended are the names of the keys that end; others stay.
		ended string
	}{
		"a person who is removed": {func(t *testing.T, c cast) {
			_, err := members.Remove(t.Context(), c.in, people.KeyActor, c.person.ID)
			fatal(t, err)
		}, "ofPerson child grandchild"},
		"an admin who becomes a plain member": {func(t *testing.T, c cast) {
			_, err := members.SetRole(t.Context(), c.in, people.KeyActor, c.person.ID, people.MemberRole)
			fatal(t, err)
		}, "ofPerson child grandchild"},
		"an admin who becomes an owner": {func(t *testing.T, c cast) {
			_, err := members.SetRole(t.Context(), c.in, people.OperatorActor, c.person.ID, people.Owner)
			fatal(t, err)
		}, ""},
		"a user who is deleted": {func(t *testing.T, c cast) {
			w.exec(t, `DELETE FROM users WHERE id = $1`, c.person.ID.String())
		}, "ofPerson child grandchild"},
		"a key that is revoked": {func(t *testing.T, c cast) {
			w.call(t, c.operators, "DELETE", keysPath+"/"+c.child.ID, "").into(t, nil, nil)
		}, "child grandchild"},
		"a key that revokes its maker": {func(t *testing.T, c cast) {
			w.call(t, c.child.Secret, "DELETE", keysPath+"/"+c.ofPerson.ID, "").into(t, nil, nil)
		}, "ofPerson child grandchild"},
		"an operator's key, here": {func(t *testing.T, c cast) {
			w.call(t, tokenFor(t, c.person), "DELETE", keysPath+"/"+c.operatorsID.String(), "").into(t, nil, nil)
			// Its default workspace stays: its requests do not switch to another.
			wantAnswer(t, "the key here", w.call(t, c.operators, "GET", "/workspace", ""), 403, "revoked in this workspace")
			wantAnswer(t, "the key there", w.call(t, c.operators, "GET", "/workspace?workspace_id="+c.other.String(), ""), 200, c.other.String())
		}, "ofOperator"},
		"an operator's key, by an operator": {func(t *testing.T, c cast) {
			_, err := w.directory.RevokeKey(t.Context(), c.operatorsID)
			fatal(t, err)
		}, "ofOperator"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cast := scene()
			c.end(t, cast)
			for name, key := range map[string]apiKey{
				"ofPerson": cast.ofPerson, "child": cast.child, "grandchild": cast.grandchild, "another": cast.another, "ofOperator": cast.ofOperator,
			} {
				if !slices.Contains(strings.Fields(c.ended), name) {
					wantAnswer(t, name, w.call(t, key.Secret, "GET", "/workspace", ""), 200, cast.in.String())
					continue
				}
				eventually(t, "the end of "+name, func() bool {
					a := w.call(t, key.Secret, "GET", "/workspace", "")
					return a.status == 403 || a.status == 401
				})
			}
		})
	}
}

// Neither a removed person nor a revoked key creates a concurrent key.
func TestKeysMadeWhileTheirMakerEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 6 {
		in := w.workspace(t, "A", workspace.Pro, 0)
		person := w.member(t, in, fmt.Sprintf("admin%d@a.example", i), people.Admin)
		token := tokenFor(t, person)
		key := w.makeKey(t, token, `"scopes":["workspace:read","workspace:write","workspace:admin"]`)
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() { w.call(t, token, "POST", keysPath, `{"name":"x","scopes":["workspace:read"]}`) })
			group.Go(func() { w.call(t, key.Secret, "POST", keysPath, `{"name":"x","scopes":["workspace:read"]}`) })
		}
		group.Go(func() {
			_, err := people.NewMembers(w.server.Workspaces.(*postgres.Store), nil).Remove(t.Context(), in, people.KeyActor, person.ID)
			if err != nil {
				t.Error(err)
			}
		})
		group.Wait()
		left, err := w.directory.Keys(t.Context(), in)
		fatal(t, err)
		for _, k := range left {
			if k.RevokedAt == nil {
				t.Errorf("the key %s goes on: %+v", k.ID, k)
			}
		}
	}
}

// A workspace creates 100 keys, also concurrently. Ended keys do not count.
func TestLimitOfKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.workspace(t, "A", workspace.Pro, 0)
	by := tokenFor(t, w.member(t, in, "owner@a.example", people.Owner))
	var mu sync.Mutex
	statuses := map[int]int{}
	var last apiKey
	var group sync.WaitGroup
	for worker := range 5 {
		group.Go(func() {
			for range 21 {
				a := w.call(t, by, "POST", keysPath, fmt.Sprintf(`{"name":"k%d","scopes":["data:read"]}`, worker))
				var body struct {
					Data struct {
						APIKey apiKey `json:"api_key"`
					}
				}
				mu.Lock()
				if statuses[a.status]++; a.status == 200 {
					if err := json.Unmarshal([]byte(a.text), &body); err != nil {
						t.Error(err)
					}
					last = body.Data.APIKey
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if statuses[200] != people.MaxKeys || statuses[409] != 5 {
		t.Errorf("answers: %v", statuses)
	}
	w.call(t, by, "DELETE", keysPath+"/"+last.ID, "").into(t, nil, nil)
	w.makeKey(t, by, `"scopes":["data:read"]`)
	wantAnswer(t, "one more", w.call(t, by, "POST", keysPath, `{"name":"k","scopes":["data:read"]}`), 409, "limit_reached")
}

// Owners and admins set the policy of keys; keys and members do not, and the list says which
// earlier keys violate it.
func TestKeyPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.workspace(t, "A", workspace.Pro, 0)
	by := tokenFor(t, w.member(t, in, "owner@a.example", people.Owner))
	member := tokenFor(t, w.member(t, in, "member@a.example", people.MemberRole))
	_, admins := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}})
	const path = keysPath + "/policy"
	before := w.makeKey(t, by, `"scopes":["data:read","workspace:read"],"never_expires":true`)

	const strict = `{"scopes":["data:read"],"max_days":7,"networks_required":true,"max_daily_credits":500}`
	wantAnswer(t, "set by a key", w.call(t, admins, "POST", path, strict), 400, "user_identity_required")
	wantAnswer(t, "set by a member", w.call(t, member, "POST", path, strict), 403, "owner or admin")
	wantAnswer(t, "no scopes at all", w.call(t, by, "POST", path, `{"scopes":[]}`), 400, "scopes")
	wantAnswer(t, "a life of nothing", w.call(t, by, "POST", path, `{"max_days":0}`), 400, "max_days")
	wantAnswer(t, "never set", w.call(t, member, "GET", path, ""), 200, `"scopes":null,"max_days":null,"networks_required":false`)
	wantAnswer(t, "set", w.call(t, by, "POST", path, strict), 200, `"max_days":7`)
	wantAnswer(t, "read by a key", w.call(t, admins, "GET", path, ""), 200, `"max_daily_credits":500`)

	wantAnswer(
		t,
		"all wrong",
		w.call(t, by, "POST", keysPath, `{"name":"k","scopes":["workspace:read"],"never_expires":true}`),
		403,
		"a key must have no scopes but data:read, and end within 7 days, and be limited to networks, and have a budget of at most 500 credits a day",
	)
	wantAnswer(t, "rotated from before", w.call(t, by, "POST", keysPath+"/"+before.ID+"/rotate", ""), 403, "by the policy of the workspace")
	good := w.makeKey(t, by, `"scopes":["data:read"],"networks":["203.0.113.0/24"],"daily_credits":500`)
	all := w.keysOf(t, by)
	if got := all[before.ID].OutsidePolicy; !slices.Equal(got, []string{"scopes", "expires_at", "networks", "daily_credits"}) {
		t.Errorf("of the key from before: %v", got)
	}
	if got := all[good.ID].OutsidePolicy; len(got) != 0 {
		t.Errorf("of a key that keeps to it: %v", got)
	}
	wantAnswer(t, "lifted", w.call(t, by, "POST", path, `{}`), 200, `"max_days":null`)
	w.makeKey(t, by, `"scopes":["workspace:read"],"never_expires":true`)
}
