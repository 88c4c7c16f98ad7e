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

// The mail server of the tests is a process of its own: this test program run
// once more, told by the environment. What it receives and sees it writes to its
// output, a line of JSON each.

const serverEnv = "ATLAS_TEST_SMTP_SERVER"

// behaviour is what the server does, as its environment says.
type behaviour struct {
	// Greylist refuses the first so many recipients for now.
	Greylist int
	// Reject refuses each recipient for good.
	Reject bool
	// Hang holds the first so many letters back, without an answer.
	Hang int
	// Password demands a login of the user "atlas".
	Password string
}

// event is one line of the server.
type event struct {
	Kind string // address, rcpt, letter
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
	go func() { // the test's end closes our input
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

// take counts one down.
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
	c.server.say(event{Kind: "letter", From: c.from, To: c.to, Data: string(data)})
	return nil
}

func (c *session) Reset()        {}
func (c *session) Logout() error { return nil }

// smtpProcess is a running server.
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

// quiet fails when the server saw anything more.
func (p *smtpProcess) quiet(t *testing.T) {
	t.Helper()
	select {
	case e := <-p.events:
		t.Errorf("the mail server saw %+v", e)
	default:
	}
}

// startProcess runs this program with one more variable, and hands on the lines
// of its output. It ends with the test, or when stop is called, which kills it.
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
