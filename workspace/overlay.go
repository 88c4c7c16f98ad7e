package workspace

import (
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"atlas/search/query"
)

// Overlay holds a workspace's own values of a global record. The records with an
// overlay are the workspace's book.
type Overlay struct {
	Record uuid.UUID
	// Values are what the workspace wrote.
	Values Values
	// Score is 0..100 and Trend one of query.Trends, both as computed at ScoredAt;
	// accounts only.
	Score    int
	Trend    string
	ScoredAt time.Time
	// UpdatedAt is the time of the workspace's last change. Computed values do not
	// change it.
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

// HeldRecord is a record that a workspace holds, or held and whose document is not
// deleted yet: its state in Postgres, read in one snapshot.
type HeldRecord struct {
	Dataset query.Dataset
	Record  uuid.UUID
	// Version of the last change. The document is written with it.
	Version int64
	// Digest of the document in the index, nil when it is not certain.
	Digest []byte
	// Overlay is nil outside the book.
	Overlay *Overlay
	// Views are the Static Views that contain the record.
	Views []uuid.UUID
}

// Projected is the result of projecting a HeldRecord.
type Projected struct {
	Dataset query.Dataset
	Record  uuid.UUID
	Version int64
	// Digest of the document in the index now, nil when it is not certain.
	Digest []byte
	// Written: the document was sent, with the version that ClaimHeld gave.
	Written bool
	// Refusal is the reason why Elasticsearch rejects the document, "" when it
	// accepts it.
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
	// IndexUUID is Elasticsearch's id of the index, "" while unknown. An index that
	// was recreated or restored under the same name has another one.
	IndexUUID string
	// Marked: the rows whose documents were in a lost index are marked as lost.
	// Until then no document is known to be in the index.
	Marked bool
}

// HeldStatus is the backlog of the projection.
type HeldStatus struct {
	// Records counts all rows, Stubs those of records that nothing holds any more.
	Records int64 `json:"records"`
	Stubs   int64 `json:"stubs"`
	// Pending counts the rows whose documents are out of date, OwnPending those of
	// them that a workspace's own write made pending.
	Pending    int64 `json:"pending"`
	OwnPending int64 `json:"own_pending"`
	// OldestPending is the age of the oldest pending row, 0 without any.
	OldestPending time.Duration `json:"-"`
	// Lost counts the rows whose documents the serving index lacks because it
	// replaces a lost one.
	Lost int64 `json:"lost"`
	// Refused counts the rows whose documents Elasticsearch rejects.
	Refused int64 `json:"refused"`
}

// RefusedRecord is a held record whose document Elasticsearch rejects. The index
// has the previous document, or none.
type RefusedRecord struct {
	Workspace ID            `json:"workspace_id"`
	Dataset   query.Dataset `json:"dataset"`
	Record    uuid.UUID     `json:"record_id"`
	Refusal   string        `json:"refusal"`
}

// Freshness tells what a search of held records has to wait for.
type Freshness struct {
	// Pending: rows of the workspace's own writes are not projected.
	Pending bool
	// Projected is when documents of the workspace were last acknowledged, by the
	// database's clock; zero: never. It identifies a projection.
	Projected time.Time
	// Generation serves searches; "" when there is none yet.
	Generation string
	// Filling: the generation replaces a lost one and still lacks documents of the
	// workspace.
	Filling bool
	// ViewDeleted: documents may still name a deleted Static View.
	ViewDeleted bool
}
