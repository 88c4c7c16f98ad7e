package input_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"atlas/internal/fault"
	"atlas/internal/input"
)

type problem struct {
	Code fault.IssueCode
	Path string
}

func problems(issues []fault.Issue) []problem {
	var all []problem
	for _, i := range issues {
		all = append(all, problem{i.Code, strings.Join(i.Path, "/")})
	}
	return all
}

func nested(depth int) string {
	return strings.Repeat(`{"a":`, depth-1) + `{}` + strings.Repeat("}", depth-1)
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		want []problem
	}{
		"an array":                 {`[]`, []problem{{fault.Custom, ""}}},
		"null":                     {`null`, []problem{{fault.Custom, ""}}},
		"a string":                 {`"x"`, []problem{{fault.Custom, ""}}},
		"a number":                 {`1`, []problem{{fault.Custom, ""}}},
		"no JSON":                  {`nope`, []problem{{fault.Custom, ""}}},
		"cut":                      {`{"a":`, []problem{{fault.Custom, ""}}},
		"cut in a string":          {`{"a`, []problem{{fault.Custom, ""}}},
		"a comma at the end":       {`{"a":1,}`, []problem{{fault.Custom, ""}}},
		"a comment":                {`{"a":1 /* x */}`, []problem{{fault.Custom, ""}}},
		"single quotes":            {`{'a':1}`, []problem{{fault.Custom, ""}}},
		"a leading zero":           {`{"a":01}`, []problem{{fault.Custom, ""}}},
		"NaN":                      {`{"a":NaN}`, []problem{{fault.Custom, ""}}},
		"a byte order mark":        {"\ufeff{}", []problem{{fault.Custom, ""}}},
		"a second object":          {`{} {}`, []problem{{fault.Custom, ""}}},
		"a closing brace too many": {`{}}`, []problem{{fault.Custom, ""}}},
		"text after it":            {`{"a":1}x`, []problem{{fault.Custom, ""}}},
		"invalid UTF-8":            {"{\"a\":\"\xff\"}", []problem{{fault.Custom, ""}}},
		"invalid UTF-8 in a name":  {"{\"\xff\":1}", []problem{{fault.Custom, ""}}},
		"half a surrogate pair":    {`{"a":"\ud800"}`, []problem{{fault.Custom, ""}}},
		"a raw control character":  {"{\"a\":\"\x01\"}", []problem{{fault.Custom, ""}}},
		"NUL":                      {`{"a":"x\u0000"}`, []problem{{fault.InvalidFormat, "a"}}},
		"NUL in an array":          {`{"a":["x",{"b":"\u0000"}]}`, []problem{{fault.InvalidFormat, "a/1/b"}}},
		"NUL in a name":            {`{"a":{"b\u0000":1}}`, []problem{{fault.InvalidFormat, "a"}}},
		"a name twice":             {`{"a":1,"a":1}`, []problem{{fault.Custom, "a"}}},
		"a name twice, deep":       {`{"a":[{"b":1,"b":2}]}`, []problem{{fault.Custom, "a/0/b"}}},
		"a name twice, escaped":    {`{"a":1,"\u0061":1}`, []problem{{fault.Custom, "a"}}},
		"several problems": {`{"a":1,"a":"\u0000","b":"\u0000"}`, []problem{
			{fault.Custom, "a"}, {fault.InvalidFormat, "a"}, {fault.InvalidFormat, "b"},
		}},
		"one level too deep":          {nested(input.MaxDepth + 1), []problem{{fault.Custom, ""}}},
		"arrays too deep":             {`{"a":` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + "}", []problem{{fault.Custom, ""}}},
		"very much too deep and open": {strings.Repeat(`{"a":[`, 100_000), []problem{{fault.Custom, ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, issues := input.Decode([]byte(c.body))
			if diff := cmp.Diff(c.want, problems(issues)); diff != "" {
				t.Errorf("issues (-want +got):\n%s", diff)
			}
			for _, i := range issues {
				if i.Path == nil || i.Message == "" {
					t.Errorf("an issue without path or message: %+v", i)
				}
			}
		})
	}
}

