package book

import (
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"atlas/search/catalog"
	"atlas/workspace"
)

// Overlay holds a workspace's own values of a global record. The records with an
// overlay are the workspace's book.
type Overlay struct {
	Record uuid.UUID
	// Values are the values that the workspace wrote.
	Values Values
	// Score is 0..100 and Trend one of catalog.Trends, both as computed at ScoredAt;
	// accounts only.
	Score    int
	Trend    string
	ScoredAt time.Time
	// UpdatedAt is the time of the workspace's last change. Computed values do not
	// change it.
	CreatedAt, UpdatedAt time.Time
	// UpdatedBy made that change. It is zero for an API key, for Atlas itself, and for a
	// deleted user.
	UpdatedBy workspace.UserID
}

// Values are values by the name of a field that workspaces write
// (catalog.WrittenFields): string, []string, int64, float64 or, for a time, an int64
// of milliseconds since 1970. Unknown values and empty lists are absent.
type Values map[string]any

// Value returns the value of an overlay field, nil when it is unknown.
func (o *Overlay) Value(f *catalog.Field) any {
	switch f.Name {
	case "atlas_score":
		return int64(o.Score)
	case "atlas_trend":
		return o.Trend
	case "updated_at":
		return o.UpdatedAt.UnixMilli()
	case "updated_by":
		if o.UpdatedBy.IsZero() {
			return nil
		}
		return o.UpdatedBy.String()
	}
	return o.Values[f.Name]
}

// Tier is one of catalog.ICPTiers, "" when it is unknown.
func (o *Overlay) Tier() string {
	tier, _ := o.Values["icp_tier"].(string)
	return tier
}

// OverlayChange has new values of fields, nil for a value that becomes unknown. Other
// fields do not change.
type OverlayChange map[string]any

// Apply returns the changed overlay, and whether it differs. It does not modify o.
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

// Expectation is the expected state of a record. It is checked under the lock of the
// change, so nobody changes the record in between.
type Expectation struct {
	// InBook is whether the record is in the book. If it is false, there are no Values.
	InBook bool
	// Values are the expected values of some fields, nil for an unknown value.
	Values OverlayChange
}

// Met reports whether an overlay is as expected; nil means that the record is not in the
// book.
func (e *Expectation) Met(o *Overlay) bool {
	if e == nil {
		return true
	}
	if o == nil || !e.InBook {
		return o == nil && !e.InBook
	}
	_, differs := e.Values.Apply(*o)
	return !differs
}

// Scored is a computed score.
type Scored struct {
	Score int
	Trend string
	At    time.Time
}
