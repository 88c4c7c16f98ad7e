// Package attack holds experiments that try to get from the service what it must
// not give, to change what is another workspace's, or to bring it down:
// docs/security.md describes each. They are tests with the build tag attack, which
// scripts/attack runs; nothing of this package is used by the service.
package attack
