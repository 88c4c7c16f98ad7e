// Package search has the commands that call a running service: `atlas search`, `atlas
// export` and `atlas follow`.
package search
