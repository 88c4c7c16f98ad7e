package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"atlas/client"
)

// The same walk in each language: it prints the ids of all projects, waits for a line of
// its input after the third and the sixth page, and prints at the end how many attempts
// failed.
var walks = map[string]string{
	"python": `
import os, sys
from atlas_client import Atlas, Retry
failed = []
atlas = Atlas(os.environ["ATLAS_URL"], api_key=os.environ["ATLAS_API_KEY"], retry=Retry(attempts=300, longest=5),
              observe=lambda a: failed.append(a) if a.error else None)
pages = atlas.projects.pages(limit=int(os.environ["LIMIT"]), sort={"field": "created_at", "order": "asc"})
for n, page in enumerate(pages, 1):
    for project in page.records:
        print(project.id)
    if n in (3, 6):
        print("waiting", flush=True)
        sys.stdin.readline()
print("failed", len(failed))
`,
	"typescript": `
import { createInterface } from "node:readline";
import { Atlas } from "atlas-client";
let failed = 0;
const atlas = new Atlas({ baseUrl: process.env.ATLAS_URL!, apiKey: process.env.ATLAS_API_KEY!,
  retry: { attempts: 300, longest: 5 }, observe: (a) => { if (a.error) failed++; } });
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
let n = 0;
for await (const page of atlas.projects.pages({ limit: Number(process.env.LIMIT), sort: { field: "created_at", order: "asc" } })) {
  for (const project of page.records) console.log(project.id);
  if ([3, 6].includes(++n)) {
    console.log("waiting");
    await lines.next();
  }
}
console.log("failed", failed);
process.exit(0);
`,
}

// walkInGo does the same.
func walkInGo(ctx context.Context, base, key string, limit int, in io.Reader, out io.Writer) error {
	failed, n := 0, 0
	observe := func(a client.Answer) {
		if a.Err != nil {
			failed++
		}
	}
	c, err := client.New(
		base, client.WithAPIKey(key), client.WithRetry(client.Retry{Attempts: 300, Longest: 5 * time.Second}),
		client.WithObserver(observe),
	)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for page, err := range c.Projects.Pages(ctx, client.Search{Limit: limit, Sort: client.Asc("created_at")}) {
		if err != nil {
			return err
		}
		for _, project := range page.Records {
			_, _ = fmt.Fprintln(out, project.ID)
		}
		if n++; n == 3 || n == 6 {
			_, _ = fmt.Fprintln(out, "waiting")
			lines.Scan()
		}
	}
	_, _ = fmt.Fprintln(out, "failed", failed)
	return nil
}

// TestWalksThroughAKilledServer: a server is killed twice in the middle of a walk, before a
// request and while requests run, and started again. In each language the walk ends
// with every record once.
func TestWalksThroughAKilledServer(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	var want []string
	for project, err := range s.client(s.key).Projects.All(t.Context(), client.Search{Sort: client.Asc("created_at")}) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, project.ID)
	}
	limit := min(client.MaxPage, max(1, len(want)/10))
	if len(want) < 8 {
		t.Fatalf("%d projects make too few pages", len(want))
	}
	p := startProcess(t, s)
	address := "ATLAS_LISTEN=" + strings.TrimPrefix(p.root, "http://")
	kill := func() {
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-p.exited
	}

	type walker struct {
		in   io.Writer
		out  *bufio.Scanner
		ends func() error
		ids  []string
		last string
	}
	walkers := map[string]*walker{}
	goIn, goInput := io.Pipe()
	goOutput, goOut := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := walkInGo(t.Context(), p.root+"/api/v1", s.key, limit, goIn, goOut)
		_ = goOut.Close()
		ended <- err
	}()
	walkers["go"] = &walker{in: goInput, out: bufio.NewScanner(goOutput), ends: func() error { return <-ended }}
	for language, command := range clientPrograms(t, walks) {
		cmd := command("ATLAS_URL="+p.root+"/api/v1", "ATLAS_API_KEY="+s.key, fmt.Sprintf("LIMIT=%d", limit))
		cmd.Stderr = os.Stderr
		in, out := must(cmd.StdinPipe())(t), must(cmd.StdoutPipe())(t)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		walkers[language] = &walker{in: in, out: bufio.NewScanner(out), ends: cmd.Wait}
	}
	// read reads what all print until they wait, or end.
	read := func() {
		for language, w := range walkers {
			for w.last = ""; w.last == "" && w.out.Scan(); {
				if line := w.out.Text(); line == "waiting" || strings.HasPrefix(line, "failed ") {
					w.last = line
				} else {
					w.ids = append(w.ids, line)
				}
			}
			if w.last == "" {
				t.Fatalf("%s ended after %d records: %v", language, len(w.ids), w.ends())
			}
		}
	}
	release := func() {
		for _, w := range walkers {
			_, _ = io.WriteString(w.in, "\n")
		}
	}

	read()
	kill()
	release()
	p = startProcess(t, s, address)
	read()
	release()
	kill()
	p = startProcess(t, s, address)
	read()
	for language, w := range walkers {
		if err := w.ends(); err != nil || w.last == "failed 0" || !strings.HasPrefix(w.last, "failed ") {
			t.Errorf("%s: %v, %s", language, err, w.last)
		}
		if !slices.Equal(w.ids, want) {
			t.Errorf("%s has %d records, want %d, or in another order", language, len(w.ids), len(want))
		}
		t.Log(language, len(w.ids), "records,", w.last)
	}
}
