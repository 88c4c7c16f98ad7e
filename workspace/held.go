package workspace

import (
	"time"

	"github.com/google/uuid"

	"atlas/search/query"
)

// HeldRecord is a record that a workspace holds, or held until its document is
// gone, and all that Postgres says of it in one moment.
type HeldRecord struct {
	Dataset query.Dataset
	Record  uuid.UUID
	// Version is that of the last change; the document is written with it.
	Version int64
	// Digest is that of the document that is there, nil when that is not
	// certain.
	Digest []byte
	// Overlay is nil outside the book.
	Overlay *Overlay
	// Views are the Static Views that the record is in.
	Views []uuid.UUID
}

// ProjectionResult is the outcome of projecting a HeldRecord.
type ProjectionResult struct {
	Dataset query.Dataset
	Record  uuid.UUID
	Version int64
	// Digest of the document that is there now; nil: it is not certain.
	Digest []byte
	// Written: the document was sent, with the version that ClaimHeld gave.
	Written bool
	// Refusal is why Elasticsearch does not take the document, "" when it does.
	Refusal string
	// Present: the global dataset has the record.
	Present bool
	// Unheld: nothing holds the record, and its document is a stub.
	Unheld bool
	// Score, where one was computed.
	Score *Scored
}

// HeldGeneration is one generation of the held index of a dataset.
type HeldGeneration struct {
	Dataset    query.Dataset
	Generation string
	// Serving: searches go to it.
	Serving bool
	// IndexUUID is Elasticsearch's own id of its index, "" while it is not known:
	// an index that was remade or restored under the same name has another one.
	IndexUUID string
	// Marked: the rows whose documents a lost index took with it are marked as
	// lost. Until then no workspace's documents are known to be there.
	LostMarked bool
}

// HeldStatus is how far the held documents are behind.
type HeldStatus struct {
	// Records are the rows there are, Stubs those that nothing holds any more.
	Records int64 `json:"records"`
	Stubs   int64 `json:"stubs"`
	// Pending are those whose documents are behind, OwnPending those of them
	// that a workspace's own write made pending.
	Pending    int64 `json:"pending"`
	OwnPending int64 `json:"own_pending"`
	// OldestPending is how long the oldest has been pending, 0 without any.
	OldestPending time.Duration `json:"-"`
	// Lost are those whose documents the serving index lacks, because it replaces
	// one that was lost.
	Lost int64 `json:"lost"`
	// Refused are those whose documents Elasticsearch does not take.
	Refused int64 `json:"refused"`
}

// RefusedRecord is a held record whose document Elasticsearch does not take: it
// has the document of before, or none.
type RefusedRecord struct {
	Workspace ID            `json:"workspace_id"`
	Dataset   query.Dataset `json:"dataset"`
	Record    uuid.UUID     `json:"record_id"`
	Refusal   string        `json:"refusal"`
}

// Freshness is what a search of held records has to wait for.
type Freshness struct {
	// Pending: rows of the workspace's own writes are not projected.
	Pending bool
	// ProjectionResult is when documents of the workspace were last acknowledged, by the
	// database's clock, zero for never: it tells one projection from another.
	ProjectedAt time.Time
	// Generation is the one that searches go to, "" when there is none yet.
	Generation string
	// Filling: that generation replaces a lost one and lacks documents of the
	// workspace.
	Filling bool
	// ViewDeleted: some documents may still name a Static View that was deleted.
	ViewDeleted bool
}
