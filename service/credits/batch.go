package credits

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed ledger.lua
var ledgerLua string

var ledgerScript = redis.NewScript(ledgerLua)

// maxBatch is the maximum number of operations in one call. It bounds how long a call blocks
// Redis: about a millisecond.
const maxBatch = 64

// errQueueTooLong is the cause of an operation that was not sent in time.
var errQueueTooLong = errors.New("too many calls are under way")

// batcher sends operations to Redis. One call is in flight at a time; operations that arrive
// meanwhile wait and go together in the next call. So an idle batcher adds no delay, and a
// busy one makes fewer calls: to Redis, a call costs as much as several operations in it.
//
// In a Cluster the keys of one call must be on one node, in one slot. There each key has
// its own queue and its own call in flight.
type batcher struct {
	client  redis.UniversalClient
	timeout time.Duration // of a call
	wait    time.Duration // of an operation for earlier calls
	// times returns the time for the script ("": Redis's clock) and the latest time in
	// ms that this server's clock permits.
	times func() (now string, latest int64)

	mu sync.Mutex
	// queues has the waiting operations. A queue exists while a call is in flight.
	queues map[string][]*operation
}

// operation is one operation on a window. Those on one reservation are sent one after the
// other: a call has at most one of them.
type operation struct {
	ctx      context.Context // the caller's
	key      string
	kind     string // "reserve", "settle", "read" or "usage"
	args     []any  // six
	stored   storedAnswer
	queuedAt time.Time
	done     chan struct{} // closed when the fields below are set

	sentAt time.Time // zero: not sent
	reply  reply
	err    error
}

// do sends an operation and returns it when it is done. If ctx ends while it waits for
// others, do returns at once with the error of ctx, and Redis may or may not apply it.
func (b *batcher) do(ctx context.Context, key, kind string, args []any, a storedAnswer) *operation {
	o := &operation{ctx: ctx, key: key, kind: kind, args: args, stored: a, queuedAt: time.Now(), done: make(chan struct{})}
	name := ""
	if _, cluster := b.client.(*redis.ClusterClient); cluster {
		name = key
	}
	b.mu.Lock()
	queue, busy := b.queues[name]
	if busy {
		queue = append(queue, o)
	}
	b.queues[name] = queue
	b.mu.Unlock()
	if !busy {
		defer func() { // also after a panic, which its request survives
			if batch := b.next(name); batch != nil {
				go b.send(name, batch)
			}
		}()
		b.call(ctx, []*operation{o})
		return o
	}
	select {
	case <-o.done:
		return o
	case <-ctx.Done():
		return &operation{err: context.Cause(ctx)}
	}
}

// next takes up to maxBatch operations from a queue. It returns nil and ends the queue
// when it is empty.
func (b *batcher) next(name string) []*operation {
	b.mu.Lock()
	defer b.mu.Unlock()
	queue := b.queues[name]
	if len(queue) == 0 {
		delete(b.queues, name)
		return nil
	}
	n := min(len(queue), maxBatch)
	b.queues[name] = queue[n:]
	return queue[:n]
}

// send makes one call after the other until the queue is empty. A call has the values of
// the first caller's context (its trace), but it ends with no caller.
func (b *batcher) send(name string, batch []*operation) {
	for batch != nil {
		b.call(context.WithoutCancel(batch[0].ctx), batch)
		// The callers that have their replies run first: their next operations belong to the next
		// call. Otherwise two halves of them would take turns.
		runtime.Gosched()
		batch = b.next(name)
	}
}

// call applies operations in one call to Redis and completes them.
func (b *batcher) call(ctx context.Context, batch []*operation) {
	keys, args, sent := b.request(batch)
	if len(sent) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	began := time.Now()
	values, err := ledgerScript.Run(ctx, b.client, keys, args...).Slice()
	if err == nil && len(values) != 1+len(sent) {
		err = fmt.Errorf("credits: %d answers to %d operations", len(values), len(sent))
	}
	for i, o := range sent {
		o.sentAt, o.err = began, err
		if err == nil {
			o.read(values[0], values[1+i])
		}
		close(o.done)
	}
}

// request returns the keys and arguments of a call. sent has the operations in the order of
// the replies: grouped by key, in the order of arrival. The others are done: their callers
// gave up, or they waited for too long.
func (b *batcher) request(batch []*operation) (keys []string, args []any, sent []*operation) {
	byKey := map[string][]*operation{}
	for _, o := range batch {
		switch {
		case o.ctx.Err() != nil:
			o.err = context.Cause(o.ctx)
			close(o.done)
		// The call that was in flight could take a timeout.
		case time.Since(o.queuedAt) > b.wait+b.timeout:
			o.err = errQueueTooLong
			close(o.done)
		default:
			if byKey[o.key] == nil {
				keys = append(keys, o.key)
			}
			byKey[o.key] = append(byKey[o.key], o)
		}
	}
	now, latest := b.times()
	args = []any{now, latest}
	for _, key := range keys[:len(byKey)] {
		args = append(args, len(byKey[key]))
		for _, o := range byKey[key] {
			args = append(append(args, o.kind), o.args...)
			keys, args = o.stored.appendTo(keys, args, len(byKey))
		}
		sent = append(sent, byKey[key]...)
	}
	return keys, args, sent
}

func (o *operation) read(ahead, values any) {
	o.reply = reply{}
	switch v := values.(type) {
	case error: // the hash cannot be used
		o.err = v
	case []any:
		o.reply.values = v
		o.reply.ahead, _ = ahead.(int64)
	default:
		o.err = fmt.Errorf("credits: an answer is a %T", values)
	}
}
