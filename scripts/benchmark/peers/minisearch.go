package peers

import (
	"bufio"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"atlas/scripts/benchmark/relevance"
	"atlas/search/query"
)

//go:embed minisearch
var minisearchFiles embed.FS

// MiniSearch searches in the memory of a Node process.
type MiniSearch struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// StartMiniSearch installs MiniSearch and fills it. The error says what is missing.
func StartMiniSearch(ctx context.Context, w relevance.World) (*MiniSearch, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, err
	}
	dir, err := installNode(ctx, minisearchFiles, "minisearch")
	if err != nil {
		return nil, err
	}
	m := &MiniSearch{cmd: exec.CommandContext(ctx, node, filepath.Join(dir, "search.mjs"))} // #nosec G204 -- a program of this machine
	m.cmd.Stderr = os.Stderr
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if m.in, err = m.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := m.cmd.Start(); err != nil {
		return nil, err
	}
	m.out = bufio.NewReader(out)
	to := json.NewEncoder(m.in)
	for d, records := range w {
		for _, r := range records {
			if err := to.Encode(object{"dataset": d, "id": r.ID, "name": r.Texts["name"], "text": r.Texts.All()}); err != nil {
				return nil, errors.Join(err, m.Stop())
			}
		}
	}
	if _, err := io.WriteString(m.in, "\n"); err != nil {
		return nil, errors.Join(err, m.Stop())
	}
	return m, nil
}

// Find is a relevance.Finder.
func (m *MiniSearch) Find(_ context.Context, d query.Dataset, text string) (ids []string, err error) {
	if err := json.NewEncoder(m.in).Encode(object{"dataset": d, "query": text}); err != nil {
		return nil, err
	}
	line, err := m.out.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	return ids, json.Unmarshal(line, &ids)
}

// Stop ends the process.
func (m *MiniSearch) Stop() error { return errors.Join(m.in.Close(), m.cmd.Wait()) }
