package main

import (
	"context"
	"time"
)

// sides are the same searches two ways: as clients send them to the service, and
// as Elasticsearch gets them.
type sides struct {
	*running
	through, beside client
	services        []*call
	directs         []*call
	facts           requestFacts
}

// bothWays draws so many different requests, makes each once, serves, and has
// measure do its work.
func (i *installation) bothWays(ctx context.Context, before machine, requests int, seed uint64, measure func(context.Context, *sides) error) error {
	own := *i
	if err := own.openWorkspace(ctx); err != nil {
		return err
	}
	pairs, err := own.prepare(ctx, requests, seed)
	if err != nil {
		return err
	}
	s := &sides{through: newClient(maxInFlight), beside: newClient(maxInFlight), facts: factsOf(pairs)}
	defer s.through.close()
	defer s.beside.close()
	say("%s", s.facts)
	return own.serving(ctx, before, func(ctx context.Context, r *running) error {
		s.running = r
		if err := aim(pairs, r.service.base); err != nil {
			return err
		}
		for _, p := range pairs {
			s.services, s.directs = append(s.services, p.service), append(s.directs, p.direct)
		}
		return measure(ctx, s)
	})
}

// warmUp sends all requests both ways for so long, and at least twice, until the
// virtual machine has compiled what it will. It returns what Elasticsearch alone
// did last, in requests per second.
func (s *sides) warmUp(ctx context.Context, connections int, about time.Duration) (rate float64, err error) {
	say("warming up for about %.0f s", about.Seconds())
	end := time.Now().Add(about)
	for pass := 0; pass < 2 || time.Now().Before(end); pass++ {
		if _, err := s.through.closedLoop(ctx, s.services, connections, len(s.services)); err != nil {
			return 0, err
		}
		alone, err := s.beside.closedLoop(ctx, s.directs, connections, len(s.directs))
		if err != nil {
			return 0, err
		}
		rate = alone.perSecond()
	}
	return rate, nil
}
