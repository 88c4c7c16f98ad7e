//go:build faults

package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"atlas/internal/timer"
	"atlas/scripts/experiments/rig"
)

// replicatedWithin is the time after which the replicas have what a master of Redis
// acknowledged.
const replicatedWithin = time.Second

// keyedLoad sends searches with an Idempotency-Key in a workspace of its own, each again
// until it is answered.
type keyedLoad struct {
	c       rig.Caller
	stopped chan struct{}
	group   sync.WaitGroup
	// answers are the first ones, by client.
	answers [4][]firstAnswer
	errs    [4]error
}

// firstAnswer is the first answer to a request.
type firstAnswer struct {
	at   time.Time
	data []byte
}

func (k *cluster) startKeyed(ctx context.Context) *keyedLoad {
	k.t.Helper()
	l := &keyedLoad{c: rig.Caller{Base: k.c.Base, Token: k.Workspace(rig.Unlimited, "Repeated").Key}, stopped: make(chan struct{})}
	for client := range l.answers {
		l.group.Go(func() {
			for n := 0; ; n++ {
				a, err := l.answered(ctx, client, n)
				data, decoded := dataOf(a)
				if err = errors.Join(err, decoded); err != nil {
					l.errs[client] = err
					return
				}
				l.answers[client] = append(l.answers[client], firstAnswer{time.Now(), data})
				select {
				case <-l.stopped:
					return
				case <-time.After(100 * time.Millisecond): // the interval of requests
				}
			}
		})
	}
	return l
}

// answered sends the nth request of a client until it succeeds.
func (l *keyedLoad) answered(ctx context.Context, client, n int) (a rig.Answer, err error) {
	c := l.c
	c.HTTP = &http.Client{Transport: withKey(fmt.Sprintf("client %d, request %d", client, n))}
	ctx, cancel := context.WithTimeout(ctx, steadyIn)
	defer cancel()
	for {
		a, err = c.Do(ctx, "POST", "/data/accounts/search", fmt.Sprintf(`{"limit":%d}`, 1+n%20))
		if err == nil && a.Status == http.StatusOK {
			return a, nil
		}
		if timer.Sleep(ctx, 100*time.Millisecond) != nil {
			return a, fmt.Errorf("client %d, request %d: %d %s: %w", client, n, a.Status, a.Raw, errors.Join(err, ctx.Err()))
		}
	}
}

// check stops the load and repeats each request. Those that were answered long before the
// kill are replayed for free. The others may be executed again, if the failover lost their
// charge with their answer. In the end each is charged once.
func (l *keyedLoad) check(k *cluster, killed time.Time) {
	k.t.Helper()
	close(l.stopped)
	l.group.Wait()
	rig.Check(k.t, errors.Join(l.errs[:]...))
	var all, before, kept, executed int
	var cost int64
	for client, answers := range l.answers {
		for n, first := range answers {
			a, err := l.answered(k.t.Context(), client, n)
			rig.Check(k.t, err)
			ids, err := a.IDs()
			rig.Check(k.t, err)
			data, err := dataOf(a)
			rig.Check(k.t, err)
			all, cost = all+1, cost+int64(len(ids))
			repeated := a.Header.Get("Idempotency-Replayed") == "true" && charged(a) == 0 && bytes.Equal(data, first.data)
			if !repeated {
				executed++
			}
			if first.at.Before(killed.Add(-replicatedWithin)) {
				before++
				if repeated {
					kept++
				}
			}
		}
	}
	k.f.Exactly("requests before the kill whose repetition gets the first answer, free of charge", float64(kept), float64(before), fmt.Sprintf("of %d", before))
	k.f.Report("requests before, during and after the kill that were repeated", float64(all), "")
	k.f.Report("of these executed again, because charge and answer were lost", float64(executed), "")
	k.f.Exactly("credits charged for them more than once, or not at all", float64(used(k.t, l.c)-cost), 0, fmt.Sprintf("of %d", cost))
}

// charged are the credits that an answer cost.
func charged(a rig.Answer) int64 {
	n, err := strconv.ParseInt(a.Header.Get("X-Credits-Charged"), 10, 64)
	if err != nil {
		return 0 // no charge, no header
	}
	return n
}

// withKey sends each request with an Idempotency-Key.
type withKey string

func (key withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Idempotency-Key", string(key))
	return http.DefaultTransport.RoundTrip(r)
}
