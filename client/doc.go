// Package client calls the Atlas API from Go: typed requests and records,
// iterators over the pages of a search, retries that wait as long as the service
// asks for, and errors that can be told apart. docs/clients.md shows it at work,
// docs/api.md is the contract.
//
//	c, err := client.New("https://atlas.example/api/v1", client.WithAPIKey(key))
//	…
//	for project, err := range c.Projects.All(ctx, client.Search{Query: "garage"}) {
//
// It needs the standard library alone and shares no code with the service, so it
// is what any other program sees of it. It keeps nothing between calls, hides no
// cost, and judges no request: whether a field can be filtered by is the
// service's to say, with an issue that names it.
package client
