package devstack

import (
	"context"
	"errors"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisSettings are those of a process and of a container. Redis counts
// credits: it must not evict keys, and a crash may lose at most a second.
func redisSettings(ephemeral bool) []string {
	settings := []string{"--maxmemory-policy", "noeviction", "--save", ""}
	if ephemeral {
		return append(settings, "--appendonly", "no")
	}
	return append(settings, "--appendonly", "yes", "--appendfsync", "everysec")
}

var errNoRedis = errors.New("redis-server is needed: install the package redis-server")

// redis starts a server and returns its address.
func (m *machine) redis(ctx context.Context) (string, error) {
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		return "", errNoRedis
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
			return exec.Command(binary, append(args, redisSettings(m.opts.Ephemeral)...)...) // #nosec G204 -- a program of this machine, with arguments of this one
		},
		probe: func(ctx context.Context, port int) error { return redisAnswers(ctx, loopback(port)) },
	})
	if err != nil {
		return "", err
	}
	return "redis://" + loopback(port) + "/0", nil
}

// redisAnswers sends one PING. Redis refuses it while it loads its file.
func redisAnswers(ctx context.Context, address string) error {
	client := redis.NewClient(&redis.Options{Addr: address, DialTimeout: 3 * time.Second, ReadTimeout: 3 * time.Second, MaxRetries: -1})
	return errors.Join(client.Ping(ctx).Err(), client.Close())
}
