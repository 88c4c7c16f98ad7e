package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/book"
	"atlas/workspace/people"
	"atlas/workspace/skills"
	"atlas/workspace/views"
)

// attemptsAtOnce makes concurrent attempts and counts those that succeed. All others must
// fail with limit_reached and name the limit.
func attemptsAtOnce(t *testing.T, attempts, limit int, attempt func(ctx context.Context, i int) error) (made int) {
	t.Helper()
	errs := make([]error, attempts)
	var group sync.WaitGroup
	for i := range attempts {
		group.Go(func() { errs[i] = attempt(t.Context(), i) })
	}
	group.Wait()
	for _, err := range errs {
		switch {
		case err == nil:
			made++
		case fault.CodeOf(err) != fault.LimitReached || !strings.Contains(err.Error(), fmt.Sprint(limit)):
			t.Errorf("refused with %v", err)
		}
	}
	return made
}

func TestLimitsHoldUnderConcurrency(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	const most, attempts = 7, 24
	limits := workspace.Limits{OpenInvitations: most, Views: most, PersonalSkills: most, WorkspaceSkills: most}
	p.invitations.Limits, p.skills.Limits = limits, limits
	service := views.NewViews(p.store, func() time.Time { return p.now })
	service.Limits = limits
	ann, bob := p.members[p.one.ID][0].ID, p.members[p.one.ID][1].ID
	skill := func(in workspace.ID, viewer workspace.UserID, scope skills.Scope) func(context.Context, int) error {
		return func(ctx context.Context, i int) error {
			_, err := p.skills.Create(ctx, in, viewer, skills.NewSkill{
				Scope: scope, Name: fmt.Sprintf("Skill %d of %s", i, viewer), Description: "d", Content: "c",
			})
			return err
		}
	}
	view := func(in workspace.ID) func(context.Context, int) error {
		return func(ctx context.Context, i int) error {
			_, err := service.Upsert(ctx, in, ann, views.Change{Dataset: catalog.Accounts, Type: views.Static, Name: fmt.Sprintf("View %d", i)})
			return err
		}
	}
	invite := func(in workspace.ID) func(context.Context, int) error {
		return func(ctx context.Context, i int) error {
			_, err := p.invitations.Create(ctx, in, people.KeyActor, fmt.Sprintf("n%d@example.com", i), people.MemberRole)
			return err
		}
	}
	for name, attempt := range map[string]func(context.Context, int) error{
		"Views": view(p.one.ID), "Views of another workspace": view(p.two.ID),
		"invitations": invite(p.one.ID), "invitations of another workspace": invite(p.two.ID),
		"workspace Skills":           skill(p.one.ID, ann, skills.WorkspaceSkill),
		"workspace Skills elsewhere": skill(p.two.ID, ann, skills.WorkspaceSkill),
		"personal Skills":            skill(p.one.ID, ann, skills.PersonalSkill), "personal Skills of another": skill(p.one.ID, bob, skills.PersonalSkill),
	} {
		if made := attemptsAtOnce(t, attempts, most, attempt); made != most {
			t.Errorf("%s: %d were made, want %d", name, made, most)
		}
	}
	// What is deleted makes room; existing ones can be changed.
	all, err := service.List(t.Context(), p.one.ID, views.Filter{Limit: 100})
	fatal(t, err)
	id := all[0].ID
	_, err = service.Upsert(t.Context(), p.one.ID, ann, views.Change{ID: &id, Name: "Another name"})
	fatal(t, err)
	fatal(t, service.Delete(t.Context(), p.one.ID, id))
	if made := attemptsAtOnce(t, 3, most, func(ctx context.Context, i int) error { return view(p.one.ID)(ctx, 100+i) }); made != 1 {
		t.Errorf("one View was deleted, and %d made", made)
	}
	open, err := p.invitations.List(t.Context(), p.one.ID, 100, 0)
	fatal(t, err)
	_, err = p.invitations.Revoke(t.Context(), p.one.ID, people.KeyActor, open[0].ID)
	fatal(t, err)
	if made := attemptsAtOnce(t, 3, most, func(ctx context.Context, i int) error { return invite(p.one.ID)(ctx, 100+i) }); made != 1 {
		t.Errorf("one invitation was revoked, and %d made", made)
	}
	// An expired invitation counts until it is replaced.
	p.now = p.now.Add(people.InvitationTTL)
	if made := attemptsAtOnce(t, 3, most, func(ctx context.Context, i int) error { return invite(p.one.ID)(ctx, 200+i) }); made != 0 {
		t.Errorf("beside %d expired invitations %d were made", most, made)
	}
	open, err = p.invitations.List(t.Context(), p.one.ID, 100, 0)
	fatal(t, err)
	_, err = p.invitations.Create(t.Context(), p.one.ID, people.KeyActor, open[0].Email, people.MemberRole)
	fatal(t, err)
}

