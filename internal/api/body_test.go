package api

import (
	"io"
	"strings"
	"testing"

	"atlas/internal/fault"
)

// Large bodies are bounded together, for as long as they are worked on; small ones
// always pass.
func TestLargeBodiesAreBounded(t *testing.T) {
	t.Parallel()
	s := &Server{Meter: unmetered{}}
	sent := func(size int) (*call, error) {
		c := fuzzed(t, "")
		c.server = s
		c.gin.Request.Header.Set("Content-Type", "application/json")
		c.gin.Request.Body = io.NopCloser(strings.NewReader(strings.Repeat(" ", size)))
		_, err := c.read()
		return c, err
	}
	var under []*call
	for range maxBodies / MaxBody {
		c, err := sent(MaxBody)
		if err != nil {
			t.Fatal(err)
		}
		under = append(under, c)
	}
	if _, err := sent(smallBody + 1); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("one more: %v", err)
	}
	if _, err := sent(smallBody); err != nil {
		t.Errorf("a small one: %v", err)
	}
	under[0].letGo()
	if c, err := sent(MaxBody); err != nil {
		t.Errorf("after one was answered: %v", err)
	} else {
		c.letGo()
	}
	for _, c := range under {
		c.letGo()
	}
	if left := s.load.bodies.Load(); left != 0 {
		t.Errorf("%d bytes are held, of none", left)
	}
}
