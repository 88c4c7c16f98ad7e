package mail_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// The mail server of the tests runs in its own process: this test binary, configured by
// environment variables. It writes what it receives to its output, as lines of JSON.

const serverEnv = "ATLAS_TEST_SMTP_SERVER"

// behaviour configures the server, from its environment.
type behaviour struct {
	// Greylist is how many recipients are refused temporarily at first.
	Greylist int
	// Reject refuses every recipient permanently.
	Reject bool
	// Hang is how many e-mails get no answer at first.
	Hang int
	// Password is required to log in as "atlas".
	Password string
}

// event is one line of the server.
type event struct {
	Kind string // address, rcpt, email
	From string
	To   string
	Data string
}

func serveSMTP(spec string) int {
	var b behaviour
	if err := json.Unmarshal([]byte(spec), &b); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s := &mailServer{behaviour: b}
	server := smtp.NewServer(s)
	server.Domain = "mail.example"
	server.AllowInsecureAuth = true // on loopback
	s.say(event{Kind: "address", To: listener.Addr().String()})
	go func() { // the input is closed when the test ends
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	if err := server.Serve(listener); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return 1
}

type mailServer struct {
	mu        sync.Mutex
	behaviour behaviour
}

func (s *mailServer) say(e event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line, _ := json.Marshal(e)
	fmt.Println(string(line))
}

// take decrements n and reports whether it was positive.
func (s *mailServer) take(n *int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n--
	return *n >= 0
}

func (s *mailServer) NewSession(*smtp.Conn) (smtp.Session, error) {
	return &session{server: s, loggedIn: s.behaviour.Password == ""}, nil
}

type session struct {
	server   *mailServer
	loggedIn bool
	from, to string
}

func (c *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (c *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "atlas" || password != c.server.behaviour.Password {
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
	c.server.say(event{Kind: "rcpt", To: to})
	switch {
	case c.server.behaviour.Reject:
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such mailbox"}
	case c.server.take(&c.server.behaviour.Greylist):
		return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 7, 1}, Message: "come back later"}
	}
	return nil
}

func (c *session) Data(r io.Reader) error {
	if c.server.take(&c.server.behaviour.Hang) {
		c.server.say(event{Kind: "hang", To: c.to})
		select {}
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	c.server.say(event{Kind: "email", From: c.from, To: c.to, Data: string(data)})
	return nil
}

func (c *session) Reset()        {}
func (c *session) Logout() error { return nil }

// smtpProcess is a running mail server.
type smtpProcess struct {
	address string
	events  chan event
}

// startSMTP runs a server until the test ends.
func startSMTP(t *testing.T, b behaviour) *smtpProcess {
	t.Helper()
	spec, err := json.Marshal(b)
	fatal(t, err)
	p := &smtpProcess{events: make(chan event, 100)}
	startProcess(t, serverEnv+"="+string(spec), func(line []byte) {
		var e event
		if json.Unmarshal(line, &e) == nil {
			p.events <- e
		}
	})
	p.address = p.next(t, "address").To
	return p
}

// next returns the next event, which must be of that kind.
func (p *smtpProcess) next(t *testing.T, kind string) event {
	t.Helper()
	select {
	case e := <-p.events:
		if e.Kind != kind {
			t.Fatalf("the mail server saw %+v, want %s", e, kind)
		}
		return e
	case <-time.After(time.Minute):
		t.Fatalf("the mail server saw no %s", kind)
	}
	panic("unreachable")
}

// quiet fails if there is another event.
func (p *smtpProcess) quiet(t *testing.T) {
	t.Helper()
	select {
	case e := <-p.events:
		t.Errorf("the mail server saw %+v", e)
	default:
	}
}

// startProcess runs this binary with one more environment variable and calls line for
// each line of its output. The process is killed when the test ends or stop is called.
func startProcess(t *testing.T, variable string, line func([]byte)) (stop func()) {
	t.Helper()
	program, err := os.Executable()
	fatal(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, program)
	command.Env = append(os.Environ(), variable)
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	fatal(t, err)
	stdout, err := command.StdoutPipe()
	fatal(t, err)
	fatal(t, command.Start())
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewScanner(stdout)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			line(lines.Bytes())
		}
	}()
	stop = sync.OnceFunc(func() {
		cancel() // SIGKILL
		_ = stdin.Close()
		<-read
		var exit *exec.ExitError
		if err := command.Wait(); err != nil && !errors.As(err, &exit) && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", strings.SplitN(variable, "=", 2)[0], err)
		}
	})
	t.Cleanup(stop)
	return stop
}
