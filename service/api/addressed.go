package api

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"atlas/internal/fault"
)

// operationName is how packages that know nothing of HTTP name an operation in a message.
var operationName = regexp.MustCompile("`[a-z_]+`")

// addresses are the method and the path of each operation.
var addresses struct {
	once sync.Once
	of   map[string]string
}

func addressOf(operation string) (address string, known bool) {
	addresses.once.Do(func() {
		addresses.of = map[string]string{}
		for _, r := range new(Server).Routes() {
			addresses.of[r.Operation] = r.Method + " " + Version + templated(r.Path)
		}
	})
	address, known = addresses.of[operation]
	return address, known
}

// addressed is a message with the address of each operation in place of its name.
func addressed(message string) string {
	if !strings.Contains(message, "`") {
		return message
	}
	return operationName.ReplaceAllStringFunc(message, func(name string) string {
		if address, known := addressOf(strings.Trim(name, "`")); known {
			return address
		}
		return name
	})
}

// allAddressed are the messages with addresses. It leaves messages as they are.
func allAddressed(messages []string) []string {
	if !slices.ContainsFunc(messages, operationName.MatchString) {
		return messages
	}
	all := make([]string, len(messages))
	for i, m := range messages {
		all[i] = addressed(m)
	}
	return all
}

// issuesAddressed are the issues with addresses. It leaves issues as they are.
func issuesAddressed(issues []fault.Issue) []fault.Issue {
	if !slices.ContainsFunc(issues, func(i fault.Issue) bool { return operationName.MatchString(i.Message) }) {
		return issues
	}
	all := slices.Clone(issues)
	for i := range all {
		all[i].Message = addressed(all[i].Message)
	}
	return all
}
