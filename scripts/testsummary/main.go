// Command testsummary runs go test -json, shows a line for each package and all
// output of failed tests, and ends with the line "N passed, N failed". It fails
// when something failed, and when no test ran.
//
//	testsummary go test -json -race -- ./...
//
// A few tests that fail are run again, alone, with what stands before "--". Those
// that pass then count as passed, and are listed as unstable: they are to be mended.
//
// Counted are tests without subtests and, of the others, the subtests; a test
// that fails by itself, its subtests passing, counts as one failure. So does a
// package that does not build, or fails outside its tests, and each -failed.
// A skipped test counts as failed: untested code must not look tested.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

func main() {
	s := newSummary(os.Stdout)
	flag.Func("failed", "`name` of something that failed before the tests; may be repeated", func(name string) error {
		s.checks = append(s.checks, name)
		return nil
	})
	flag.Parse()
	var err error
	if command := flag.Args(); len(command) > 0 {
		command, packages := split(command)
		err = s.run(command, packages...)
		s.again(command)
	}
	if !s.end(err) {
		os.Exit(1)
	}
}

// split takes a command apart at its last "--".
func split(command []string) (before, after []string) {
	for i, arg := range slices.Backward(command) {
		if arg == "--" {
			return slices.Clip(command[:i]), command[i+1:]
		}
	}
	return slices.Clip(command), nil
}

// run reads what a command prints. That tests fail is no error.
func (s *summary) run(command []string, args ...string) error {
	cmd := exec.Command(command[0], append(command[1:], args...)...) // #nosec G204 -- runs what it is given
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = s.read(out)
	if ended := cmd.Wait(); err == nil && !errors.As(ended, new(*exec.ExitError)) {
		err = ended
	}
	return err
}

// atMostAgain is how many failures may be chance.
const atMostAgain = 3

// again runs the tests that failed once more. Everything else that failed has failed.
func (s *summary) again(command []string) {
	if len(s.failed) > atMostAgain || slices.ContainsFunc(s.failed, func(f failure) bool { return f.note != "" }) {
		return
	}
	s.failed = slices.DeleteFunc(s.failed, func(f failure) bool {
		fmt.Fprintf(s.out, "\n== again: %s\n", f)
		name, _, _ := strings.Cut(f.test, "/")
		second := newSummary(s.out)
		err := second.run(command, "-count=1", "-run", "^"+name+"$", f.pkg)
		if !second.end(err) {
			return false
		}
		s.unstable = append(s.unstable, f.String())
		s.passed++
		return true
	})
}

// event is a line of go test -json (go doc test2json, go help buildjson).
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build events
	Test        string
	Elapsed     float64 // seconds
	Output      string
	FailedBuild string // the ImportPath whose build failed
}

type summary struct {
	out      io.Writer
	checks   []string
	builds   map[string]string // output by ImportPath
	pkgs     map[string]*pkg
	passed   int
	failed   []failure
	unstable []string // failed, then passed
}

// failure is a test, or without a test a package, that failed. A note says that it is
// not a test that ended and failed.
type failure struct{ pkg, test, note string }

func (f failure) String() string {
	return strings.Join(slices.DeleteFunc([]string{f.pkg, f.test, f.note}, func(part string) bool { return part == "" }), " ")
}

type pkg struct {
	output  strings.Builder // outside any test
	tests   map[string]*test
	order   []string
	running []string // started and not ended
}

type test struct {
	output  strings.Builder
	failed  bool
	parent  bool
	subFail bool // a subtest failed
}

func newSummary(out io.Writer) *summary {
	return &summary{out: out, builds: map[string]string{}, pkgs: map[string]*pkg{}}
}

