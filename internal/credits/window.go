package credits

// Hours is the length of the window.
const Hours = 24

// Window is the state of a workspace's window, in credits.
type Window struct {
	// Used is what was settled in the window.
	Used int64
	// Remaining is Ceiling minus Used, never below 0. Open reservations do
	// not lessen it.
	Remaining int64
	Ceiling   int64
	// Hours is the length of the window, always 24.
	Hours int
}

// Usage is a Window and what made it up.
type Usage struct {
	Window
	// ByTool is the used credits of each operation that used any; they add up
	// to Used. Never nil.
	ByTool map[string]int64
}

func newWindow(used, ceiling int64) Window {
	return Window{Used: used, Remaining: max(0, ceiling-used), Ceiling: ceiling, Hours: Hours}
}
