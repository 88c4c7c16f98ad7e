package query_test

import (
	"errors"
	"fmt"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/query"
)

// A request becomes a Query. Its conditions print as s-expressions.
func ExampleParse() {
	body, _ := input.Decode([]byte(`{
		"filters":   {"stage": {"value": ["permitted", "filed"]}, "cost": {"value": [10000, null]}},
		"relations": {"has_signal": {"title": {"value": "Permit issued"}}},
		"sort":      {"field": "cost", "order": "desc"}
	}`))
	q, err := query.Parse(body, catalog.Projects, query.Base{Kind: catalog.Data})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, condition := range q.Where {
		fmt.Println(condition)
	}
	fmt.Println(q.Sort, q.Limit)
	// Output:
	// (terms stage "permitted" "filed")
	// (range cost 10000 *)
	// (nested signals (and (match title "permit issued")))
	// cost desc 25
}

// The error of a request that is not valid lists all its problems.
func ExampleParse_issues() {
	body, _ := input.Decode([]byte(`{"filters": {"stories": {"value": "three"}, "colour": {"value": "red"}}, "limit": 500}`))
	_, err := query.Parse(body, catalog.Projects, query.Base{Kind: catalog.Data})
	if e, ok := errors.AsType[*fault.Error](err); ok {
		for _, issue := range e.Issues {
			fmt.Println(issue.Code, issue.Path)
		}
	}
	// Output:
	// invalid_type [filters stories value]
	// unrecognized_keys [filters]
	// too_big [limit]
}

func ExampleSimplify() {
	stage, _ := catalog.FieldNamed(catalog.Projects, "stage")
	filed := query.Terms{Field: &stage, Values: []string{"filed"}}
	tree := query.All{query.Any{filed}, query.Not{Node: query.Not{Node: query.InBook{}}}, query.All{}}
	fmt.Println(tree)
	fmt.Println(query.Simplify(tree))
	// Output:
	// (and (or (terms stage "filed")) (not (not (in_book))) TRUE)
	// (and (terms stage "filed") (in_book))
}

// Fold is how texts are compared: without case and accents.
func ExampleFold() {
	fmt.Println(catalog.Fold("Éclair HOMES"))
	// Output: eclair homes
}
