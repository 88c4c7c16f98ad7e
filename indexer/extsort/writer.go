package extsort

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// blockSize is the unit of allocation, in bytes. Blocks instead of one growing
// slice: small inputs take little memory and nothing is copied.
const blockSize = 1 << 20

// entrySize is the memory of an entry besides its bytes.
const entrySize = 24

// entry refers to key and payload in a block. The prefix of the key decides most
// comparisons.
type entry struct {
	prefix  uint64
	block   int32
	offset  int32
	payload int32
}

// Writer adds entries to a Sorter. Each goroutine has its own.
type Writer struct {
	sorter   *Sorter
	blocks   [][]byte
	entries  []entry
	block    int // the one being filled
	buffered int // bytes of all entries
}

// Writer returns a new Writer, which must be closed before Iterate.
func (s *Sorter) Writer() *Writer { return &Writer{sorter: s} }

// Add copies an entry. A full Writer sorts and writes a file first.
func (w *Writer) Add(key, payload []byte) error {
	size := len(key) + len(payload)
	if w.buffered > 0 && w.buffered+size+entrySize > w.sorter.opts.Memory {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	block := w.freeBlock(size)
	e := entry{binary.BigEndian.Uint64(key), int32(w.block), int32(len(*block)), int32(len(payload))} // #nosec G115 -- blocks are smaller
	*block = append(append(*block, key...), payload...)
	w.entries = append(w.entries, e)
	w.buffered += size + entrySize
	w.sorter.entries.Add(1)
	return nil
}

// freeBlock returns a block with that many free bytes.
func (w *Writer) freeBlock(size int) *[]byte {
	for ; w.block < len(w.blocks); w.block++ {
		if b := &w.blocks[w.block]; cap(*b)-len(*b) >= size {
			return b
		}
	}
	w.blocks = append(w.blocks, make([]byte, 0, max(blockSize, size)))
	return &w.blocks[w.block]
}

func (w *Writer) key(e entry) []byte {
	return w.blocks[e.block][e.offset:][:w.sorter.opts.KeySize]
}

// Flush writes the buffered entries, sorted, to a file.
func (w *Writer) Flush() error {
	if len(w.entries) == 0 {
		return nil
	}
	slices.SortFunc(w.entries, func(a, b entry) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		return bytes.Compare(w.key(a)[8:], w.key(b)[8:])
	})
	to, err := w.sorter.create()
	if err != nil {
		return err
	}
	for _, e := range w.entries {
		key := w.key(e)
		to.Add(key, w.blocks[e.block][int(e.offset)+len(key):][:e.payload])
	}
	written, err := to.Close()
	if err != nil {
		return err
	}
	w.sorter.addRun(written)
	w.entries, w.block, w.buffered = w.entries[:0], 0, 0
	for i := range w.blocks {
		if cap(w.blocks[i]) > blockSize {
			w.blocks[i] = make([]byte, 0, blockSize)
		}
		w.blocks[i] = w.blocks[i][:0]
	}
	return nil
}

// Close writes the rest and frees the memory.
func (w *Writer) Close() error {
	err := w.Flush()
	w.blocks, w.entries = nil, nil
	return err
}
