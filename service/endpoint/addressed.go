package endpoint

import (
	"regexp"
	"slices"
	"strings"

	"atlas/internal/fault"
)

// operationName is how packages that know nothing of HTTP name an operation in a message.
var operationName = regexp.MustCompile("`[a-z_]+`")

// addresses are the method and the path of operations, by their names.
type addresses map[string]string

func addressesOf(routes []Route) addresses {
	of := addresses{}
	for _, r := range routes {
		of[r.Operation] = r.Method + " " + Version + templated(r.Path)
	}
	return of
}

// in is a message with the address of each operation in place of its name.
func (a addresses) in(message string) string {
	if !strings.Contains(message, "`") {
		return message
	}
	return operationName.ReplaceAllStringFunc(message, func(name string) string {
		if address, known := a[strings.Trim(name, "`")]; known {
			return address
		}
		return name
	})
}

// inAll are the messages with addresses. It leaves messages as they are.
func (a addresses) inAll(messages []string) []string {
	if !slices.ContainsFunc(messages, operationName.MatchString) {
		return messages
	}
	all := make([]string, len(messages))
	for i, m := range messages {
		all[i] = a.in(m)
	}
	return all
}

// inIssues are the issues with addresses. It leaves issues as they are.
func (a addresses) inIssues(issues []fault.Issue) []fault.Issue {
	if !slices.ContainsFunc(issues, func(i fault.Issue) bool { return operationName.MatchString(i.Message) }) {
		return issues
	}
	all := slices.Clone(issues)
	for i := range all {
		all[i].Message = a.in(all[i].Message)
	}
	return all
}

// Addressed are sentences for the caller, with addresses.
func (c *Call) Addressed(messages []string) []string { return c.server.addresses.inAll(messages) }
