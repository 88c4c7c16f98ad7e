package operator

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"atlas/cmd/internal/cli"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/service/credits"
	"atlas/service/session"
	"atlas/workspace"
)

// The data of a workspace in every store.

// list reports the content of an existing workspace.
func (d *deletion) list(ctx context.Context, r WorkspaceDeletion) (WorkspaceDeletion, error) {
	rows, err := d.system.WorkspaceRows(ctx, d.ID)
	for _, t := range rows {
		why := "deleted"
		switch t.Table {
		case "users":
			why = "deleted, but for members of other workspaces and who made something elsewhere"
		case "api_keys":
			why = "deleted, but for keys that act elsewhere too"
		case "audit_chains":
			why = "stays: the end of its audit log"
		}
		r.Places = append(r.Places, Place{Store: "postgres", Place: t.Table, Count: t.Rows, Why: why})
	}
	if err != nil {
		return r, err
	}
	if err := d.inElasticsearch(ctx, &r, "deleted", false); err != nil {
		return r, err
	}
	r.Accounts, err = d.system.MembersHereOnly(ctx, d.ID)
	if err != nil {
		return r, err
	}
	return r, d.inRedis(ctx, &r, "deleted", false)
}

// remains searches all stores for the id of a deleted workspace.
func (d *deletion) remains(ctx context.Context, r WorkspaceDeletion) (WorkspaceDeletion, error) {
	state, err := d.system.DeletionOf(ctx, d.ID)
	if err != nil {
		return r, err
	}
	r.Deleted, r.Places = !state.Ended.IsZero(), []Place{}
	if r.Accounts == nil {
		r.Accounts = []workspace.UserID{}
	}
	head, err := d.system.AuditHead(ctx, d.ID)
	if err != nil {
		return r, err
	}
	broken := head.Checkpoint.Number < head.Number
	columns, err := d.system.Mentions(ctx, []string{d.ID.String()})
	if err != nil {
		return r, err
	}
	for _, m := range columns {
		p := Place{Store: "postgres", Place: m.Table + "." + m.Column, Count: m.Rows, Why: whyLeft[m.Table+"."+m.Column]}
		if p.Why == "" && broken {
			p.Why = brokenLog[m.Table+"."+m.Column]
		}
		if p.Unexpected = p.Why == ""; p.Unexpected {
			p.Why = notDeleted
		}
		r.Places = append(r.Places, p)
	}
	if err := d.inElasticsearch(ctx, &r, notDeleted, true); err != nil {
		return r, err
	}
	if err := d.inRedis(ctx, &r, notDeleted, true); err != nil {
		return r, err
	}
	if head.Number > 0 {
		r.Audit = &ChainEnd{head.Number, head.Digest.String(), len(head.Checkpoint.Signature) > 0}
	}
	return r, nil
}

// notDeleted is why something is left that should not be.
const notDeleted = "it was not deleted: run the command again"

// whyLeft says why a column still has the id of a deleted workspace.
var whyLeft = map[string]string{
	"deleted_workspaces.id":  "that the workspace was deleted, and when",
	"audit_chains.chain":     "the end of its audit log",
	"audit_events.object_id": "events of the installation's log: that it was made, changed and deleted",
	"audit_events.details":   "events of the installation's log: that it was made, changed and deleted",
	"leases.name":            "the lease of this command: it goes by itself",
}

// brokenLog says it for columns of a log that remains because its chain is broken.
var brokenLog = map[string]string{
	"audit_events.workspace_id": "events of its audit log, which is broken: atlas audit verify",
	"audit_values.workspace_id": "values of its audit log, which is broken: atlas audit verify",
}

// lastVersion is above that of every document: it refuses a write by a server that is still
// projecting.
const lastVersion = 1 << 62

// ofDocuments finds the documents of a workspace, including stubs.
func (d *deletion) ofDocuments() map[string]any {
	return map[string]any{"term": map[string]any{"_routing": d.ID.String()}}
}

// heldIndex is an index of a generation of held records.
type heldIndex struct{ name, alias string }

