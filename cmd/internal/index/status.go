package index

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"atlas/cmd/internal/cli"
	"atlas/indexer"
	"atlas/indexer/generation"
	"atlas/search/catalog"
	"atlas/workspace/postgres"
)

// Status is `atlas index status`.
type Status struct {
	generationsConfig
	cli.Output

	WorkDir []string `name:"work-dir" env:"ATLAS_WORK_DIR" type:"path" placeholder:"DIR" help:"Work folder of a load, where it was given one; those in --temp-dir are found."`
	TempDir string   `name:"temp-dir" env:"ATLAS_TEMP_DIR" type:"path" placeholder:"DIR" help:"Folder of the default work folders; default: atlas in the user's folder for caches."`
}

// StatusReport is the status as --json prints it.
type StatusReport struct {
	// Generations are ordered from the newest.
	Generations []generation.Generation `json:"generations"`
	// Writing is the process that loads or applies a delta now; null when there
	// is none.
	Writing *writing `json:"writing"`
	// Loads are the unfinished loads with a work folder on this machine.
	Loads []unfinishedLoad `json:"loads"`
}

// unfinishedLoad is the state at the last checkpoint.
type unfinishedLoad struct {
	indexer.UnfinishedLoad
	// Running means that its process holds the lease and the lock of the folder. The lease
	// of a killed process remains until it expires. A load that is not running can be
	// resumed.
	Running bool `json:"running"`
}

type writing struct {
	// Who is the host and the process.
	Who string `json:"who"`
	// Until is when the lease expires unless renewed.
	Until time.Time `json:"until"`
}

// Run prints the status.
func (c *Status) Run(ctx context.Context, s *cli.Streams) error {
	return c.with(ctx, func(system *postgres.System, o generation.Options) error {
		generations, err := generation.List(ctx, o.Elastic, o.Names)
		if err != nil {
			return err
		}
		status := StatusReport{Generations: generations, Loads: []unfinishedLoad{}}
		who, until, err := system.LeaseHolder(ctx, generation.LeaseName)
		if err != nil {
			return err
		}
		if who != "" {
			status.Writing = &writing{who, until.UTC()}
		}
		for _, l := range indexer.UnfinishedLoads(o.Names, c.TempDir, c.WorkDir...) {
			status.Loads = append(status.Loads, unfinishedLoad{l, who != "" && l.Holder == who && l.InUse()})
		}
		switch {
		case c.JSON:
			return cli.PrintJSON(s.Out, status)
		case c.Output.Output == "csv":
			return printGenerations(s, generations)
		}
		return printStatus(s, status)
	})
}

// printGenerations prints the generations as CSV, with sizes in bytes.
func printGenerations(s *cli.Streams, all []generation.Generation) error {
	columns := []string{"generation", "state", "created"}
	for _, d := range catalog.Datasets {
		columns = append(columns, string(d))
	}
	rows := make([][]string, len(all))
	for i, g := range all {
		rows[i] = []string{g.Name, fmt.Sprint(g.State), g.Created.Format(time.RFC3339)}
		for _, d := range catalog.Datasets {
			rows[i] = append(rows[i], documentsOf(g, d, "-"))
		}
		rows[i] = append(rows[i], fmt.Sprint(g.Documents), fmt.Sprint(g.Bytes), worstHealth(g))
	}
	return cli.PrintCSV(s.Out, append(columns, "documents", "bytes", "health"), rows)
}

// documentsOf is the number of documents of a dataset, or none if there is no such index.
func documentsOf(g generation.Generation, d catalog.Dataset, none string) string {
	for _, in := range g.Datasets {
		if in.Dataset == d {
			return fmt.Sprint(in.Documents)
		}
	}
	return none
}

func printStatus(s *cli.Streams, status StatusReport) error {
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprint(w, "generation\tstate\tcreated\t")
	for _, d := range catalog.Datasets {
		_, _ = fmt.Fprintf(w, "%s\t", d)
	}
	_, _ = fmt.Fprintln(w, "documents\tsize\thealth\t")
	for _, g := range status.Generations {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t", g.Name, g.State, g.Created.Format(time.RFC3339))
		for _, d := range catalog.Datasets {
			_, _ = fmt.Fprintf(w, "%s\t", documentsOf(g, d, "–"))
		}
		_, _ = fmt.Fprintf(w, "%d\t%s\t%s\t\n", g.Documents, size(g.Bytes), worstHealth(g))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(status.Generations) == 0 {
		_, _ = fmt.Fprintln(s.Out, "nothing has been loaded yet")
	}
	for _, g := range status.Generations {
		for _, delta := range g.Deltas {
			_, _ = fmt.Fprintf(s.Out, "the delta %s was begun on %s and is not finished\n", delta, g.Name)
		}
	}
	for _, l := range status.Loads {
		_, _ = fmt.Fprintln(s.Out, l)
	}
	if status.Writing == nil {
		_, err := fmt.Fprintln(s.Out, "nobody is loading")
		return err
	}
	for _, l := range status.Loads {
		if l.Holder == status.Writing.Who && !l.Running {
			_, err := fmt.Fprintf(
				s.Out, "nobody is loading; the lease of %s, which was killed, lapses at %s\n", l.Holder,
				status.Writing.Until.Format(time.RFC3339),
			)
			return err
		}
	}
	_, err := fmt.Fprintf(s.Out, "global records are being written by %s (lease until %s)\n",
		status.Writing.Who, status.Writing.Until.Format(time.RFC3339))
	return err
}

// String is a line like "load of data/ into 20261121t114400z-0a1b2c: indexing,
// 168000 of 400000 records (42 %) at its last checkpoint; running".
func (l unfinishedLoad) String() string {
	line := fmt.Sprintf("load of %s into %s: %s", l.Dir, l.Generation, phaseNames[l.Phase])
	switch {
	case l.Phase == indexer.Reading:
		line += fmt.Sprintf(", %d lines", l.Done)
	case l.Total > 0:
		line += fmt.Sprintf(", %d of %d records (%d %%)", l.Done, l.Total, 100*l.Done/l.Total)
	}
	line += " at its last checkpoint"
	if l.Running {
		return line + "; running"
	}
	return line + "; not running, the same command goes on with it in " + l.WorkDir
}

// worstHealth is the health of the unhealthiest index.
func worstHealth(g generation.Generation) string {
	worst := "green"
	for _, in := range g.Datasets {
		if in.Health == "red" || in.Health == "yellow" && worst == "green" {
			worst = in.Health
		}
	}
	return worst
}
