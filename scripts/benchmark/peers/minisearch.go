package peers

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"io"

	"atlas/scripts/benchmark/relevance"
	"atlas/search/catalog"
)

//go:embed minisearch
var minisearchFiles embed.FS

// MiniSearch searches in the memory of a Node process.
type MiniSearch struct{ *node }

// StartMiniSearch installs MiniSearch and fills it. The error says what is missing.
func StartMiniSearch(ctx context.Context, w relevance.World) (*MiniSearch, error) {
	n, err := startNode(ctx, minisearchFiles, "minisearch", "search.mjs")
	if err != nil {
		return nil, err
	}
	m := &MiniSearch{n}
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
func (m *MiniSearch) Find(_ context.Context, d catalog.Dataset, text string) (ids []string, err error) {
	if err := json.NewEncoder(m.in).Encode(object{"dataset": d, "query": text}); err != nil {
		return nil, err
	}
	line, err := m.out.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	return ids, json.Unmarshal(line, &ids)
}
