package delivery_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"mime/quotedprintable"
	netmail "net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"atlas/internal/mail"
	"atlas/internal/mail/mailtest"
	"atlas/service/delivery"
	"atlas/workspace"
	"atlas/workspace/jobs"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
)

const linkKey = "a key of the servers"

// inviting is a workspace that invites by e-mail.
type inviting struct {
	*world
	links       *people.InvitationLinks
	invitations *people.Invitations
	log         logs
}

// logs collects what is logged.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newInviting(t *testing.T) *inviting {
	t.Helper()
	w := newWorld(t)
	links, err := people.NewInvitationLinks("https://app.example/join", []byte(linkKey))
	fatal(t, err)
	return &inviting{world: w, links: links, invitations: &people.Invitations{
		Store: w.databases.OpenApp(t, postgres.Options{MaxConns: 2}), Acceptances: w.system, Links: links, Now: w.now, Emails: true,
	}}
}

// mail runs the jobs of invitations until the test ends.
func (w *inviting) mail(t *testing.T, url string) {
	t.Helper()
	post, err := mail.NewPost(mail.Config{URL: url, From: "Atlas <no-reply@atlas.example>"})
	fatal(t, err)
	w.run(t, delivery.Invitations{
		Emails: w.system, Links: w.links, Post: post, Daily: workspace.DefaultLimits.EmailsDaily, Now: w.now,
		Log: slog.New(slog.NewTextHandler(&w.log, nil)),
	}.Handler())
}

func (w *inviting) invite(t *testing.T, email string) people.CreatedInvitation {
	t.Helper()
	made, err := w.invitations.Create(t.Context(), w.in, people.KeyActor, email, people.Admin)
	fatal(t, err)
	return made
}

// until waits until the job of an invitation has had attempts and is in a state.
func (w *inviting) until(t *testing.T, i people.CreatedInvitation, s jobs.State, attempts int) jobs.Job {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		all, err := w.system.Jobs(t.Context(), postgres.JobFilter{ID: jobs.ID(i.Invitation.ID)}, 1)
		fatal(t, err)
		if len(all) == 1 && all[0].State == s && all[0].Attempts == attempts && all[0].Lease() == (jobs.Job{}).Lease() {
			return all[0]
		}
		if time.Now().After(deadline) {
			t.Fatalf("never %s after %d attempts: %+v\n%s", s, attempts, all, &w.log)
		}
	}
}

// read parses an e-mail.
func read(t *testing.T, e mailtest.Event) (subject, id, body string) {
	t.Helper()
	m, err := netmail.ReadMessage(strings.NewReader(e.Data))
	fatal(t, err)
	subject, err = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	fatal(t, err)
	var r io.Reader = m.Body
	if m.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
		r = quotedprintable.NewReader(r)
	}
	text, err := io.ReadAll(r)
	fatal(t, err)
	return subject, m.Header.Get("Message-ID"), string(text)
}

func TestInvitationIsMailed(t *testing.T) {
	t.Parallel()
	w := newInviting(t)
	s := mailtest.Start(t, mailtest.Behaviour{})
	w.mail(t, s.URL())
	made := w.invite(t, "ann@example.com")
	s.Next(t, "rcpt")
	email := s.Next(t, "email")
	subject, id, body := read(t, email)
	if email.To != "ann@example.com" || email.From != "no-reply@atlas.example" || subject != "You are invited to One on Atlas" ||
		!strings.Contains(body, made.Link) || !strings.Contains(body, "as an admin") ||
		!strings.Contains(body, made.Invitation.ExpiresAt.Format("2 January 2006, 15:04 UTC")) ||
		id != "<"+made.Invitation.ID.String()+"@atlas.example>" {
		t.Errorf("e-mail %+v\n%s %s\n%s", email, subject, id, body)
	}
	w.until(t, made, jobs.Done, 1)
	// The link in the e-mail works.
	_, token, _ := strings.Cut(made.Link, "token=")
	_, _, err := w.invitations.Accept(t.Context(), token, people.Invitee{
		ID: workspace.NewUserID(), Email: "ann@example.com", EmailVerified: true, Name: "Ann",
	})
	fatal(t, err)
	if strings.Contains(w.log.String(), token) {
		t.Errorf("the token was logged:\n%s", &w.log)
	}
}

// An e-mail is retried until the invitation expires, each time with the same link.
func TestInvitationIsMailedAgain(t *testing.T) {
	t.Parallel()
	w := newInviting(t)
	s := mailtest.Start(t, mailtest.Behaviour{Greylist: 2})
	w.mail(t, s.URL())
	made := w.invite(t, "ann@example.com")
	for attempt, pause := range []time.Duration{30 * time.Second, time.Minute} {
		s.Next(t, "rcpt")
		j := w.until(t, made, jobs.Pending, attempt+1)
		if wait := j.RunAt.Sub(w.now()); wait > pause+pause/10 || wait < pause-20*time.Second {
			t.Errorf("attempt %d: again in %v", attempt+1, wait)
		}
		w.move(pause + pause/10)
	}
	s.Next(t, "rcpt")
	if _, _, body := read(t, s.Next(t, "email")); !strings.Contains(body, made.Link) {
		t.Errorf("another link than %s:\n%s", made.Link, body)
	}
	w.until(t, made, jobs.Done, 3)
	s.Quiet(t)
	var tried time.Duration
	for _, pause := range (delivery.Invitations{}).Handler().Pauses {
		tried += pause
	}
	if tried < people.InvitationTTL {
		t.Errorf("it is tried for %v", tried)
	}
}

