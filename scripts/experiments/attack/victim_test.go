//go:build attack

package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/scripts/experiments/rig"
)

// Markers of the victim's texts. A secret is in one text and only the victim sends it,
// so an answer that has it is a leak. The bait is in all texts and can be searched for.
const (
	secretMark = "zqsecret"
	bait       = "zqbait"
)

// victim is a workspace with objects of every kind.
type victim struct {
	rig.Workspace
	owner, member           string // users
	ownerToken, memberToken string

	// ids are the ids that only this workspace has, by kind.
	ids map[string][]string
	// records are global records that it holds, by dataset. others are records that
	// nobody holds; each is similar to the one at the same index.
	records, others map[string][]string
	// texts are other values to try: locators, cursors, the token of an invitation,
	// domains.
	texts []string
}

// secret returns a new text with a marker of its own.
func secret(random *rand.Rand) string {
	letters := make([]byte, 14)
	for i := range letters {
		letters[i] = byte('a' + random.IntN(26))
	}
	return secretMark + string(letters)
}

// baited returns a secret with the bait.
func baited(random *rand.Rand) string { return bait + " " + secret(random) }

// held are the datasets of which a workspace can hold records.
var held = []string{"accounts", "contacts", "projects"}

func singular(dataset string) string { return strings.TrimSuffix(dataset, "s") }

// newVictim makes a victim through the API and the command line.
func newVictim(t *testing.T, r *rig.Rig, s *rig.Server, random *rand.Rand) *victim {
	t.Helper()
	v := &victim{ids: map[string][]string{}, records: map[string][]string{}, others: map[string][]string{}}
	v.Workspace = r.Workspace(rig.Unlimited, baited(random))
	v.owner, v.ownerToken = v.AddMember("owner", baited(random), secret(random)+"@victim.example")
	v.member, v.memberToken = v.AddMember("member", baited(random), secret(random)+"@victim.example")
	v.ids["workspace"], v.ids["user"] = []string{v.ID}, []string{v.owner, v.member}
	key, owner := s.By(v.Workspace), s.ByUser(v.Workspace, v.ownerToken)
	do := func(c rig.Caller, method, path string, body any) rig.Answer {
		t.Helper()
		a, err := c.Want(t.Context(), 200, method, path, body)
		rig.Check(t, err)
		return a
	}
	for _, d := range held {
		v.chooseRecords(t, do, key, d)
		for _, id := range v.records[d] {
			upsert := object{
				singular(d) + "_id": id, "workspace_status": baited(random), "notes": baited(random),
				"tags": []string{bait, secret(random)},
			}
			if d == "accounts" {
				upsert["icp_tier"] = "tier_1"
			}
			do(key, "POST", "/workspace/"+d+"/upsert", upsert)
		}
		v.makeViews(t, do, key, d, random)
	}
	do(owner, "POST", "/workspace/favorite-views/upsert", object{"view_id": v.ids["view"][0]})
	for _, role := range []string{"admin", "member"} {
		var made struct {
			Invitation struct{ ID string }
			AcceptURL  string `json:"accept_url"`
		}
		decode(t, do(key, "POST", "/workspace/invitations", object{"email": secret(random) + "@victim.example", "role": role}), &made)
		v.ids["invitation"] = append(v.ids["invitation"], made.Invitation.ID)
		_, token, _ := strings.Cut(made.AcceptURL, "token=")
		v.texts = append(v.texts, token)
	}
	for _, kind := range []string{"permit_filed", "gc_assigned"} {
		var made struct{ Subscription struct{ ID string } }
		decode(t, do(key, "POST", "/workspace/signal-subscriptions/upsert", object{"signal_type": kind}), &made)
		v.ids["subscription"] = append(v.ids["subscription"], made.Subscription.ID)
	}
	for _, scope := range []string{"workspace", "personal"} {
		var made struct{ Skill struct{ ID, Locator string } }
		decode(t, do(owner, "POST", "/workspace/skills/create", object{
			"scope": scope, "name": baited(random), "slug": bait + "-" + scope, "description": baited(random), "content": baited(random),
		}), &made)
		v.ids["skill"] = append(v.ids["skill"], made.Skill.ID)
		v.texts = append(v.texts, made.Skill.Locator)
	}
	r.Atlas("skill", "publish", "--workspace", v.ID, "workspace/"+bait+"-workspace")
	v.gatherCursors(t, do, key)
	rig.Check(t, r.Settled(time.Minute))
	return v
}

type doer = func(c rig.Caller, method, path string, body any) rig.Answer

// chooseRecords chooses records to hold, and as many similar ones that nobody holds.
// One contact has no project, so only its holder sees it.
func (v *victim) chooseRecords(t *testing.T, do doer, key rig.Caller, d string) {
	t.Helper()
	bodies := []object{{"limit": 8}}
	if d == "contacts" {
		bodies = append(bodies, object{"limit": 4, "relations": object{"without_project": object{}}})
	}
	for _, body := range bodies {
		ids, err := do(key, "POST", "/data/"+d+"/search", body).IDs()
		if err != nil || len(ids) < 2 {
			t.Fatalf("records of %s: %v, %v", d, ids, err)
		}
		half := len(ids) / 2
		v.records[d] = append(v.records[d], ids[:half]...)
		v.others[d] = append(v.others[d], ids[half:2*half]...)
	}
}

