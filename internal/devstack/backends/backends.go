// Package backends gives tests the real Elasticsearch, Postgres and Redis:
//
//	func TestMain(m *testing.M) { backends.Main(m) }
//
//	func TestX(t *testing.T) { url := backends.Redis(t) … }
//
// Each is the address in the environment, which scripts/test sets, or else a
// backend of a stack that is started for the first test that asks and shared
// by all test processes of the user. What cannot be had fails the test; nothing
// is skipped. The backends are shared, so a test keeps to names of its own: a
// database, an index prefix, a key prefix.
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

// Main runs the tests of a package and exits with their result. It must be all
// that TestMain does after its own preparations: the shared stack is started
// by running the test program once more, and Main is where that run turns
// aside from the tests.
func Main(m interface{ Run() int }) {
	Prepare()
	code := m.Run()
	leave()
	os.Exit(code)
}

// Prepare is the part of Main before the tests run, for a TestMain that lets
// something else run them.
func Prepare() {
	if os.Getenv(ownerEnv) != "" {
		os.Exit(own())
	}
	prepared.Store(true)
}

var prepared atomic.Bool

// The variables that give an address, the first that is set.
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

// Postgres returns the address of a database as an administrator, who may
// create roles and databases. An address in the environment has to be one too.
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
