package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"
)

// APIKey is a key that may act in the workspace, or that ended lately.
type APIKey struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Start is the beginning of the key's text, for recognizing it.
	Start  string     `json:"start"`
	State  KeyState   `json:"state"`
	Scopes []KeyScope `json:"scopes"`
	// Networks are those from which the key may be used; none: any.
	Networks []netip.Prefix `json:"networks"`
	// DailyCredits and RequestsPerSecond are nil without such a limit.
	DailyCredits      *int64 `json:"daily_credits"`
	RequestsPerSecond *int   `json:"requests_per_second"`
	// ByOperator means that an operator made the key: it may act in other workspaces too,
	// and only an operator rotates it.
	ByOperator bool `json:"by_operator"`
	// CreatedBy is the person who made the key, or the key that made it, and CreatedByKey is
	// that key; nil for an operator.
	CreatedBy    *string    `json:"created_by"`
	CreatedByKey *string    `json:"created_by_key"`
	CreatedAt    time.Time  `json:"created_at"`
	ExpiresAt    *time.Time `json:"expires_at"`
	RevokedAt    *time.Time `json:"revoked_at"`
	// OldSecretUntil is until when the secret before the last rotation is valid too.
	OldSecretUntil *time.Time `json:"old_secret_until"`
	// LastUsedAt is accurate to a minute. LastNetwork is where it was used then, nil if
	// that is not known.
	LastUsedAt  *time.Time    `json:"last_used_at"`
	LastNetwork *netip.Prefix `json:"last_network"`
	// OutsidePolicy lists what the policy of the workspace would not permit for a new key
	// like this one: members, by their JSON names.
	OutsidePolicy []string `json:"outside_policy"`
	// Secret is the text of the key. Only Create and Rotate return it.
	Secret string `json:"secret"`
}

// NewAPIKey is the input of APIKeys.Create.
type NewAPIKey struct {
	Name string `json:"name"`
	// Scopes must be among the caller's.
	Scopes []KeyScope `json:"scopes"`
	// ExpiresInDays is the lifetime of the key; 0: 90 days, or the remaining lifetime of
	// the key that makes it. NeverExpires is for a key without an end.
	ExpiresInDays int  `json:"expires_in_days,omitzero"`
	NeverExpires  bool `json:"never_expires,omitzero"`
	// Networks are those from which the key may be used. Nil: those of the key that makes
	// it, or any; empty, not nil: any.
	Networks []netip.Prefix `json:"networks,omitzero"`
	// DailyCredits and RequestsPerSecond are limits of the key; 0: none.
	DailyCredits      int64 `json:"daily_credits,omitzero"`
	RequestsPerSecond int   `json:"requests_per_second,omitzero"`
}

// KeyRotation says how a key is rotated. With the zero value, the previous secret stays
// valid for 24 hours, and the end of the key does not change.
type KeyRotation struct {
	// OldSecretHours is how long the previous secret stays valid, at most 168; nil: 24.
	OldSecretHours *int `json:"old_secret_hours,omitzero"`
	// ExpiresInDays and NeverExpires change the end, like those of NewAPIKey.
	ExpiresInDays int  `json:"expires_in_days,omitzero"`
	NeverExpires  bool `json:"never_expires,omitzero"`
}

// APIKeys are the keys of the workspace, for owners, admins and keys with ScopeWorkspaceAdmin.
type APIKeys struct{ conn *conn }

const apiKeysPath = "/workspace/api-keys"

type apiKeyData struct {
	APIKey APIKey `json:"api_key"`
}

// List iterates over the keys, the newest first, with those that ended in the last 30 days.
func (k *APIKeys) List(ctx context.Context) iter.Seq2[APIKey, error] {
	return list[APIKey](ctx, k.conn, apiKeysPath, "api_keys", nil)
}

// Create makes a key. Only this answer has its Secret. Errors: ErrForbidden for a key that
// may do more than the caller, ErrLimitReached. If the answer is lost, the answer to the
// repetition has no Secret: then Create returns the key and an error.
func (k *APIKeys) Create(ctx context.Context, n NewAPIKey) (APIKey, error) {
	return withSecret(post[apiKeyData](ctx, k.conn, apiKeysPath, n))
}

// Rotate gives a key a new Secret. Errors: ErrNotFound, also for a key that has ended,
// ErrForbidden for a key of an operator or of another person. If the previous secret ends
// at once, so do the keys that the key made. Without a Secret, as in Create, it returns the
// key and an error.
func (k *APIKeys) Rotate(ctx context.Context, id string, r KeyRotation) (APIKey, error) {
	return withSecret(post[apiKeyData](ctx, k.conn, apiKeysPath+segment(id)+"/rotate", r))
}

