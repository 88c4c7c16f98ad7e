package postgres_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/jobs"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
)

// sendDue does all due jobs of invitations, and returns the addresses of the e-mails.
func (p *peopleFixture) sendDue(t *testing.T, daily int) (to []string) {
	t.Helper()
	ctx := t.Context()
	for {
		lanes, err := p.system.DueLanes(ctx, people.InvitationKind, p.now, uuid.UUID{}, 10)
		fatal(t, err)
		var claims []jobs.LaneClaim
		for _, lane := range lanes {
			claims = append(claims, jobs.LaneClaim{Lane: lane, Limit: 100})
		}
		claimed, err := p.system.ClaimJobs(ctx, people.InvitationKind, claims, p.now, p.now.Add(time.Hour))
		fatal(t, err)
		if len(claimed) == 0 {
			return to
		}
		for _, j := range claimed {
			ended := jobs.Ended{Job: j, State: jobs.Done, RunAt: p.now, At: p.now}
			e, later, err := p.system.InvitationEmail(ctx, j.Workspace, people.InvitationID(j.ID), p.now, daily)
			switch {
			case fault.CodeOf(err) == fault.NotFound:
			case err != nil:
				t.Fatal(err)
			case !later.IsZero():
				ended.State, ended.RunAt = jobs.Pending, later
			default:
				to = append(to, e.Email)
			}
			fatal(t, p.system.EndJobs(ctx, []jobs.Ended{ended}))
		}
	}
}

func (p *peopleFixture) schedule(t *testing.T, in workspace.ID, email string) people.CreatedInvitation {
	t.Helper()
	made, err := p.invitations.Create(t.Context(), in, people.KeyActor, email, people.MemberRole)
	fatal(t, err)
	return made
}

func wantSchedule(t *testing.T, name string, got people.EmailSchedule, status people.EmailStatus, at time.Time, pacedBy string) {
	t.Helper()
	if got.Status != status || got.PacedBy != pacedBy || (got.At == nil) != at.IsZero() || got.At != nil && !got.At.Equal(at) {
		t.Errorf("%s: %+v at %v, want %s at %v by %q", name, got, got.At, status, at, pacedBy)
	}
}

func TestEmailsOfAWorkspaceArePaced(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	p.invitations.Limits = workspace.Limits{EmailsHourly: 3, EmailsDaily: 3}
	begin := p.now
	var made []people.CreatedInvitation
	for i := range 8 {
		made = append(made, p.schedule(t, p.one.ID, fmt.Sprintf("n%d@example.com", i)))
		hours := time.Duration(i / 3)
		status, by := people.EmailDelayed, people.PacedByWorkspace
		if hours == 0 {
			status, by = people.EmailDue, ""
		}
		wantSchedule(t, fmt.Sprint(i), made[i].Email, status, begin.Add(hours*time.Hour), by)
	}
	// The rate of another workspace is independent.
	wantSchedule(t, "another workspace", p.schedule(t, p.two.ID, "o@example.com").Email, people.EmailDue, begin, "")
	counts, err := p.system.CountJobs(t.Context(), postgres.JobFilter{Kind: "invitation", Workspace: p.one.ID}, begin)
	if err != nil || len(counts) != 1 || counts[0].State != jobs.Pending || counts[0].Count != 8 || counts[0].Due != 3 ||
		!counts[0].Late.Equal(begin) {
		t.Errorf("%+v, %v", counts, err)
	}
	for hour, want := range []int{4, 3, 2} {
		p.now = begin.Add(time.Duration(hour)*time.Hour - time.Millisecond)
		if hour > 0 {
			if sent := p.sendDue(t, 3); len(sent) != 0 {
				t.Errorf("before hour %d: %v", hour, sent)
			}
		}
		p.now = begin.Add(time.Duration(hour) * time.Hour)
		if sent := p.sendDue(t, 3); len(sent) != want {
			t.Errorf("in hour %d: %v", hour, sent)
		}
	}
	// An e-mail that was sent counts, also when its invitation was revoked. One that was
	// not sent no longer counts.
	for _, i := range made {
		_, err := p.invitations.Revoke(t.Context(), p.one.ID, people.KeyActor, i.Invitation.ID)
		fatal(t, err)
	}
	wantSchedule(t, "beside two of this hour", p.schedule(t, p.one.ID, "x0@example.com").Email, people.EmailDue, p.now, "")
	unsent := p.schedule(t, p.one.ID, "x1@example.com")
	wantSchedule(t, "beside three", unsent.Email, people.EmailDelayed, p.now.Add(time.Hour), people.PacedByWorkspace)
	_, err = p.invitations.Revoke(t.Context(), p.one.ID, people.KeyActor, made[0].Invitation.ID)
	if err == nil {
		t.Error("revoked twice")
	}
	_, err = p.invitations.Revoke(t.Context(), p.one.ID, people.KeyActor, unsent.Invitation.ID)
	fatal(t, err)
	for i := range 3 {
		next := p.schedule(t, p.one.ID, fmt.Sprintf("y%d@example.com", i))
		wantSchedule(t, "at the time that became free", next.Email, people.EmailDelayed, p.now.Add(time.Hour), people.PacedByWorkspace)
		_, err = p.invitations.Revoke(t.Context(), p.one.ID, people.KeyActor, next.Invitation.ID)
		fatal(t, err)
	}
}

