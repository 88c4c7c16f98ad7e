package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"atlas/search/catalog"
)

func TestParseSources(t *testing.T) {
	t.Parallel()
	good, err := catalog.ParseSources([]byte("\uFEFF" + `{"City of Ézé":{"licence":"CC0","page":"https://eze.example"},"B":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	if of := good.Of("city of eze"); of == nil || *of.Licence != "CC0" || of.Terms != nil {
		t.Errorf("%+v", of)
	}
	if good.Of("C") != nil {
		t.Error("a source that says nothing has terms")
	}
	many := make([]string, 1001)
	for i := range many {
		many[i] = fmt.Sprintf(`"%d":{}`, i)
	}
	for text, say := range map[string]string{
		`[]`:                            "array",
		`{"A":{"license":"x"}}`:         "license",
		`{"A":{"page":"javascript:1"}}`: "must begin with https://",
		`{"A":{"attribution":"` + strings.Repeat("é", 1001) + `"}}`: "more than 1000 characters",
		`{` + strings.Join(many, ",") + `}`:                         "more than 1000",
		strings.Repeat(" ", 1<<20) + `{}`:                           "bytes",
	} {
		if _, err := catalog.ParseSources([]byte(text)); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%.60s: %v", text, err)
		}
	}
}
