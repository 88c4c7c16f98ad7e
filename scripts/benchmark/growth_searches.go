package main

import (
	"context"
	"fmt"
	"math"
	"time"
)

// grown is what the search mix costs both ways at one size, or with one number of
// connections.
type grown struct {
	At      int64     `json:"at"`
	Service grownSide `json:"service"`
	Direct  grownSide `json:"direct"`
	ARound  int       `json:"requests_a_round"`
}

// grownSide is what it costs one way: times in milliseconds, CPU a request.
type grownSide struct {
	PerSecond spread `json:"requests_per_second"`
	P50       spread `json:"p50_ms"`
	P99       spread `json:"p99_ms"`
	CPU       cpu    `json:"cpu_ms_per_request"`
}

// searches measures the mix over one connection, and with the first size over
// each number of connections.
func (b *growthBench) searches(ctx context.Context, s *sides, n int) error {
	b.head(s.running)
	if _, err := s.warmUp(ctx, connections, 3*time.Duration(b.Seconds)*time.Second); err != nil {
		return err
	}
	if b.has("records") {
		g, err := b.grow(ctx, s, s.dataset.Total, 1)
		if err != nil {
			return err
		}
		b.report.Records = append(b.report.Records, g)
	}
	if b.has("connections") && n == 0 {
		b.report.AtRecords = s.dataset.Total
		for _, connections := range b.Connections {
			g, err := b.grow(ctx, s, int64(connections), connections)
			if err != nil {
				return err
			}
			b.report.Connections = append(b.report.Connections, g)
		}
	}
	return b.keep()
}

// grow sends all requests equally often both ways in each round, each round
// beginning with the other way.
func (b *growthBench) grow(ctx context.Context, s *sides, at int64, connections int) (*grown, error) {
	g := &grown{At: at}
	warm, err := s.beside.closedLoop(ctx, s.directs, connections, len(s.directs))
	if err != nil {
		return nil, err
	}
	g.ARound = len(s.directs) * max(1, int(math.Round(warm.perSecond()*float64(b.Seconds)/float64(len(s.directs)))))
	service := func() error { return g.Service.measure(ctx, s.meter, s.through, s.services, connections, g.ARound) }
	direct := func() error { return g.Direct.measure(ctx, s.meter, s.beside, s.directs, connections, g.ARound) }
	for round := range b.Rounds {
		for i := range 2 {
			measure := []func() error{service, direct}[(i+round)%2]
			if err := measure(); err != nil {
				return nil, err
			}
		}
		say("%d records, %d connections, round %d of %d: p50 %.2f ms through Atlas, %.2f ms by Elasticsearch alone", s.dataset.Total, connections, round+1, b.Rounds,
			g.Service.P50.Rounds[round], g.Direct.P50.Rounds[round])
	}
	return g, nil
}

func (g *grownSide) measure(ctx context.Context, meter cpuMeter, c client, calls []*call, connections, total int) error {
	l, err := meter.closedLoop(ctx, c, calls, connections, total, &g.CPU)
	if err != nil {
		return err
	}
	g.PerSecond.add(l.perSecond())
	g.P50.add(milliseconds(quantile(l.each, 0.5)))
	g.P99.add(milliseconds(quantile(l.each, 0.99)))
	return nil
}

// grownTable has a row for each size or number of connections.
func grownTable(of string, all []*grown) table {
	t := table{head: []string{of, "", "requests/s", "p50, ms", "p99, ms", "CPU of Elasticsearch, ms", "of Atlas", "of Redis", "of Postgres"}}
	for _, g := range all {
		for _, side := range []struct {
			name string
			grownSide
		}{{"through Atlas", g.Service}, {"Elasticsearch alone", g.Direct}} {
			t.add(figure(float64(g.At)), side.name, side.PerSecond.text(0), side.P50.text(2), side.P99.text(2),
				side.CPU.Elasticsearch.text(2), side.CPU.Atlas.text(2), side.CPU.Redis.text(3), side.CPU.Postgres.text(3))
		}
	}
	return t
}

// grownLines are lines of the figures that are chosen.
func grownLines(all []*grown, lines []line, of ...func(*grown) spread) []line {
	for i := range lines {
		for _, g := range all {
			if s := of[i](g); len(s.Rounds) > 0 {
				lines[i].points = append(lines[i].points, pointOf(float64(g.At), s))
			}
		}
	}
	return lines
}

func latencyChart(title, x string, all []*grown) chart {
	return chart{title: title, x: x, y: "ms a search", lines: grownLines(all, []line{
		{name: "through Atlas, p50"}, {name: "through Atlas, p99", dotted: true},
		{name: "Elasticsearch alone, p50", kind: 1}, {name: "Elasticsearch alone, p99", kind: 1, dotted: true},
	},
		func(g *grown) spread { return g.Service.P50 }, func(g *grown) spread { return g.Service.P99 },
		func(g *grown) spread { return g.Direct.P50 }, func(g *grown) spread { return g.Direct.P99 })}
}

func cpuChart(all []*grown) chart {
	return chart{title: "CPU time of a search by records", x: "records", y: "ms of CPU a search", lines: grownLines(all, []line{
		{name: "Elasticsearch, for Atlas"}, {name: "Elasticsearch, alone", kind: 1}, {name: "Atlas", kind: 2}, {name: "Redis", kind: 3},
	},
		func(g *grown) spread { return g.Service.CPU.Elasticsearch }, func(g *grown) spread { return g.Direct.CPU.Elasticsearch },
		func(g *grown) spread { return g.Service.CPU.Atlas }, func(g *grown) spread { return g.Service.CPU.Redis })}
}

func throughputChart(records int64, all []*grown) chart {
	return chart{title: fmt.Sprintf("Searches a second by connections, %s records", figure(float64(records))), x: "connections", y: "searches/s", lines: grownLines(all, []line{
		{name: "through Atlas"}, {name: "Elasticsearch alone", kind: 1},
	},
		func(g *grown) spread { return g.Service.PerSecond }, func(g *grown) spread { return g.Direct.PerSecond })}
}