func TestInvitationCannotBeMailed(t *testing.T) {
	t.Parallel()
	w := newInviting(t)
	s := mailtest.Start(t, mailtest.Behaviour{Reject: true})
	w.mail(t, s.URL())
	made := w.invite(t, "nobody@example.com")
	s.Next(t, "rcpt")
	w.until(t, made, jobs.Failed, 1)
	if _, token, _ := strings.Cut(made.Link, "token="); strings.Contains(w.log.String(), token) ||
		!strings.Contains(w.log.String(), "no such mailbox") {
		t.Errorf("logged:\n%s", &w.log)
	}
	// The key of its link was removed.
	var err error
	w.invitations.Links, err = people.NewInvitationLinks("https://app.example/join", []byte("a key that is removed"))
	fatal(t, err)
	w.until(t, w.invite(t, "ann@example.com"), jobs.Failed, 1)
	s.Quiet(t)
}

// The e-mails to one address are limited per day, even if the address is invited and
// revoked repeatedly. The e-mails of a workspace are limited per hour.
func TestInvitationsAreLimited(t *testing.T) {
	t.Parallel()
	w := newInviting(t)
	s := mailtest.Start(t, mailtest.Behaviour{})
	w.mail(t, s.URL())
	w.invitations.Limits = workspace.Limits{EmailsHourly: 5}
	for n := range 20 {
		made := w.invite(t, "ann@example.com")
		if n < workspace.DefaultLimits.EmailsDaily {
			w.until(t, made, jobs.Done, 1)
			s.Next(t, "rcpt")
			s.Next(t, "email")
		}
		_, err := w.invitations.Revoke(t.Context(), w.in, people.KeyActor, made.Invitation.ID)
		fatal(t, err)
	}
	// The limit of an address is over all workspaces. Nothing failed.
	elsewhere, err := w.invitations.Create(t.Context(), w.workspace(t, "Other"), people.KeyActor, "ann@example.com", people.MemberRole)
	fatal(t, err)
	if j := w.until(t, elsewhere, jobs.Pending, 1); j.Error != "" || j.RunAt.Sub(w.now()) < 23*time.Hour {
		t.Errorf("%+v", j)
	}
	// Two more in this hour: three of the five went to ann.
	var all []people.CreatedInvitation
	for n := range 4 {
		all = append(all, w.invite(t, fmt.Sprintf("n%d@example.com", n)))
		if n < 2 {
			w.until(t, all[n], jobs.Done, 1)
		}
	}
	w.until(t, all[2], jobs.Pending, 0)
	w.move(people.WorkspaceEmailWindow)
	w.until(t, all[2], jobs.Done, 1)
	w.until(t, all[3], jobs.Done, 1)
	seen := map[string]int{}
	for range 2 * len(all) { // several at once
		seen[s.Any(t).Kind]++
	}
	if seen["email"] != len(all) {
		t.Errorf("%v", seen)
	}
	s.Quiet(t)
}

// A server is killed after it began to send an e-mail and before the mail server accepted
// it. Another server sends the e-mail with the same link when the lease ends.
func TestKilledMailerLosesNothing(t *testing.T) {
	t.Parallel()
	w := newInviting(t)
	s := mailtest.Start(t, mailtest.Behaviour{Hang: 1})
	made := w.invite(t, "ann@example.com")
	process := w.startProcess(t, runAsMailer, mailerSpec{w.databases.System, s.URL()})
	s.Next(t, "rcpt")
	s.Next(t, "hang")
	fatal(t, process.Process.Kill())
	_ = process.Wait() // it says that it was killed
	w.mail(t, s.URL())
	// Another e-mail shows that the second server has looked for jobs.
	w.until(t, w.invite(t, "other@example.com"), jobs.Done, 1)
	s.Next(t, "rcpt")
	if to := s.Next(t, "email").To; to != "other@example.com" {
		t.Errorf("an e-mail to %s", to)
	}
	w.move(2 * time.Minute)
	w.until(t, made, jobs.Done, 1)
	s.Next(t, "rcpt")
	if _, _, body := read(t, s.Next(t, "email")); !strings.Contains(body, made.Link) {
		t.Errorf("another link than %s:\n%s", made.Link, body)
	}
	s.Quiet(t)
}

// runAsMailer makes the test binary mail invitations until it is killed.
const runAsMailer = "ATLAS_TEST_RUN_AS_MAILER"

type mailerSpec struct{ System, SMTP string }

func mailUntilKilled(spec string) {
	var s mailerSpec
	must(json.Unmarshal([]byte(spec), &s))
	links, err := people.NewInvitationLinks("https://app.example/join", []byte(linkKey))
	must(err)
	post, err := mail.NewPost(mail.Config{URL: s.SMTP, From: "Atlas <no-reply@atlas.example>"})
	must(err)
	runUntilKilled(s.System, func(system *postgres.System) jobs.Handler {
		return delivery.Invitations{Emails: system, Links: links, Post: post, Daily: 3, Log: slog.New(slog.DiscardHandler)}.Handler()
	}, 0)
}
