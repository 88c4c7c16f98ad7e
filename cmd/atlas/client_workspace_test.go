package main

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/client"
	"atlas/service/auth"
	"atlas/service/endpoint"
	"atlas/workspace"
)

// bookOf uses every method of one book with two of its records.
func bookOf[R, U any](
	t *testing.T, b *client.Book[R, U], upsert func(id string, change client.Change, tags []string) U,
	shown func(R) (id, status string, tags []string), ids []string,
) {
	t.Helper()
	ctx := t.Context()
	r := must(b.Upsert(ctx, upsert(ids[0], client.To("Met"), []string{"a", "b"})))(t)
	if id, status, tags := shown(r); id != ids[0] || status != "Met" || len(tags) != 2 {
		t.Errorf("%+v", r)
	}
	batch := must(b.UpsertAll(ctx, []U{
		upsert(ids[0], client.Clear(), nil), upsert(ids[1], client.Change{}, []string{}),
		upsert("none", client.Change{}, nil),
	}))(t)
	if batch.Succeeded != 2 || batch.Failed != 1 || batch.Items[1].ID != ids[1] || !errors.Is(batch.Err(), client.ErrInvalidInput) {
		t.Errorf("%+v", batch)
	}
	if id, status, tags := shown(batch.Items[0].Data); id != ids[0] || status != "" || len(tags) != 2 {
		t.Errorf("%+v", batch.Items[0])
	}
	if id, _, _ := shown(must(b.Get(ctx, ids[0]))(t)); id != ids[0] {
		t.Error(id)
	}
	if counts := must(b.Facets(ctx, client.FacetRequest{Filters: client.Filters{"tags": client.Is("a")}}))(t); counts.Count != 1 {
		t.Errorf("%+v", counts)
	}
	if p := must(b.Pivot(ctx, client.PivotRequest{Rows: client.PivotBy{Field: "tags"}}))(t); len(p.Rows.Groups) == 0 {
		t.Errorf("%+v", p)
	}
	if found := collect(t, b.All(ctx, client.Search{Filters: client.Filters{"tags": client.Is("a")}})); len(found) != 1 {
		t.Errorf("%+v", found)
	}
	changes := collect(t, b.History(ctx, ids[0])) // published once no earlier transaction is in progress
	for until := time.Now().Add(30 * time.Second); len(changes) == 0 && time.Now().Before(until); {
		changes = collect(t, b.History(ctx, ids[0]))
	}
	if len(changes) == 0 || changes[0].ID != ids[0] || changes[0].At.IsZero() || len(changes[0].Changed) == 0 {
		t.Errorf("%+v", changes)
	}
	kept := must(b.DeleteExpected(ctx, ids, map[string]client.Expectation{
		ids[0]: {Status: client.To("Lost")}, ids[1]: {Tags: []string{}, Status: client.Clear()},
	}))(t)
	refused, _ := errors.AsType[*client.Error](kept.Items[0].Err)
	if kept.Succeeded != 1 || refused == nil || !errors.Is(refused, client.ErrRevisionConflict) || refused.Current == nil ||
		len(refused.Current.Tags) != 2 || refused.Current.UpdatedAt.IsZero() {
		t.Errorf("%+v", kept)
	}
	if err := b.Delete(ctx, ids[0]); err != nil {
		t.Error(err)
	}
	if _, err := b.Get(ctx, ids[0]); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
	if gone := must(b.DeleteAll(ctx, ids))(t); gone.Succeeded != len(ids) || gone.Err() != nil {
		t.Errorf("%+v", gone)
	}
}

