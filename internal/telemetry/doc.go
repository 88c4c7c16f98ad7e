// Package telemetry is what an operator sees of a running server: metrics, the
// time that a request's backends took, and a log that shows no secrets.
// docs/operators.md lists the metrics and the fields of log lines.
//
// It takes what others tell it and knows nothing of searches, workspaces or
// HTTP routes. It is not for deciding anything: no rule of the service may
// depend on it. Labels have few values, known beforehand (operations of the
// route table, kinds of backend calls): never a path, a workspace or an id.
package telemetry
