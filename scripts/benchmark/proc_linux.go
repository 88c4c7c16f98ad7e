package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The kernel ends a child with the thread that started it, and main, which
// starts them, keeps the first thread for the life of the process.
func init() { runtime.LockOSThread() }

// childAttributes keep a terminal's Ctrl-C from a child, which is stopped in
// its turn, and end it with this process, however that ends.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// ticksPerSecond is the unit of times in /proc, on every Linux.
const ticksPerSecond = 100

// processCPU is what a process has used so far, in steps of 10 ms.
func processCPU(pid int) (time.Duration, error) {
	s, err := readProcess(pid)
	return s.own, err
}

// runOn keeps a process, and what it will start, to these processors.
func runOn(pid int, processors ...int) error {
	var set unix.CPUSet
	for _, p := range processors {
		set.Set(p)
	}
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return err
	}
	for _, t := range threads {
		thread, err := strconv.Atoi(t.Name())
		if err != nil {
			return err
		}
		if err := unix.SchedSetaffinity(thread, &set); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("keep process %d to some processors: %w", pid, err)
		}
	}
	return nil
}

// familyCPU is what a process and its children have used, those that are gone
// among them. A child that ends while it reads may be missed until the next
// time.
func familyCPU(pid int) (time.Duration, error) {
	first, err := readProcess(pid)
	if err != nil {
		return 0, err
	}
	sum := first.own + first.gone
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		child, err := strconv.Atoi(e.Name())
		if err != nil {
			continue // no process
		}
		if s, err := readProcess(child); err == nil && s.parent == pid {
			sum += s.own + s.gone
		}
	}
	return sum, nil
}

// parentOf is the process that started another, if that one's program is named
// so: the number may be of another namespace.
func parentOf(pid int, program string) (int, bool) {
	s, err := readProcess(pid)
	return s.parent, err == nil && s.program == program
}

// process is what is of use in /proc/PID/stat.
type process struct {
	program   string
	parent    int
	own, gone time.Duration // of itself, and of children that it waited for
}

func readProcess(pid int) (p process, err error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return p, err
	}
	// The name before the last parenthesis may hold anything. What follows it
	// begins with field 3 of the line; 14 to 17 are user and system time, its
	// own and those of its children.
	begin, end := bytes.IndexByte(raw, '('), bytes.LastIndexByte(raw, ')')
	fields := bytes.Fields(raw[end+1:])
	if begin < 0 || end < begin || len(fields) < 15 {
		return p, fmt.Errorf("/proc/%d/stat is not readable", pid)
	}
	p.program = string(raw[begin+1 : end])
	var numbers [5]int64
	for i, f := range append([][]byte{fields[1]}, fields[11:15]...) {
		if numbers[i], err = strconv.ParseInt(string(f), 10, 64); err != nil {
			return p, err
		}
	}
	ticks := func(n int64) time.Duration { return time.Duration(n) * time.Second / ticksPerSecond }
	p.parent, p.own, p.gone = int(numbers[0]), ticks(numbers[1]+numbers[2]), ticks(numbers[3]+numbers[4])
	return p, nil
}

// alarm waits for moments with the kernel's precision: the runtime's own timers
// are a millisecond coarse in a process that is otherwise idle. It is for one
// goroutine.
type alarm struct {
	fd     int
	file   *os.File // a read returns when the moment has come
	forget func() bool
}

// newAlarm returns an alarm whose waits end early with ctx.
func newAlarm(ctx context.Context) (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("timerfd_create: %w", err)
	}
	a := &alarm{fd: fd, file: os.NewFile(uintptr(fd), "timer")}
	a.forget = context.AfterFunc(ctx, func() { _ = a.file.SetReadDeadline(time.Now()) })
	return a, nil
}

func (a *alarm) close() {
	a.forget()
	_ = a.file.Close()
}

// wait returns at the moment, at once when it has passed.
func (a *alarm) wait(ctx context.Context, until time.Time) error {
	left := time.Until(until)
	if left <= 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(left.Nanoseconds())}
	if err := unix.TimerfdSettime(a.fd, 0, &spec, nil); err != nil {
		return fmt.Errorf("timerfd_settime: %w", err)
	}
	var expirations [8]byte
	if _, err := a.file.Read(expirations[:]); err != nil && ctx.Err() == nil {
		return err
	}
	return ctx.Err()
}

// machineOf reads what the table says of the machine.
func machineOf() machine {
	m := machine{Processors: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH}
	m.CPU = field("/proc/cpuinfo", "model name")
	if kb, err := strconv.ParseFloat(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"), 64); err == nil {
		m.MemoryGiB = kb / (1 << 20)
	}
	if raw, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.System = "Linux " + strings.TrimSpace(string(raw)) + ", " + runtime.GOARCH
	}
	if raw, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(raw), " ")
		m.LoadBefore = first
	}
	return m
}

// field is the first value of a name in a file of "name : value" lines.
func field(path, name string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(raw)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
