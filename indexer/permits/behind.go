package permits

import (
	"bytes"
	"io"
	"sync"
)

// behind writes in its own goroutine, in the order of the calls: packing a state takes a third
// as long as making its lines. close returns the error of a write.
type behind struct {
	blocks chan []byte
	ended  chan struct{}
	once   sync.Once
	err    error // after ended
}

func newBehind(to io.Writer) *behind {
	b := &behind{blocks: make(chan []byte, 4), ended: make(chan struct{})}
	go func() {
		defer close(b.ended)
		for block := range b.blocks {
			if b.err == nil {
				_, b.err = to.Write(block)
			}
		}
	}()
	return b
}

func (b *behind) Write(p []byte) (int, error) {
	b.blocks <- bytes.Clone(p)
	return len(p), nil
}

// close waits for all writes. A second call only returns the error.
func (b *behind) close() error {
	b.once.Do(func() { close(b.blocks) })
	<-b.ended
	return b.err
}