// heldIndices are those of all generations.
func (d *deletion) heldIndices(ctx context.Context) (all []heldIndex, err error) {
	for _, dataset := range catalog.Held {
		found, err := d.es.Indices(ctx, d.Names().Held(string(dataset))+"-*")
		if err != nil {
			return nil, elastic.FaultOf(err)
		}
		for _, index := range slices.Sorted(maps.Keys(found)) {
			all = append(all, heldIndex{index, d.Names().HeldWrite(string(dataset), d.Names().HeldGenerationOf(string(dataset), index))})
		}
	}
	return all, nil
}

func (d *deletion) inElasticsearch(ctx context.Context, r *WorkspaceDeletion, why string, unexpected bool) error {
	indices, err := d.heldIndices(ctx)
	if err != nil {
		return err
	}
	for _, index := range indices {
		if err := d.es.Refresh(ctx, index.name); err != nil {
			return elastic.FaultOf(err)
		}
		n, err := d.es.CountOf(ctx, index.name, d.ofDocuments())
		if err != nil {
			return elastic.FaultOf(err)
		}
		if n > 0 {
			r.Places = append(r.Places, Place{"elasticsearch", index.name, n, why, unexpected})
		}
	}
	return nil
}

// deleteDocuments deletes the documents of the workspace, and lets their segments be
// rewritten, in the background.
func (d *deletion) deleteDocuments(ctx context.Context) error {
	indices, err := d.heldIndices(ctx)
	if err != nil {
		return err
	}
	for _, index := range indices {
		deleted := false
		for {
			if err := d.es.Refresh(ctx, index.name); err != nil {
				return elastic.FaultOf(err)
			}
			hits, err := elastic.Hits[any](ctx, d.es, index.name, map[string]any{
				"query": d.ofDocuments(), "size": recordsAtOnce, "_source": false, "track_total_hits": false,
			})
			if err != nil {
				return elastic.FaultOf(err)
			}
			if len(hits) == 0 {
				break
			}
			var batch elastic.Batch
			for _, hit := range hits {
				batch.DeleteAt(hit.ID, d.ID.String(), lastVersion)
			}
			refused, err := d.es.Bulk(ctx, index.alias, &batch, elastic.Retry{})
			if err != nil {
				return elastic.FaultOf(err)
			}
			if len(refused) > 0 {
				return fault.New(fault.Internal, "Elasticsearch deletes %d documents of %s not: %s", len(refused), index.name, refused[0].Reason)
			}
			deleted = true
		}
		if deleted {
			if err := d.es.ExpungeDeletes(ctx, index.name); err != nil {
				return elastic.FaultOf(err)
			}
		}
	}
	return nil
}

func (d *deletion) inRedis(ctx context.Context, r *WorkspaceDeletion, why string, unexpected bool) error {
	p := Place{"redis", credits.KeysOf(d.RedisPrefix, d.ID.String()), 0, why, unexpected}
	all := p.Place
	if unexpected {
		all = d.RedisPrefix + "*" // the id may also be in a value
	}
	err := cli.EachRedisKey(ctx, d.redis, all, func(master redis.Cmdable, key string) error {
		content := []string{key}
		if unexpected {
			of, err := cli.RedisContent(ctx, master, key)
			if err != nil {
				return err
			}
			content = append(content, of...)
		}
		if slices.ContainsFunc(content, func(text string) bool { return strings.Contains(text, d.ID.String()) }) {
			p.Count++
		}
		return nil
	})
	if p.Count > 0 {
		r.Places = append(r.Places, p)
	}
	return err
}

// deleteKeys deletes the keys of the workspace, the sessions of deleted users, and those
// that began by its provider.
func (d *deletion) deleteKeys(ctx context.Context, users []workspace.UserID) error {
	err := cli.EachRedisKey(ctx, d.redis, credits.KeysOf(d.RedisPrefix, d.ID.String()), func(master redis.Cmdable, key string) error {
		return master.Del(ctx, key).Err()
	})
	if err != nil {
		return err
	}
	for _, pattern := range session.KeysOf(d.RedisPrefix) {
		err := cli.EachRedisKey(ctx, d.redis, pattern, func(master redis.Cmdable, key string) error {
			raw, err := master.Get(ctx, key).Bytes()
			if errors.Is(err, redis.Nil) {
				return nil
			}
			user, own := session.Of(raw)
			if err == nil && (own.Workspace == d.ID || slices.Contains(users, user.ID)) {
				err = master.Del(ctx, key).Err()
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
