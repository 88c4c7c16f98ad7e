package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// starter starts processes that are to end with this one. The kernel ties that
// to the thread which forked, not to the process, so one thread does all the
// forking and stays until close.
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

// close ends the thread, and what it started with it.
func (s *starter) close() { close(s.work) }

// dieWithParent has the kernel send a signal to the process when its starter's
// thread is gone, which a kill -9 of the starter cannot prevent.
func dieWithParent(attr *syscall.SysProcAttr, signal syscall.Signal) { attr.Pdeathsig = signal }

// procStat is what is of use in /proc/PID/stat.
type procStat struct {
	zombie  bool
	parent  int
	group   int
	started uint64 // clock ticks since boot
}

func readStat(pid int) (procStat, bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return procStat{}, false
	}
	// The name before the last parenthesis may hold anything.
	_, rest, ok := strings.Cut(string(b[max(0, strings.LastIndexByte(string(b), ')')):]), ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return procStat{}, false
	}
	started, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return procStat{}, false
	}
	return procStat{zombie: fields[0] == "Z" || fields[0] == "X", parent: atoi(fields[1]), group: atoi(fields[2]), started: started}, true
}

// startTime returns when a process started, in clock ticks since boot; false
// when it runs no longer. One that nobody waits for runs no longer.
func startTime(pid int) (uint64, bool) {
	s, ok := readStat(pid)
	return s.started, ok && !s.zombie
}

// bootID returns what tells this boot of the machine from others.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// groupMembers returns the running processes of the record's group, which has
// its first process's number. Only those at home there: the number of a group
// that is gone may have gone to another one.
func groupMembers(r processRecord) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		pid := atoi(e.Name())
		if pid == 0 {
			continue
		}
		s, ok := readStat(pid)
		if ok && !s.zombie && s.group == r.PID && s.started >= r.Started && atHome(pid, r.Home) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// children returns the running processes that a process started.
func children(parent int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		if pid := atoi(e.Name()); pid != 0 {
			if s, ok := readStat(pid); ok && !s.zombie && s.parent == parent {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// atHome says whether a process works below home. Where root may not look at
// other users' processes, as in most containers, the owner has to do.
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

// killGroup kills what still runs of the record's group and waits until it is
// gone.
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
		if pause(ctx, 20*time.Millisecond) != nil {
			return fmt.Errorf("%s (processes %v) was killed and is still there", r.Kind, pids)
		}
	}
}