// makeViews makes a Static View with records, and a Dynamic one.
func (v *victim) makeViews(t *testing.T, do doer, key rig.Caller, d string, random *rand.Rand) {
	t.Helper()
	presentation := object{
		"version": 1, "sorting": []any{object{"id": secret(random), "desc": true}},
		"column_visibility": object{secret(random): false},
	}
	for _, view := range []object{
		{"view_type": "static"},
		{"view_type": "dynamic", "definition": object{"version": 1, "q": baited(random), "fields": object{"city": []any{baited(random)}}}},
	} {
		view["dataset"], view["name"], view["presentation"] = singular(d), baited(random), presentation
		id, err := key.View(t.Context(), view)
		rig.Check(t, err)
		v.ids["view"] = append(v.ids["view"], id)
		if view["view_type"] == "static" {
			inputs := []any{}
			for _, id := range v.records[d] {
				inputs = append(inputs, object{"record_id": id})
			}
			do(key, "POST", "/workspace/views/"+id+"/records/add/batch", object{"inputs": inputs})
		}
	}
}

// gatherCursors gets a cursor of every search of the victim's own data.
func (v *victim) gatherCursors(t *testing.T, do doer, key rig.Caller) {
	t.Helper()
	paths := []string{"/workspace/accounts/search", "/workspace/contacts/search", "/workspace/projects/search"}
	for _, id := range v.ids["view"] {
		paths = append(paths, "/workspace/views/"+id+"/records/search")
	}
	got := 0
	for _, path := range paths {
		if next := do(key, "POST", path, object{"limit": 1}).Metadata().SearchAfter; next != nil {
			v.texts = append(v.texts, *next)
			got++
		}
	}
	if got < 6 {
		t.Fatalf("only %d searches of the victim have a second page", got)
	}
}

func decode(t *testing.T, a rig.Answer, into any) {
	t.Helper()
	if err := a.Data(into); err != nil {
		t.Fatalf("%v in %s", err, a.Raw)
	}
}

var aUUID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// leak returns what an answer to a request with the text sent reveals of the victim, ""
// for nothing.
func (v *victim) leak(a rig.Answer, sent string) string {
	headers, err := json.Marshal(a.Header)
	if err != nil {
		return err.Error()
	}
	shown, sent := strings.ToLower(string(headers)+string(a.Raw)), strings.ToLower(sent)
	if i := strings.Index(shown, secretMark); i >= 0 {
		return "a text: " + shown[max(0, i-40):min(len(shown), i+60)]
	}
	for _, id := range aUUID.FindAllString(shown, -1) {
		for kind, ids := range v.ids {
			if slices.Contains(ids, id) && !strings.Contains(sent, id) {
				return "the id of a " + kind + ": " + id
			}
		}
	}
	return ""
}

// state is all data of the victim: its rows in Postgres, and the documents of held
// records. Equal states have equal texts.
func (v *victim) state(ctx context.Context, r *rig.Rig) (map[string]string, error) {
	tables, err := workspaceTables(ctx, r)
	if err != nil {
		return nil, err
	}
	state := map[string]string{}
	for _, table := range tables {
		rows, err := r.Texts(ctx, "SELECT t::text FROM "+table+" t WHERE workspace_id = $1 ORDER BY 1", v.ID)
		if err != nil {
			return nil, err
		}
		state[table] = strings.Join(rows, "\n")
	}
	for table, sql := range map[string]string{
		"workspaces": "SELECT t::text FROM workspaces t WHERE id = $1",
		"users":      "SELECT t::text FROM users t WHERE id IN (SELECT user_id FROM members WHERE workspace_id = $1) ORDER BY 1",
	} {
		rows, err := r.Texts(ctx, sql, v.ID)
		if err != nil {
			return nil, err
		}
		state[table] = strings.Join(rows, "\n")
	}
	for _, d := range held {
		var found struct {
			Hits struct{ Hits []json.RawMessage }
		}
		query := fmt.Sprintf(`{"size":1000,"version":true,"query":{"term":{"held.workspace_id":%q}},"sort":["id"]}`, v.ID)
		if err := r.Ask(ctx, "POST", "/"+r.Held(d)+"/_search", query, &found); err != nil {
			return nil, err
		}
		if len(found.Hits.Hits) == 0 {
			return nil, fmt.Errorf("the victim holds no %s", d)
		}
		text, err := json.Marshal(found.Hits.Hits)
		if err != nil {
			return nil, err
		}
		state["held "+d] = string(text)
	}
	return state, nil
}

// changed counts the parts of the state that differ from before.
func (v *victim) changed(t *testing.T, r *rig.Rig, before map[string]string) (n int) {
	t.Helper()
	after, err := v.state(t.Context(), r)
	rig.Check(t, err)
	for part := range before {
		if diff := cmp.Diff(before[part], after[part]); diff != "" {
			n++
			t.Errorf("%s of the victim changed: %.2000s", part, diff)
		}
	}
	return n
}

// workspaceTables are the tables whose rows belong to workspaces.
func workspaceTables(ctx context.Context, r *rig.Rig) ([]string, error) {
	return r.Texts(ctx, `SELECT c.table_name FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
		WHERE c.table_schema = 'public' AND c.column_name = 'workspace_id' AND t.table_type = 'BASE TABLE' ORDER BY 1`)
}
