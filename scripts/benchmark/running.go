package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"atlas/internal/credits"
	"atlas/search/query"
	"atlas/workspace/postgres"
)

// running is an installation with a service, and a client of it in one
// workspace.
type running struct {
	*installation
	service *service
	client  client
	meter   cpuMeter
	heading heading
}

// connections is how many the client of a running service has at most.
const connections = 8

// withInstallation installs, has measure do its work, and stops it all again.
// before is the machine as it was.
func withInstallation(ctx context.Context, p place, records int64, seed uint64, measure func(ctx context.Context, i *installation, before machine) error) (err error) {
	before := machineOf() // before the run itself loads it
	i, err := install(ctx, p, records, seed)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.close(ctx, p.Dir == "")) }()
	return measure(ctx, i, before)
}

// serving has measure do its work with a service, in a workspace of its own
// unless one is open.
func (i *installation) serving(ctx context.Context, before machine, measure func(context.Context, *running) error) (err error) {
	own := *i
	if own.key == "" {
		if err := own.openWorkspace(ctx); err != nil {
			return err
		}
	}
	s, err := own.serve(ctx, own.stack.ElasticsearchURL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	redis, err := credits.Open(own.stack.RedisURL)
	if err != nil {
		return err
	}
	defer redis.Close()
	r := &running{
		installation: &own, service: s, client: newClient(connections),
		meter:   cpuMeter{atlas: s.pid, es: own.es, redis: redis},
		heading: heading{Date: time.Now().UTC(), Command: commandLine(os.Args[1:]), Machine: before, Dataset: own.dataset},
	}
	defer r.client.close()
	if r.meter.postgres, err = own.postgresProcess(ctx); err != nil {
		return err
	}
	if r.heading.Versions, err = versionsOf(ctx, own.atlas, own.es, redis); err != nil {
		return err
	}
	if err := measure(ctx, r); err != nil {
		// Its log goes with the folder.
		return fmt.Errorf("%w%s", err, s.tail())
	}
	return nil
}

// postgresProcess is the first process of Postgres, 0 where it is not one of
// this machine.
func (i *installation) postgresProcess(ctx context.Context) (int, error) {
	conn, err := pgx.Connect(ctx, i.stack.PostgresURL)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var backend int
	if err := conn.QueryRow(ctx, `SELECT pg_backend_pid()`).Scan(&backend); err != nil {
		return 0, err
	}
	pid, found := parentOf(backend, "postgres")
	if !found {
		say("Postgres is in a container: its CPU time is not measured")
		return 0, nil
	}
	return pid, nil
}

// inNewWorkspace is the same with the key of another workspace, a new one.
func (r *running) inNewWorkspace(ctx context.Context) (*running, error) {
	i, other := *r.installation, *r
	other.installation = &i
	return &other, i.openWorkspace(ctx)
}

// send makes a request and reads its answer; ok statuses only.
func (r *running) send(ctx context.Context, path, body string, into any) (*call, error) {
	call, _, err := r.timed(ctx, path, body, into)
	return call, err
}

// timed is send, and tells how long the answer took.
func (r *running) timed(ctx context.Context, path, body string, into any) (*call, time.Duration, error) {
	call, err := r.serviceCall(r.service.base, path, []byte(body))
	if err != nil {
		return nil, 0, err
	}
	began := time.Now()
	answer, status, err := r.client.do(ctx, call, nil)
	took := time.Since(began)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s answered %d to %.200s: %.500s", path, status, body, answer)
	}
	if err != nil {
		return nil, took, err
	}
	call.expect(answer)
	if into == nil {
		return call, took, nil
	}
	return call, took, json.Unmarshal(answer, into)
}

// batchSize is the most items of a batch.
const batchSize = 100

// sendBatch sends items as one batch, each of which must succeed.
func (r *running) sendBatch(ctx context.Context, path string, items []string) (time.Duration, error) {
	var answer struct{ Metadata struct{ Succeeded int } }
	_, took, err := r.timed(ctx, path, `{"inputs":[`+strings.Join(items, ",")+`]}`, &answer)
	if err == nil && answer.Metadata.Succeeded != len(items) {
		err = fmt.Errorf("%s: %d of %d items succeeded", path, answer.Metadata.Succeeded, len(items))
	}
	return took, err
}

// fillers is how many batches are under way at once while something is filled.
const fillers = 4

// sendAll sends items in batches, some at once.
func (r *running) sendAll(ctx context.Context, path string, items []string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	batches := make(chan []string)
	var group sync.WaitGroup
	for range fillers {
		group.Go(func() {
			for batch := range batches {
				if _, err := r.sendBatch(ctx, path, batch); err != nil {
					cancel(err)
				}
			}
		})
	}
	for batch := range slices.Chunk(items, batchSize) {
		if ctx.Err() != nil {
			break
		}
		batches <- batch
	}
	close(batches)
	group.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// recordIDs pages through a dataset, for so many records at most.
func (r *running) recordIDs(ctx context.Context, d query.Dataset, most int) (ids []string, err error) {
	cursor := "null"
	for len(ids) < most {
		var p page
		if _, err := r.send(ctx, search{dataset: d}.path(), fmt.Sprintf(`{"limit":%d,"search_after":%s}`, query.MaxLimit, cursor), &p); err != nil {
			return nil, err
		}
		ids = append(ids, p.ids()...)
		if p.Metadata.SearchAfter == "" {
			break
		}
		cursor = `"` + p.Metadata.SearchAfter + `"`
	}
	return ids[:min(len(ids), most)], nil
}

// projectedWithin bounds waiting for what was written.
const projectedWithin = 20 * time.Minute

// projected waits until nothing that a workspace holds is pending.
func (r *running) projected(ctx context.Context) error {
	system, err := postgres.OpenSystem(ctx, r.urls.System, postgres.Options{MaxConns: 1})
	if err != nil {
		return err
	}
	defer system.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, projectedWithin, fmt.Errorf("held records are still pending after %s", projectedWithin))
	defer cancel()
	for {
		status, err := system.HeldStatus(ctx)
		if err != nil {
			return err
		}
		if status.Pending == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
