// Package operator has the commands of an operator on Postgres: workspaces, members, keys,
// Skills, tokens, migrations and the projection.
package operator
