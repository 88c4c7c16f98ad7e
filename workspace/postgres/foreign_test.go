package postgres_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/people"
	"atlas/workspace/skills"
	"atlas/workspace/subscriptions"
)

// No method of the store reads or changes data of another workspace, and none works
// without a workspace.
func TestForeignWorkspaceGetsNothingOfPeople(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	setUp := t.Context()
	one, two := p.one.ID, p.two.ID
	owner := p.members[one][0]
	invitation, _ := p.invite(t, one, "ann@example.com")
	subscription, err := p.subscriptions.Upsert(setUp, one, subscriptions.Change{SignalType: "permit_issued"})
	fatal(t, err)
	skill, err := p.skills.Create(setUp, one, owner.ID, skills.NewSkill{
		Scope: skills.WorkspaceSkill, Name: "S", Description: "D", Content: "C",
	})
	fatal(t, err)
	_, err = p.skills.Create(setUp, one, owner.ID, skills.NewSkill{Scope: skills.PersonalSkill, Name: "P", Description: "D", Content: "C"})
	fatal(t, err)
	everything := func() (out []string) {
		t.Helper()
		rows, err := p.system.Pool().Query(setUp, `
			SELECT m::text FROM members m WHERE workspace_id = $1 UNION ALL SELECT i::text FROM invitations i WHERE workspace_id = $1
			UNION ALL SELECT s::text FROM signal_subscriptions s WHERE workspace_id = $1 UNION ALL SELECT k::text FROM skills k WHERE workspace_id = $1
			ORDER BY 1`, one.String())
		fatal(t, err)
		out, err = pgx.CollectRows(rows, pgx.RowTo[string])
		fatal(t, err)
		return out
	}
	before := everything()
	if len(before) != 6 {
		t.Fatalf("%d rows to keep", len(before))
	}
	allow := func(people.LockedMembers) error { return nil }
	type outcome struct {
		found int
		err   error
	}
	calls := map[string]struct {
		code fault.Code // in a foreign workspace
		call func(context.Context, workspace.ID) outcome
	}{
		"Members": {"", func(ctx context.Context, in workspace.ID) outcome {
			all, err := p.store.Members(ctx, in, 100, 0)
			n := 0
			for _, m := range all {
				if m.ID == owner.ID {
					n++
				}
			}
			return outcome{n, err}
		}},
		"ChangeRole": {fault.NotFound, func(ctx context.Context, in workspace.ID) outcome {
			_, err := p.store.ChangeRole(ctx, in, people.OperatorActor, owner.ID, people.MemberRole, func(s people.LockedMembers) error {
				if s.Target == "" {
					return fault.New(fault.NotFound, "no member")
				}
				return nil
			})
			return outcome{0, err}
		}},
		"RemoveMember": {"", func(ctx context.Context, in workspace.ID) outcome {
			removed, err := p.store.RemoveMember(ctx, in, people.OperatorActor, owner.ID, allow)
			if removed {
				return outcome{1, err}
			}
			return outcome{0, err}
		}},
		"SignOutMember": {fault.NotFound, func(ctx context.Context, in workspace.ID) outcome {
			return outcome{0, p.store.SignOutMember(ctx, in, people.OperatorActor, owner.ID, func(l people.LockedMembers) error {
				if l.Target == "" {
					return fault.New(fault.NotFound, "no member")
				}
				return nil
			})}
		}},
		"Invitations": {"", func(ctx context.Context, in workspace.ID) outcome {
			all, err := p.store.Invitations(ctx, in, 100, 0)
			return outcome{len(all), err}
		}},
		"InsertInvitation": {"", func(ctx context.Context, in workspace.ID) outcome {
			// The open invitation of another workspace is no conflict.
			r := people.InvitationRecord{Invitation: invitation}
			r.ID = people.InvitationID(workspace.NewID())
			_, err := p.store.InsertInvitation(ctx, in, people.OperatorActor, r, workspace.DefaultLimits, allow)
			if err == nil {
				_, err = p.store.RevokeInvitation(ctx, in, people.OperatorActor, r.ID, time.Now(), allow)
			}
			return outcome{0, err}
		}},
		"RevokeInvitation": {fault.NotFound, func(ctx context.Context, in workspace.ID) outcome {
			_, err := p.store.RevokeInvitation(ctx, in, people.OperatorActor, invitation.ID, time.Now(), allow)
			return outcome{0, err}
		}},
		"Subscriptions": {"", func(ctx context.Context, in workspace.ID) outcome {
			all, err := p.store.Subscriptions(ctx, in, 100, 0)
			return outcome{len(all), err}
		}},
		"UpsertSubscription": {"", func(ctx context.Context, in workspace.ID) outcome {
			s := subscription
			s.ID = subscriptions.ID(workspace.NewID())
			made, err := p.store.UpsertSubscription(ctx, in, s, subscriptions.Change{SignalType: s.SignalType, Frequency: "weekly"})
			if err == nil && made.ID != s.ID {
				return outcome{1, err} // it changed the row of the other workspace
			}
			if err == nil {
				err = p.store.DeleteSubscription(ctx, in, s.ID)
			}
			return outcome{0, err}
		}},
		"DeleteSubscription": {"", func(ctx context.Context, in workspace.ID) outcome {
			return outcome{0, p.store.DeleteSubscription(ctx, in, subscription.ID)}
		}},
		"Skills": {"", func(ctx context.Context, in workspace.ID) outcome {
			all, err := p.store.Skills(ctx, in, skills.Filter{Viewer: owner.ID, Limit: 100})
			return outcome{len(all), err}
		}},
		"SkillBySlug": {fault.SkillNotFound, func(ctx context.Context, in workspace.ID) outcome {
			_, err := p.store.SkillBySlug(ctx, in, owner.ID, skill.Scope, skill.Slug)
			return outcome{0, err}
		}},
		"InsertSkill": {"", func(ctx context.Context, in workspace.ID) outcome {
			k := skill // the id exists in another workspace: the primary key begins with the workspace
			if in.IsZero() {
				return outcome{0, p.store.InsertSkill(ctx, in, k, 10)}
			}
			if err := p.store.InsertSkill(ctx, in, k, 10); err != nil {
				return outcome{1, err}
			}
			if _, err := p.system.Pool().Exec(ctx, `DELETE FROM skills WHERE workspace_id = $1`, in.String()); err != nil {
				return outcome{1, err}
			}
			return outcome{0, nil}
		}},
	}
	for name, c := range calls {
		if o := c.call(setUp, workspace.ID{}); fault.CodeOf(o.err) != fault.Internal {
			t.Errorf("%s without a workspace: %v", name, o.err)
		}
		o := c.call(setUp, two)
		wantCode(t, name+" in a foreign workspace", o.err, c.code)
		if o.found != 0 {
			t.Errorf("%s in a foreign workspace found %d", name, o.found)
		}
		if diff := cmp.Diff(before, everything()); diff != "" {
			t.Fatalf("%s in a foreign workspace changed something (-before +after):\n%s", name, diff)
		}
	}

	// Every method needs a row here or in TestAnotherWorkspaceGetsNothing.
	elsewhere := map[string]bool{"Summary": true, "CountAll": true, "InWorkspace": true}
	store := reflect.TypeFor[interface {
		people.MemberStore
		people.InvitationStore
		subscriptions.Store
		skills.Store
	}]()
	for i := range store.NumMethod() {
		name := store.Method(i).Name
		if _, ok := calls[name]; !ok && !elsewhere[name] {
			t.Errorf("%s has no row", name)
		}
	}
}

