// Package server is `atlas serve`: its configuration, its wiring and its
// shutdown. atlas-dev serves with it too. It holds no rules of the product.
package server
