//go:build faults

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"atlas/indexer"
	"atlas/indexer/generate"
	"atlas/indexer/generation"
	"atlas/internal/devstack"
	"atlas/internal/elastic"
	"atlas/internal/elastic/elastictest"
	"atlas/internal/experiment/figures"
	"atlas/mappings"
	"atlas/workspace/postgres/pgtest"
)

// The experiments of scripts/faults are tests with a build tag of their own, because
// they take minutes and several gigabytes. docs/data.md, "Looking after generations",
// describes the results.

// One of three nodes is killed in the middle of a load: the elected master, which has
// primary shards of every index. The load continues by itself and completes. No
// document is missing, duplicated or different.
func TestFaultNodeLostWhileLoading(t *testing.T) {
	const records = 30_000
	ctx := t.Context()
	seed := figures.Seed(t)
	f := figures.New(t, "node", "a node of three killed during a load of 30,000 records", seed)
	began := time.Now()
	cluster, err := devstack.StartCluster(ctx, devstack.Options{Log: t.Logf}, 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	t.Logf("three nodes after %.0f s", time.Since(began).Seconds())
	es, err := elastic.New(elastic.Config{Addresses: cluster.URLs})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := generate.Generate(ctx, generate.Options{Records: records, Seed: seed, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	const prefix = "faults-"
	place := []string{"--elasticsearch-url", strings.Join(cluster.URLs, ","), "--index-prefix", prefix}
	atlas := func(args ...string) (code int, stdout, stderr string) {
		var out, errs bytes.Buffer
		code = run(ctx, append(args, place...), &out, &errs)
		return code, out.String(), errs.String()
	}

	type result struct {
		code           int
		stdout, stderr string
	}
	ended := make(chan result, 1)
	database := pgtest.New(t)
	temp := t.TempDir()
	began = time.Now()
	go func() {
		var r result
		r.code, r.stdout, r.stderr = atlas("index", "load", dir, "--json", "--shards", "3", "--replicas", "1", "--temp-dir", temp,
			"--batch-mib", "1", "--postgres-system-url", database.System)
		ended <- r
	}()
	early := func() (result, bool) {
		select {
		case r := <-ended:
			return r, true
		default:
			return result{}, false
		}
	}
	written := int64(0)
	most := records/10 + rand.New(rand.NewPCG(seed, 0)).Int64N(records/2)
	untilHolds(t, fmt.Sprintf("%d records to be written", most), 10*time.Minute, func() error {
		if r, over := early(); over {
			t.Fatalf("the load ended before the node was killed: %d %s", r.code, r.stderr)
		}
		all, err := generation.List(ctx, es, mappings.Names{Prefix: prefix})
		if err != nil || len(all) == 0 {
			return errors.Join(err, errors.New("no generation"))
		}
		if written = all[0].Documents; written < most {
			return fmt.Errorf("%d are", written)
		}
		return nil
	})
	victim := masterNode(t, es)
	primaries := primariesOn(t, es, victim)
	if err := cluster.Kill(devstack.Node(victim)); err != nil {
		t.Fatal(err)
	}
	t.Logf("killed node %d, the master, with %d primary shards, after %d of %d records", victim+1, primaries, written, records)
	f.AtLeast("primary shards on the node", float64(primaries), 1, "")
	r := <-ended
	var report indexer.Report
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || r.code != 0 {
		t.Fatalf("the load ended with %d: %v\n%s", r.code, err, r.stderr)
	}
	t.Logf("the load said:\n%s", r.stderr)
	f.Report("load", time.Since(began).Seconds(), "s")
	f.Exactly("records loaded", float64(report.Documents()), records, "")
	if !report.Switched || report.LeftOut() != 0 {
		t.Errorf("%+v", report)
	}
	code, stdout, stderr := atlas("index", "verify", dir, "--temp-dir", temp)
	t.Logf("verified:\n%s%s", stdout, stderr)
	f.Exactly("status of atlas index verify", float64(code), 0, "")
}

// untilHolds polls until a condition holds.
func untilHolds(t *testing.T, what string, most time.Duration, holds func() error) {
	t.Helper()
	end := time.Now().Add(most)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := holds()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waited %s for %s: %v", most, what, err)
		}
		<-tick.C
	}
}

// masterNode returns the position of the elected master.
func masterNode(t *testing.T, es *elastic.Client) int {
	t.Helper()
	var rows []struct{ Node string }
	askJSON(t, es, "/_cat/master?format=json&h=node", &rows)
	return nodeNumber(t, rows[0].Node)
}

// nodeNumber returns the position in the name of a node, which counts from 1.
func nodeNumber(t *testing.T, name string) int {
	t.Helper()
	var n int
	if _, err := fmt.Sscanf(name, "elasticsearch-%d", &n); err != nil {
		t.Fatalf("a node called %q: %v", name, err)
	}
	return n - 1
}

// primariesOn returns the number of started primary shards of a node.
func primariesOn(t *testing.T, es *elastic.Client, node int) (n int) {
	t.Helper()
	var rows []struct{ Node, Prirep, State string }
	askJSON(t, es, "/_cat/shards?format=json&h=node,prirep,state", &rows)
	for _, r := range rows {
		if r.Prirep == "p" && r.State == "STARTED" && nodeNumber(t, r.Node) == node {
			n++
		}
	}
	return n
}

func askJSON(t *testing.T, es *elastic.Client, path string, into any) {
	t.Helper()
	res, err := es.Do(t.Context(), elastictest.Request{Method: http.MethodGet, Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(res.Body, into); err != nil {
		t.Fatal(err, string(res.Body))
	}
}
