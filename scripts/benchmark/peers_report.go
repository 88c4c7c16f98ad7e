package main

import (
	"fmt"
	"strings"

	"atlas/scripts/benchmark/peers"
	"atlas/scripts/benchmark/report"
	"atlas/search/catalog"
)

// Markdown writes the tables. Figures are medians of the rounds, in brackets the
// lowest and the highest round.
func (r peersReport) Markdown() string {
	var b strings.Builder
	fmt.Fprint(&b, r.whole())
	fmt.Fprintf(&b, "- Postgres %s (%s)\n", r.Postgres, strings.Join(peers.PostgresSettings, ", "))
	if r.WithoutSearchkit == "" {
		fmt.Fprintf(&b, "- %s\n", peers.SearchkitVersion())
	} else {
		fmt.Fprintf(&b, "- Searchkit was not measured: %s\n", r.WithoutSearchkit)
	}
	fmt.Fprintf(&b, "- figures are medians of %d rounds, in brackets the lowest and the highest; the peers by turns, after a warm-up that does not count; every answer was compared with the first one to the same request\n\n", r.Rounds)

	table := func(title string, digits int, of func(peerCost) report.Spread) {
		fmt.Fprintf(&b, "%s\n\n", title)
		t := report.Table{Head: append([]string{"task"}, peerNames[:]...)}
		for _, task := range r.Tasks {
			cells := []string{task.Name}
			for _, cost := range task.Peers {
				cells = append(cells, of(cost).Text(digits))
			}
			t.Add(cells...)
		}
		fmt.Fprintln(&b, t)
	}
	fmt.Fprintf(&b, "**Answers** are the same ones where a task means the same to the peers. Searches that find as many records as Atlas:\n\n")
	t := report.Table{Head: append([]string{"task", "searches"}, peerNames[postgresPeer:]...)}
	for _, task := range r.Tasks {
		if len(task.Peers[atlasPeer].P50.Rounds) == 0 {
			continue
		}
		cells := []string{task.Name, fmt.Sprint(task.Questions)}
		for peer, same := range task.SameTotals[postgresPeer:] {
			if len(task.Peers[postgresPeer+peer].P50.Rounds) == 0 {
				cells = append(cells, "–")
				continue
			}
			cells = append(cells, fmt.Sprint(same))
		}
		t.Add(cells...)
	}
	fmt.Fprintln(&b, t)
	fmt.Fprintf(&b, "%d accounts have more than %s projects.\n\n", r.WideAccounts, report.Number(catalog.MaxChildren))

	table("**Latency**, p50 in ms over one connection.", 2, func(c peerCost) report.Spread { return c.P50 })
	table("**Latency**, p99 in ms, of the same requests.", 2, func(c peerCost) report.Spread { return c.P99 })
	table(
		fmt.Sprintf("**Throughput**, requests/s over %d connections.", connections), 0,
		func(c peerCost) report.Spread { return c.PerSecond },
	)
	table("**CPU** of all processes of the peer, ms/request, of the same requests.", 2, func(c peerCost) report.Spread { return c.CPU })

	fmt.Fprintf(
		&b, "**Loading** from files of %.0f MiB until all can be searched, in seconds: the first time, and medians of %d more, the peers by turns, in brackets the shortest and the longest; and **size** on disk.\n\n",
		mebibytes(r.RecordBytes), fills,
	)
	t = report.Table{Head: append([]string{""}, peerNames[:searchkitPeer]...)}
	first, seconds, sizes := []string{"first"}, []string{"again"}, []string{"MiB"}
	for _, f := range r.Fills[:searchkitPeer] {
		once := "–" // an earlier run loaded the records
		if f.First > 0 {
			once = fmt.Sprintf("%.1f", f.First)
		}
		first, seconds = append(first, once), append(seconds, f.Seconds.Text(1))
		sizes = append(sizes, fmt.Sprintf("%.0f", mebibytes(f.Bytes)))
	}
	t.Add(first...)
	t.Add(seconds...)
	t.Add(sizes...)
	fmt.Fprintln(&b, t)
	return b.String()
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }
