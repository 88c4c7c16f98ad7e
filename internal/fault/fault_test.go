package fault_test

import (
	"errors"
	"testing"

	"atlas/internal/fault"
)

// A log shows the cause first; a client gets the sentence.
func TestErrorText(t *testing.T) {
	t.Parallel()
	cause := errors.New("connection refused")
	issue := fault.Issue{Code: fault.TooBig, Path: []string{"filters", "name"}, Message: "must be short"}
	for want, e := range map[string]*fault.Error{
		"not_found: there is none":                                         fault.New(fault.NotFound, "there is none"),
		"not_found: connection refused (there is none)":                    fault.Wrap(cause, fault.NotFound, "there is none"),
		"invalid_input: filters.name: must be short":                       fault.Validation(issue),
		"invalid_input: filters.name: must be short (and 1 more problem)":  fault.Validation(issue, issue),
		"invalid_input: filters.name: must be short (and 2 more problems)": fault.Validation(issue, issue, issue),
		"invalid_input: connection refused (filters.name: must be short)":  fault.Validation(issue).Because(cause),
	} {
		if e.Error() != want {
			t.Errorf("%s, want %s", e, want)
		}
	}
	if e := fault.Validation(issue).Because(cause); !errors.Is(e, cause) {
		t.Error("the cause is lost")
	}
}