// additionsOf upserts records in one call and returns how many were refused.
func (b *books) additionsOf(
	ctx context.Context, in workspace.ID, d catalog.Dataset, most int, at time.Time, records ...uuid.UUID,
) (refused int, err error) {
	changes := make([]book.OverlayUpsert, len(records))
	for i, r := range records {
		changes[i] = b.change(r, "s")
		if d != catalog.Accounts {
			changes[i].Fresh.Trend = ""
		}
	}
	outcomes, err := b.store.UpsertOverlays(ctx, in, d, changes, book.Additions{Most: most, At: at})
	for i, o := range outcomes {
		if o.Refused {
			refused++
		} else if err == nil && o.Overlay.Record != records[i] {
			return refused, fmt.Errorf("the outcome of %v is of %v", records[i], o.Overlay.Record)
		}
	}
	return refused, err
}

func newRecords(n int) []uuid.UUID {
	ids := make([]uuid.UUID, n)
	for i := range ids {
		ids[i] = uuid.New()
	}
	return ids
}

func TestBookAdditions(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	ctx, in := t.Context(), b.one.ID
	const most = 10
	now := b.now
	add := func(name string, want int, d catalog.Dataset, records ...uuid.UUID) {
		t.Helper()
		if refused, err := b.additionsOf(ctx, in, d, most, now, records...); err != nil || refused != want {
			t.Errorf("%s: %d of %d were refused, want %d: %v", name, refused, len(records), want, err)
		}
	}
	rows := func(table string) (n int) {
		t.Helper()
		fatal(t, b.system.Pool().QueryRow(ctx, `SELECT count(*) FROM `+table+` WHERE workspace_id = $1`, in.String()).Scan(&n))
		return n
	}
	accounts, projects := newRecords(8), newRecords(6)
	add("eight accounts, each twice", 0, catalog.Accounts, append(accounts, accounts...)...)
	add("six projects", 4, catalog.Projects, projects...)
	if o, h := rows("overlays"), rows("held_records"); o != most || h != most {
		t.Errorf("%d overlays and %d held records, want %d: what is refused leaves nothing", o, h, most)
	}
	// The first records were added. Records in the book can be changed, also in one
	// call with records that cannot be added.
	add("all again", 5, catalog.Projects, append(projects, projects[5])...)
	add("accounts", 0, catalog.Accounts, accounts...)
	// A record that is removed and re-added counts twice.
	fatal(t, takeOut(ctx, b.store, in, catalog.Accounts, accounts[:2]))
	add("what was taken out", 2, catalog.Accounts, accounts[:2]...)
	// Another workspace has its own count.
	if refused, err := b.additionsOf(ctx, b.two.ID, catalog.Accounts, most, now, newRecords(10)...); err != nil || refused != 0 {
		t.Errorf("another workspace: %d, %v", refused, err)
	}
	now = now.Add(workspace.AdditionWindow - time.Millisecond)
	add("just before a day has passed", 1, catalog.Accounts, newRecords(1)...)
	now = b.now.Add(workspace.AdditionWindow + 20*time.Minute)
	add("a day later", 2, catalog.Accounts, newRecords(12)...)
	if n := rows("book_additions"); n != 1 {
		t.Errorf("%d spans are kept", n)
	}
}

func TestBookAdditionsHoldAtOnce(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	in := b.one.ID
	const most, calls, each = 50, 24, 7
	refusals := make([]int, calls)
	var group sync.WaitGroup
	for i := range calls {
		group.Go(func() {
			d := []catalog.Dataset{catalog.Accounts, catalog.Contacts, catalog.Projects}[i%3]
			var err error
			if refusals[i], err = b.additionsOf(t.Context(), in, d, most, b.now, newRecords(each)...); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	refused := 0
	for _, n := range refusals {
		refused += n
	}
	var overlays, counted int
	fatal(t, b.system.Pool().QueryRow(t.Context(), `
		SELECT (SELECT count(*) FROM overlays WHERE workspace_id = $1), (SELECT sum(added) FROM book_additions WHERE workspace_id = $1)`,
		in.String()).Scan(&overlays, &counted))
	if overlays != most || counted != most || refused != calls*each-most {
		t.Errorf("%d in the book, %d counted, %d refused; want %d, %d, %d", overlays, counted, refused, most, most, calls*each-most)
	}
}

// The records of a failed transaction do not count.
func TestAFailedUpsertIsNotCounted(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	bad := b.change(uuid.New(), "s")
	bad.Fresh.Values["tags"] = make([]string, 51)
	_, err := b.store.UpsertOverlays(
		t.Context(), b.one.ID, catalog.Accounts, []book.OverlayUpsert{b.change(uuid.New(), "s"), bad}, b.additions(),
	)
	if err == nil {
		t.Fatal("stored")
	}
	var n int
	err = b.system.Pool().QueryRow(t.Context(), `SELECT count(*) FROM book_additions WHERE workspace_id = $1`, b.one.ID.String()).Scan(&n)
	fatal(t, err)
	if n != 0 {
		t.Errorf("%d spans", n)
	}
}
