package mail_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"mime/quotedprintable"
	netmail "net/mail"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"atlas/internal/devstack/backends"
	"atlas/internal/mail"
	"atlas/workspace"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
)

func TestMain(m *testing.M) {
	if spec := os.Getenv(serverEnv); spec != "" {
		os.Exit(serveSMTP(spec))
	}
	if spec := os.Getenv(mailerEnv); spec != "" {
		os.Exit(runMailer(spec))
	}
	backends.Prepare()
	goleak.VerifyTestMain(m)
}

func fatal(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const (
	linkKey = "a key of the servers"
	from    = "Atlas <no-reply@atlas.example>"
)

// fixture is a workspace that invites, and its clock.
type fixture struct {
	databases   *pgtest.Databases
	db          *pgx.Conn // past all policies
	system      *postgres.System
	in          workspace.ID
	links       *people.InvitationLinks
	invitations *people.Invitations
	logs        *logs

	mu  sync.Mutex
	now time.Time
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

func newFixture(t *testing.T) *fixture {
	t.Helper()
	d := pgtest.New(t)
	o := &fixture{
		databases: d, system: d.OpenSystem(t, postgres.Options{MaxConns: 4}), logs: &logs{},
		now: time.Date(2026, 4, 1, 8, 0, 0, 0, time.UTC),
	}
	var err error
	o.db, err = pgx.Connect(t.Context(), d.Admin)
	fatal(t, err)
	t.Cleanup(func() { _ = o.db.Close(context.Background()) })
	directory := people.NewDirectory(o.system, o.clock)
	w, err := directory.CreateWorkspace(t.Context(), "Bau & Söhne", workspace.Pro, 0)
	fatal(t, err)
	o.in = w.ID
	o.links, err = people.NewInvitationLinks("https://app.example/join", []byte(linkKey))
	fatal(t, err)
	o.invitations = &people.Invitations{
		Store: d.OpenApp(t, postgres.Options{MaxConns: 4}), Acceptances: o.system, Links: o.links, Now: o.clock, EmailQueued: func() {},
	}
	return o
}

func (o *fixture) clock() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.now
}

func (o *fixture) move(by time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now = o.now.Add(by)
}

// mailer is a running one.
type mailer struct {
	*mail.Mailer
	stop func()
}

// mail starts a mailer, which ends with the test if not before.
func (o *fixture) mail(t *testing.T, url string) mailer {
	t.Helper()
	m, err := mail.New(mail.Config{URL: url, From: from}, o.system, o.links, mail.Options{
		Now: o.clock, Log: slog.New(slog.NewTextHandler(o.logs, nil)),
	})
	fatal(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); m.Run(ctx) }()
	stop := func() { cancel(); <-done }
	t.Cleanup(stop)
	o.invitations.EmailQueued = m.Wake
	return mailer{m, stop}
}

func (o *fixture) invite(t *testing.T, email string) (people.Invitation, string) {
	t.Helper()
	made, err := o.invitations.Create(t.Context(), o.in, people.KeyActor, email, people.Admin)
	fatal(t, err)
	return made.Invitation, made.Link
}

// state is the stored e-mail state of an invitation.
type state struct {
	sent, next, delivered *time.Time
	attempts              int
}

func (o *fixture) state(t *testing.T, i people.Invitation) (s state) {
	t.Helper()
	fatal(t, o.db.QueryRow(t.Context(), `
		SELECT sent_at, next_attempt_at, delivered_at, attempts FROM invitations WHERE workspace_id = $1 AND id = $2`,
		o.in.String(), i.ID.String()).Scan(&s.sent, &s.next, &s.delivered, &s.attempts))
	return s
}

// until waits for a state.
func (o *fixture) until(t *testing.T, i people.Invitation, name string, is func(state) bool) state {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		s := o.state(t, i)
		if is(s) {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("never %s: %+v\n%s", name, s, o.logs)
		}
	}
}

func delivered(s state) bool { return s.delivered != nil }

func plain(p *smtpProcess) string { return "smtp://" + p.address + "?tls=none" }

