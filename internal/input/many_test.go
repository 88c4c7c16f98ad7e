package input_test

import (
	"fmt"
	"strings"
	"testing"

	"atlas/internal/input"
)

// A duplicate key is reported for any number of keys and any two positions.
func TestDuplicatesAmongMany(t *testing.T) {
	t.Parallel()
	for _, many := range []int{2, 15, 16, 17, 18, 40, 500} {
		for _, twice := range [][2]int{{0, 1}, {0, many - 1}, {many / 2, many - 1}, {many - 2, many - 1}} {
			if twice[0] == twice[1] {
				continue
			}
			keys := make([]string, many)
			for i := range keys {
				keys[i] = fmt.Sprintf(`"k%d":%d`, i, i)
			}
			if _, issues := input.Decode([]byte("{" + strings.Join(keys, ",") + "}")); len(issues) > 0 {
				t.Fatalf("%d keys: %v", many, issues)
			}
			keys[twice[1]] = fmt.Sprintf(`"k%d":null`, twice[0])
			_, issues := input.Decode([]byte("{" + strings.Join(keys, ",") + "}"))
			if want := fmt.Sprintf("the key %q is given twice", fmt.Sprint("k", twice[0])); len(issues) != 1 || issues[0].Message != want {
				t.Errorf("%d keys, %v alike: %v", many, twice, issues)
			}
		}
	}
}
