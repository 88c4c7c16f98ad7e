package architecture

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// developmentOnly are paths of packages that atlas must not link, directly or through
// others: packages that start backends, and packages for tests.
var developmentOnly = []string{
	"atlas/internal/devstack", "atlas/internal/experiment/",
	"github.com/docker/", "github.com/moby/", "github.com/testcontainers/",
	"github.com/fergusstrange/embedded-postgres", "github.com/lib/pq",
	"github.com/stretchr/", "github.com/google/go-cmp/", "pgregory.net/rapid", "github.com/Shopify/toxiproxy/", "testing",
}

func TestProductLeavesOutDevelopment(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "atlas/cmd/atlas").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	linked := strings.Fields(string(out))
	if !slices.Contains(linked, "atlas/cmd/internal/server") {
		t.Fatalf("go list shows %d packages, and not the server", len(linked))
	}
	for _, path := range linked {
		name, ours := strings.CutPrefix(path, module)
		if ours && slices.Contains(testsOnly, name) {
			t.Errorf("atlas links %s, which is for tests only", path)
		}
		// Of the client of Elasticsearch the requests are one package; all others come with
		// the typed API, 860 packages.
		if rest, official := strings.CutPrefix(path, "github.com/elastic/go-elasticsearch/v8/"); official && rest != "esapi" &&
			rest != "internal/version" {
			t.Errorf("atlas links %s", path)
		}
		for _, left := range developmentOnly {
			if path == left || strings.HasPrefix(path, strings.TrimSuffix(left, "/")+"/") {
				t.Errorf("atlas links %s", path)
			}
		}
	}
}

// scripts/dev leaves out the container client if no engine is available, and tracing if no
// collector is named.
func TestDevelopmentLeavesOut(t *testing.T) {
	t.Parallel()
	const tags = "nocontainers,notraces"
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", tags, "atlas/cmd/atlas-dev").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for path := range strings.Lines(string(out)) {
		for _, left := range []string{
			"github.com/moby/", "github.com/testcontainers/", "github.com/docker/", "google.golang.org/grpc",
			"go.opentelemetry.io/otel/exporters/", "github.com/exaring/otelpgx",
		} {
			if strings.HasPrefix(path, left) {
				t.Errorf("atlas-dev with the tags %s links %s", tags, path)
			}
		}
	}
	if out, err := exec.CommandContext(
		t.Context(), "go", "build", "-tags", tags, "atlas/internal/devstack", "atlas/internal/telemetry",
	).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