// read parses an e-mail.
func read(t *testing.T, e event) (subject, id, body string) {
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

func TestEmailIsDelivered(t *testing.T) {
	t.Parallel()
	o := newFixture(t)
	p := startSMTP(t, behaviour{})
	o.mail(t, plain(p))
	began := o.clock()
	i, link := o.invite(t, "ann@example.com")
	p.next(t, "rcpt")
	email := p.next(t, "email")
	subject, id, body := read(t, email)
	if email.To != "ann@example.com" || email.From != "no-reply@atlas.example" || subject != "You are invited to Bau & Söhne on Atlas" ||
		!strings.Contains(body, link) || !strings.Contains(body, "as an admin") || !strings.Contains(body, "8 April 2026, 08:00 UTC") ||
		id != "<"+i.ID.String()+"@atlas.example>" {
		t.Errorf("e-mail %+v\n%s %s\n%s", email, subject, id, body)
	}
	s := o.until(t, i, "delivered", delivered)
	if s.sent == nil || !s.sent.Equal(began) || s.next != nil || s.attempts != 1 {
		t.Errorf("state %+v", s)
	}
	// The link in the e-mail works.
	_, token, _ := strings.Cut(link, "token=")
	_, _, err := o.invitations.Accept(t.Context(), token, people.Invitee{ID: workspace.NewUserID(), Email: "ann@example.com", EmailVerified: true, Name: "Ann"})
	fatal(t, err)
	if strings.Contains(o.logs.String(), token) {
		t.Errorf("the token was logged:\n%s", o.logs)
	}
}

func TestEmailIsRetried(t *testing.T) {
	t.Parallel()
	o := newFixture(t)
	p := startSMTP(t, behaviour{Greylist: 2})
	m := o.mail(t, plain(p))
	began := o.clock()
	i, _ := o.invite(t, "ann@example.com")
	for attempt, pause := range []time.Duration{30 * time.Second, time.Minute} {
		p.next(t, "rcpt")
		s := o.until(t, i, "to be tried again", func(s state) bool { return s.next != nil && s.next.Sub(o.clock()) == pause })
		if s.attempts != attempt+1 || s.sent == nil || !s.sent.Equal(began) || s.delivered != nil {
			t.Errorf("attempt %d: %+v", attempt+1, s)
		}
		o.move(pause)
		m.Wake()
	}
	p.next(t, "rcpt")
	p.next(t, "email")
	s := o.until(t, i, "delivered", delivered)
	if s.attempts != 3 || !s.sent.Equal(began) || s.next != nil {
		t.Errorf("state %+v", s)
	}
	p.quiet(t)
}

func TestEmailIsGivenUp(t *testing.T) {
	t.Parallel()
	o := newFixture(t)
	p := startSMTP(t, behaviour{Reject: true})
	o.mail(t, plain(p))
	i, link := o.invite(t, "nobody@example.com")
	p.next(t, "rcpt")
	s := o.until(t, i, "given up", func(s state) bool { return s.next == nil })
	if s.delivered != nil || s.attempts != 1 || s.sent == nil {
		t.Errorf("state %+v", s)
	}
	if _, token, _ := strings.Cut(link, "token="); strings.Contains(o.logs.String(), token) || !strings.Contains(o.logs.String(), "no such mailbox") {
		t.Errorf("logged:\n%s", o.logs)
	}
}

func TestARequestDoesNotWaitForTheMailServer(t *testing.T) {
	t.Parallel()
	o := newFixture(t)
	p := startSMTP(t, behaviour{Hang: 1})
	o.mail(t, plain(p))
	first, _ := o.invite(t, "slow@example.com")
	p.next(t, "rcpt")
	p.next(t, "hang")
	// While the first e-mail hangs, others are invited, and read.
	second, _ := o.invite(t, "quick@example.com")
	if s := o.state(t, second); s.attempts != 0 || s.next == nil {
		t.Errorf("the second: %+v", s)
	}
	o.until(t, first, "given back", func(s state) bool { return s.next != nil && s.next.Sub(o.clock()) == 30*time.Second })
	p.next(t, "rcpt")
	if to := p.next(t, "email").To; to != "quick@example.com" {
		t.Errorf("an e-mail to %s", to)
	}
	o.until(t, second, "delivered", delivered)
}

func TestLogin(t *testing.T) {
	t.Parallel()
	o := newFixture(t)
	p := startSMTP(t, behaviour{Password: "s3cret/@:"})
	i, _ := o.invite(t, "ann@example.com")
	wrong := o.mail(t, "smtp://atlas:wrong@"+p.address+"?tls=none")
	// A rejected login is for the operator to fix: the e-mail is retried.
	o.until(t, i, "to be tried again", func(s state) bool { return s.next != nil && s.attempts == 1 && s.next.Sub(o.clock()) == 30*time.Second })
	wrong.stop()
	if strings.Contains(o.logs.String(), "wrong@") {
		t.Errorf("the password was logged:\n%s", o.logs)
	}
	o.move(30 * time.Second)
	o.mail(t, "smtp://atlas:s3cret%2F%40%3A@"+p.address+"?tls=none")
	p.next(t, "rcpt")
	p.next(t, "email")
	o.until(t, i, "delivered", delivered)
}

func TestSTARTTLSIsDemanded(t *testing.T) {
	t.Parallel()
	o := newFixture(t)
	p := startSMTP(t, behaviour{})
	o.mail(t, "smtp://"+p.address) // which does not offer TLS
	i, _ := o.invite(t, "ann@example.com")
	o.until(t, i, "tried", func(s state) bool { return s.attempts == 1 && s.next.Sub(o.clock()) == 30*time.Second })
	p.quiet(t)
	if !strings.Contains(o.logs.String(), "STARTTLS") {
		t.Errorf("logged:\n%s", o.logs)
	}
}

const mailerEnv = "ATLAS_TEST_MAILER"

// mailerSpec describes a mailer in its own process.
type mailerSpec struct {
	System, SMTP string
	Now          time.Time
}

func runMailer(spec string) int {
	var s mailerSpec
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx := context.Background()
	system, err := postgres.OpenSystem(ctx, s.System, postgres.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	links, err := people.NewInvitationLinks("https://app.example/join", []byte(linkKey))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	m, err := mail.New(mail.Config{URL: s.SMTP, From: from}, system, links, mail.Options{Now: func() time.Time { return s.Now }})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	m.Run(ctx)
	return 0
}

// A server is killed after it claimed an e-mail and before the mail server accepted it.
// Another server sends the e-mail with the same link when the claim expires.
func TestCrashLosesNoEmail(t *testing.T) {
	t.Parallel()
	o := newFixture(t)
	p := startSMTP(t, behaviour{Hang: 1})
	began := o.clock()
	i, link := o.invite(t, "ann@example.com")
	spec, err := json.Marshal(mailerSpec{o.databases.System, plain(p), began})
	fatal(t, err)
	kill := startProcess(t, mailerEnv+"="+string(spec), func([]byte) {})
	p.next(t, "rcpt")
	p.next(t, "hang")
	kill()
	s := o.state(t, i)
	if s.attempts != 1 || s.sent == nil || !s.sent.Equal(began) || s.delivered != nil || s.next == nil {
		t.Fatalf("after the crash: %+v", s)
	}
	o.move(s.next.Sub(began) - time.Millisecond)
	m := o.mail(t, plain(p))
	// Another due e-mail shows that the mailer has read the outbox.
	other, _ := o.invite(t, "other@example.com")
	p.next(t, "rcpt")
	p.next(t, "email")
	o.until(t, other, "delivered", delivered)
	if s := o.state(t, i); s.attempts != 1 {
		t.Errorf("a claimed e-mail was taken: %+v", s)
	}
	o.move(time.Millisecond)
	m.Wake()
	p.next(t, "rcpt")
	_, _, body := read(t, p.next(t, "email"))
	if !strings.Contains(body, link) {
		t.Errorf("another link than %s:\n%s", link, body)
	}
	s = o.until(t, i, "delivered", delivered)
	if s.attempts != 2 || !s.sent.Equal(began) {
		t.Errorf("state %+v", s)
	}
	p.quiet(t)
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"smtp://mail.example", "smtp://mail.example:2525", "smtp://u:p@mail.example?tls=starttls", "smtps://u:p@mail.example",
		"smtp://mail.example?tls=none", "smtp://u:p@127.0.0.1:25?tls=none", "smtp://u:p@localhost?tls=none", "smtp://[::1]:25/",
	} {
		if err := (mail.Config{URL: url, From: from}).Validate(); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, url := range []string{
		"mail.example", "http://mail.example", "smtp://", "smtp://mail.example/x", "smtp://mail.example#x", "smtp://mail.example?tls=maybe",
		"smtps://mail.example?tls=none", "smtp://u:hidden@mail.example?tls=none", "smtp://mail.example?x=1", "smtp://u:hidden@mail.example:99999", "smtp://u:hidden@mail.example:x",
	} {
		err := mail.Config{URL: url, From: from}.Validate()
		if err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v", url, err)
		}
	}
	for name, c := range map[string]mail.Config{
		"no sender": {URL: "smtp://mail.example"}, "a bad one": {URL: "smtp://mail.example", From: "x"}, "a sender alone": {From: from},
	} {
		if c.Validate() == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if err := (mail.Config{}).Validate(); err != nil || (mail.Config{}).Enabled() {
		t.Errorf("nothing configured: %v", err)
	}
}

// The e-mails to one address are limited per day, even if the address is invited and
// revoked repeatedly. The e-mails of a workspace are limited per hour.
func TestEmailsAreLimited(t *testing.T) {
	t.Parallel()
	o := newFixture(t)
	p := startSMTP(t, behaviour{})
	o.mail(t, plain(p))
	o.invitations.Limits = workspace.Limits{EmailsHourly: 5}
	revoke := func(i people.Invitation) {
		t.Helper()
		_, err := o.invitations.Revoke(t.Context(), o.in, people.KeyActor, i.ID)
		fatal(t, err)
	}
	arrives := func(to string) {
		t.Helper()
		p.next(t, "rcpt")
		if email := p.next(t, "email"); email.To != to {
			t.Errorf("an e-mail to %s, want %s", email.To, to)
		}
	}
	for n := range 20 {
		i, _ := o.invite(t, "ann@example.com")
		if n < workspace.DefaultLimits.EmailsDaily {
			arrives("ann@example.com")
			o.until(t, i, "delivered", delivered)
		}
		revoke(i)
	}
	// Two more in this hour: three of the five went to ann.
	for n := range 4 {
		to := fmt.Sprintf("n%d@example.com", n)
		o.invite(t, to)
		if n < 2 {
			arrives(to)
		}
	}
	o.move(people.WorkspaceEmailWindow)
	arrives("n2@example.com")
	arrives("n3@example.com")
	p.quiet(t)
}
