package extsort

import (
	"bytes"
	"context"
)

// Iterator walks the entries in the order of their keys. It is for one
// goroutine.
type Iterator struct {
	heap    []*runReader // smallest key first
	started bool
	err     error
}

// Open merges files of a folder, with the Dir, KeySize and Keep of the options. Without Keep, a
// file is removed when it ends, or by Close. The first entry is the first whose key has a
// prefix larger than start; nil is the first of all.
func Open(ctx context.Context, opts Options, runs []Run, start []byte) (*Iterator, error) {
	it := &Iterator{}
	for i, from := range runs {
		r, err := openRun(opts, from)
		more := false
		if err == nil {
			it.heap = append(it.heap, r)
			more, err = r.seek(ctx, start)
		}
		if err != nil {
			it.Close()
			if !opts.Keep {
				Remove(opts.Dir, runs[i:])
			}
			return nil, err
		}
		if !more {
			r.close()
			it.heap = it.heap[:len(it.heap)-1]
		}
	}
	for i := len(it.heap)/2 - 1; i >= 0; i-- {
		it.siftDown(i)
	}
	return it, nil
}

// Next moves to the next entry; false means the end, or an error: see Err.
func (it *Iterator) Next() bool {
	if it.err != nil || len(it.heap) == 0 {
		return false
	}
	if !it.started {
		it.started = true
		return true
	}
	top := it.heap[0]
	more, err := top.next()
	if err != nil {
		it.err = err
		return false
	}
	if !more {
		top.close()
		last := len(it.heap) - 1
		it.heap[0] = it.heap[last]
		it.heap = it.heap[:last]
	}
	it.siftDown(0)
	return len(it.heap) > 0
}

// Key returns the entry's key, valid until the next call of Next.
func (it *Iterator) Key() []byte { return it.heap[0].entry[:it.heap[0].keySize] }

// Payload returns the entry's payload, valid until the next call of Next.
func (it *Iterator) Payload() []byte { return it.heap[0].entry[it.heap[0].keySize:] }

// Err returns the error that ended the iteration early.
func (it *Iterator) Err() error { return it.err }

// Close ends the iteration. It removes the remaining files unless Keep is set.
func (it *Iterator) Close() {
	for _, r := range it.heap {
		r.close()
	}
	it.heap = nil
}

func (it *Iterator) less(i, j int) bool {
	a, b := it.heap[i], it.heap[j]
	if a.prefix != b.prefix {
		return a.prefix < b.prefix
	}
	return bytes.Compare(a.entry[8:a.keySize], b.entry[8:b.keySize]) < 0
}

func (it *Iterator) siftDown(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(it.heap); child++ {
			if it.less(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		it.heap[i], it.heap[least] = it.heap[least], it.heap[i]
		i = least
	}
}
