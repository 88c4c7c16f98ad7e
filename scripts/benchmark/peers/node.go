package peers

import (
	"bufio"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// installWithin bounds the time of npm.
const installWithin = 3 * time.Minute

// node is a running program for Node. It ends with its standard input, so also with this
// process.
type node struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startNode installs a program, and starts one of its files. The error says what is missing.
func startNode(ctx context.Context, files embed.FS, name, script string, args ...string) (*node, error) {
	path, err := exec.LookPath("node")
	if err != nil {
		return nil, err
	}
	dir, err := installNode(ctx, files, name)
	if err != nil {
		return nil, err
	}
	n := &node{cmd: exec.CommandContext(ctx, path, append([]string{filepath.Join(dir, script)}, args...)...)} // #nosec G204 -- a program of this machine, with arguments of this one
	n.cmd.Stderr = os.Stderr
	n.cmd.Env = append(os.Environ(), "NODE_ENV=production")
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	n.out = bufio.NewReader(out)
	if n.in, err = n.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return n, n.cmd.Start()
}

// PID of the process.
func (n *node) PID() int { return n.cmd.Process.Pid }

// Stop ends the process.
func (n *node) Stop() error { return errors.Join(n.in.Close(), n.cmd.Wait()) }

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