func TestEmailsScheduledConcurrently(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	const hourly, emails = 5, 23
	p.invitations.Limits = workspace.Limits{EmailsHourly: hourly}
	schedules := make([]people.EmailSchedule, emails)
	var group sync.WaitGroup
	for i := range schedules {
		group.Go(func() {
			made, err := p.invitations.Create(t.Context(), p.one.ID, people.KeyActor, fmt.Sprintf("n%d@example.com", i), people.MemberRole)
			if err != nil {
				t.Error(err)
			}
			schedules[i] = made.Email
		})
	}
	group.Wait()
	in := map[time.Time]int{}
	for _, schedule := range schedules {
		in[schedule.At.UTC()]++
	}
	for hour := range 5 {
		want := min(hourly, emails-hour*hourly)
		if got := in[p.now.Add(time.Duration(hour)*time.Hour)]; got != want {
			t.Errorf("hour %d has %d e-mails, want %d", hour, got, want)
		}
	}
}

func TestEmailsToAnAddressArePaced(t *testing.T) {
	t.Parallel()
	p := newPeople(t)
	const daily = 2
	p.invitations.Limits = workspace.Limits{EmailsDaily: daily}
	begin := p.now
	revoke := func(i people.CreatedInvitation, in workspace.ID) {
		t.Helper()
		_, err := p.invitations.Revoke(t.Context(), in, people.KeyActor, i.Invitation.ID)
		fatal(t, err)
	}
	sent := 0
	for n := range 20 {
		p.now = begin.Add(time.Duration(n) * time.Minute)
		made := p.schedule(t, p.one.ID, "Ann@example.com")
		switch {
		case n < daily:
			wantSchedule(t, "at first", made.Email, people.EmailDue, p.now, "")
		default:
			wantSchedule(t, "then", made.Email, people.EmailDelayed, begin.Add(people.AddressEmailWindow), people.PacedByAddress)
		}
		sent += len(p.sendDue(t, daily))
		revoke(made, p.one.ID)
	}
	if sent != daily {
		t.Errorf("%d e-mails were sent, want %d", sent, daily)
	}
	// Another workspace does not learn of it, but its e-mail waits.
	other := p.schedule(t, p.two.ID, "ann@EXAMPLE.com")
	wantSchedule(t, "of another workspace", other.Email, people.EmailDue, p.now, "")
	if to := p.sendDue(t, daily); len(to) != 0 {
		t.Errorf("emails to %v", to)
	}
	p.now = begin.Add(people.AddressEmailWindow)
	if to := p.sendDue(t, daily); len(to) != 1 {
		t.Errorf("a day later: emails to %v", to)
	}
	// An e-mail that would come after the invitation expires is never sent.
	revoke(other, p.two.ID)
	wantSchedule(t, "the second of that day", p.schedule(t, p.one.ID, "ann@example.com").Email, people.EmailDue, p.now, "")
	late := p.schedule(t, p.two.ID, "ann@example.com")
	_, err := p.system.Pool().Exec(
		t.Context(), `UPDATE invitations SET expires_at = $1 WHERE id = $2`, p.now.Add(time.Minute),
		late.Invitation.ID.String(),
	)
	fatal(t, err)
	for range 3 {
		p.sendDue(t, daily)
	}
	var waiting int
	fatal(t, p.system.Pool().QueryRow(t.Context(), `
		SELECT count(*) FROM invitations WHERE id = $1 AND (letter_at IS NOT NULL OR sent_at IS NOT NULL)`,
		late.Invitation.ID.String()).Scan(&waiting))
	if waiting != 0 {
		t.Error("an e-mail that is too late counts for the rates")
	}
	p.now = p.now.Add(people.AddressEmailWindow)
	if to := p.sendDue(t, daily); len(to) != 1 {
		t.Errorf("beside the second of that day: e-mails to %v", to)
	}
}
