package auth

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// FuzzClaims compares the claims with those of a strict reader, which uses exact names
// and rejects duplicates. No claim may also occur in another case.
func FuzzClaims(f *testing.F) {
	for _, seed := range []string{
		`{"sub":"a","email":"b@c.example","email_verified":true,"exp":1,"aud":["x"]}`, `{"Email":"a","email":"b"}`,
		`{"email":"a","email":"b"}`, `{"\u0065mail":"a","x":{"email":1,"email":2}}`, `{"\u017fub":"a","sub":"b"}`, `[]`,
		`{"exp":1e400}`, ``, `{}{}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var c claims
		if c.UnmarshalJSON(raw) != nil {
			return
		}
		var strict map[string]jsontext.Value
		if json.Unmarshal(raw, &strict) != nil {
			return // a claim that is not read may be given twice
		}
		var subject string
		if value, given := strict["sub"]; given && json.Unmarshal(value, &subject) == nil && subject != c.Subject {
			t.Errorf("sub is read as %q", c.Subject)
		}
		if value := strict["email_verified"]; string(value) != string(c.EmailVerified) {
			t.Errorf("email_verified is read as %s", c.EmailVerified)
		}
		for name := range c.targets() {
			spellings := 0
			for given := range strict {
				if strings.EqualFold(given, name) {
					spellings++
				}
			}
			if _, exactly := strict[name]; exactly && spellings != 1 {
				t.Errorf("%s is given in %d spellings", name, spellings)
			}
		}
	})
}