// read takes the events. It shows other lines unchanged, such as those of a go
// command that fails at the start.
func (s *summary) read(in io.Reader) error {
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				s.take(e)
			} else {
				fmt.Fprintf(s.out, "%s\n", strings.TrimRight(string(line), "\n"))
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (s *summary) take(e event) {
	switch e.Action {
	case "build-output":
		s.builds[e.ImportPath] += e.Output
		return
	case "build-fail":
		return
	}
	p := s.pkg(e.Package)
	if e.Test == "" {
		s.takePackage(e, p)
		return
	}
	t := p.test(e.Test)
	switch e.Action {
	case "run":
		p.running = append(p.running, e.Test)
		if i := strings.LastIndexByte(e.Test, '/'); i >= 0 {
			p.test(e.Test[:i]).parent = true
		}
	case "output":
		t.output.WriteString(e.Output)
	case "pass", "fail", "skip":
		p.running = slices.DeleteFunc(p.running, func(name string) bool { return name == e.Test })
		s.endTest(e, p, t)
	}
}

func (s *summary) endTest(e event, p *pkg, t *test) {
	t.failed = e.Action != "pass"
	if t.failed {
		if i := strings.LastIndexByte(e.Test, '/'); i >= 0 {
			p.test(e.Test[:i]).subFail = true
		}
	}
	switch {
	case !t.failed && !t.parent:
		s.passed++
	case t.failed && (!t.parent || !t.subFail):
		f := failure{pkg: e.Package, test: e.Test}
		if e.Action == "skip" {
			f.note = "(skipped)"
		}
		s.failed = append(s.failed, f)
	}
}

func (s *summary) takePackage(e event, p *pkg) {
	switch e.Action {
	case "output":
		p.output.WriteString(e.Output)
	case "pass", "skip":
		delete(s.pkgs, e.Package)
		if skipped := p.failures(); len(skipped) > 0 { // a skip fails no package
			s.show(e, "FAIL", p)
		} else if len(p.tests) > 0 {
			fmt.Fprintf(s.out, "ok    %-40s %7.1f s\n", e.Package, e.Elapsed)
		}
	case "fail":
		delete(s.pkgs, e.Package)
		if e.FailedBuild != "" {
			fmt.Fprintf(s.out, "FAIL  %-40s does not build\n%s", e.Package, s.builds[e.FailedBuild])
			s.failed = append(s.failed, failure{pkg: e.Package, note: "(build)"})
			return
		}
		// What runs when a package ends was cut off by a panic or a time-out,
		// whose words are those of whichever test was current.
		for _, name := range p.running {
			if p.tests[name].parent {
				continue
			}
			p.tests[name].failed = true
			s.failed = append(s.failed, failure{e.Package, name, "(did not end)"})
		}
		if len(p.failures()) == 0 {
			s.failed = append(s.failed, failure{pkg: e.Package, note: "(outside its tests)"})
		}
		s.show(e, "FAIL", p)
	}
}

// show prints the output of a package's failed tests and of the package itself.
func (s *summary) show(e event, verdict string, p *pkg) {
	fmt.Fprintf(s.out, "%s  %-40s %7.1f s\n", verdict, e.Package, e.Elapsed)
	for _, name := range p.failures() {
		fmt.Fprint(s.out, p.tests[name].output.String())
	}
	fmt.Fprint(s.out, p.output.String())
}

// end shows what failed and the counts, and says whether all is well.
func (s *summary) end(err error) bool {
	for name := range s.pkgs { // began and never ended: go test was killed
		s.failed = append(s.failed, failure{pkg: name, note: "(did not end)"})
	}
	failed := slices.Clone(s.checks)
	for _, f := range s.failed {
		failed = append(failed, f.String())
	}
	if err != nil {
		failed = append(failed, "reading the results: "+err.Error())
	}
	slices.Sort(failed)
	if len(s.unstable) > 0 {
		fmt.Fprintf(s.out, "\nunstable, passed when run again:\n  %s\n\n", strings.Join(s.unstable, "\n  "))
	}
	if len(failed) > 0 {
		fmt.Fprintf(s.out, "\nfailed:\n  %s\n\n", strings.Join(failed, "\n  "))
	} else if s.passed == 0 {
		fmt.Fprintln(s.out, "no test ran")
	}
	fmt.Fprintf(s.out, "%d passed, %d failed\n", s.passed, len(failed))
	return len(failed) == 0 && s.passed > 0
}

func (s *summary) pkg(name string) *pkg {
	p := s.pkgs[name]
	if p == nil {
		p = &pkg{tests: map[string]*test{}}
		s.pkgs[name] = p
	}
	return p
}

func (p *pkg) test(name string) *test {
	t := p.tests[name]
	if t == nil {
		t = &test{}
		p.tests[name] = t
		p.order = append(p.order, name)
	}
	return t
}

// failures are the tests to show, in the order they began.
func (p *pkg) failures() []string {
	return slices.DeleteFunc(slices.Clone(p.order), func(name string) bool { return !p.tests[name].failed })
}
