// Package mailtest is a mail server for tests, which reports what it receives.
package mailtest

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// Behaviour configures a Server. The zero value accepts every e-mail.
type Behaviour struct {
	// Greylist is how many recipients are refused temporarily at first.
	Greylist int
	// Reject refuses every recipient permanently.
	Reject bool
	// Hang is how many e-mails get no answer at first.
	Hang int
	// Password is required to log in as "atlas".
	Password string
}

// Event is what a Server received: "rcpt" is a recipient, "hang" an e-mail that gets no
// answer, "email" one that was accepted.
type Event struct {
	Kind     string
	From, To string
	Data     string
}

// Server is a running mail server.
type Server struct {
	Address string

	events chan Event
	ended  chan struct{}
	mu     sync.Mutex
	Behaviour
}

// Start runs a server until the test ends.
func Start(t testing.TB, b Behaviour) *Server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Address: listener.Addr().String(), events: make(chan Event, 1000), ended: make(chan struct{}), Behaviour: b}
	server := smtp.NewServer(s)
	server.Domain = "mail.example"
	server.AllowInsecureAuth = true // on loopback
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		close(s.ended)
		_ = server.Close()
		<-served
	})
	return s
}

// URL is the address of the server, without TLS.
func (s *Server) URL() string { return "smtp://" + s.Address + "?tls=none" }

// Any returns the next event.
func (s *Server) Any(t testing.TB) Event {
	t.Helper()
	select {
	case e := <-s.events:
		return e
	case <-time.After(time.Minute):
		t.Fatal("the mail server saw nothing")
	}
	panic("unreachable")
}

// Next returns the next event, which must be of that kind.
func (s *Server) Next(t testing.TB, kind string) Event {
	t.Helper()
	e := s.Any(t)
	if e.Kind != kind {
		t.Fatalf("the mail server saw %+v, want %s", e, kind)
	}
	return e
}

// Quiet fails if there is another event.
func (s *Server) Quiet(t testing.TB) {
	t.Helper()
	select {
	case e := <-s.events:
		t.Errorf("the mail server saw %+v", e)
	default:
	}
}

// take decrements n and reports whether it was positive.
func (s *Server) take(n *int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n--
	return *n >= 0
}

// NewSession implements smtp.Backend.
func (s *Server) NewSession(*smtp.Conn) (smtp.Session, error) {
	return &session{server: s, loggedIn: s.Password == ""}, nil
}

type session struct {
	server   *Server
	loggedIn bool
	from, to string
}

func (c *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (c *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "atlas" || password != c.server.Password {
			return smtp.ErrAuthFailed
		}
		c.loggedIn = true
		return nil
	}), nil
}

func (c *session) Mail(from string, _ *smtp.MailOptions) error {
	if !c.loggedIn {
		return smtp.ErrAuthRequired
	}
	c.from = from
	return nil
}

func (c *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	c.to = to
	c.server.events <- Event{Kind: "rcpt", To: to}
	switch {
	case c.server.Reject:
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such mailbox"}
	case c.server.take(&c.server.Greylist):
		return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 7, 1}, Message: "come back later"}
	}
	return nil
}

func (c *session) Data(r io.Reader) error {
	if c.server.take(&c.server.Hang) {
		c.server.events <- Event{Kind: "hang", To: c.to}
		<-c.server.ended
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	c.server.events <- Event{Kind: "email", From: c.from, To: c.to, Data: string(data)}
	return nil
}

func (c *session) Reset()        {}
func (c *session) Logout() error { return nil }
