// Package server is `atlas serve`: its configuration, its wiring and its shutdown.
// atlas-dev also uses it. It has no rules of the product.
package server
