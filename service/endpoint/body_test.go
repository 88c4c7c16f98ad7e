package endpoint

import (
	"io"
	"strings"
	"testing"

	"atlas/internal/fault"
	"atlas/internal/schema"
)

// The total size of large bodies is limited while their requests are in progress. Small
// bodies always pass.
func TestLargeBodiesAreBounded(t *testing.T) {
	t.Parallel()
	s := &Core{Meter: unmetered{}}
	sent := func(size int) (*Call, error) {
		c := fuzzed(t, "")
		c.server = s
		c.Gin.Request.Header.Set("Content-Type", "application/json")
		c.Gin.Request.Body = io.NopCloser(strings.NewReader(strings.Repeat(" ", size)))
		c.Route.Body = &schema.Schema{}
		if !c.Receive() {
			t.Fatal("there is no room for what comes")
		}
		c.reservedBytes.release()
		_, err := c.read()
		return c, err
	}
	var under []*Call
	for range maxBodies / MaxBody {
		c, err := sent(MaxBody)
		if err != nil {
			t.Fatal(err)
		}
		under = append(under, c)
	}
	more, err := sent(smallBody + 1)
	if fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("one more: %v", err)
	}
	more.phase.release()
	small, err := sent(smallBody)
	if err != nil {
		t.Errorf("a small one: %v", err)
	}
	small.phase.release()
	under[0].phase.release()
	if c, err := sent(MaxBody); err != nil {
		t.Errorf("after one was answered: %v", err)
	} else {
		c.phase.release()
	}
	for _, c := range under {
		c.phase.release()
	}
	if len(s.load.bodies.used) != 0 || len(s.load.received.used) != 0 {
		t.Errorf("of no body %v, %v are held", s.load.bodies.used, s.load.received.used)
	}
}
