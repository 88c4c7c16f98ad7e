package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"atlas/internal/timer"
)

// starter starts processes that end with this one. The kernel ties their end to
// the thread that forked them, so one thread does all forks and lives until
// close.
type starter struct {
	work chan func()
}

func newStarter() *starter {
	s := &starter{work: make(chan func())}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the loop
		for f := range s.work {
			f()
		}
	}()
	return s
}

func (s *starter) start(cmd *exec.Cmd) error {
	done := make(chan error)
	s.work <- func() { done <- cmd.Start() }
	return <-done
}

// close ends the thread and, with it, the processes it started.
func (s *starter) close() { close(s.work) }

// dieWithParent makes the kernel send a signal to the process when the starter's
// thread ends, which also covers kill -9 of the starter.
func dieWithParent(attr *syscall.SysProcAttr, signal syscall.Signal) { attr.Pdeathsig = signal }

// running returns the state of a process; false if it has ended, even if it is a
// zombie.
func running(pid int) (procfs.ProcStat, bool) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStat{}, false
	}
	s, err := p.Stat()
	return s, err == nil && s.State != "Z" && s.State != "X"
}

// startTime returns when a running process started, in clock ticks since boot.
func startTime(pid int) (uint64, bool) {
	s, ok := running(pid)
	return s.Starttime, ok
}

// processes returns the running processes that match.
func processes(match func(procfs.ProcStat) bool) (pids []int) {
	all, _ := procfs.AllProcs() // none where /proc is not mounted
	for _, p := range all {
		if s, ok := running(p.PID); ok && match(s) {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

// bootID identifies this boot of the machine.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// groupMembers returns the running processes of the record's process group. The
// kernel may have reused the group's number, so only processes that work below
// the record's home count.
func groupMembers(r processRecord) []int {
	return processes(func(s procfs.ProcStat) bool {
		return s.PGRP == r.PID && s.Starttime >= r.Started && atHome(s.PID, r.Home)
	})
}

// children returns the running child processes of a process.
func children(parent int) []int {
	return processes(func(s procfs.ProcStat) bool { return s.PPID == parent })
}

// atHome reports whether the working folder of a process is home or below it. If
// root may not read that, as in most containers, it compares the owner of the
// process instead.
func atHome(pid int, home string) bool {
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	if errors.Is(err, os.ErrPermission) {
		var p, h syscall.Stat_t
		return syscall.Stat(fmt.Sprintf("/proc/%d", pid), &p) == nil && syscall.Stat(home, &h) == nil && p.Uid == h.Uid
	}
	if err != nil {
		return false
	}
	cwd = strings.TrimSuffix(cwd, " (deleted)")
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real // the kernel's path has no links in it
	}
	return cwd == home || strings.HasPrefix(cwd, home+"/")
}

// killGroup kills the record's process group and waits for its end.
func killGroup(r processRecord) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for {
		pids := groupMembers(r)
		if len(pids) == 0 {
			return nil
		}
		for _, pid := range pids {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("kill %s (process %d): %w", r.Kind, pid, err)
			}
		}
		if timer.Sleep(ctx, 20*time.Millisecond) != nil {
			return fmt.Errorf("%s (processes %v) was killed and is still there", r.Kind, pids)
		}
	}
}

// heldPort is a loopback port that no other process can listen on.
type heldPort struct {
	kind   string
	socket int
}

// holdPort binds a port without listening: connections are refused, like those to a server
// that has ended. Connections of that server may still be closing, so the bind allows reuse
// of the address. Afterwards it does not, or another process could reuse it too.
func holdPort(port int) (*heldPort, error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	reuse := func(is int) error { return syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, is) }
	err = reuse(1)
	if err == nil {
		err = syscall.Bind(socket, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil {
		err = reuse(0)
	}
	if err != nil {
		_ = syscall.Close(socket)
		return nil, err
	}
	return &heldPort{socket: socket}, nil
}

func (h *heldPort) letGo() { _ = syscall.Close(h.socket) }
