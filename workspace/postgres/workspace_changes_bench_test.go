package postgres_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/search/catalog"
	"atlas/workspace/book"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
)

// BenchmarkRecordingChanges writes 1,000 rows of a book, new and changed, alternately with
// and without the triggers that record changes. It reports the minimum and the median time.
func BenchmarkRecordingChanges(b *testing.B) {
	d := pgtest.New(b)
	app, system := d.OpenApp(b, postgres.Options{MaxConns: 2, StatementTimeout: time.Minute}), d.OpenSystem(b, postgres.Options{MaxConns: 2})
	w, err := people.NewDirectory(system, nil).CreateWorkspace(b.Context(), "Bench", "pro", 0)
	if err != nil {
		b.Fatal(err)
	}
	took := map[string][]float64{}
	for b.Loop() {
		for _, triggers := range []string{"ENABLE", "DISABLE"} {
			if _, err := system.Pool().Exec(b.Context(), `ALTER TABLE overlays `+triggers+` TRIGGER USER`); err != nil {
				b.Fatal(err)
			}
			now := time.Now()
			list := make([]book.OverlayUpsert, 1000)
			for i := range list {
				list[i].Fresh = book.Overlay{
					Record: uuid.New(), Values: book.Values{"notes": "called, will call again"}, CreatedAt: now,
					UpdatedAt: now,
				}
			}
			for _, what := range []string{"new", "changed"} {
				began := time.Now()
				if _, err := app.UpsertOverlays(b.Context(), w.ID, catalog.Contacts, list, book.Additions{Most: 1e9, At: now}); err != nil {
					b.Fatal(err)
				}
				took[triggers+"-"+what] = append(took[triggers+"-"+what], float64(time.Since(began).Microseconds())/1000)
				for i := range list {
					list[i].Change = book.OverlayChange{"notes": "called"}
				}
			}
		}
	}
	for name, all := range took {
		slices.Sort(all)
		b.ReportMetric(all[0], name+"-min-ms")
		b.ReportMetric(all[len(all)/2], name+"-median-ms")
	}
}
