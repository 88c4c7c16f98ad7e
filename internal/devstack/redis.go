package devstack

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// redisSettings are the same for a server here and in a container. Credits are
// counted in it: nothing may be evicted, and a crash loses a second at most.
func redisSettings(ephemeral bool) []string {
	settings := []string{"--maxmemory-policy", "noeviction", "--save", ""}
	if ephemeral {
		return append(settings, "--appendonly", "no")
	}
	return append(settings, "--appendonly", "yes", "--appendfsync", "everysec")
}

// redis starts a server and returns its address.
func (m *machine) redis(ctx context.Context) (string, error) {
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		return "", errors.New("redis-server is needed: install the package redis-server")
	}
	home, err := m.home("redis")
	if err != nil {
		return "", err
	}
	port, err := m.serve(ctx, server{
		kind:       "redis",
		stopSignal: syscall.SIGTERM,
		home:       home,
		command: func(port int) *exec.Cmd {
			args := []string{"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", home, "--daemonize", "no"}
			return exec.Command(binary, append(args, redisSettings(m.opts.Ephemeral)...)...)
		},
		probe: func(ctx context.Context, port int) error { return redisAnswers(ctx, loopback(port)) },
	})
	if err != nil {
		return "", err
	}
	return "redis://" + loopback(port) + "/0", nil
}

// redisAnswers sends one PING: refused while the server reads its file.
func redisAnswers(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	if answer = strings.TrimSpace(answer); answer != "+PONG" {
		return fmt.Errorf("PING is answered %q", answer)
	}
	return nil
}
