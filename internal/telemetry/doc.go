// Package telemetry has the instruments for operators of a running server: metrics, traces,
// the time that a request spent in backends, and a log without secrets. docs/operators.md
// lists the metrics and the fields of log lines.
//
// Other packages report to it. It knows nothing of searches, workspaces or HTTP routes, and
// no rule of the service may depend on it. Labels have few values, known in advance
// (operations of the route table, kinds of backend calls): never a path, a workspace or an
// id.
package telemetry
