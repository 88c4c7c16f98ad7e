// Package backends gives tests the real Elasticsearch, Postgres and Redis:
//
//	func TestMain(m *testing.M) { backends.Main(m) }
//
//	func TestX(t *testing.T) { url := backends.Redis(t) … }
//
// Each address comes from the environment, which scripts/test sets, or from a
// shared stack: the first test of the user that asks starts it. A missing
// backend fails the test; no test is skipped. Backends are shared, so a test
// uses its own names: a database, an index prefix, a key prefix.
//
// The package is for tests only.
package backends

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"atlas/internal/devstack"
)

// Main runs the tests of a package and exits with their result. TestMain must end with it:
// the test program runs a second time to own the shared stack, and Main does not run the
// tests in that process.
func Main(m interface{ Run() int }) {
	Prepare()
	code := m.Run()
	leave()
	os.Exit(code)
}

// Prepare is the part of Main before the tests, for a TestMain that runs them
// in another way.
func Prepare() {
	if os.Getenv(ownerEnv) != "" {
		os.Exit(own())
	}
	prepared.Store(true)
}

var prepared atomic.Bool

// Environment variables with addresses, in order of preference.
var (
	elasticsearchNames = []string{devstack.EnvElasticsearch, "ATLAS_ELASTICSEARCH_URL"}
	postgresNames      = []string{devstack.EnvPostgres, "ATLAS_POSTGRES_URL"}
	redisNames         = []string{devstack.EnvRedis, "ATLAS_REDIS_URL"}
)

// given returns the address in the environment, "" when there is none.
func given(names []string) string {
	for _, name := range names {
		if url := os.Getenv(name); url != "" {
			return url
		}
	}
	return ""
}

// Elasticsearch returns the address of a node, without a slash at the end.
func Elasticsearch(t testing.TB) string {
	t.Helper()
	return address(t, elasticsearchNames, func(a addresses) string { return a.Elasticsearch })
}

// Postgres returns the address of a database as a superuser. An address in the environment
// must be one too.
func Postgres(t testing.TB) string {
	t.Helper()
	return address(t, postgresNames, func(a addresses) string { return a.Postgres })
}

// Redis returns a redis:// address.
func Redis(t testing.TB) string {
	t.Helper()
	return address(t, redisNames, func(a addresses) string { return a.Redis })
}

func address(t testing.TB, names []string, of func(addresses) string) string {
	t.Helper()
	if url := given(names); url != "" {
		return url
	}
	if !prepared.Load() {
		t.Fatal("the package's TestMain must call backends.Main(m)")
	}
	a, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return of(a)
}

// shared joins the shared stack once per test process.
var shared = sync.OnceValues(func() (addresses, error) {
	dir, err := sharedDir()
	if err != nil {
		return addresses{}, err
	}
	return join(dir)
})
