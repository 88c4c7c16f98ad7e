package peers

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// installWithin bounds the time of npm.
const installWithin = 3 * time.Minute

// installNode installs a program for Node with its packages, once per version, and returns
// its folder. The files are in a folder of that name.
func installNode(ctx context.Context, files embed.FS, name string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	entries, err := files.ReadDir(name)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	content := map[string][]byte{}
	for _, e := range entries {
		raw, err := files.ReadFile(name + "/" + e.Name())
		if err != nil {
			return "", err
		}
		content[e.Name()] = raw
		sum.Write(raw)
	}
	dir := filepath.Join(cache, "atlas", "benchmark-"+name+"-"+hex.EncodeToString(sum.Sum(nil)[:6]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return "", err
	}
	aside, err := os.MkdirTemp(filepath.Dir(dir), "installing-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(aside)
	for name, raw := range content {
		if err := os.WriteFile(filepath.Join(aside, name), raw, 0o600); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, installWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir, cmd.Stdout, cmd.Stderr = aside, os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("npm ci of %s: %w", name, err) // a report has no paths and hosts
	}
	return dir, os.Rename(aside, dir)
}
