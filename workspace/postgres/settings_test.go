package postgres_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/skills"
	"atlas/workspace/subscriptions"
)

func TestSubscriptions(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	ctx := t.Context()
	in := p.one.ID
	upsert := func(c subscriptions.Change) subscriptions.Subscription {
		t.Helper()
		s, err := p.subscriptions.Upsert(ctx, in, c)
		fatal(t, err)
		return s
	}
	began := p.now
	first := upsert(subscriptions.Change{SignalType: "permit_issued"})
	want := subscriptions.Subscription{
		ID: first.ID, SignalType: "permit_issued", Channels: []subscriptions.Channel{"in_app"}, Frequency: "instant",
		QueueStartedAt: began, CreatedAt: began, UpdatedAt: began,
	}
	same := func(name string, want, got subscriptions.Subscription) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	same("new", want, first)
	p.now = p.now.Add(time.Hour)
	same("nothing changed", want, upsert(subscriptions.Change{SignalType: "permit_issued"}))
	same(
		"the same said", want,
		upsert(subscriptions.Change{SignalType: "permit_issued", Channels: []subscriptions.Channel{"in_app", "in_app"}, Frequency: "instant"}),
	)
	want.Frequency, want.UpdatedAt = "daily", p.now
	same("one half", want, upsert(subscriptions.Change{SignalType: "permit_issued", Frequency: "daily"}))
	want.Channels = []subscriptions.Channel{"in_app", "email"}
	same("the other", want, upsert(subscriptions.Change{SignalType: "permit_issued", Channels: []subscriptions.Channel{"email", "in_app"}}))
	other := upsert(subscriptions.Change{SignalType: "permit_filed", Channels: []subscriptions.Channel{"email"}, Frequency: "weekly"})
	list, err := p.subscriptions.List(ctx, in, 100, 0)
	fatal(t, err)
	if diff := cmp.Diff([]subscriptions.Subscription{other, want}, list); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	for name, c := range map[string]subscriptions.Change{
		"no type":      {},
		"another type": {SignalType: "rain"},
		"a channel":    {SignalType: "permit_filed", Channels: []subscriptions.Channel{"fax"}},
		"a frequency":  {SignalType: "permit_filed", Frequency: "hourly"},
	} {
		_, err := p.subscriptions.Upsert(ctx, in, c)
		wantCode(t, name, err, fault.InvalidInput)
	}

	// A subscription that is deleted and re-created has a new watermark.
	fatal(t, p.subscriptions.Delete(ctx, in, first.ID))
	fatal(t, p.subscriptions.Delete(ctx, in, first.ID))
	p.now = p.now.Add(time.Hour)
	remade := upsert(subscriptions.Change{SignalType: "permit_issued"})
	if remade.ID == first.ID || !remade.QueueStartedAt.Equal(p.now) || !remade.CreatedAt.Equal(p.now) || remade.Frequency != "instant" {
		t.Errorf("made again: %+v", remade)
	}
}

func TestSubscriptionByManyAtOnce(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	ids := map[subscriptions.ID]bool{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			s, err := p.subscriptions.Upsert(t.Context(), p.one.ID, subscriptions.Change{SignalType: "permit_issued"})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			ids[s.ID] = true
		})
	}
	group.Wait()
	if len(ids) != 1 {
		t.Errorf("%d subscriptions of one type", len(ids))
	}
}

