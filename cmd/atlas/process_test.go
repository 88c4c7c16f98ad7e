package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"atlas/cmd/internal/server"
	"atlas/service/endpoint"
)

// process is an `atlas serve` process.
type process struct {
	t      *testing.T
	root   string // http://host:port
	cmd    *exec.Cmd
	log    *syncBuffer
	exited chan error
}

// startProcess runs atlas serve with the configuration of s and waits until it listens.
func startProcess(t *testing.T, s *service, env ...string) *process {
	t.Helper()
	p := &process{t: t, log: &syncBuffer{}, exited: make(chan error, 1)}
	p.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], "serve")
	p.cmd.Env = append(environment(s.config), env...)
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			_, _ = p.log.Write(append(lines.Bytes(), '\n'))
			var line struct{ Msg, Address, API, Docs, Explorer string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
				if at := "http://" + line.Address; s.config.PublicURL == "" &&
					(line.API != at+endpoint.Version || line.Docs != at+endpoint.DocsPath || line.Explorer != at+"/") {
					t.Errorf("the line says not where things are: %s", lines.Text())
				}
				address <- line.Address
			}
		}
		p.exited <- p.cmd.Wait()
	}()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	select {
	case a := <-address:
		p.root = "http://" + a
	case err := <-p.exited:
		t.Fatalf("atlas serve: %v\n%s", err, p.log)
	case <-time.After(2 * time.Minute):
		t.Fatalf("atlas serve does not listen\n%s", p.log)
	}
	return p
}

// environment returns a configuration as variables, without those of the test process.
func environment(c server.Config) []string {
	var env []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "ATLAS_") {
			env = append(env, e)
		}
	}
	return append(env, runAsAtlas+"=1",
		"ATLAS_LISTEN=127.0.0.1:0", "ATLAS_ELASTICSEARCH_URL="+strings.Join(c.ElasticsearchURL, ","),
		"ATLAS_INDEX_PREFIX="+c.IndexPrefix, "ATLAS_HELD_INDEX_PREFIX="+c.HeldIndexPrefix,
		"ATLAS_POSTGRES_URL="+c.PostgresURL, "ATLAS_POSTGRES_SYSTEM_URL="+c.PostgresSystemURL,
		"ATLAS_REDIS_URL="+c.RedisURL, "ATLAS_REDIS_PREFIX="+c.RedisPrefix, "ATLAS_REDIS_TIMEOUT="+c.RedisTimeout.String(),
		"ATLAS_CURSOR_KEYS="+strings.Join(c.CursorKeys, ","), "ATLAS_JWT_SECRET="+c.JWTSecret, "ATLAS_SEARCH_TIMEOUT="+c.SearchTimeout.String())
}

// terminate sends SIGTERM and returns the time until the program exits, which must be
// with status 0.
func (p *process) terminate() time.Duration {
	p.t.Helper()
	began := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Error(err)
		return 0
	}
	select {
	case err := <-p.exited:
		if err != nil {
			p.t.Errorf("after SIGTERM: %v\n%s", err, p.log)
		}
	case <-time.After(2 * time.Minute):
		p.t.Errorf("does not exit after SIGTERM\n%s", p.log)
	}
	return time.Since(began)
}
