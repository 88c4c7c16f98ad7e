package load

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// alarm waits with the precision of the kernel: the runtime's own timers are a
// millisecond coarse in a process that is otherwise idle. It belongs to one
// goroutine.
type alarm struct {
	file *os.File // a read returns at the set time
}

func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("timerfd_create: %w", err)
	}
	return &alarm{os.NewFile(uintptr(fd), "timer")}, nil
}

// close ends a wait, too.
func (a *alarm) close() { _ = a.file.Close() }

// wait returns at the given time, at once if it has passed.
func (a *alarm) wait(ctx context.Context, until time.Time) error {
	left := time.Until(until)
	if left <= 0 || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	raw, err := a.file.SyscallConn()
	if err != nil {
		return err
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(left.Nanoseconds())}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = unix.TimerfdSettime(int(fd), 0, &spec, nil) })
	if err == nil {
		err = failed
	}
	if err == nil {
		var expirations [8]byte
		_, err = a.file.Read(expirations[:])
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
