// Package mcp is the Model Context Protocol server of Atlas: tools, resources and prompts
// for agents (docs/agents.md).
//
// Each tool is a program over the HTTP API: it sends the requests that its caller could
// send, with the caller's token, to the handler of the API. So checks, limits, credits
// and log lines are those of the API, and the schemas are those of its OpenAPI document.
// What the package adds is what agents need: brief rows, answers of bounded length,
// questions before something becomes expensive or changes much, and texts that keep
// record text apart from instructions.
//
// It authenticates nobody, knows no store, and states no field: who serves it has
// identified the caller.
package mcp
