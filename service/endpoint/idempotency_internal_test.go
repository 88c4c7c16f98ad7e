package endpoint

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/workspace"
)

// FuzzStoredPage: a stored page is decoded as it was; anything else is an error or a page.
func FuzzStoredPage(f *testing.F) {
	f.Add("", "", []byte{})
	f.Add("a", "cursor", bytes.Repeat([]byte{7}, 48))
	f.Add(strings.Repeat("reason ", 1000), "", []byte{1, 2})
	f.Fuzz(func(t *testing.T, text, from string, ids []byte) {
		_, _ = readStoredPage(ids)
		want := []uuid.UUID(nil)
		for len(ids) >= 16 {
			want, ids = append(want, uuid.UUID(ids[:16])), ids[16:]
		}
		text, from = strings.ToValidUTF8(text, "?"), strings.ToValidUTF8(from, "?")
		c := &Call{Once: workspace.Once{Key: [16]byte{1}}}
		if err := c.Store(map[string]string{"text": text}, from, want); err != nil {
			t.Fatal(err)
		}
		p, err := readStoredPage(c.Stored)
		if err != nil || p.From != from {
			t.Fatalf("%+v, %v", p, err)
		}
		if diff := cmp.Diff(want, p.IDs); diff != "" {
			t.Error(diff)
		}
	})
}

// reasons is a page of matches of so many bytes.
func reasons(size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(
			&b, `{"ref":"%d","candidates":[{"id":"%s","confidence":"probable","reasons":[{"field":"name","effect":"agrees"}]}]},`,
			i, uuid.New(),
		)
	}
	return b.Bytes()
}

func TestPackingAPageAllocatesLittle(t *testing.T) {
	page := reasons(10_000)
	var before, after runtime.MemStats
	const times = 100
	runtime.ReadMemStats(&before)
	for range times {
		if _, err := packed(page); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	// With the race detector a pool drops a quarter of what is put into it, at random.
	if each := (after.TotalAlloc - before.TotalAlloc) / times; each > 600_000 {
		t.Errorf("packing a page allocates %d bytes", each)
	}
}

func BenchmarkPacked(b *testing.B) {
	for _, size := range []int{1 << 10, 10 << 10, 50 << 10, 200 << 10} {
		page := reasons(size)
		b.Run(fmt.Sprintf("%d kB", size>>10), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := packed(page); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
