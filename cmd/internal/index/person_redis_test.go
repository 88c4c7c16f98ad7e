package index

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"time"
)

// A compressed part is searched up to a bound, behind which the search fails and does not say that
// nothing is there. Many beginnings of one cost no more than that.
func TestStoredContentIsBounded(t *testing.T) {
	t.Parallel()
	zipped := func(size int) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(bytes.Repeat([]byte("x"), size))
		_, _ = w.Write([]byte("zyxomma"))
		_ = w.Close()
		return b.String()
	}
	values := []string{"zyxomma"}
	for size, fails := range map[int]bool{10 << 20: false, mostUnzipped + 1: true} {
		if found, err := hasStored([]string{"other", "before" + zipped(size)}, values); found == fails || (err != nil) != fails {
			t.Errorf("behind %d bytes: %v, %v", size, found, err)
		}
	}
	began := time.Now()
	if found, err := hasStored([]string{strings.Repeat(gzipBegins, 1<<16)}, values); found || err != nil ||
		time.Since(began) > 10*time.Second {
		t.Errorf("found %v, %v after %s", found, err, time.Since(began))
	}
}
