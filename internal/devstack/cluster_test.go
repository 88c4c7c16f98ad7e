package devstack

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"atlas/internal/timer"
)

// replicated starts the replicated servers of Postgres and Redis, without Elasticsearch.
func replicated(t *testing.T) *Cluster {
	t.Helper()
	c, err := startCluster(t.Context(), Options{Dir: stateDir(t), Log: t.Logf}, 1, (*Cluster).startPostgres, (*Cluster).startRedis)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// A commit is on the standby when it is acknowledged, so that the standby has it after
// the loss of the primary. Two primaries never run.
func TestReplicatedBackends(t *testing.T) {
	if !localServers(t) {
		return
	}
	t.Parallel()
	c := replicated(t)
	ctx := t.Context()
	count := "SELECT count(*) FROM kept"
	if _, err := ask[int64](ctx, c, "postgres-1", "CREATE TABLE kept (n int)", count); err != nil {
		t.Fatal(err)
	}
	if err := c.Promote(ctx); err == nil {
		t.Fatal("a standby is promoted beside its primary")
	}
	for round := range 2 {
		old, err := c.Primary(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := ask[int64](ctx, c, old, fmt.Sprintf("INSERT INTO kept VALUES (%d)", round), count); err != nil || n != int64(round)+1 {
			t.Fatalf("%s has %d rows: %v", old, n, err)
		}
		if err := c.Kill(old); err != nil {
			t.Fatal(err)
		}
		if err := c.Promote(ctx); err != nil {
			t.Fatal(err)
		}
		now, err := c.Primary(ctx)
		if err != nil || now == old {
			t.Fatalf("the primary is %s after the loss of %s: %v", now, old, err)
		}
		if n, err := ask[int64](ctx, c, now, count); err != nil || n != int64(round)+1 {
			t.Errorf("%s has %d rows: %v", now, n, err)
		}
		if err := c.Rejoin(ctx, old); err != nil {
			t.Fatal(err)
		}
	}

	master, err := c.RedisMaster(ctx)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: loopback(c.port(master))})
	defer client.Close()
	if err := client.Set(ctx, "kept", "1", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if n, err := client.Wait(ctx, 2, 30*time.Second).Result(); err != nil || n != 2 {
		t.Fatalf("%d replicas have it: %v", n, err)
	}
	if err := c.Kill(master); err != nil {
		t.Fatal(err)
	}
	limit, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	now := master
	for now == master {
		if now, err = c.RedisMaster(limit); err != nil {
			t.Fatal(err)
		}
		if err := timer.Sleep(limit, 50*time.Millisecond); err != nil {
			t.Fatal("no other server of Redis is the master: ", err)
		}
	}
	if err := c.Resume(ctx, master); err != nil {
		t.Fatal(err)
	}
	if err := c.AwaitReplicas(ctx); err != nil {
		t.Fatal(err)
	}
	promoted := redis.NewClient(&redis.Options{Addr: loopback(c.port(now))})
	defer promoted.Close()
	if got, err := promoted.Get(ctx, "kept").Result(); err != nil || got != "1" {
		t.Errorf("the promoted server holds %q: %v", got, err)
	}
}
