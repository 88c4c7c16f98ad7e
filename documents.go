// Package atlas has the documents of this repository, which the server shows at /docs.
// The program is cmd/atlas.
package atlas

import "embed"

// Documents are the pages, and the files that they show or lead to, by their paths in
// the repository.
//
//go:embed README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs/*.md docs/decisions/*.md docs/growth/*.svg docs/alerts.yml docs/dashboard.json
var Documents embed.FS
