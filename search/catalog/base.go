package catalog

// BaseKind says what is searched.
type BaseKind string

// The bases.
const (
	Data BaseKind = "data" // the global dataset
	Book BaseKind = "book" // the records a workspace annotated
	View BaseKind = "view" // what a View of a workspace shows
	// QueueBase is the queue of signals of a workspace.
	QueueBase BaseKind = "queue"
)
