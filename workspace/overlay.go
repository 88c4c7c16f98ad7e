package workspace

import (
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"atlas/search/query"
)

// Overlay is what a workspace says of a global record. The records that have
// one are the workspace's book.
type Overlay struct {
	Record uuid.UUID
	// Values are what the workspace wrote.
	Values Values
	// Score is 0..100 and Trend one of query.Trends, both as computed at ScoredAt;
	// accounts only.
	Score    int
	Trend    string
	ScoredAt time.Time
	// UpdatedAt is when the workspace last changed something: the computed
	// values do not move it.
	CreatedAt, UpdatedAt time.Time
}

// Values are values by the name of a field that workspaces write
// (query.WrittenFields): string, []string, int64, float64 or, for a time, an int64
// of milliseconds since 1970. Unknown values and empty lists are absent.
type Values map[string]any

// Value returns the value of an overlay field, nil when it is unknown.
func (o *Overlay) Value(f *query.Field) any {
	switch f.Name {
	case "atlas_score":
		return int64(o.Score)
	case "atlas_trend":
		return o.Trend
	case "updated_at":
		return o.UpdatedAt.UnixMilli()
	}
	return o.Values[f.Name]
}

// Tier is one of query.ICPTiers, "" when it is unknown.
func (o *Overlay) Tier() string {
	tier, _ := o.Values["icp_tier"].(string)
	return tier
}

// OverlayChange has new values of fields, nil for one that becomes unknown.
// Fields that are not in it stay as they are.
type OverlayChange map[string]any

// Apply returns the overlay as the change makes it, and whether anything is
// different. The overlay that is given stays as it was.
func (c OverlayChange) Apply(o Overlay) (Overlay, bool) {
	changed := false
	for name, value := range c {
		if list, ok := value.([]string); ok && len(list) == 0 {
			value = nil
		}
		if sameValue(o.Values[name], value) {
			continue
		}
		if !changed {
			changed = true
			values := make(Values, len(o.Values)+len(c))
			maps.Copy(values, o.Values)
			o.Values = values
		}
		if value == nil {
			delete(o.Values, name)
		} else {
			o.Values[name] = value
		}
	}
	return o, changed
}

func sameValue(a, b any) bool {
	x, isList := a.([]string)
	y, areLists := b.([]string)
	if isList && areLists {
		return slices.Equal(x, y)
	}
	return !isList && !areLists && a == b
}

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

// Projected is the outcome of projecting a HeldRecord.
type Projected struct {
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

// Scored is a computed score.
type Scored struct {
	Score int
	Trend string
	At    time.Time
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
	Marked bool
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
	// Projected is when documents of the workspace were last acknowledged, by the
	// database's clock, zero for never: it tells one projection from another.
	Projected time.Time
	// Generation is the one that searches go to, "" when there is none yet.
	Generation string
	// Filling: that generation replaces a lost one and lacks documents of the
	// workspace.
	Filling bool
	// ViewDeleted: some documents may still name a Static View that was deleted.
	ViewDeleted bool
}
