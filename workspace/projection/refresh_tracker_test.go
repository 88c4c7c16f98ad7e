package projection

import (
	"testing"
	"time"

	"atlas/workspace"
	"atlas/workspace/held"
)

// A refresh with a projection shows its documents and not those of a projection that
// ended in between.
func TestExtendingARefresh(t *testing.T) {
	t.Parallel()
	var (
		r  refreshTracker
		in = workspace.ID{1}
		at = func(n int64) time.Time { return time.Unix(n, 0) }
	)
	r.extend("index", in, held.Finished{Now: at(1)})
	if !r.visible("index", in, at(1)) {
		t.Error("the first projection is not visible")
	}
	r.extend("index", in, held.Finished{Before: at(2), Now: at(3)})
	if r.visible("index", in, at(3)) {
		t.Error("a projection after an unseen one is visible")
	}
	r.record("index", in, at(3))
	r.extend("index", in, held.Finished{Before: at(3), Now: at(4)})
	if !r.visible("index", in, at(4)) || r.visible("other", in, at(4)) {
		t.Error("a projection after a visible one is not visible, or one of another index is")
	}
}
