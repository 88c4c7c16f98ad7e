package endpoint

import (
	"regexp"
	"slices"
	"strings"

	"atlas/internal/fault"
)

// operationName matches the name of an operation in a message: packages that know nothing of
// HTTP write these.
var operationName = regexp.MustCompile("`[a-z_]+`")

// addresses are the method and the path of operations, by their names.
type addresses map[string]string

// in replaces the names of operations in a message by their addresses.
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

// inAll are the messages with addresses. It does not modify messages.
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

// inIssues are the issues with addresses. It does not modify issues.
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