func TestWhoSeesWhichSkills(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	ctx := t.Context()
	in := p.one.ID
	ann, ben, key := p.members[in][0].ID, p.members[in][1].ID, workspace.UserID{}
	create := func(in workspace.ID, viewer workspace.UserID, n skills.NewSkill, want fault.Code) skills.Skill {
		t.Helper()
		if n.Description == "" {
			n.Description = "of " + n.Name
		}
		n.Content = "Do " + n.Name + "\n"
		s, err := p.skills.Create(ctx, in, viewer, n)
		wantCode(t, n.Name, err, want)
		return s
	}
	const personal, shared = skills.PersonalSkill, skills.WorkspaceSkill
	create(in, ann, skills.NewSkill{Scope: personal, Name: "Ann's notes"}, "")
	create(in, ben, skills.NewSkill{Scope: personal, Name: "Ben's notes"}, "")
	create(in, ben, skills.NewSkill{Scope: personal, Name: "Ann's notes", Description: "Ben has one of that name too"}, "")
	draft := create(in, key, skills.NewSkill{Scope: shared, Name: "Café review", Slug: "review"}, "")
	create(in, ann, skills.NewSkill{Scope: shared, Name: "Bid letters"}, "")
	create(p.two.ID, key, skills.NewSkill{Scope: shared, Name: "Elsewhere", Slug: "review"}, "")
	create(in, ann, skills.NewSkill{Scope: personal, Name: "ANN'S  notes!"}, fault.SkillConflict)
	create(in, ann, skills.NewSkill{Scope: shared, Name: "bid LETTERS"}, fault.SkillConflict)
	create(in, key, skills.NewSkill{Scope: personal, Name: "Nobody's"}, fault.UserIdentityRequired)
	create(in, ann, skills.NewSkill{Scope: shared, Name: "!!!"}, fault.InvalidInput)
	create(in, ann, skills.NewSkill{Scope: shared, Name: "x", Slug: "Not a slug"}, fault.InvalidInput)
	create(in, ann, skills.NewSkill{Scope: "team", Name: "x"}, fault.InvalidInput)
	create(in, ann, skills.NewSkill{Scope: shared, Name: strings.Repeat("x", 121)}, fault.InvalidInput)
	if draft.Status != skills.DraftSkill || draft.Revision != 1 || !draft.CreatedBy.IsZero() || draft.Locator() != "workspace/review" {
		t.Errorf("created %+v", draft)
	}

	locators := func(list []skills.Skill, err error) string {
		t.Helper()
		fatal(t, err)
		var all []string
		for _, s := range list {
			if s.Content != "" {
				t.Errorf("%s comes with its content", s.Locator())
			}
			all = append(all, s.Locator())
		}
		return strings.Join(all, " ")
	}
	find := func(name string, viewer workspace.UserID, text string, f skills.Filter, want string) {
		t.Helper()
		f.Viewer, f.Limit = viewer, 100
		if got := locators(p.skills.Find(ctx, in, text, f)); got != want {
			t.Errorf("find, %s: %q, want %q", name, got, want)
		}
	}
	list := func(name string, viewer workspace.UserID, f skills.Filter, want string) {
		t.Helper()
		f.Viewer = viewer
		if f.Limit == 0 {
			f.Limit = 100
		}
		if got := locators(p.skills.List(ctx, in, f)); got != want {
			t.Errorf("list, %s: %q, want %q", name, got, want)
		}
	}
	none := skills.Filter{}
	find("drafts are not found", key, "", none, "")
	find("but one's own", ann, "", none, "personal/ann-s-notes")
	list("one's own and the workspace's", ann, none, "personal/ann-s-notes workspace/bid-letters workspace/review")
	list("a key's", key, none, "workspace/bid-letters workspace/review")
	list("personal ones", ben, skills.Filter{Scope: personal}, "personal/ann-s-notes personal/ben-s-notes")
	list("shared ones", ben, skills.Filter{Scope: shared}, "workspace/bid-letters workspace/review")
	list("a page", ben, skills.Filter{Scope: shared, Limit: 1, Offset: 1}, "workspace/review")

	published, err := p.skillAdmin.SetStatus(ctx, in, "workspace/review", skills.PublishedSkill)
	fatal(t, err)
	if published.Status != skills.PublishedSkill {
		t.Errorf("published: %+v", published)
	}
	find("published", key, "", none, "workspace/review")
	find("by a word, folded", key, "CAFE", none, "workspace/review")
	find("by words of both", key, "review of café", none, "workspace/review")
	find("by a part of a word", key, "afé", none, "workspace/review")
	find("no match", key, "cafe tea", none, "")
	find("wildcards are letters", key, "%", none, "")
	find("one's own by a word", ben, "too", none, "personal/ann-s-notes")
	find("by scope", ann, "", skills.Filter{Scope: shared}, "workspace/review")
	list("by status", ann, skills.Filter{Status: skills.DraftSkill}, "personal/ann-s-notes workspace/bid-letters")
	if got := locators(p.skillAdmin.List(ctx, in)); got != "workspace/bid-letters workspace/review" {
		t.Errorf("the operator sees %q", got)
	}
	if _, err := p.skillAdmin.SetStatus(ctx, in, "review", skills.DraftSkill); err != nil {
		t.Error(err)
	}
	find("taken back", key, "", none, "")
	_, err = p.skillAdmin.SetStatus(ctx, in, "personal/ann-s-notes", skills.PublishedSkill)
	wantCode(t, "publishing a personal one", err, fault.InvalidInput)
	_, err = p.skillAdmin.SetStatus(ctx, in, "ann-s-notes", skills.PublishedSkill)
	wantCode(t, "publishing by the slug of a personal one", err, fault.SkillNotFound)

	get := func(name string, viewer workspace.UserID, locator string, want fault.Code) (s skills.Skill) {
		t.Helper()
		s, err := p.skills.Get(ctx, in, viewer, locator)
		wantCode(t, name, err, want)
		return s
	}
	if s := get("a draft of the workspace", key, "workspace/review", ""); s.Content != "Do Café review\n" {
		t.Errorf("content %q", s.Content)
	}
	if s := get("one's own", ben, "personal/ann-s-notes", ""); s.CreatedBy != ben || s.Description != "Ben has one of that name too" {
		t.Errorf("got another's: %+v", s)
	}
	get("another's", ann, "personal/ben-s-notes", fault.SkillNotFound)
	get("a key", key, "personal/ben-s-notes", fault.UserIdentityRequired)
	get("unknown", ann, "workspace/nothing", fault.SkillNotFound)
	for _, bad := range []string{"review", "team/review", "workspace/", "workspace/Review", "workspace/a/b", "/"} {
		get(bad, ann, bad, fault.InvalidInput)
	}
	_, err = p.skills.Find(ctx, in, "", skills.Filter{Scope: personal, Limit: 1})
	wantCode(t, "a key finding personal ones", err, fault.UserIdentityRequired)
	_, err = p.skills.List(ctx, in, skills.Filter{Scope: personal, Limit: 1})
	wantCode(t, "a key listing personal ones", err, fault.UserIdentityRequired)
}

func TestSkillAnswers(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	s, err := p.skills.Create(t.Context(), p.one.ID, workspace.UserID{}, skills.NewSkill{
		Scope: skills.WorkspaceSkill, Name: "N", Description: "D\nE", Content: " C ",
	})
	fatal(t, err)
	text, err := json.Marshal(s)
	fatal(t, err)
	want := `{"id":"` + s.ID.String() + `","locator":"workspace/n","scope":"workspace","status":"draft","name":"N","description":"D\nE",` +
		`"content":" C ","created_by":null,"revision":1,"created_at":"2026-03-01T12:00:00.123Z","updated_at":"2026-03-01T12:00:00.123Z"}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
