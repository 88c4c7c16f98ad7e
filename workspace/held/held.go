// Package held has the types for reading and writing the rows of held records. A
// record is held while a workspace has it in its book or in a Static View
// (docs/decisions/007-held-documents.md).
//
// It has no rules; workspace/projection does.
package held

import (
	"time"

	"github.com/google/uuid"

	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/book"
)

// Record is one row of held_records with its overlay and memberships, read in
// one statement. The row outlives the last overlay and membership until the
// document is deleted.
type Record struct {
	Dataset catalog.Dataset
	Record  uuid.UUID
	// Version is the version of the last change, and of the document written for it.
	Version int64
	// Digest is the SHA-256 of the document in Elasticsearch, without its version; nil when
	// the document is unknown.
	Digest []byte
	// Overlay is nil when the record is not in the book.
	Overlay *book.Overlay
	// Views are the Static Views that contain the record.
	Views []uuid.UUID
}

// Pending is a read of pending records for projection.
type Pending struct {
	Records []Record
	// Indexed means that every dataset has a registered generation to write to.
	Indexed bool
	// Leased means that the caller has the lease of the workspace's projector.
	Leased bool
}

// Claim permits the caller to write the documents of records.
type Claim struct {
	// Versions are the versions to write, by record. A record without one has no
	// row any more.
	Versions map[uuid.UUID]int64
	// Generations are the generations to write to, of all datasets.
	Generations []Generation
	// Leased is false when the lease was lost; then nothing was claimed.
	Leased bool
}

// ProjectionResult is the outcome of projecting a Record.
type ProjectionResult struct {
	Dataset catalog.Dataset
	Record  uuid.UUID
	Version int64
	// Digest of the document that is now in Elasticsearch; nil when unknown.
	Digest []byte
	// Written means that the document was sent, with the version of Claim.
	Written bool
	// Refusal is why Elasticsearch rejected the document; "" if it did not.
	Refusal string
	// Present means that the global dataset has the record.
	Present bool
	// Unheld means that the record has no overlay and no membership; its document is a
	// stub.
	Unheld bool
	// Score is nil when none was computed.
	Score *book.Scored
}

// Finish is the end of a projection of records.
type Finish struct {
	Results []ProjectionResult
	// Written means that documents were sent.
	Written bool
	// Release is the holder whose lease of the workspace's projector ends with this
	// projection; "" does not end the lease.
	Release string
}

// Generation is one generation of the held index of a dataset.
type Generation struct {
	Dataset    catalog.Dataset
	Generation string
	// Serving means that searches use this generation.
	Serving bool
	// IndexUUID is Elasticsearch's id of the index, "" when unknown. An index that
	// was recreated or restored under the same name has another id.
	IndexUUID string
	// LostMarked means that the rows whose documents were lost with the previous index are
	// marked. Until then no workspace's documents can be assumed to be present.
	LostMarked bool
	// Folding is that of its documents.
	Folding catalog.Folding
}

// Status says how far the held documents are behind their rows.
type Status struct {
	// Records counts all rows, Stubs the rows without overlay and membership.
	Records int64 `json:"records"`
	Stubs   int64 `json:"stubs"`
	// Pending counts rows whose documents are out of date, OwnPending those that a
	// write of their workspace made pending.
	Pending    int64 `json:"pending"`
	OwnPending int64 `json:"own_pending"`
	// OldestPending is the age of the oldest pending row; 0 without any.
	OldestPending time.Duration `json:"-"`
	// Lost counts rows whose documents are missing from the serving index because
	// it replaces a lost one.
	Lost int64 `json:"lost"`
	// Refused counts rows whose documents Elasticsearch rejected.
	Refused int64 `json:"refused"`
}

// RefusedRecord is a held record whose document Elasticsearch rejected. The index
// has its previous document, or none.
type RefusedRecord struct {
	Workspace workspace.ID    `json:"workspace_id"`
	Dataset   catalog.Dataset `json:"dataset"`
	Record    uuid.UUID       `json:"record_id"`
	Refusal   string          `json:"refusal"`
}

// Freshness says what a search of held records must wait for.
type Freshness struct {
	// Pending means that a write of the workspace is not projected yet.
	Pending bool
	// ProjectedAt is when Elasticsearch last acknowledged documents of the workspace, by
	// the clock of Postgres; zero for never. It identifies the projection.
	ProjectedAt time.Time
	// Generation is the generation that searches use, "" if none is registered.
	Generation string
	// Filling means that the generation replaces a lost one and lacks documents of the
	// workspace.
	Filling bool
	// ViewDeleted means that documents may still name a Static View that was deleted.
	ViewDeleted bool
}
