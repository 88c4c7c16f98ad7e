package main

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/procfs"
)

func TestMachineIsNamed(t *testing.T) {
	t.Parallel()
	if m := machineOf(); m.Processors < 1 || m.MemoryGiB <= 0 || !strings.HasPrefix(m.System, "Linux ") || m.LoadBefore == "" {
		t.Errorf("%+v", m)
	}
}

// A child counts while it runs and after it has ended.
func TestFamilyCPUCountsChildren(t *testing.T) {
	t.Parallel()
	shell := exec.CommandContext(t.Context(), "sh", "-c", `(i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done) & wait; echo done; read line`)
	in, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := shell.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = in.Close(), shell.Wait() }()
	if _, err := out.Read(make([]byte, 8)); err != nil { // the child has ended
		t.Fatal(err)
	}
	own := must(must(procfs.NewProc(shell.Process.Pid)).Stat())
	if all := familyCPU(shell.Process.Pid); own.Comm != "sh" || own.PPID != os.Getpid() || all < own.CPUTime()+0.01 {
		t.Errorf("with its child %v s, without %v s", all, own.CPUTime())
	}
}

// A benchmark that fails stops what it started, the last first, and says all that
// went wrong.
func TestTry(t *testing.T) {
	t.Parallel()
	first, second := errors.New("first"), errors.New("second")
	var stopped []int
	err := try(t.Context(), func(r *run) {
		for i := range 3 {
			r.Cleanup(func() {
				stopped = append(stopped, i)
				if i == 1 {
					r.Fatal(second)
				}
			})
		}
		check(first)
	})
	if !errors.Is(err, first) || !errors.Is(err, second) || !slices.Equal(stopped, []int{2, 1, 0}) {
		t.Errorf("%v, stopped %v", err, stopped)
	}
	if err := try(t.Context(), func(*run) { check(first) }); !errors.Is(err, first) {
		t.Error(err)
	}
	if err := try(t.Context(), func(r *run) { r.Cleanup(func() { r.Errorf("late: %w", second) }) }); !errors.Is(err, second) {
		t.Error(err)
	}
}
