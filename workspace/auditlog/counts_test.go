package auditlog_test

import (
	"testing"
	"time"

	"atlas/workspace"
	"atlas/workspace/auditlog"
)

// BenchmarkDelivered is what the audit log costs a search, while all processors count.
func BenchmarkDelivered(b *testing.B) {
	c := auditlog.Counter{Now: time.Now}
	in := workspace.NewID()
	by := workspace.Author{Key: workspace.NewKeyID()}
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			c.Delivered(in, by, "search_accounts", 25)
		}
	})
}