func clientOfBooks(t *testing.T, c *client.Client) {
	q := client.Search{Limit: 2}
	var ids [3][]string
	for _, a := range must(c.Accounts.Search(t.Context(), q))(t).Records {
		ids[0] = append(ids[0], a.ID)
	}
	for _, a := range must(c.Contacts.Search(t.Context(), q))(t).Records {
		ids[1] = append(ids[1], a.ID)
	}
	for _, a := range must(c.Projects.Search(t.Context(), q))(t).Records {
		ids[2] = append(ids[2], a.ID)
	}
	bookOf(t, c.Book.Accounts, func(id string, status client.Change, tags []string) client.AccountUpsert {
		return client.AccountUpsert{AccountID: id, Status: status, Tags: tags, ICPTier: client.To("tier_1")}
	}, func(r client.BookAccount) (string, string, []string) { return r.ID, r.Status, r.Tags }, ids[0])
	bookOf(t, c.Book.Contacts, func(id string, status client.Change, tags []string) client.ContactUpsert {
		return client.ContactUpsert{ContactID: id, Status: status, Tags: tags}
	}, func(r client.BookContact) (string, string, []string) { return r.ID, r.Status, r.Tags }, ids[1])
	bookOf(t, c.Book.Projects, func(id string, status client.Change, tags []string) client.ProjectUpsert {
		return client.ProjectUpsert{ProjectID: id, Status: status, Tags: tags}
	}, func(r client.BookProject) (string, string, []string) { return r.ID, r.Status, r.Tags }, ids[2])
	if _, err := c.Book.Accounts.Upsert(t.Context(), client.AccountUpsert{
		Match: &client.AccountMatch{Domain: "nobody.example"},
	}); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
	question := client.ReadRequest{Query: "calgary"}
	for _, read := range []func(context.Context, client.ReadRequest) (client.Reading, error){
		c.Book.Accounts.Read, c.Book.Contacts.Read, c.Book.Projects.Read,
	} {
		if r := must(read(t.Context(), question))(t); r.Query == "" && len(r.Filters) == 0 {
			t.Errorf("%+v", r)
		}
	}
	for row, err := range c.Book.Joins.All(t.Context(), client.Join{}) {
		if err != nil || row.Account.ID == "" {
			t.Errorf("%+v, %v", row, err)
		}
	}
	clientOfBatches(t, c)
}

// clientOfBatches sends batches that cost nothing.
func clientOfBatches(t *testing.T, c *client.Client) {
	nothing := client.Search{Query: "zzqq"}
	global := must(c.SearchBatch(t.Context(), []client.BatchSearch{{Dataset: "accounts", Search: nothing}, {Dataset: "firms"}}))(t)
	if records, err := client.RecordsOf[client.Account](global.Items[0].Data); err != nil || len(records) != 0 ||
		global.Succeeded != 1 || !errors.Is(global.Items[1].Err, client.ErrInvalidInput) {
		t.Errorf("%+v, %v", global, err)
	}
	own := must(c.SearchWorkspaceBatch(t.Context(), []client.BatchSearch{
		{Dataset: "accounts", Search: nothing}, {ViewID: "00000000-0000-4000-8000-000000000000"},
	}))(t)
	if own.Succeeded != 1 || !errors.Is(own.Items[1].Err, client.ErrViewNotFound) {
		t.Errorf("%+v", own)
	}
}

