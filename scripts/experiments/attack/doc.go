// Package attack holds experiments that try to read or change the data of other
// workspaces, to bypass limits, or to bring the service down. docs/security.md
// describes each. They are tests with the build tag attack, which scripts/attack runs.
// The service does not use this package.
package attack
