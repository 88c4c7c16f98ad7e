package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// service is `atlas serve` as a process of its own.
type service struct {
	// base ends in the version, /api/v1.
	base   string
	pid    int
	cmd    *exec.Cmd
	exited chan struct{} // closed after err is set
	err    error
	log    string
}

const (
	serviceReadyWithin = 30 * time.Second
	serviceStopWithin  = 15 * time.Second
)

// serve starts the service on a free port, with its search sent to this address
// of Elasticsearch, and waits until it is ready. Cursors of one such process
// are good for another.
func (i *installation) serve(ctx context.Context, elasticsearchURL string) (*service, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	s := &service{base: "http://" + address + "/api/v1", exited: make(chan struct{}), log: filepath.Join(i.dir, "serve.log")}
	log, err := os.Create(s.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s.cmd = exec.Command(i.atlas, "serve")
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.SysProcAttr = childAttributes()
	// Nothing of the caller's own configuration.
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "ATLAS_") {
			s.cmd.Env = append(s.cmd.Env, e)
		}
	}
	s.cmd.Env = append(s.cmd.Env,
		"ATLAS_LISTEN="+address,
		"ATLAS_LOG_LEVEL=warn",
		"ATLAS_ELASTICSEARCH_URL="+elasticsearchURL,
		"ATLAS_INDEX_PREFIX="+i.names.Prefix,
		"ATLAS_POSTGRES_URL="+i.urls.App,
		"ATLAS_POSTGRES_SYSTEM_URL="+i.urls.System,
		"ATLAS_REDIS_URL="+i.stack.RedisURL,
		"ATLAS_CURSOR_KEYS=a benchmark's cursor key",
		"ATLAS_JWT_SECRET=a benchmark's secret, at least 32 bytes",
		// A slow moment is to be measured, not answered with an error.
		"ATLAS_REDIS_TIMEOUT=10s",
		"ATLAS_SEARCH_TIMEOUT=60s",
		// Books are filled as large as they are asked for.
		"ATLAS_MAX_BOOK_ADDITIONS=1000000000",
	)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	s.pid = s.cmd.Process.Pid
	go func() {
		s.err = s.cmd.Wait()
		close(s.exited)
	}()
	if err := s.ready(ctx, "http://"+address+"/health/ready"); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *service) ready(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, serviceReadyWithin, errors.New("atlas serve is not ready after 30 s"))
	defer cancel()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(r)
		if err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-s.exited:
			return fmt.Errorf("atlas serve ended: %w%s", s.err, s.tail())
		case <-ctx.Done():
			return fmt.Errorf("%w%s", context.Cause(ctx), s.tail())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// stop ends the process gracefully, or after a while not.
func (s *service) stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may be gone already
	select {
	case <-s.exited:
		if s.err != nil {
			return fmt.Errorf("atlas serve: %w%s", s.err, s.tail())
		}
		return nil
	case <-time.After(serviceStopWithin):
		_ = s.cmd.Process.Kill()
		<-s.exited
		return errors.New("atlas serve did not end and was killed")
	}
}

// tail is the end of the process's log, on lines of their own.
func (s *service) tail() string {
	raw, err := os.ReadFile(s.log)
	if err != nil || len(raw) == 0 {
		return ""
	}
	return "\n" + string(bytes.TrimSpace(raw[max(0, len(raw)-2000):]))
}

// freeAddress is a loopback address that nobody listens on at this moment.
func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