func clientOfViews(t *testing.T, key, user *client.Client) {
	ctx := t.Context()
	dynamic := must(key.Views.Upsert(ctx, client.ViewUpsert{Dataset: "account", Type: "dynamic", Name: "Dynamic",
		Definition: client.Dynamic("", map[string]any{
			"account_type":  client.Values{"developer", "general_contractor"},
			"last_activity": client.Days{After: "2001-01-01"},
		})}))(t)
	if dynamic.Revision != 1 || dynamic.RecordCount != nil || dynamic.Definition.Fields["account_type"] == nil || dynamic.WorkspaceID == "" {
		t.Errorf("%+v", dynamic)
	}
	board := must(key.Boards.Upsert(ctx, client.Board{Name: "Ours", Tiles: []client.Tile{{
		Kind: client.TileView, Title: "All", Dataset: "accounts", Of: client.TileOfView, ViewID: dynamic.ID, Request: []byte(`{}`),
	}}}))(t)
	if again := must(key.Boards.Upsert(ctx, must(key.Boards.Get(ctx, board.ID))(t)))(t); again.Revision != 1 || len(again.Tiles) != 1 {
		t.Errorf("%+v", again)
	}
	listed := 0
	for b, err := range key.Boards.List(ctx) {
		if listed++; err != nil || b.ID != board.ID {
			t.Errorf("%+v, %v", b, err)
		}
	}
	if err := key.Boards.Delete(ctx, board.ID); err != nil || listed != 1 {
		t.Errorf("%d boards, %v", listed, err)
	}
	rows := must(key.Views.Accounts(dynamic.ID).Search(ctx, client.Search{Limit: 3}))(t)
	if counts := must(key.Views.Accounts(dynamic.ID).Facets(ctx, client.FacetRequest{}))(t); counts.Count < int64(len(rows.Records)) {
		t.Errorf("%+v", counts)
	}
	byCity := client.PivotRequest{Rows: client.PivotBy{Field: "city"}}
	if p := must(key.Views.Accounts(dynamic.ID).Pivot(ctx, byCity))(t); p.Count < int64(len(rows.Records)) {
		t.Errorf("%+v", p)
	}
	if len(rows.Records) != 3 || !rows.Records[0].UpdatedAt.IsZero() || rows.Records[0].AtlasScore != nil || rows.Credits != 3 {
		t.Errorf("%+v", rows)
	}
	changed := must(key.Views.Upsert(ctx, client.ViewUpsert{ID: dynamic.ID, Name: "Renamed", Revision: 1}))(t)
	if changed.Revision != 2 || changed.Name != "Renamed" {
		t.Errorf("%+v", changed)
	}
	if _, err := key.Views.Upsert(ctx, client.ViewUpsert{
		ID: dynamic.ID, Name: "Again", Revision: 1,
	}); !errors.Is(err, client.ErrRevisionConflict) {
		t.Error(err)
	}
	batch := must(user.Views.UpsertAll(ctx, []client.ViewUpsert{
		{Dataset: "project", Type: "static", Name: "Static"},
		{Dataset: "contact", Type: "dynamic", Name: "Contacts", Definition: client.Dynamic("", nil)},
		{Dataset: "project", Type: "static", Name: "static"},
		{Dataset: "account", Type: "dynamic", Name: "x", Definition: client.Dynamic("", map[string]any{"colour": client.Values{"red"}})},
	}))(t)
	if batch.Succeeded != 2 || !errors.Is(batch.Items[2].Err, client.ErrViewNameConflict) ||
		!errors.Is(batch.Items[3].Err, client.ErrInvalidViewDefinition) {
		t.Fatalf("%+v", batch)
	}
	static, contacts := batch.Items[0].Data, batch.Items[1].Data
	if static.Definition.Fields != nil || static.RecordCount == nil || static.CreatedBy == "" || static.ID != batch.Items[0].ID {
		t.Errorf("%+v", static)
	}

	var ids []string
	for _, p := range must(key.Projects.Search(ctx, client.Search{Limit: 3}))(t).Records {
		ids = append(ids, p.ID)
	}
	if err := key.Views.AddRecord(ctx, static.ID, ids[0]); err != nil {
		t.Error(err)
	}
	if err := key.Views.AddRecord(ctx, static.ID, uuid.NewString()); !errors.Is(err, client.ErrRecordNotFound) {
		t.Error(err)
	}
	if err := key.Views.AddRecord(ctx, dynamic.ID, ids[0]); !errors.Is(err, client.ErrViewTypeMismatch) {
		t.Error(err)
	}
	if added := must(key.Views.AddRecords(ctx, static.ID, append(ids, "none")))(t); added.Succeeded != 3 || added.Failed != 1 ||
		added.Items[1].ID != ids[1] {
		t.Errorf("%+v", added)
	}
	if found := collect(t, key.Views.Projects(static.ID).All(ctx, client.Search{Limit: 2})); len(found) != 3 || found[0].ID == "" {
		t.Errorf("%+v", found)
	}
	if err := key.Views.RemoveRecord(ctx, static.ID, ids[0]); err != nil {
		t.Error(err)
	}
	if gone := must(key.Views.RemoveRecords(ctx, static.ID, ids[:2]))(t); gone.Err() != nil {
		t.Error(gone.Err())
	}
	if left := collect(t, key.Views.Records(static.ID).All(ctx, client.Search{})); len(left) != 1 ||
		!strings.Contains(string(left[0]), ids[2]) {
		t.Errorf("%s", left)
	}
	if got := must(key.Views.Get(ctx, static.ID))(t); *got.RecordCount != 1 {
		t.Errorf("%+v", got)
	}
	if found := collect(
		t,
		key.Views.Contacts(contacts.ID).All(ctx, client.Search{Filters: client.Filters{"name": client.Is("nobody of this name")}}),
	); len(found) != 0 {
		t.Errorf("%+v", found)
	}

	clientOfFavorites(t, user, dynamic.ID, static.ID)
	clientOfAlerts(t, user, dynamic.ID)

	if err := key.Views.Delete(ctx, dynamic.ID); err != nil {
		t.Error(err)
	}
	if err := key.Views.Delete(ctx, dynamic.ID); !errors.Is(err, client.ErrViewNotFound) {
		t.Error(err)
	}
	if gone := must(key.Views.DeleteAll(ctx, []string{static.ID, contacts.ID}))(t); gone.Err() != nil {
		t.Error(gone.Err())
	}
	if left := collect(t, key.Views.List(ctx, client.ViewList{})); len(left) != 0 {
		t.Errorf("%+v", left)
	}
	if _, err := client.Collect(key.Favorites.List(ctx)); !errors.Is(err, client.ErrUserIdentityRequired) {
		t.Error(err)
	}
}

