package cli

import (
	"fmt"
	"os"

	"atlas/indexer/erasure"
)

// Suppression has the keys of the list of suppressions.
type Suppression struct {
	SuppressionKey     string `name:"suppression-key" env:"ATLAS_SUPPRESSION_KEY" placeholder:"NUMBER:KEY" help:"Keys of the list of suppressions, separated by commas: the one with the highest number makes new digests. Required once the list has something."`
	SuppressionKeyFile string `name:"suppression-key-file" env:"ATLAS_SUPPRESSION_KEY_FILE" type:"existingfile" placeholder:"FILE" help:"File with such keys."`
}

// SuppressionKeys reads the keys of the list of suppressions. No keys are not an error.
func (c Suppression) SuppressionKeys() (erasure.Keys, error) {
	text := c.SuppressionKey
	if c.SuppressionKeyFile != "" {
		content, err := os.ReadFile(c.SuppressionKeyFile)
		if err != nil {
			return nil, err
		}
		text += "\n" + string(content)
	}
	keys, err := erasure.ParseKeys(text)
	if err != nil {
		return nil, ConfigError{fmt.Sprintf("--suppression-key (ATLAS_SUPPRESSION_KEY): %v", err)}
	}
	return keys, nil
}
