//go:build nocontainers

package devstack

import "context"

// With the tag nocontainers nothing of a container engine is compiled: scripts/dev sets it
// where none answers.

type (
	containerSpec struct{}
	engine        struct{ opts Options }
)

func engineAnswers(context.Context) bool { return false }

func elasticsearchContainer(Options) containerSpec { return containerSpec{} }
func postgresContainer(Options) containerSpec      { return containerSpec{} }
func redisContainer(Options) containerSpec         { return containerSpec{} }

func (*engine) removeLeftovers(context.Context) error { return nil }
func (*engine) stop(context.Context) error            { return nil }
func (*engine) run(context.Context, func(Options) containerSpec) (string, error) {
	return "", nil
}
