package explorer

import (
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Live serves the files of a folder, for development: those of the last build, which
// replaces the folder as a whole. It is safe for concurrent use.
type Live struct {
	folder, tiles string

	mu   sync.Mutex
	site *Site
	of   time.Time // when the page of site was written
}

// NewLive serves a folder that may not exist yet. tiles is as for New.
func NewLive(folder, tiles string) *Live { return &Live{folder: folder, tiles: tiles} }

// Serve is like Site.Serve.
func (l *Live) Serve(w http.ResponseWriter, r *http.Request) bool {
	site, err := l.current()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return true
	}
	return site.Serve(w, r)
}

func (l *Live) current() (*Site, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var written time.Time
	if page, err := os.Stat(filepath.Join(l.folder, index)); err == nil {
		written = page.ModTime()
	}
	if l.site != nil && written.Equal(l.of) {
		return l.site, nil
	}
	site, err := read(os.DirFS(l.folder), building, l.tiles)
	if err != nil {
		return nil, err
	}
	l.site, l.of = site, written
	return site, nil
}