func clientOfAlerts(t *testing.T, c *client.Client, view string) {
	ctx := t.Context()
	if a := must(c.Alerts.Mail(ctx, view, "weekly"))(t); a.ViewID != view || a.Email != "weekly" {
		t.Errorf("a mailed alert: %+v", a)
	}
	if a := must(c.Alerts.Mail(ctx, view, ""))(t); a.Email != "" {
		t.Errorf("an alert without e-mails: %+v", a)
	}
	if a := must(c.Alerts.Upsert(ctx, view))(t); a.ViewID != view || a.NewCount != 0 || a.SeenAt != nil {
		t.Errorf("%+v", a)
	}
	if all := collect(t, c.Alerts.List(ctx)); len(all) != 1 || all[0].ViewID != view {
		t.Errorf("%+v", all)
	}
	if entries := collect(t, c.Alerts.Entries(ctx, view)); len(entries) != 0 {
		t.Errorf("%+v", entries)
	}
	none := int64(0)
	if a := must(c.Alerts.See(ctx, view, &none))(t); a.SeenAt == nil {
		t.Errorf("%+v", a)
	}
	if err := c.Alerts.Delete(ctx, view); err != nil {
		t.Error(err)
	}
	if all := collect(t, c.Alerts.List(ctx)); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}

func clientOfFavorites(t *testing.T, c *client.Client, first, second string) {
	ctx := t.Context()
	if v := must(c.Favorites.Upsert(ctx, client.FavoriteUpsert{ViewID: first}))(t); !v.IsFavorite || *v.FavoritePosition != 0 {
		t.Errorf("%+v", v)
	}
	zero := 0
	if b := must(c.Favorites.UpsertAll(ctx, []client.FavoriteUpsert{{ViewID: second, Position: &zero}}))(t); b.Err() != nil ||
		*b.Items[0].Data.FavoritePosition != 0 {
		t.Errorf("%+v", b)
	}
	all := collect(t, c.Favorites.List(ctx))
	if len(all) != 2 || all[0].ID != second || all[1].ID != first {
		t.Errorf("%+v", all)
	}
	if listed := collect(
		t,
		c.Views.List(ctx, client.ViewList{Favorites: true, Dataset: all[0].Dataset, Type: all[0].Type, Query: "stat", ID: second}),
	); len(listed) != 1 {
		t.Errorf("%+v", listed)
	}
	if err := c.Favorites.Delete(ctx, first); err != nil {
		t.Error(err)
	}
	if b := must(c.Favorites.DeleteAll(ctx, []string{first, second}))(t); b.Err() != nil {
		t.Error(b.Err())
	}
}

