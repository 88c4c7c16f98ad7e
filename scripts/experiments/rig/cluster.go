package rig

import (
	"context"
	"fmt"
	"time"

	"atlas/internal/devstack"
)

// EnvCluster makes rigs of single servers run on a replicated cluster instead, so that
// experiments run on either (scripts/cluster).
const EnvCluster = "ATLAS_EXPERIMENT_CLUSTER"

// promotedWithin bounds the wait for the Sentinels.
const promotedWithin = time.Minute

// Replicated reports whether each backend has several servers.
func (r *Rig) Replicated() bool { return r.replicated }

// FailOver kills the server of a backend that leads, lets another one take over, and
// returns when the killed one is its replica. Any goroutine may call it.
func (r *Rig) FailOver(ctx context.Context, b devstack.Backend) error {
	leader, err := r.leader(ctx, b)
	if err != nil {
		return err
	}
	if err := r.Cluster.Kill(leader); err != nil {
		return err
	}
	return r.takeOver(ctx, b, leader)
}

// leader is the server of a backend that leads.
func (r *Rig) leader(ctx context.Context, b devstack.Backend) (member string, err error) {
	switch b {
	case devstack.Postgres:
		return r.Cluster.Primary(ctx)
	case devstack.Redis:
		return r.Cluster.RedisMaster(ctx)
	}
	var masters []struct{ Node string }
	if err := r.Ask(ctx, "GET", "/_cat/master?format=json&h=node", "", &masters); err != nil {
		return "", err
	}
	if len(masters) != 1 {
		return "", fmt.Errorf("%d masters of Elasticsearch", len(masters))
	}
	return masters[0].Node, nil
}

// takeOver makes another server lead instead of one that has ended, and that one its
// replica.
func (r *Rig) takeOver(ctx context.Context, b devstack.Backend, ended string) error {
	c := r.Cluster
	switch b {
	case devstack.Postgres:
		if err := c.Promote(ctx); err != nil {
			return err
		}
		return c.Rejoin(ctx, ended)
	case devstack.Redis:
		if err := r.Promoted(ctx, ended); err != nil {
			return err
		}
		if err := c.Resume(ctx, ended); err != nil {
			return err
		}
		return c.AwaitReplicas(ctx)
	}
	if err := c.Resume(ctx, ended); err != nil {
		return err
	}
	return c.AwaitGreen(ctx)
}

// Promoted waits until the Sentinels name another master of Redis than before.
func (r *Rig) Promoted(ctx context.Context, before string) error {
	return Until(promotedWithin, "another server of Redis is the master", func() error {
		master, err := r.Cluster.RedisMaster(ctx)
		if err == nil && master == before {
			err = fmt.Errorf("the master is %s", master)
		}
		return err
	})
}
