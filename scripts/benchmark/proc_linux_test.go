package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestProcessCPUGrowsWithWork(t *testing.T) {
	t.Parallel()
	before, err := processCPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	// Work until it shows: how long that takes is the machine's affair.
	for end := time.Now().Add(time.Minute); ; {
		now, err := processCPU(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if now < before {
			t.Fatalf("went back from %v to %v", before, now)
		}
		if now-before >= 30*time.Millisecond {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("still %v after a minute of work", now)
		}
	}
}

func TestNoProcessHasNoCPU(t *testing.T) {
	t.Parallel()
	gone := exec.CommandContext(t.Context(), "true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	if used, err := processCPU(gone.Process.Pid); err == nil {
		t.Errorf("a process that is gone used %v", used)
	}
}

func TestAlarmIsNotEarlyAndEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	a, err := newAlarm(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	for _, in := range []time.Duration{-time.Second, 0, 100 * time.Microsecond, 3 * time.Millisecond, 20 * time.Millisecond} {
		due := time.Now().Add(in)
		if err := a.wait(ctx, due); err != nil {
			t.Fatal(err)
		}
		if early := time.Until(due); early > 0 {
			t.Errorf("%v too early for %v", early, in)
		}
	}
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := a.wait(ctx, time.Now().Add(time.Hour)); !errors.Is(err, context.Canceled) {
		t.Errorf("after its context ended: %v", err)
	}
}

func TestMachineIsNamed(t *testing.T) {
	t.Parallel()
	if m := machineOf(); m.Processors < 1 || m.MemoryGiB <= 0 || !strings.HasPrefix(m.System, "Linux ") || m.LoadBefore == "" {
		t.Errorf("%+v", m)
	}
}

// A child counts while it runs and after it has ended.
func TestFamilyCPUCountsChildren(t *testing.T) {
	t.Parallel()
	if _, found := parentOf(os.Getpid(), "another program"); found {
		t.Error("a process is taken for another program")
	}
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
	if parent, found := parentOf(shell.Process.Pid, "sh"); !found || parent != os.Getpid() {
		t.Errorf("the parent is %d, %v", parent, found)
	}
	if _, err := out.Read(make([]byte, 8)); err != nil { // the child has ended
		t.Fatal(err)
	}
	own, err := processCPU(shell.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	all, err := familyCPU(shell.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if all < own+10*time.Millisecond {
		t.Errorf("with its child %v, without %v", all, own)
	}
}
