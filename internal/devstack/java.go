package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// minJava is the oldest Java that Elasticsearch 8 runs on.
const minJava = 17

var (
	javaHomeLine    = regexp.MustCompile(`(?m)^\s*java\.home = (.+)$`)
	javaVersionLine = regexp.MustCompile(`(?m)^\s*java\.specification\.version = (\d+)`)
)

// findJava returns the home of a Java of version 17 or later that the account
// may run: that of ES_JAVA_HOME or JAVA_HOME, the first in PATH, or one of a
// system package.
func findJava(ctx context.Context, a *account) (string, error) {
	var candidates []string
	for _, name := range []string{"ES_JAVA_HOME", "JAVA_HOME"} {
		if home := os.Getenv(name); home != "" {
			candidates = append(candidates, filepath.Join(home, "bin", "java"))
		}
	}
	if path, err := exec.LookPath("java"); err == nil {
		candidates = append(candidates, path)
	}
	installed, _ := filepath.Glob("/usr/lib/jvm/*/bin/java") // no match is no error
	candidates = append(candidates, installed...)

	var seen []string
	for _, path := range candidates {
		home, version, err := askJava(ctx, path)
		switch {
		case err != nil:
			seen = append(seen, fmt.Sprintf("%s: %v", path, err))
		case version < minJava:
			seen = append(seen, fmt.Sprintf("%s: is version %d", path, version))
		case !canEnter(filepath.Join(home, "bin"), a):
			seen = append(seen, fmt.Sprintf("%s: user %s may not run it", path, a.name))
		default:
			return home, nil
		}
	}
	return "", errors.New(strings.Join(append([]string{
		fmt.Sprintf(
			"Java %d or later is needed (package openjdk-%d-jre-headless), by ES_JAVA_HOME, JAVA_HOME or PATH",
			minJava,
			minJava,
		),
	}, seen...), "; "))
}

func askJava(ctx context.Context, path string) (home string, version int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "-XshowSettings:properties", "-version").CombinedOutput() // #nosec G702 -- a Java that the developer names, or one of this machine
	if err != nil {
		return "", 0, err
	}
	h, v := javaHomeLine.FindSubmatch(out), javaVersionLine.FindSubmatch(out)
	if h == nil || v == nil {
		return "", 0, errors.New("does not report its home and version")
	}
	return strings.TrimSpace(string(h[1])), atoi(string(v[1])), nil
}
