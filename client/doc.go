// Package client calls the Atlas API from Go: typed requests and records, iterators over
// the pages of a search, retries that wait as long as the service asks for, and errors that
// can be distinguished. docs/clients.md has examples, docs/api.md is the contract.
//
//	c, err := client.New("https://atlas.example/api/v1", client.WithAPIKey(key))
//	…
//	for project, err := range c.Projects.All(ctx, client.Search{Query: "garage"}) {
//
// It is a module of its own that imports only the standard library and shares no code with
// the service, so it has the view of any other client. It stores nothing between calls and
// hides no cost. It does not validate requests: the service decides whether a field can be
// filtered by, and names it in an issue.
//
// Closed lists of values are types with constants (StagePermitted, RoleAdmin, …). They are
// strings: client.Is("permitted") and client.Is(client.StagePermitted) are the same, and a
// newer service may answer values that have no constant yet.
//
// # Unknown values
//
// Unknown values are null in a response, and the zero value here: "" or a zero time, which
// are never real values. Numbers are pointers where they can be unknown, because 0 is a
// number. Each record has its JSON in Raw, including fields that this version does not
// know.
//
// # Compatibility
//
// What compiles with a version of this package compiles with each later one of the same
// major version, and does the same. Excepted are struct literals without field names,
// conversions between structs, and the texts of errors. Fields, methods, options and
// constants are added. A member that the service adds is in Raw until it has a field.
// CHANGELOG.md says what is deprecated. A client works with services of its own version and
// later ones of the same /api/v1.
package client