func clientOfPeople(t *testing.T, s *service, c *client.Client, seen *reached) {
	ctx := t.Context()
	invited := must(c.Invitations.Create(ctx, "new@example.com", "member"))(t)
	link, err := url.Parse(invited.AcceptURL)
	if err != nil || invited.Invitation.Status != "Pending" || !invited.Invitation.SentAt.IsZero() {
		t.Fatalf("%v %+v", err, invited)
	}
	if _, err := c.Invitations.Create(ctx, "new@example.com", "member"); !errors.Is(err, client.ErrAlreadyInvited) {
		t.Error(err)
	}
	other := must(c.Invitations.Create(ctx, "other@example.com", "admin"))(t)
	if open := collect(t, c.Invitations.List(ctx)); len(open) != 2 || open[0].ID != other.Invitation.ID {
		t.Errorf("%+v", open)
	}
	if err := c.Invitations.Revoke(ctx, other.Invitation.ID); err != nil {
		t.Error(err)
	}
	newcomer := auth.Claims{User: workspace.NewUserID(), Email: "new@example.com", Name: "New"}
	token := must(auth.Mint(testSecret, newcomer, time.Hour))(t)
	as := s.client(token, client.WithObserver(seen.observe))
	// A key created it, so no person is named.
	if preview := must(as.Invitations.Preview(ctx, link.Query().Get("token")))(t); preview.Workspace.ID != s.pro.ID.String() ||
		preview.Workspace.Name == "" || preview.Email != newcomer.Email || preview.InvitedBy != nil || preview.ExpiresAt.IsZero() {
		t.Errorf("%+v", preview)
	}
	joined := must(as.Invitations.Accept(ctx, link.Query().Get("token")))(t)
	if joined.WorkspaceID != s.pro.ID.String() || joined.Member.ID != newcomer.User.String() {
		t.Errorf("%+v", joined)
	}
	if m := must(c.Members.SetRole(ctx, joined.Member.ID, "admin"))(t); m.Role != "admin" || m.JoinedAt.IsZero() {
		t.Errorf("%+v", m)
	}
	if all := collect(t, c.Members.List(ctx)); len(all) != 2 || all[0].Role != "owner" || all[1].Email != "new@example.com" {
		t.Errorf("%+v", all)
	}
	for _, want := range []bool{true, false} {
		if gone := must(c.Members.Remove(ctx, joined.Member.ID))(t); gone != want {
			t.Errorf("removed: %v", gone)
		}
	}

	sub := must(c.Subscriptions.Upsert(ctx, "permit_issued", client.Delivery{Frequency: "daily"}))(t)
	if sub.Delivery.Frequency != "daily" || !cmp.Equal(sub.Delivery.Channels, []client.Channel{client.ChannelInApp}) ||
		sub.QueueStartedAt.IsZero() {
		t.Errorf("%+v", sub)
	}
	if all := collect(t, c.Subscriptions.List(ctx)); len(all) != 1 || all[0].ID != sub.ID {
		t.Errorf("%+v", all)
	}
	if page, err := c.Queue.Search(ctx, client.QueueSearch{Search: client.Search{Limit: 2}, InBook: true}); err != nil ||
		len(page.Records) > 0 {
		t.Errorf("%+v %v", page, err)
	}
	// The sample was loaded before the subscription began.
	if cost := must(c.Queue.Cost(ctx, client.QueueSearch{}))(t); cost.Count != 0 {
		t.Errorf("%+v", cost)
	}
	if all := collect(t, c.Queue.All(ctx, client.QueueSearch{Dismissed: true})); len(all) > 0 {
		t.Errorf("%+v", all)
	}
	unknown := []string{"01a1fe20-0000-7000-8000-00000000dead"}
	if b := must(c.Queue.Dismiss(ctx, unknown))(t); !errors.Is(b.Err(), client.ErrNotFound) {
		t.Errorf("%+v", b)
	}
	if b := must(c.Queue.Restore(ctx, unknown))(t); b.Err() != nil || b.Items[0].ID != unknown[0] {
		t.Errorf("%+v", b)
	}
	if err := c.Subscriptions.Delete(ctx, sub.ID); err != nil {
		t.Error(err)
	}

	hook := must(c.Webhooks.Upsert(ctx, "", "https://hooks.example/", "record.changed"))(t)
	if !strings.HasPrefix(hook.Secret, "whsec_") || !hook.Enabled {
		t.Errorf("%+v", hook)
	}
	if rotated := must(c.Webhooks.Rotate(ctx, hook.ID))(t); rotated.Secret == hook.Secret {
		t.Errorf("%+v", rotated)
	}
	if changed := must(c.Webhooks.Upsert(
		ctx, hook.ID, "https://hooks.example/b", "load.switched",
	))(t); changed.URL != "https://hooks.example/b" {
		t.Errorf("%+v", changed)
	}
	if all := collect(t, c.Webhooks.List(ctx)); len(all) != 1 || all[0].Secret != "" {
		t.Errorf("%+v", all)
	}
	tested := must(c.Webhooks.Test(ctx, hook.ID))(t)
	if all := collect(t, c.Webhooks.Deliveries(ctx, hook.ID)); len(all) != 1 || all[0].ID != tested.ID || all[0].Event != "webhook.test" {
		t.Errorf("%+v", all)
	}
	if again := must(c.Webhooks.Replay(ctx, hook.ID, tested.ID))(t); again.Status != "pending" {
		t.Errorf("%+v", again)
	}
	if n := must(c.Webhooks.ReplayBetween(ctx, hook.ID, time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)))(t); n != 0 {
		t.Errorf("%d", n)
	}
	if err := c.Webhooks.Delete(ctx, hook.ID); err != nil {
		t.Error(err)
	}

	key := must(c.APIKeys.Create(ctx, client.NewAPIKey{
		Name: "Export", Scopes: []client.KeyScope{client.ScopeWorkspaceRead}, ExpiresInDays: 30, Networks: []netip.Prefix{},
	}))(t)
	if !strings.HasPrefix(key.Secret, key.Start) || key.State != client.KeyActive || key.ExpiresAt == nil || len(key.Networks) > 0 {
		t.Errorf("%+v", key)
	}
	for range 2 { // the second answer is a replay
		again, err := c.APIKeys.Rotate(client.WithIdempotencyKey(ctx, "rotate"), key.ID, client.KeyRotation{})
		if (err == nil) != (again.Secret != "") || again.ID != key.ID {
			t.Errorf("%+v, %v", again, err)
		}
	}
	hours := 1
	rotated := must(c.APIKeys.Rotate(ctx, key.ID, client.KeyRotation{OldSecretHours: &hours}))(t)
	if rotated.Secret == key.Secret || rotated.OldSecretUntil == nil || !rotated.ExpiresAt.Equal(*key.ExpiresAt) {
		t.Errorf("%+v", rotated)
	}
	same := func(k client.APIKey) bool { return k.ID == key.ID && k.Secret == "" }
	if all := collect(t, c.APIKeys.List(ctx)); !slices.ContainsFunc(all, same) {
		t.Errorf("%+v", all)
	}
	if err := c.APIKeys.Revoke(ctx, key.ID); err != nil {
		t.Error(err)
	}
	var happened []string
	for _, e := range collect(t, c.Audit.Events(ctx, client.AuditQuery{ObjectID: key.ID})) {
		happened = append(happened, e.Action)
	}
	if want := []string{"api_key.revoked", "api_key.rotated", "api_key.rotated", "api_key.created"}; !slices.Equal(happened, want) {
		t.Errorf("the log of the key has %v, want %v", happened, want)
	}
	if none := collect(t, c.Audit.Delivered(ctx, key.ID, time.Time{}, time.Time{})); len(none) > 0 {
		t.Errorf("a key that read nothing got %+v", none)
	}

	skill := must(c.Skills.Create(ctx, client.NewSkill{
		Scope: "workspace", Name: "Bid letters", Description: "How we write them", Content: "Be short.",
	}))(t)
	if _, err := c.Skills.Create(ctx, client.NewSkill{
		Scope: "workspace", Name: "Bid letters", Description: "d", Content: "c",
	}); !errors.Is(err, client.ErrSkillConflict) {
		t.Error(err)
	}
	if got := must(c.Skills.Get(ctx, skill.Locator))(t); got.Content != "Be short." || got.Status != "draft" {
		t.Errorf("%+v", got)
	}
	if all := collect(t, c.Skills.List(ctx, client.SkillList{Status: "draft", Scope: "workspace"})); len(all) != 1 || all[0].Content != "" {
		t.Errorf("%+v", all)
	}
	if published := collect(t, c.Skills.Find(ctx, client.SkillFind{Query: "letters"})); len(published) != 0 {
		t.Errorf("%+v", published)
	}
}

