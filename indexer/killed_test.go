package indexer_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/indexer"
	"atlas/internal/elastic"
	"atlas/mappings"
)

// The environment of a test program that is to load and to be killed.
const (
	victimDir     = "ATLAS_TEST_LOAD_DIR"
	victimElastic = "ATLAS_TEST_LOAD_ELASTICSEARCH"
	victimPrefix  = "ATLAS_TEST_LOAD_PREFIX"
	victimTemp    = "ATLAS_TEST_LOAD_TEMP"
)

func victim() int {
	c, err := elastic.New(elastic.Config{Addresses: []string{os.Getenv(victimElastic)}})
	if err == nil {
		_, err = indexer.Load(context.Background(), indexer.Options{
			Dir: os.Getenv(victimDir), Elastic: c, Names: mappings.Names{Prefix: os.Getenv(victimPrefix)}, TempDir: os.Getenv(victimTemp),
		})
	}
	fmt.Println("not killed:", err)
	return 1
}

// A load that is killed while it writes switches nothing, and the next one
// clears what it left.
func TestKilledLoadIsCleared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.load(t, w.options(folder(t, simple(2))))

	dir := folder(t, simple(50))
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	address := proxy(t, func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
		if isBulk(r) {
			kill()
			<-r.Context().Done()
		}
		return isBulk(r)
	}, nil)
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), victimDir+"="+dir, victimElastic+"="+address, victimPrefix+"="+w.names.Prefix, victimTemp+"="+w.temp)
	if out, err := cmd.CombinedOutput(); err == nil || len(out) > 0 {
		t.Fatalf("%v: %s", err, out)
	}
	all, served := w.generations(t)
	left, err := os.ReadDir(w.temp)
	if served != first.Generation || len(all) != 2 || len(left) != 1 || err != nil {
		t.Fatalf("%q of %v is served; temporary: %v %v", served, all, left, err)
	}

	o := w.options(dir)
	o.Now = func() time.Time { return loadedAt.Add(time.Second) }
	second := w.load(t, o)
	all, served = w.generations(t)
	if diff := cmp.Diff([]string{first.Generation, second.Generation}, all); diff != "" || served != second.Generation {
		t.Errorf("%q is served, %s", served, diff)
	}
	if len(second.Deleted) != 4 {
		t.Errorf("%v", second.Deleted)
	}
}
