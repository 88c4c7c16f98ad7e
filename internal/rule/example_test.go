package rule_test

import (
	"fmt"

	"atlas/internal/input"
	"atlas/internal/rule"
)

type comment struct {
	text  string
	stars int
}

// One rule reads a body, reports all its problems, and describes it.
func ExampleObject() {
	comments := rule.Object(
		rule.Required("text", rule.Text(1, 500), func(c *comment) *string { return &c.text }),
		rule.Optional("stars", rule.Integer(1, 5).Default(3), func(c *comment) *int { return &c.stars }),
	)
	for _, body := range []string{`{"text":"Good."}`, `{"stars":9}`} {
		v, _ := input.Decode([]byte(body))
		var issues input.Issues
		c := comments.Read(&issues, v)
		if len(issues) == 0 {
			fmt.Println(c.text, c.stars)
		}
		for _, issue := range issues {
			fmt.Println(issue.Code, issue.Path)
		}
	}
	for _, p := range comments.Schema.Properties {
		fmt.Println(p.Name, p.Value.Type)
	}
	// Output:
	// Good. 3
	// invalid_type [text]
	// too_big [stars]
	// text string
	// stars integer
}
