package endpoint

import (
	"bytes"
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