func clientOfKeyPolicy(t *testing.T, key, user *client.Client) {
	ctx := t.Context()
	limits := client.KeyPolicy{Scopes: []client.KeyScope{client.ScopeDataRead}, MaxDays: 30, NetworksRequired: true, MaxDailyCredits: 100}
	if _, err := key.APIKeys.SetPolicy(ctx, limits); !errors.Is(err, client.ErrUserIdentityRequired) {
		t.Error(err)
	}
	set := must(user.APIKeys.SetPolicy(ctx, limits))(t)
	if diff := cmp.Diff(limits, set); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(limits, must(key.APIKeys.Policy(ctx))(t)); diff != "" {
		t.Error(diff)
	}
	if _, err := key.APIKeys.Create(ctx, client.NewAPIKey{Name: "k", Scopes: limits.Scopes}); !errors.Is(err, client.ErrForbidden) {
		t.Error(err)
	}
	must(user.APIKeys.SetPolicy(ctx, client.KeyPolicy{}))(t)
}

func clientOfKeyActions(t *testing.T, key, user *client.Client) {
	ctx := t.Context()
	made := must(user.APIKeys.Create(ctx, client.NewAPIKey{Name: "short", Scopes: []client.KeyScope{client.ScopeWorkspaceRead}}))(t)
	if none := collect(t, user.APIKeys.Actions(ctx, made.ID)); len(none) > 0 {
		t.Errorf("a key that changed nothing did %+v", none)
	}
	if _, _, err := user.APIKeys.Undo(ctx, made.ID, client.KeyUndo{DryRun: true}); !errors.Is(err, client.ErrAPIKeyActive) {
		t.Error(err)
	}
	if err := user.APIKeys.Revoke(ctx, made.ID); err != nil {
		t.Error(err)
	}
	actions, next, err := user.APIKeys.Undo(ctx, made.ID, client.KeyUndo{Since: time.Now().Add(-time.Hour), Limit: 5})
	if err != nil || len(actions) > 0 || next != "" {
		t.Errorf("%+v, %q, %v", actions, next, err)
	}
	if _, _, err := key.APIKeys.Undo(ctx, made.ID, client.KeyUndo{}); !errors.Is(err, client.ErrUserIdentityRequired) {
		t.Error(err)
	}
}

