package index

import (
	"strings"
	"testing"
	"testing/iotest"
)

func TestMentions(t *testing.T) {
	const value = "Zoë.Quill@example.com"
	for name, before := range map[string]int{
		"at the start": 0, "across two parts": searchedAtOnce + 4*len(value) - 7, "in the third part": 2 * searchedAtOnce,
	} {
		text := strings.Repeat("Ö", before/2) + "ZOË.quill@EXAMPLE.com" + strings.Repeat("x", 100)
		if found, err := mentions(iotest.HalfReader(strings.NewReader(text)), []string{"nothing", value}); err != nil || !found {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
	if found, err := mentions(strings.NewReader(strings.Repeat("zoë.quill@example.co ", 200_000)), []string{value}); err != nil || found {
		t.Errorf("a text without the value: %v, %v", found, err)
	}
	if _, err := mentions(iotest.ErrReader(iotest.ErrTimeout), []string{value}); err == nil {
		t.Error("a text that cannot be read")
	}
}