func TestDecodeAccepts(t *testing.T) {
	t.Parallel()
	object := func(members ...input.Member) input.Value {
		return input.Value{Kind: input.Object, Members: members}
	}
	for name, c := range map[string]struct {
		body string
		want input.Value
	}{
		"nothing":      {"", object()},
		"only blanks":  {" \r\n\t", object()},
		"empty":        {"{}", object()},
		"blanks after": {" {} \n", object()},
		"every kind": {`{"n":null,"b":true,"i":-1.50e2,"s":"é\ud83d\ude00\n","a":[1,[]],"o":{"x":false}}`, object(
			input.Member{Name: "n", Value: input.Value{Kind: input.Null}},
			input.Member{Name: "b", Value: input.Value{Kind: input.Bool, Bool: true}},
			input.Member{Name: "i", Value: input.Value{Kind: input.Number, Text: "-1.50e2"}},
			input.Member{Name: "s", Value: input.Value{Kind: input.String, Text: "é😀\n"}},
			input.Member{Name: "a", Value: input.Value{Kind: input.Array, Items: []input.Value{
				{Kind: input.Number, Text: "1"}, {Kind: input.Array},
			}}},
			input.Member{Name: "o", Value: object(input.Member{Name: "x", Value: input.Value{Kind: input.Bool}})},
		)},
		"one name in two objects": {`{"a":{"a":{}}}`, object(input.Member{Name: "a", Value: object(input.Member{Name: "a", Value: object()})})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, issues := input.Decode([]byte(c.body))
			if len(issues) > 0 {
				t.Fatal(issues)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
		})
	}
	if _, issues := input.Decode([]byte(nested(input.MaxDepth))); len(issues) > 0 {
		t.Errorf("%d levels are refused: %v", input.MaxDepth, issues)
	}
}

// The number of issues is limited for any body.
func TestIssuesAreBounded(t *testing.T) {
	t.Parallel()
	_, issues := input.Decode([]byte(`{"a":[` + strings.Repeat(`"\u0000",`, 1000) + `""]}`))
	if len(issues) != fault.MaxIssues {
		t.Errorf("%d issues, want %d", len(issues), fault.MaxIssues)
	}
}

func TestParseUUID(t *testing.T) {
	t.Parallel()
	const id = "0f8fad5b-d9cb-469f-a165-70867728950e"
	for _, good := range []string{id, strings.ToUpper(id), "00000000-0000-0000-0000-000000000000"} {
		if got, ok := input.ParseUUID(good); !ok || got != strings.ToLower(good) {
			t.Errorf("ParseUUID(%q) = %q, %v", good, got, ok)
		}
	}
	for _, bad := range []string{
		"", "x", strings.ReplaceAll(id, "-", ""), "{" + id + "}", "urn:uuid:" + id, " " + id, id + " ", id[:35],
		"0f8fad5bd-9cb-469f-a165-70867728950e", "0f8fad5b-d9cb-469f-a165-7086772895zz", id[:35] + "é",
	} {
		if got, ok := input.ParseUUID(bad); ok {
			t.Errorf("ParseUUID(%q) = %q", bad, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"a":[1,{"b":null}]}`, `{"a":1,"a":2}`, "{\"\xff\":1}", nested(33), `{"a":"\u0000"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		v, issues := input.Decode(body)
		if len(issues) == 0 && v.Kind != input.Object {
			t.Errorf("%q was read as %v without an issue", body, v.Kind)
		}
		if len(issues) > fault.MaxIssues {
			t.Errorf("%d issues", len(issues))
		}
	})
}

// Issues below a client's key have the key in their path. The key can be as long as the
// body.
func TestPathsAreBounded(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("é", 100_000)
	_, issues := input.Decode([]byte(`{"x` + key + `":["\u0000"]}`))
	if len(issues) != 1 || len(issues[0].Path) != 2 {
		t.Fatal(issues)
	}
	if got := issues[0].Path[0]; len(got) > 300 || !strings.HasPrefix(got, "xéé") || !utf8.ValidString(got) {
		t.Errorf("the path has %d bytes: %.100q", len(got), got)
	}
	short := strings.Repeat("k", 256)
	if _, issues := input.Decode([]byte(`{"` + short + `":"\u0000"}`)); len(issues) != 1 || issues[0].Path[0] != short {
		t.Errorf("a key of 256 bytes is not shown as it is: %v", issues)
	}
}
