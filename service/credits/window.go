package credits

import "time"

// Hours is the length of the window.
const Hours = 24

// Window is the state of a workspace's window, in credits.
type Window struct {
	// Used is the sum of the settled credits in the window.
	Used int64
	// Remaining is Ceiling minus Used, at least 0. Open reservations do not count.
	Remaining int64
	Ceiling   int64
	// Hours is the length of the window, always 24.
	Hours int
	// NextAt is when Used falls below Ceiling if nothing more is used. It is zero if Used is
	// lower, if Ceiling is 0, and after Settle.
	NextAt time.Time
	// Key is the budget of the request's API key, zero if it has none.
	Key KeyWindow
}

// KeyWindow is the state of a key's budget in a workspace, in credits.
type KeyWindow struct {
	Used, Budget int64
	// NextAt is when Used falls below Budget, as Window.NextAt.
	NextAt time.Time
}

// Remaining is Budget minus Used, at least 0.
func (k KeyWindow) Remaining() int64 { return max(0, k.Budget-k.Used) }

// Hour has the credits of a clock hour.
type Hour struct {
	From    time.Time
	Credits int64
}

// Usage is a Window with its credits by operation and by hour.
type Usage struct {
	Window
	// ByTool has the used credits of each operation that used any. Their sum is Used.
	// It is never nil.
	ByTool map[string]int64
	// ByKey has the used credits of each API key that used any, by its id. The rest of
	// Used is that of users. It is never nil.
	ByKey map[string]int64
	// ByHour has the hours in which credits were used, in order. Their sum is Used: of the first
	// hour only the minutes in the window count.
	ByHour []Hour
}

// newWindow makes a window; back is the time in ms of NextAt, or 0.
func newWindow(used, ceiling, back int64) Window {
	w := Window{Used: used, Remaining: max(0, ceiling-used), Ceiling: ceiling, Hours: Hours}
	if back > 0 {
		w.NextAt = time.UnixMilli(back).UTC()
	}
	return w
}

// of adds the state of a key's budget, if it has one.
func (w Window) of(k Key, used, back int64) Window {
	if k.Budget > 0 {
		w.Key = KeyWindow{Used: used, Budget: k.Budget}
		if back > 0 {
			w.Key.NextAt = time.UnixMilli(back).UTC()
		}
	}
	return w
}
