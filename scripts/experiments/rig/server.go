package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// PatientRedis is a setting for experiments that do not test Redis: on a busy
// machine a call of more than 100 ms is not a fault.
const PatientRedis = "ATLAS_REDIS_TIMEOUT=5s"

// Server is `atlas serve` as a process, at an address that stays the same
// however often it is started.
type Server struct {
	// Root is http://host:port; Base ends in the version, /api/v1.
	Root, Base string
	// Address is host:port, for connections that do not send proper HTTP.
	Address string

	t       TB
	rig     *Rig
	metrics string // address of its metrics
	env     []string
	log     string
	cmd     *exec.Cmd
	exited  chan struct{} // closed after err is set
	err     error
}

// readyWithin bounds the start of a server.
const readyWithin = time.Minute

// Serve starts `atlas serve` with further settings (KEY=value; those of a Proxy
// are its Settings) and waits until it is ready. The log level is warn unless
// they say another.
func (r *Rig) Serve(settings ...string) *Server {
	r.t.Helper()
	s := r.server(settings)
	Check(r.t, s.Launch())
	Check(r.t, s.Ready(readyWithin))
	return s
}

// With returns the same rig with another binary.
func (r *Rig) With(atlas string) *Rig {
	other := *r
	other.atlas = atlas
	return &other
}

func (r *Rig) server(settings []string) *Server {
	r.t.Helper()
	r.servers++
	s := &Server{
		t: r.t, rig: r, Address: freeAddress(r.t), metrics: freeAddress(r.t),
		log: filepath.Join(r.Dir, "serve-"+strconv.Itoa(r.servers)+".log"),
	}
	s.Root = "http://" + s.Address
	s.Base = s.Root + "/api/v1"
	s.env = append(
		[]string{
			"ATLAS_LISTEN=" + s.Address, "ATLAS_METRICS_LISTEN=" + s.metrics, "ATLAS_LOG_LEVEL=warn", "ATLAS_DRAIN=10s",
			"ATLAS_DRAIN_PAUSE=0s",
		},
		settings...,
	)
	r.t.Cleanup(func() {
		if s.running() {
			if err := s.Stop(); err != nil {
				r.t.Error(err)
			}
		}
		if r.t.Failed() {
			r.t.Logf("%s said:\n%s", s.Address, s.Complaints())
		}
	})
	return s
}

// Launch starts the process, possibly again after it was killed or stopped, and
// does not wait for it. Any goroutine may call it, one at a time.
func (s *Server) Launch() error {
	if s.running() {
		return errors.New("the server runs already")
	}
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := s.rig.Command(context.Background(), "serve")
	cmd.Env = append(cmd.Env, s.env...) // the last one of a name counts
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	s.cmd, s.exited = cmd, exited
	go func() {
		s.err = cmd.Wait()
		close(exited)
	}()
	return nil
}

// Ready waits until the server's readiness check succeeds.
func (s *Server) Ready(within time.Duration) error {
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	return Until(within, "the server is ready", func() error {
		select {
		case <-s.exited:
			return fmt.Errorf("%w: %w\n%s", ErrNeverHolds, errors.Join(errors.New("it ended"), s.err), s.tail())
		default:
		}
		res, err := client.Get(s.Root + "/health/ready")
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return errors.New(res.Status)
		}
		return nil
	})
}

// Kill ends the process with SIGKILL.
func (s *Server) Kill() error {
	if !s.running() {
		return errors.New("the server does not run")
	}
	err := s.cmd.Process.Kill()
	<-s.exited
	return err
}

// Stop ends the process with SIGTERM, as a deployment does.
func (s *Server) Stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.exited:
		if s.err != nil {
			return fmt.Errorf("atlas serve: %w\n%s", s.err, s.tail())
		}
		return nil
	case <-time.After(stopWithin):
		_ = s.cmd.Process.Kill()
		<-s.exited
		return errors.New("atlas serve did not end and was killed")
	}
}

// PID is the process id.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Log is the server's log so far, over all its starts.
func (s *Server) Log() string {
	raw, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

func (s *Server) running() bool {
	if s.exited == nil {
		return false
	}
	select {
	case <-s.exited:
		return false
	default:
		return true
	}
}

func (s *Server) tail() string {
	log := []byte(s.Log())
	return string(bytes.TrimSpace(log[max(0, len(log)-4000):]))
}

// freeAddress is a loopback address without a listener, below the ephemeral port
// range: it must be free again after a restart.
func freeAddress(t TB) string {
	t.Helper()
	for range 1000 {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(10_000+rand.IntN(9_000))) // #nosec G404 -- a port that is free, not a secret
		if l, err := net.Listen("tcp", address); err == nil {
			Check(t, l.Close())
			return address
		}
	}
	t.Fatal("no free port")
	return ""
}
