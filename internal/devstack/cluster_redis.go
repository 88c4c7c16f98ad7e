package devstack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// The servers of Redis, of which the first one is the master at the start, and the
// Sentinels.
var (
	redisServers = []string{"redis-1", "redis-2", "redis-3"}
	sentinels    = []string{"sentinel-1", "sentinel-2", "sentinel-3"}
)

// masterName is what the Sentinels call the master.
const masterName = "atlas"

// redisReplication are the settings of each server. A master without contact to a replica
// refuses writes: after a failover it is the old one.
const redisReplication = `bind 127.0.0.1
appendonly yes
appendfsync everysec
save ""
maxmemory-policy noeviction
min-replicas-to-write 1
min-replicas-max-lag 10
repl-diskless-sync-delay 0
`

// startRedis starts a master, its replicas, and the Sentinels, and returns when these
// could fail over.
func (c *Cluster) startRedis(ctx context.Context) error {
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		return errNoRedis
	}
	master := redisServers[0]
	for i, member := range slices.Concat(redisServers, sentinels) {
		c.starts[member] = func(ctx context.Context) (int, error) {
			config, flags := redisReplication, []string{}
			switch {
			case i >= len(redisServers):
				// Five seconds: a busy machine is not a dead one.
				config = fmt.Sprintf(
					"bind 127.0.0.1\nsentinel monitor %[1]s 127.0.0.1 %[2]d 2\nsentinel down-after-milliseconds %[1]s 5000\n"+
						"sentinel failover-timeout %[1]s 30000\nsentinel parallel-syncs %[1]s 1\n",
					masterName,
					c.port(master),
				)
				flags = []string{"--sentinel"}
			case i > 0:
				config += fmt.Sprintf("replicaof 127.0.0.1 %d\n", c.port(master))
			}
			return c.machine.serveRedis(ctx, member, binary, config, flags)
		}
	}
	for _, members := range [][]string{{master}, redisServers[1:], sentinels} {
		if err := c.start(ctx, members...); err != nil {
			return err
		}
	}
	var addresses []string
	for _, member := range sentinels {
		addresses = append(addresses, "redis://"+loopback(c.port(member)))
	}
	addresses[0] += "?master_name=" + masterName
	c.RedisURL = strings.Join(addresses, ",")
	return c.AwaitReplicas(ctx)
}

// serveRedis starts a server with a configuration, which the server then changes itself.
func (m *machine) serveRedis(ctx context.Context, kind, binary, config string, flags []string) (port int, err error) {
	home, err := m.home(kind)
	if err != nil {
		return 0, err
	}
	// A folder of its own, because the server replaces the file.
	dir := filepath.Join(home, "config")
	path := filepath.Join(dir, "redis.conf")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := errors.Join(makeDir(dir), os.WriteFile(path, []byte(config), 0o600), m.own(dir)); err != nil {
			return 0, err
		}
	}
	return m.serve(ctx, server{
		kind:       kind,
		stopSignal: syscall.SIGTERM,
		home:       home,
		command: func(port int) *exec.Cmd {
			return exec.Command(binary, append([]string{path, "--port", strconv.Itoa(port), "--dir", home, "--daemonize", "no"}, flags...)...) // #nosec G204 -- a program of this machine, with arguments of this one
		},
		probe: func(ctx context.Context, port int) error { return redisAnswers(ctx, loopback(port)) },
	})
}

// RedisMaster is the server of Redis that the Sentinels name as the master.
func (c *Cluster) RedisMaster(ctx context.Context) (member string, err error) {
	for _, sentinel := range sentinels {
		if !c.runs(sentinel) {
			continue
		}
		err := c.guard(sentinel, func(s *redis.SentinelClient) error {
			address, err := s.GetMasterAddrByName(ctx, masterName).Result()
			if err != nil {
				return err
			}
			for _, server := range redisServers {
				if strconv.Itoa(c.port(server)) == address[1] {
					member = server
				}
			}
			return nil
		})
		if err == nil && member != "" {
			return member, nil
		}
	}
	return "", errors.New("devstack: no Sentinel knows the master of Redis")
}

// AwaitReplicas returns when each Sentinel knows the others and each running server, and
// the replicas have the data of the master.
func (c *Cluster) AwaitReplicas(ctx context.Context) error {
	running := 0
	for _, member := range redisServers {
		if c.runs(member) {
			running++
		}
	}
	return await(ctx, "the Sentinels do not know each other and the replicas", func(ctx context.Context) error {
		for _, member := range sentinels {
			err := c.guard(member, func(s *redis.SentinelClient) error {
				if err := s.CkQuorum(ctx, masterName).Err(); err != nil {
					return err
				}
				others, err := s.Sentinels(ctx, masterName).Result()
				if err != nil || len(others) != len(sentinels)-1 {
					return fmt.Errorf("%s knows %d others: %w", member, len(others), errors.Join(err, errNotYet))
				}
				replicas, err := s.Replicas(ctx, masterName).Result()
				in := 0
				for _, r := range replicas {
					if r["flags"] == "slave" && r["master-link-status"] == "ok" {
						in++
					}
				}
				if err != nil || in != running-1 {
					return fmt.Errorf("%s knows %d replicas of %d: %w", member, in, running-1, errors.Join(err, errNotYet))
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

var errNotYet = errors.New("not yet")

// guard calls f with a client of a Sentinel.
func (c *Cluster) guard(member string, f func(*redis.SentinelClient) error) error {
	client := redis.NewSentinelClient(&redis.Options{
		Addr: loopback(c.port(member)), DialTimeout: 3 * time.Second, ReadTimeout: 3 * time.Second, MaxRetries: -1,
	})
	return errors.Join(f(client), client.Close())
}
