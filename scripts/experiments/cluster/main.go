// Command cluster runs Atlas as several servers with replicated backends until it is
// interrupted, for trying what happens when one of them ends (docs/cluster.md).
// scripts/cluster builds and starts it.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"atlas/internal/experiment/balancer"
	"atlas/scripts/experiments/rig"
)

const nodes, servers = 3, 2

func main() {
	listen := flag.String("listen", "", "host:port of the load balancer on loopback; default: a free port")
	records := flag.Int64("records", 4_000, "number of generated records")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	say := func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	err := rig.Try(ctx, say, func(t *rig.Alone) { serve(t, *listen, *records) })
	if err != nil && ctx.Err() == nil {
		say("cluster: %v", err)
		os.Exit(1)
	}
}

// serve starts everything, prints the addresses, and executes commands until the context
// ends.
func serve(t *rig.Alone, listen string, records int64) {
	r := rig.Start(t, rig.Options{Nodes: nodes, Replicated: true, Prefix: "atlas-", Records: records})
	b, err := balancer.New(listen)
	rig.Check(t, err)
	t.Cleanup(func() { rig.Check(t, b.Close()) })
	var roots []string
	var running []*rig.Server
	for range servers {
		s := r.Serve("ATLAS_DRAIN_PAUSE=3s", rig.PatientRedis)
		running, roots = append(running, s), append(roots, s.Root)
	}
	rig.Check(t, b.Set(roots...))
	w := r.Workspace(250_000, "Cluster")

	fmt.Printf("Atlas, behind the load balancer:\n  export ATLAS_URL=%s/api/v1 ATLAS_API_KEY=%s\n", b.Root, w.Key)
	for i, s := range running {
		fmt.Printf("  atlas-%d  %s  process %d\n", i+1, s.Root, s.PID())
	}
	fmt.Println("Settings of each:")
	for _, setting := range r.Environment() {
		for _, name := range []string{
			"ATLAS_ELASTICSEARCH_URL", "ATLAS_POSTGRES_URL", "ATLAS_POSTGRES_SYSTEM_URL", "ATLAS_REDIS_URL",
			"ATLAS_HELD_REPLICAS",
		} {
			if strings.HasPrefix(setting, name+"=") {
				fmt.Println("  " + setting)
			}
		}
	}
	status(t, r)
	fmt.Println(help)
	lines := make(chan string)
	go func() {
		for input := bufio.NewScanner(os.Stdin); input.Scan(); {
			lines <- input.Text()
		}
	}()
	for {
		select {
		case <-t.Context().Done():
			return
		case line := <-lines:
			if err := execute(t, r, running, strings.Fields(line)); err != nil {
				fmt.Println(err)
				continue
			}
			fmt.Println("done")
		}
	}
}

const help = `Commands: status | kill MEMBER | halt MEMBER | resume MEMBER | promote | rejoin MEMBER
A MEMBER is one of the list, or atlas-1, atlas-2. Promote makes the standby of Postgres the primary, rejoin the old primary a standby. Ctrl-C ends everything.`

func execute(t *rig.Alone, r *rig.Rig, running []*rig.Server, words []string) error {
	ctx, c := t.Context(), r.Cluster
	if len(words) == 0 {
		return nil
	}
	member := append(words, "")[1]
	for i, s := range running {
		if member == fmt.Sprintf("atlas-%d", i+1) {
			switch words[0] {
			case "kill":
				return s.Kill()
			case "halt":
				return s.Stop()
			case "resume":
				return s.Launch()
			}
		}
	}
	switch words[0] {
	case "status":
		status(t, r)
		return nil
	case "kill":
		return c.Kill(member)
	case "halt":
		return c.Halt(ctx, member)
	case "resume":
		return c.Resume(ctx, member)
	case "promote":
		return c.Promote(ctx)
	case "rejoin":
		return c.Rejoin(ctx, member)
	}
	return fmt.Errorf("no such command: %s", words[0])
}

// status prints the members, and which of them lead.
func status(t *rig.Alone, r *rig.Rig) {
	ctx, c := t.Context(), r.Cluster
	roles := map[string]string{}
	if primary, err := c.Primary(ctx); err == nil {
		roles[primary] = "primary"
	}
	if master, err := c.RedisMaster(ctx); err == nil {
		roles[master] = "master"
	}
	fmt.Println("Members:")
	for _, m := range c.Members() {
		state := fmt.Sprintf("process %d", m.PID)
		if !m.Running {
			state = "does not run"
		}
		fmt.Printf("  %-16s %-16s %-16s %s\n", m.Name, m.Address, state, roles[m.Name])
	}
}
