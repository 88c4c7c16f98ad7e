// Package search is the commands that call a running service: `atlas search`
// and `atlas export`.
package search
