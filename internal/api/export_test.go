package api

// Router is Handler without compression, for tests that list its routes.
var Router = (*Server).router
