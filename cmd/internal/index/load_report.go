package index

import (
	"fmt"
	"text/tabwriter"

	"atlas/cmd/internal/cli"
	"atlas/indexer"
)

// printLoad prints a report: problems on the error stream, counts on the other.
func printLoad(s *cli.Streams, r indexer.Report) error {
	for i, p := range r.Problems {
		if i == maxShown {
			_, _ = fmt.Fprintln(s.Err, "… and more")
			break
		}
		where := fmt.Sprintf("%s:%d", p.File, p.Line)
		if p.ID != "" {
			where += " (" + p.ID + ")"
		}
		if p.Field != "" {
			where += ": " + p.Field
		}
		_, _ = fmt.Fprintf(s.Err, "%s: %s\n", where, p.Reason)
	}
	for _, note := range r.Notes {
		_, _ = fmt.Fprintln(s.Err, "note:", note)
	}
	if r.DeadLetters != "" {
		_, _ = fmt.Fprintf(s.Err, "all that was left out is in %s\n", r.DeadLetters)
	}
	if !r.Switched {
		return nil
	}
	table := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "dataset\tlines\trejected\treplaced\tmerged\tsuppressed\trefused\tdocuments\tdangling\tseconds\t")
	for _, d := range r.Datasets {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f\t\n",
			d.Dataset, d.Lines, d.Rejected, d.Replaced, d.Merged, d.Suppressed, d.Refused, d.Documents, d.Dangling, d.Seconds)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.Out, "generation %s is served: %d documents in %.1f s (%.0f a second), left out %d, old indices deleted %d\n",
		r.Generation, r.Documents(), r.Seconds, float64(r.Documents())/max(r.Seconds, 0.001), r.LeftOut(), len(r.Deleted))
	return err
}
