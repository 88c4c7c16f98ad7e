package projection

import (
	"errors"
	"testing"
)

// A caller gets the next run and not one that has begun. All callers until the next
// run begins share it.
func TestARunIsSharedOnlyBeforeItBegins(t *testing.T) {
	t.Parallel()
	var all coalescer[int]
	began, release := make(chan int), make(chan error)
	n := 0
	run := func() error {
		n++
		began <- n
		return <-release
	}
	if all.current(1) != nil {
		t.Error("a run before the first")
	}
	first := all.schedule(1, run)
	<-began
	if all.current(1) != first || all.current(2) != nil {
		t.Error("not the run that has begun")
	}
	second, third := all.schedule(1, run), all.schedule(1, run)
	if second == first || third != second {
		t.Fatal("the run that had begun was shared, or the next one was not")
	}
	other := all.schedule(2, func() error { return nil })
	if err := other.wait(t.Context()); err != nil {
		t.Error("another key:", err)
	}
	release <- errors.New("of the first")
	if err := first.wait(t.Context()); err == nil {
		t.Error("the first run's error is lost")
	}
	if <-began != 2 {
		t.Error("not the second run")
	}
	select {
	case <-second.done:
		t.Error("the second run ended with the first")
	default:
	}
	release <- nil
	if err := third.wait(t.Context()); err != nil {
		t.Error(err)
	}
	all.wait()
	if len(all.runs) != 0 {
		t.Error("something is left of what has ended")
	}
}