func clientOfIdentity(t *testing.T, s *service, key, user *client.Client) {
	ctx := t.Context()
	if _, _, err := key.Identity.Provider(ctx); !errors.Is(err, client.ErrUserIdentityRequired) {
		t.Error(err)
	}
	if p, _, err := user.Identity.Provider(ctx); err != nil || p != nil {
		t.Errorf("%+v, %v", p, err)
	}
	want := client.IdentityProvider{
		Issuer: "https://id.firm.example", ClientID: "atlas", ClientSecret: "secret", RoleClaim: "groups",
		Roles: map[string]client.Role{"leads": client.RoleAdmin}, DefaultRole: client.RoleMember,
	}
	set := must(user.Identity.SetProvider(ctx, want))(t)
	want.ClientSecret, want.Scopes, want.SessionHours, want.IdleMinutes, want.Revision = "", []string{"openid", "email", "profile"}, 12, 60, 1
	if diff := cmp.Diff(want, set); diff != "" {
		t.Error(diff)
	}
	set.Required = true
	if _, err := user.Identity.SetProvider(ctx, set); !errors.Is(err, client.ErrForbidden) {
		t.Errorf("required without a session of it: %v", err)
	}
	added := must(user.Identity.AddDomain(ctx, "firm.example"))(t)
	if added.RecordName != "_atlas.firm.example" || added.RecordText == "" || added.ProvedAt != nil {
		t.Errorf("%+v", added)
	}
	if _, err := user.Identity.CheckDomain(ctx, "other.example"); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
	// The operator proves it, and admits people.
	in := must(key.Workspace(ctx))(t).ID
	cli := operatorCLI{t, s.config.PostgresSystemURL}
	cli.run(0, "identity", "domains", "prove", "--workspace="+in, "Firm.Example")
	if all := must(user.Identity.Domains(ctx))(t); len(all) != 1 || all[0].ProvedBy != "operator" || all[0].ProvedAt == nil {
		t.Errorf("%+v", all)
	}
	if d := must(user.Identity.CheckDomain(ctx, "firm.example"))(t); d.ProvedBy != "operator" {
		t.Errorf("%+v", d)
	}
	cli.run(0, "identity", "domains", "list")
	cli.run(0, "identity", "required", "--workspace="+in, "on")
	waitFor(t, "the provider is required", func() bool {
		_, _, err := user.Identity.Provider(ctx)
		return errors.Is(err, client.ErrProviderRequired)
	})
	if _, err := key.Workspace(ctx); err != nil {
		t.Errorf("a key: %v", err)
	}
	cli.run(0, "identity", "required", "--workspace="+in, "off")
	waitFor(t, "the operator let people in", func() bool {
		_, _, err := user.Identity.Provider(ctx)
		return err == nil
	})
	if err := user.Identity.DeleteDomain(ctx, "firm.example"); err != nil {
		t.Error(err)
	}
	cli.run(1, "identity", "domains", "remove", "--workspace="+in, "firm.example")
	if err := user.Identity.DeleteProvider(ctx); err != nil {
		t.Error(err)
	}
	cli.run(1, "identity", "required", "--workspace="+in, "off")
	for m, err := range user.Members.List(ctx) {
		if err == nil {
			err = user.Members.SignOut(ctx, m.ID)
		}
		if err != nil {
			t.Error(err)
		}
	}
	if err := user.Members.SignOut(ctx, workspace.NewUserID().String()); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
}

