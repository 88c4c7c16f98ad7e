package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestOtherLanguages runs the examples of the clients in Python and TypeScript.
// ATLAS_CLIENTS names those that scripts/clients has installed.
func TestOtherLanguages(t *testing.T) {
	t.Parallel()
	languages := strings.Fields(os.Getenv("ATLAS_CLIENTS"))
	if len(languages) == 0 {
		return // scripts/test says which are not checked
	}
	s := start(t, 0)
	for _, language := range languages {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "../../scripts/clients", language, "readme")
			cmd.Env = append(os.Environ(), "ATLAS_URL="+s.base, "ATLAS_API_KEY="+s.key)
			var said bytes.Buffer
			cmd.Stdout, cmd.Stderr = &said, &said
			if err := cmd.Run(); err != nil || !strings.Contains(said.String(), "the examples ran") {
				t.Errorf("%v\n%s", err, &said)
			}
		})
	}
}
