package credits

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"atlas/internal/fault"
)

// end kills the server, as a crash does.
func (s *server) end() {
	s.signal(syscall.SIGKILL)
	s.cmd.Wait()
	s.cmd = nil
}

// A request is charged, its reply is lost, and Redis restarts before the client repeats it:
// the repetition gets the answer and is charged nothing.
func TestAStoredAnswerOutlastsARestart(t *testing.T) {
	t.Parallel()
	s := ownRedis(t, "--appendonly", "yes", "--appendfsync", "always")
	direct := ledgerOn(t, client(t, s.url()), Options{BreakerFailures: 1000})
	p := newLossy(t, s.address())
	l := ledgerOn(t, client(t, "redis://"+p.Addr().String()), Options{BreakerFailures: 1000})
	ws, o := workspace(t, direct), newOnce()
	spend(t, direct, workspace(t, direct), 10, 1) // the script is loaded
	r, _, err := once(t, l, ws, o)
	if err != nil {
		t.Fatal(err)
	}
	p.drop.Store(settleTries)
	_, err = r.SettleStoring(t.Context(), 7, []byte("answer"))
	wantFault(t, err, fault.Unavailable, time.Second)
	s.end()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	var answer []byte
	eventually(t, "the repetition is answered", func() bool {
		r, answer, err = once(t, direct, ws, o)
		return err == nil
	})
	if r != nil || string(answer) != "answer" {
		t.Errorf("the repetition gets %q", answer)
	}
	if n := used(t, direct, ws); n != 7 {
		t.Errorf("charged %d", n)
	}
}

// Redis crashes while it settles many requests. Whatever a restart from the append-only file
// or a failover to a replica lost, charge and answer are lost together: when each request has
// been repeated until it has an answer, each is charged once.
func TestChargesAndAnswersAreLostTogether(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"restart", "failover"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			const ceiling, clients, enough = 1_000_000, 16, 400
			s := ownRedis(t, "--appendonly", "yes", "--appendfsync", "everysec")
			next := s
			if way == "failover" {
				next = ownRedis(t, "--replicaof", fmt.Sprintf("127.0.0.1 %d", s.port), "--repl-diskless-sync-delay", "0")
				replica := client(t, next.url())
				eventually(t, "the replica is in sync", func() bool {
					info, err := replica.InfoMap(t.Context(), "replication").Result()
					return err == nil && info["Replication"]["master_link_status"] == "up"
				})
			}
			l := ledgerOn(t, client(t, s.url()), Options{BreakerFailures: 1 << 30})
			ws := workspace(t, l)

			type request struct {
				Once
				cost int64
			}
			var lock sync.Mutex
			var sent []request
			settled := 0
			// try makes a request until it has an answer or Redis is unavailable.
			try := func(l *Ledger, q request) error {
				r, _, _, err := l.ReserveOnce(t.Context(), ws, ceiling, "search_accounts", 100, Key{}, q.Once)
				if err == nil && r != nil {
					_, err = r.SettleStoring(t.Context(), q.cost, []byte("answer"))
				}
				return err
			}
			var group sync.WaitGroup
			for range clients {
				group.Go(func() {
					for {
						lock.Lock()
						q := request{newOnce(), int64(1 + len(sent)%100)}
						sent = append(sent, q)
						lock.Unlock()
						if try(l, q) != nil {
							return
						}
						lock.Lock()
						settled++
						lock.Unlock()
					}
				})
			}
			eventually(t, "many are settled", func() bool {
				lock.Lock()
				defer lock.Unlock()
				return settled >= enough
			})
			s.end()
			group.Wait()
			if way == "failover" {
				if err := client(t, next.url()).Do(t.Context(), "REPLICAOF", "NO", "ONE").Err(); err != nil {
					t.Fatal(err)
				}
			} else if err := s.start(); err != nil {
				t.Fatal(err)
			}

			after := ledgerOn(t, client(t, next.url()), Options{BreakerFailures: 1 << 30})
			var want int64
			for _, q := range sent {
				want += q.cost
				// A request that was in progress has its key for up to 5 s.
				eventually(t, "a repetition has an answer", func() bool { return try(after, q) == nil })
			}
			u, err := after.Usage(t.Context(), ws, ceiling)
			if err != nil || u.Used != want {
				t.Errorf("%d requests cost %d, charged are %d: %v", len(sent), want, u.Used, err)
			}
			t.Logf("%d requests, %d settled before the crash", len(sent), settled)
		})
	}
}
