package delta_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"

	"atlas/indexer"
	"atlas/indexer/extsort"
	"atlas/indexer/feed"
	"atlas/search/catalog"
)

// filesFeed counts the files of digests of accounts that are read at once.
type filesFeed struct {
	*feed.Feed
	dir  string
	read atomic.Int64
}

func (f *filesFeed) UseDigests(generation string, open func(context.Context, catalog.Dataset) (*extsort.Iterator, error)) {
	f.Feed.UseDigests(generation, func(ctx context.Context, d catalog.Dataset) (*extsort.Iterator, error) {
		it, err := open(ctx, d)
		if files, _ := filepath.Glob(filepath.Join(f.dir, "accounts-digests-*.run")); d == catalog.Accounts && it != nil {
			f.read.Store(int64(len(files)))
		}
		return it, err
	})
}

// A load with many checkpoints has many files of digests. They are not read all at once.
func TestManyFilesOfDigests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var numbers []int
	for n := range 2 * extsort.DefaultFanIn {
		numbers = append(numbers, n+1)
	}
	_, err := indexer.Load(t.Context(), w.loadOptions(t, map[catalog.Dataset]string{catalog.Accounts: accountsOf(1)}))
	fatal(t, err)
	f := w.follower(t)
	o := w.loadOptions(t, map[catalog.Dataset]string{catalog.Accounts: accountsOf(numbers[1:]...)})
	counting := &filesFeed{Feed: w.feed(t), dir: t.TempDir()}
	o.Feed, o.WorkDir, o.CheckpointRecords, o.Workers = counting, counting.dir, 1, 1
	_, err = indexer.Load(t.Context(), o)
	fatal(t, err)
	if n := counting.read.Load(); n == 0 || n > extsort.DefaultFanIn {
		t.Errorf("%d files are read at once", n)
	}
	f.catchUp(t)
	f.wantEqual(t, "loaded")
}