// Row-level security alone isolates workspaces: no statement here has a condition.
func TestPoliciesOfPeople(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	ctx := t.Context()
	one, two := p.one.ID, p.two.ID
	for _, in := range []workspace.ID{one, two} {
		owner := p.members[in][0].ID
		p.invite(t, in, "ann@example.com")
		_, err := p.subscriptions.Upsert(ctx, in, subscriptions.Change{SignalType: "permit_issued"})
		fatal(t, err)
		_, err = p.skills.Create(ctx, in, owner, skills.NewSkill{Scope: skills.WorkspaceSkill, Name: "S", Description: "D", Content: "C"})
		fatal(t, err)
	}
	for table, changing := range map[string][]string{
		"invitations": {`UPDATE invitations SET revoked_at = now()`},
		"signal_subscriptions": {
			`UPDATE signal_subscriptions SET frequency = 'weekly'`, `DELETE FROM signal_subscriptions`,
		},
		"skills": nil,
	} {
		var n int
		fatal(t, p.system.Pool().QueryRow(ctx, `SELECT count(*) FROM `+table).Scan(&n))
		if n != 2 {
			t.Errorf("system sees %d of %s, want 2", n, table)
		}
		count := func(name string, in workspace.ID, want int) {
			t.Helper()
			if n, err := p.app.CountAll(ctx, in, table); err != nil || n != want {
				t.Errorf("%s sees %d of %s, %v", name, n, table, err)
			}
			// The same connection, whose setting is now an empty string.
			fatal(t, p.app.Pool().QueryRow(ctx, `SELECT count(*) FROM `+table).Scan(&n))
			if n != 0 {
				t.Errorf("with nothing named, the application sees %d of %s", n, table)
			}
		}
		count("a workspace", one, 1)
		count("an unknown one", workspace.NewID(), 0)
		err := p.app.InWorkspace(ctx, one, func(tx pgx.Tx) error {
			var columns string
			if err := tx.QueryRow(ctx, `SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns
				WHERE table_name = $1 AND column_name <> 'workspace_id'`, table).Scan(&columns); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, `INSERT INTO `+table+` (workspace_id, `+columns+`) SELECT '`+two.String()+`', `+columns+` FROM `+table)
			return err
		})
		var refusal *pgconn.PgError
		if !errors.As(err, &refusal) || refusal.Code != "42501" {
			t.Errorf("a row of %s was put into another workspace: %v", table, err)
		}
		for _, sql := range changing {
			fatal(t, p.app.InWorkspace(ctx, one, func(tx pgx.Tx) error {
				tag, err := tx.Exec(ctx, sql)
				if tag.RowsAffected() != 1 {
					t.Errorf("%s changed %d rows, want its own 1", sql, tag.RowsAffected())
				}
				return err
			}))
		}
		count("the other", two, 1)
	}
	// The application has no rights that it does not use.
	for _, sql := range []string{`DELETE FROM invitations`, `UPDATE skills SET status = 'published'`, `DELETE FROM skills`} {
		err := p.app.InWorkspace(ctx, one, func(tx pgx.Tx) error { _, err := tx.Exec(ctx, sql); return err })
		wantCode(t, sql, err, fault.Internal)
	}
}
