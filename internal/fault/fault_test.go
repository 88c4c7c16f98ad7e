package fault_test

import (
	"errors"
	"strings"
	"testing"

	"atlas/internal/fault"
)

// A log shows the cause first; a client gets the sentence.
func TestErrorText(t *testing.T) {
	t.Parallel()
	cause := errors.New("connection refused")
	issue := fault.Issue{Code: fault.TooBig, Path: []string{"filters", "name"}, Message: "must be short"}
	long := fault.Issue{Code: fault.Custom, Message: strings.Repeat("long ", 80)}
	for want, e := range map[string]*fault.Error{
		"not_found: there is none":                                                fault.New(fault.NotFound, "there is none"),
		"not_found: connection refused (there is none)":                           fault.Wrap(cause, fault.NotFound, "there is none"),
		"invalid_input: filters.name: must be short":                              fault.Validation(issue),
		"invalid_input: filters.name: must be short; filters.name: must be short": fault.Validation(issue, issue),
		"invalid_input: filters: what is nme?; filters.name: must be short": fault.Validation(
			issue, fault.Issue{Code: fault.UnrecognizedKeys, Path: []string{"filters"}, Message: "what is nme?"},
		),
		"invalid_input: " + long.Message + " (and 1 more problem)":        fault.Validation(long, issue),
		"invalid_input: " + long.Message + " (and 2 more problems)":       fault.Validation(long, issue, issue),
		"invalid_input: connection refused (filters.name: must be short)": fault.Validation(issue).Because(cause),
	} {
		if e.Error() != want {
			t.Errorf("%s, want %s", e, want)
		}
	}
	if e := fault.Validation(issue).Because(cause); !errors.Is(e, cause) {
		t.Error("the cause is lost")
	}
}
