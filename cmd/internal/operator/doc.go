// Package operator is the commands of an operator that work on Postgres:
// workspaces, members, keys, Skills, tokens, migrations and the projection.
package operator