func clientOfProvisioning(t *testing.T, s *service, user *client.Client) {
	ctx := t.Context()
	token := must(user.Provisioning.CreateToken(ctx, "IdP", 30))(t)
	if !strings.HasPrefix(token.Secret, token.Start) || token.State != client.TokenActive {
		t.Errorf("%+v", token)
	}
	r := must(http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(s.base, endpoint.Version)+"/scim/v2/Groups",
		strings.NewReader(`{"schemas":["urn:ietf:params:scim:schemas:core:2.0:Group"],"displayName":"Sales"}`)))(t)
	r.Header.Set("Authorization", "Bearer "+token.Secret)
	r.Header.Set("Content-Type", "application/scim+json")
	answer := must(http.DefaultClient.Do(r))(t)
	_ = answer.Body.Close()
	groups := collect(t, user.Provisioning.Groups(ctx))
	if answer.StatusCode != http.StatusCreated || len(groups) != 1 || groups[0].Name != "Sales" || groups[0].Role != nil {
		t.Fatalf("%d %+v", answer.StatusCode, groups)
	}
	if g := must(user.Provisioning.SetGroupRole(ctx, groups[0].ID, client.RoleAdmin))(t); g.Role == nil || *g.Role != client.RoleAdmin {
		t.Errorf("%+v", g)
	}
	if g := must(user.Provisioning.SetGroupRole(ctx, groups[0].ID, ""))(t); g.Role != nil {
		t.Errorf("%+v", g)
	}
	if all := collect(t, user.Provisioning.People(ctx)); len(all) > 0 {
		t.Errorf("%+v", all)
	}
	if err := user.Provisioning.RevokeToken(ctx, token.ID); err != nil {
		t.Error(err)
	}
	if all := collect(t, user.Provisioning.Tokens(ctx)); len(all) != 1 || all[0].State != client.TokenRevoked || all[0].Secret != "" {
		t.Errorf("%+v", all)
	}
}
