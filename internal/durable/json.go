package durable

import (
	"errors"
	"io/fs"
	"os"

	"github.com/go-json-experiment/json"
)

// ReplaceJSON is Replace with a value as JSON.
func ReplaceJSON(path string, value any) error {
	raw, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return err
	}
	return Replace(path, raw)
}

// ReadJSON reads what ReplaceJSON wrote. It returns false when there is no file.
func ReadJSON(path string, into any) (bool, error) {
	raw, err := os.ReadFile(path) // #nosec G304 -- the caller chooses the path
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	return err == nil, err
}
