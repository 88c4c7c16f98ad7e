package input_test

import (
	"strings"
	"testing"

	"atlas/internal/fault"
	"atlas/internal/input"
)

// A text that is not JSON: the message says what is found where, and what would be right.
func TestSyntaxMessages(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"a":1,}`:                              `unexpected "}" at line 1, column 8: leave out the comma before it`,
		`{"a":[1, ]}`:                           `unexpected "]" at line 1, column 10: leave out the comma before it`,
		"{\n  \"é\": \"ü\" 'x'}":                `unexpected "'" at line 2, column 12: put names and strings in double quotes`,
		"{\r\n\"a\":1\r\n\"b\":2}":              `unexpected '"' at line 3, column 1: a comma or a colon is missing before it`,
		`{"a" {}}`:                              `unexpected "{" at line 1, column 6: a comma or a colon is missing before it`,
		`{"a":None}`:                            `unexpected "None" at line 1, column 6: write null`,
		`{"a":[True]}`:                          `unexpected "True" at line 1, column 7: write true`,
		`{a:1}`:                                 `unexpected "a" at line 1, column 2: put names and strings in double quotes`,
		`{"a":1 # x`:                            `unexpected "#" at line 1, column 8: JSON has no comments`,
		`{"a":01}`:                              `unexpected "1" at line 1, column 7: a number has no leading zero`,
		`{"a":{"b":[1`:                          `it ends too early: "]}}" is missing`,
		`{"a`:                                   `it ends too early: "}" is missing`,
		`a=1`:                                   `unexpected "a" at line 1, column 1: a JSON object begins with "{"`,
		"\ufeff{}":                              "unexpected \"\\ufeff\" at line 1, column 1: send the text without a byte order mark",
		"\x1f\x8b\x08\x00":                      "it is compressed with gzip",
		"\xff\xfe{\x00}\x00":                    "it is in UTF-16: send it in UTF-8",
		"{\x00}\x00":                            "it is in UTF-16: send it in UTF-8",
		"{\"a\":\"b\nc\"}":                      "a string has a line break or another control character at line 1, column 8",
		`{"a":"C:\data"}`:                       `in a string, write a backslash as \\`,
		`{"a":“b”}`:                             `put names and strings in double quotes, "`,
		`{"a":+1}`:                              "a number has no plus sign",
		`{"a":-Infinity}`:                       "write null",
		`{} x`:                                  "there is data after the JSON object, from line 1, column 4",
		`{"a":1 ` + strings.Repeat("y", 10_000): `unexpected "` + strings.Repeat("y", 20) + `" at line 1, column 8`,
	} {
		_, issues := input.Decode([]byte(body))
		if len(issues) != 1 || !strings.Contains(issues[0].Message, want) {
			t.Errorf("%.40s: %v, want %s", body, issues, want)
		}
	}
}

// A message repeats little of the input, however long it is.
func TestMessagesRepeatLittle(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 10_000)
	_, twice := input.Decode([]byte(`{"` + long + `":1,"` + long + `":1}`))
	v, _ := input.Decode([]byte(`{"` + long + `":{"` + long + `":1}}`))
	var unknown input.Issues
	unknown.Object(v).Done()
	unknown.Object(v.Get(long), long).Done()
	unknown.OutsideVocabulary([]string{long}, input.Value{Kind: input.String, Text: long}, []string{"a"})
	for _, issue := range append(twice, unknown...) {
		for _, message := range []string{issue.Message, fault.Validation(issue).Message} {
			if n := strings.Count(message, "é"); n > 200 {
				t.Errorf("%d characters of the input in %.80s…", n, message)
			}
		}
	}
	if got := (input.Value{Kind: input.String, Text: long}).JSON(); got != "" {
		t.Errorf("a value of %d bytes is shown", len(got))
	}
}