// withSecret also returns an error for a key whose Secret the service did not store.
func withSecret(got apiKeyData, err error) (APIKey, error) {
	if err == nil && got.APIKey.Secret == "" {
		err = fmt.Errorf("atlas: the API key %s was made or rotated, but the answer with its secret was lost: who made it rotates it again", got.APIKey.ID)
	}
	return got.APIKey, err
}

// Revoke ends a key, with those that it made; a key of an operator only in this workspace:
// ErrNotFound.
func (k *APIKeys) Revoke(ctx context.Context, id string) error {
	return remove(ctx, k.conn, apiKeysPath+segment(id))
}

// KeyPolicy is what a workspace permits for new and rotated API keys. The zero value of a
// member is no limit.
type KeyPolicy struct {
	// Scopes are those that keys may have; nil: any.
	Scopes []KeyScope `json:"scopes,omitzero"`
	// MaxDays is the maximum lifetime of a key.
	MaxDays int `json:"max_days,omitzero"`
	// NetworksRequired means that keys must be limited to networks.
	NetworksRequired bool `json:"networks_required,omitzero"`
	// MaxDailyCredits is the maximum budget of a key, and makes a budget required.
	MaxDailyCredits int64 `json:"max_daily_credits,omitzero"`
}

type keyPolicyData struct {
	Policy KeyPolicy `json:"policy"`
}

// Policy returns what the workspace permits for its keys.
func (k *APIKeys) Policy(ctx context.Context) (KeyPolicy, error) {
	got, err := data[keyPolicyData](ctx, k.conn, request{method: http.MethodGet, path: apiKeysPath + "/policy"})
	return got.Policy, err
}

// SetPolicy replaces it, for users who are owners or admins: ErrForbidden, and
// ErrUserIdentityRequired for an API key. Existing keys remain valid.
func (k *APIKeys) SetPolicy(ctx context.Context, p KeyPolicy) (KeyPolicy, error) {
	got, err := post[keyPolicyData](ctx, k.conn, apiKeysPath+"/policy", p)
	return got.Policy, err
}

// KeyAction is a change of an object by a key, and whether it can be undone.
type KeyAction struct {
	ID int64     `json:"id"`
	At time.Time `json:"at"`
	// Action is "created", "changed" or "removed".
	Action string `json:"action"`
	// Kind is the kind of the object, as in a WorkspaceChange, and ObjectID its id: the
	// record of an overlay or a membership, the user of a member. ViewID is the View of a
	// membership.
	Kind     string `json:"kind"`
	ObjectID string `json:"object_id"`
	Dataset  string `json:"dataset"`
	ViewID   string `json:"view_id"`
	// Fields are the names of the changed fields.
	Fields []string `json:"fields"`
	// RequestID is nil if it is not known.
	RequestID *string `json:"request_id"`
	// Undo, of Actions, is "possible", "nothing_left" if the object already is as it was
	// before, "changed_since" if somebody else changed it later, "not_stored" if the former
	// state is not stored, or "not_offered".
	Undo string `json:"undo"`
	// Outcome, of Undo, is "undone", "refused", for Reason, or one of Undo.
	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`
}

// KeyUndo selects the actions of a key to undo: those with IDs, those since a time, or all,
// the latest first.
type KeyUndo struct {
	IDs   []int64   `json:"ids,omitzero"`
	Since time.Time `json:"since,omitzero"`
	// Limit is how many actions a request undoes; 0: 1,000. Cursor is that of the previous
	// answer.
	Limit  int    `json:"limit,omitzero"`
	Cursor string `json:"cursor,omitzero"`
	// DryRun changes nothing, and answers what would be undone.
	DryRun bool `json:"dry_run,omitzero"`
}

// Actions iterates over the changes of a key in the workspace, the latest first, for users
// who are owners or admins: ErrNotFound.
func (k *APIKeys) Actions(ctx context.Context, id string) iter.Seq2[KeyAction, error] {
	params := url.Values{"limit": {strconv.Itoa(2 * MaxPage)}}
	return cursored[KeyAction](ctx, k.conn, apiKeysPath+segment(id)+"/actions", "actions", params)
}

// Undo restores the objects changed by a revoked key, unless somebody else has changed them
// since: ErrAPIKeyActive for a key that is not revoked. next is the cursor of the remaining
// actions, "" for none.
func (k *APIKeys) Undo(ctx context.Context, id string, u KeyUndo) (actions []KeyAction, next string, err error) {
	r := request{method: http.MethodPost, path: apiKeysPath + segment(id) + "/undo", body: u}
	return cursoredPage[KeyAction](ctx, k.conn, r, "actions")
}
