package seal_test

import (
	"bytes"
	"testing"

	"atlas/internal/seal"
)

func TestSeal(t *testing.T) {
	t.Parallel()
	secret := []byte("a secret")
	sealed, err := seal.Seal(secret, "use", "value")
	if err != nil {
		t.Fatal(err)
	}
	again, err := seal.Seal(secret, "use", "value")
	if err != nil || bytes.Equal(sealed, again) || bytes.Contains(sealed, []byte("value")) {
		t.Errorf("sealed %q and %q, %v", sealed, again, err)
	}
	var got string
	if err := seal.Open(secret, "use", sealed, &got); err != nil || got != "value" {
		t.Errorf("opened %q, %v", got, err)
	}
	changed := bytes.Clone(sealed)
	changed[len(changed)-1] ^= 1
	for name, open := range map[string]func() error{
		"another secret":  func() error { return seal.Open([]byte("another"), "use", sealed, &got) },
		"another purpose": func() error { return seal.Open(secret, "misuse", sealed, &got) },
		"a changed bit":   func() error { return seal.Open(secret, "use", changed, &got) },
		"a part":          func() error { return seal.Open(secret, "use", sealed[:20], &got) },
		"nothing":         func() error { return seal.Open(secret, "use", nil, &got) },
	} {
		if open() == nil {
			t.Errorf("%s opens it", name)
		}
	}
}
