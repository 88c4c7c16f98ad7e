package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"

	"github.com/prometheus/procfs"
)

// setApart gives Elasticsearch the last core and everything else the others. Atlas, which is
// started later, inherits the cores of this process. It fails if the processes are not on
// this machine, or with one core.
func (i *installation) setApart() {
	cores := runtime.NumCPU()
	if cores < 2 {
		failf("--apart needs two cores, this machine has %d", cores)
	}
	var nodes struct {
		Nodes map[string]struct {
			Process struct{ ID int }
		}
	}
	check(i.Ask(i.ctx, "GET", "/_nodes/process?filter_path=nodes.*.process.id", "", &nodes))
	if len(nodes.Nodes) != 1 {
		failf("--apart needs one node of Elasticsearch, there are %d", len(nodes.Nodes))
	}
	for _, n := range nodes.Nodes {
		if p, err := procfs.NewProc(n.Process.ID); err != nil || must(p.Comm()) != "java" {
			failf("--apart needs Elasticsearch as a process of this machine: it is in a container")
		}
		onCores(strconv.Itoa(cores-1), n.Process.ID)
	}
	others := fmt.Sprintf("0-%d", cores-2)
	info := i.redis.InfoMap(i.ctx, "server")
	check(info.Err())
	onCores(others, os.Getpid())
	onCores(others, must(strconv.Atoi(info.Item("Server", "process_id"))))
	for _, s := range familyOf(postmasterOf(i.ctx, i.Rig)) {
		onCores(others, s.PID)
	}
}

// onCores pins all threads of a process to some cores.
func onCores(cores string, pid int) {
	out, err := exec.Command("taskset", "--all-tasks", "--cpu-list", "--pid", cores, strconv.Itoa(pid)).CombinedOutput() // #nosec G204 -- a program of this machine
	if err != nil {
		failf("taskset: %w: %s", err, out)
	}
}
