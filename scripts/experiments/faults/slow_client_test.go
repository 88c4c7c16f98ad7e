//go:build faults

package faults

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"atlas/scripts/experiments/rig"
)

// clientGroup is a group of clients that are slow in the same way.
type clientGroup struct {
	kind    string
	clients []*slowClient
	lock    sync.Mutex
	took    []time.Duration // until each was disconnected
}

// slowClient is one connection.
type slowClient struct {
	net.Conn
	host        string
	began       time.Time
	clientGroup *clientGroup
}

const (
	// byteEvery is the pause after each byte.
	byteEvery = time.Second
	// answersAsked answers of 70 KB each exceed the buffers between a server and a
	// client that does not read.
	answersAsked = 100
)

// newClientGroup connects the clients, which send or read slowly in the background.
func newClientGroup(t *testing.T, s *rig.Server, kind string, be func(*slowClient) error) *clientGroup {
	t.Helper()
	k := &clientGroup{kind: kind}
	for range slowOfAKind {
		// Small buffers, so that the server notices a client that does not read.
		c, err := connect(t.Context(), s.Address, 2048, 536)
		rig.Check(t, err)
		c.clientGroup = k
		k.clients = append(k.clients, c)
		go func() {
			if err := be(c); err != nil && !errors.Is(err, net.ErrClosed) && !cutOff(err) {
				t.Errorf("%s: %v", kind, err)
			}
		}()
	}
	t.Cleanup(k.close)
	return k
}

// connect opens a connection with these sizes of receive buffer and segments; 0 is the
// default.
func connect(ctx context.Context, address string, buffer, segment int) (*slowClient, error) {
	d := net.Dialer{Timeout: 30 * time.Second, Control: func(_, _ string, raw syscall.RawConn) error {
		if buffer == 0 {
			return nil
		}
		var refused error
		err := raw.Control(func(fd uintptr) {
			refused = errors.Join(syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, buffer),
				syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, segment))
		})
		return errors.Join(err, refused)
	}}
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &slowClient{Conn: c, host: address, began: time.Now()}, nil
}

// openIdle opens connections, reads one answer on each, and leaves them open.
func openIdle(t *testing.T, s *rig.Server, n int) *clientGroup {
	t.Helper()
	k := &clientGroup{kind: "idle", clients: make([]*slowClient, n)}
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(64)
	for i := range n {
		group.Go(func() (err error) {
			if k.clients[i], err = connect(ctx, s.Address, 0, 0); err != nil {
				return err
			}
			return k.clients[i].once()
		})
	}
	t.Cleanup(k.close)
	rig.Check(t, group.Wait())
	return k
}

// once sends a small request and reads the answer.
func (c *slowClient) once() error {
	if _, err := fmt.Fprintf(c, "GET /health/live HTTP/1.1\r\nHost: %s\r\n\r\n", c.host); err != nil {
		return err
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	c.began = time.Now()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

// silent sends nothing.
func (c *slowClient) silent() error { return nil }

// header sends a header without an end.
func (c *slowClient) header() error {
	if _, err := fmt.Fprintf(c, "GET /api/v1/workspace HTTP/1.1\r\nHost: %s\r\nX-Slow: ", c.host); err != nil {
		return err
	}
	return c.drip()
}

// body sends a body without an end. Without a token the sender is not authenticated.
func (c *slowClient) body(token string) error {
	if _, err := fmt.Fprintf(c, "POST /api/v1/data/contacts/search HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 10000\r\n\r\n{", c.host, token); err != nil {
		return err
	}
	return c.drip()
}

func (c *slowClient) drip() error {
	tick := time.NewTicker(byteEvery)
	defer tick.Stop()
	for {
		if _, err := c.Write([]byte(" ")); err != nil {
			return err
		}
		<-tick.C
	}
}

// answers pipelines requests for large pages and reads one byte per second. The buffers
// take the first answers, so the server notices the slow client when they are full.
func (c *slowClient) answers(token string) error {
	const body = `{"limit":100}`
	request := fmt.Sprintf("POST /api/v1/data/projects/search HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", c.host, token, len(body), body)
	if _, err := io.WriteString(c, strings.Repeat(request, answersAsked)); err != nil {
		return err
	}
	var b [1]byte
	tick := time.NewTicker(byteEvery)
	defer tick.Stop()
	for {
		if _, err := c.Read(b[:]); err != nil {
			return err
		}
		<-tick.C
	}
}

// watch waits until the server has closed each connection. It reads answers sent
// before.
func (k *clientGroup) watch() {
	var all sync.WaitGroup
	for _, c := range k.clients {
		all.Go(func() {
			if err := c.SetReadDeadline(c.began.Add(idleWithin + 10*lateness)); err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, c.Conn); err != nil && !cutOff(err) {
				return // not disconnected
			}
			k.lock.Lock()
			defer k.lock.Unlock()
			k.took = append(k.took, time.Since(c.began))
		})
	}
	all.Wait()
}

// cutOff reports whether the other side has closed the connection.
func cutOff(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

func (k *clientGroup) last() time.Duration {
	k.lock.Lock()
	defer k.lock.Unlock()
	if len(k.took) == 0 {
		return 0
	}
	return slices.Max(k.took)
}

func (k *clientGroup) close() {
	for _, c := range k.clients {
		if c != nil {
			_ = c.Close()
		}
	}
}
