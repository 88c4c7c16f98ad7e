package main

import (
	"context"
	"math"
	"time"
)

// compared is one kind of request beside another, and beside what Elasticsearch
// alone takes for the first.
type compared struct {
	Name  string `json:"name"`
	One   spread `json:"p50_ms"`
	Other spread `json:"beside_p50_ms"`
	Ratio spread `json:"ratio"`
	Alone spread `json:"elasticsearch_alone_p50_ms"`

	one, other, alone []*call
}

// addStraight finds what the service asks Elasticsearch for the first kind of
// each.
func (r *running) addStraight(ctx context.Context, all []*compared) error {
	var calls []*call
	for _, c := range all {
		calls = append(calls, c.one...)
	}
	directs, err := r.straight(ctx, calls)
	if err != nil {
		return err
	}
	for _, c := range all {
		c.alone, directs = directs[:len(c.one)], directs[len(c.one):]
	}
	return nil
}

// measureAll measures all of them in each round, which takes about so many
// seconds, after a warm-up that does not count. A round ends with last.
func measureAll(ctx context.Context, client client, all []*compared, rounds int, seconds float64, last func(context.Context) error) error {
	for _, c := range all {
		if err := c.measure(ctx, client, time.Second, true); err != nil {
			return err
		}
	}
	each := time.Duration(seconds / float64(len(all)) * float64(time.Second))
	for round := range rounds {
		for _, c := range all {
			if err := c.measure(ctx, client, each, false); err != nil {
				return err
			}
		}
		if err := last(ctx); err != nil {
			return err
		}
		say("round %d of %d", round+1, rounds)
	}
	return nil
}

// measure sends all three by turns over one connection.
func (c *compared) measure(ctx context.Context, client client, about time.Duration, dry bool) error {
	took, err := byTurns(about, client.timed(ctx, c.one...), client.timed(ctx, c.other...), client.timed(ctx, c.alone...))
	if err != nil || dry {
		return err
	}
	p50 := func(i int) float64 { return milliseconds(quantile(took[i], 0.5)) }
	c.One.add(p50(0))
	c.Other.add(p50(1))
	c.Ratio.add(p50(0) / p50(1))
	c.Alone.add(p50(2))
	return nil
}

// saturated is what requests of one kind do and cost when the next one comes at
// once.
type saturated struct {
	Name      string `json:"name"`
	PerSecond spread `json:"requests_per_second"`
	CPU       cpu    `json:"cpu_ms_per_request"`

	calls []*call
}

// kindsSaturated are several kinds, of each as many requests.
type kindsSaturated struct {
	RequestsARound int          `json:"requests_a_round"`
	Kinds          []*saturated `json:"kinds"`
}

// everyKind saturates with each kind of each of these equally often, however
// many variants it has.
func everyKind(all []*compared, names [3]string) *kindsSaturated {
	one, other, alone := &saturated{Name: names[0]}, &saturated{Name: names[1]}, &saturated{Name: names[2]}
	for _, c := range all {
		for i := range 10 {
			one.calls = append(one.calls, c.one[i%len(c.one)])
			other.calls = append(other.calls, c.other[i%len(c.other)])
			alone.calls = append(alone.calls, c.alone[i%len(c.alone)])
		}
	}
	return &kindsSaturated{Kinds: []*saturated{one, other, alone}}
}

// shortest is how long saturating with one kind takes at least, in seconds: CPU
// time is told in steps, and Elasticsearch's only once a second.
const shortest = 1.5

// warmUp finds how many requests are a round that takes about so many seconds of
// the first kind.
func (k *kindsSaturated) warmUp(ctx context.Context, client client, seconds float64) error {
	n := len(k.Kinds[0].calls)
	seconds = max(seconds, shortest)
	for i, kind := range k.Kinds {
		l, err := client.closedLoop(ctx, kind.calls, connections, max(2*n, 100))
		if err != nil {
			return err
		}
		if i == 0 {
			k.RequestsARound = n * max(1, int(math.Round(l.perSecond()*seconds/float64(n))))
		}
	}
	return nil
}

// measure sends as many of each kind.
func (k *kindsSaturated) measure(ctx context.Context, r *running) error {
	for _, kind := range k.Kinds {
		l, err := r.meter.closedLoop(ctx, r.client, kind.calls, connections, k.RequestsARound, &kind.CPU)
		if err != nil {
			return err
		}
		kind.PerSecond.add(l.perSecond())
	}
	return nil
}

func (k *kindsSaturated) table() table {
	t := table{head: []string{""}}
	row := []string{"requests/s"}
	var used []cpu
	for _, kind := range k.Kinds {
		t.head, row, used = append(t.head, kind.Name), append(row, kind.PerSecond.text(0)), append(used, kind.CPU)
	}
	t.add(row...)
	t.processes("ms/request", used...)
	return t
}
