package devstack

import (
	"testing"
)

// Each way to end a single backend leaves the others alone, and the backend comes back at
// its address with its data.
func TestKillHaltAndResume(t *testing.T) {
	if !localServers(t) {
		return
	}
	t.Parallel()
	stack := start(t, Options{Dir: stateDir(t), ElasticsearchURL: given, Local: true})
	write(t, stack, "kept")
	for _, b := range []struct {
		backend     Backend
		url, beside string
	}{{Postgres, stack.PostgresURL, stack.RedisURL}, {Redis, stack.RedisURL, stack.PostgresURL}} {
		for name, end := range map[string]func() error{
			"killed": func() error { return stack.Kill(b.backend) },
			"halted": func() error { return stack.Halt(t.Context(), b.backend) },
		} {
			if err := end(); err != nil {
				t.Fatalf("%s, to be %s: %v", b.backend, name, err)
			}
			if listens(t, b.url) || !listens(t, b.beside) {
				t.Errorf("%s was %s: it listens %t, the other %t", b.backend, name, listens(t, b.url), listens(t, b.beside))
			}
			if err := end(); err == nil {
				t.Errorf("%s, which does not run, is %s once more", b.backend, name)
			}
			if err := stack.Resume(t.Context(), b.backend); err != nil {
				t.Fatalf("%s, %s: %v", b.backend, name, err)
			}
			if err := stack.Resume(t.Context(), b.backend); err == nil {
				t.Errorf("%s, which runs, is resumed", b.backend)
			}
			for _, word := range words(t, stack) {
				if word != "kept" {
					t.Errorf("%s, %s and resumed: holds %q", b.backend, name, word)
				}
			}
		}
	}
	if err := stack.Kill(Elasticsearch); err == nil {
		t.Error("a backend that is not of this stack was killed")
	}
}
