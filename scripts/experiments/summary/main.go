// Command summary prints what experiments measured as a table, and ends with 1
// when one of them failed.
//
//	summary --results FILE [--json FILE] [--write FILE] NAME=STATUS…
//
// The results are the lines that package figures appended. STATUS is that of an
// experiment's test, so that one without a line is listed too. --write replaces the
// rows "| NAME | … |" of a Markdown document by those of experiments that succeeded.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"atlas/internal/experiment/figures"
)

func main() {
	results := flag.String("results", "", "file of result lines")
	into := flag.String("json", "", "file to write the table to, as JSON")
	document := flag.String("write", "", "Markdown document whose rows to replace")
	flag.Parse()
	ok, err := run(*results, *into, *document, flag.Args(), os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "summary:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func run(results, into, document string, statuses []string, out io.Writer) (ok bool, err error) {
	lines, err := read(results)
	if err != nil {
		return false, err
	}
	all, err := collect(lines, statuses)
	if err != nil {
		return false, err
	}
	if into != "" {
		raw, err := json.MarshalIndent(all, "", "  ")
		if err != nil {
			return false, err
		}
		if err := os.WriteFile(into, append(raw, '\n'), 0o600); err != nil {
			return false, err
		}
	}
	if document != "" {
		if err := write(document, all); err != nil {
			return false, err
		}
	}
	return table(out, all)
}

// write replaces the rows of experiments in a document.
func write(path string, all []figures.Result) error {
	raw, err := os.ReadFile(path) // #nosec G304 -- a file that the developer names
	if err != nil {
		return err
	}
	lines := strings.Split(string(raw), "\n")
	for _, r := range all {
		if !r.OK {
			continue
		}
		at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "| "+r.Experiment+" |") })
		if at < 0 {
			return fmt.Errorf("%s has no row of %s", path, r.Experiment)
		}
		var texts []string
		for _, f := range r.Figures {
			texts = append(texts, f.String())
		}
		lines[at] = fmt.Sprintf("| %s | %d | %s |", r.Experiment, r.Seed, strings.ReplaceAll(strings.Join(texts, "; "), "|", "/"))
	}
	return os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600) // #nosec G703 -- a file that the developer names
}

func read(path string) ([]figures.Result, error) {
	f, err := os.Open(path) // #nosec G304 -- a file that the developer names
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // no experiment completed
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []figures.Result
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r figures.Result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, r)
	}
	return all, lines.Err()
}

// collect puts the results in the order of the experiments that ran. A failed test
// fails all its results, because the cause may be outside of them.
func collect(lines []figures.Result, statuses []string) ([]figures.Result, error) {
	all := []figures.Result{}
	for _, s := range statuses {
		name, status, found := strings.Cut(s, "=")
		if !found {
			return nil, fmt.Errorf("%q is not NAME=STATUS", s)
		}
		known := false
		for _, r := range lines {
			if r.Experiment == name {
				r.OK = r.OK && status == "0"
				all, known = append(all, r), true
			}
		}
		if !known {
			all = append(all, figures.Result{Experiment: name, Done: "ended without a result, status " + status, Figures: []figures.Figure{}})
		}
	}
	return all, nil
}

// table has a row for each figure; what an experiment is stands in its first.
func table(out io.Writer, all []figures.Result) (ok bool, err error) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "EXPERIMENT\tSEED\tSECONDS\tFIGURE\tVALUE\tBOUND\tRESULT")
	ok = true
	for _, r := range all {
		ok = ok && r.OK
		fmt.Fprintf(w, "%s\t%d\t%.0f\t%s\t\t\t%s\n", r.Experiment, r.Seed, r.Seconds, r.Done, word(r.OK))
		for _, f := range r.Figures {
			fmt.Fprintf(w, "\t\t\t%s\t%g %s\t%s\t%s\n", f.Name, f.Value, f.Unit, f.Bound, map[bool]string{true: "", false: "failed"}[f.OK])
		}
	}
	return ok, w.Flush()
}

func word(ok bool) string {
	if ok {
		return "ok"
	}
	return "failed"
}
