package searchtest

import (
	"context"
	"sync"
	"testing"
	"time"

	"atlas/mappings"
)

// Shared are indices that several tests of a process only read. The first test that asks
// creates them, so that the others do not wait. Call Delete after the last one.
type Shared struct {
	// Records returns the contents of the indices; nil: empty.
	Records func(testing.TB) *World

	once    sync.Once
	indices Indices
	created []string
	ready   bool
}

// Indices returns the indices, which are on the node at an address.
func (s *Shared) Indices(t testing.TB, url string) Indices {
	t.Helper()
	s.once.Do(func() {
		s.indices = newNames(t, url)
		s.created = s.indices.create(t, mappings.Settings{})
		if s.Records != nil {
			s.indices.Load(t, s.Records(t))
		}
		s.ready = true
	})
	if !s.ready {
		t.Fatal("the shared indices were not created")
	}
	return s.indices
}

// Delete deletes the indices, if a test has asked for them.
func (s *Shared) Delete() error {
	if len(s.created) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return s.indices.Client.DeleteIndices(ctx, s.created...)
}
