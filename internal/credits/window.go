package credits

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
}

// Usage is a Window with its credits by operation.
type Usage struct {
	Window
	// ByTool has the used credits of each operation that used any. Their sum is Used.
	// It is never nil.
	ByTool map[string]int64
}

func newWindow(used, ceiling int64) Window {
	return Window{Used: used, Remaining: max(0, ceiling-used), Ceiling: ceiling, Hours: Hours}
}
