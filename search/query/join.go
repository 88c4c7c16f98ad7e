package query

import (
	"slices"

	"atlas/internal/rule"
	"atlas/search/catalog"
)

// Bounds of a join.
const (
	// MaxJoinLimit is the maximum number of firms of a page. With a project and a person
	// each, they are as many records as a page of a search.
	MaxJoinLimit = 33
	// RecordsJoined is the maximum number of records of a row.
	RecordsJoined = 3
)

// Join is a search of accounts, each with a project and a contact (docs/api.md, "Join").
type Join struct {
	Query
	// ProjectBy is the numeric field by which the project with the highest value is chosen.
	ProjectBy catalog.Field
	// ProjectFields and ContactFields are the selected members of the project and the
	// contact. Query.Fields are those of the account.
	ProjectFields, ContactFields catalog.FieldSet
}

// ProjectConditions are the conditions for the project of each account: the request's
// has_project.
func (j Join) ProjectConditions() All {
	for _, node := range j.Where {
		if nested, is := node.(Nested); is && nested.Relation.Child == catalog.Projects {
			return All{nested.Node}
		}
	}
	return nil
}

// JoinRoles are the roles of contacts in the order in which one calls them.
var JoinRoles = []string{"owner", "executive", "developer", "project_manager", "estimator"}

// joinNumbers are the possible ProjectBy; the first one is the default.
var joinNumbers = func() []catalog.Field {
	var all []catalog.Field
	for _, f := range catalog.Fields(catalog.Projects) {
		if f.Kind == catalog.Number && f.Sort {
			all = append(all, f)
		}
	}
	i := slices.IndexFunc(all, func(f catalog.Field) bool { return f.Name == "cost" })
	return append([]catalog.Field{all[i]}, slices.Delete(slices.Clone(all), i, i+1)...)
}()

// JoinRule is the rule of a join of accounts: that of a search without the members that
// only pages of one dataset have.
func JoinRule(base catalog.BaseKind) rule.Rule[Join] { return joinRules[base] }

var joinRules = map[catalog.BaseKind]rule.Rule[Join]{catalog.Data: joinRule(catalog.Data), catalog.Book: joinRule(catalog.Book)}

func joinRule(base catalog.BaseKind) rule.Rule[Join] {
	of := slices.Concat(conditionFields(catalog.Accounts, base, true), []rule.Field[request]{sortField(catalog.Accounts, base)}, pageFields(
		catalog.Accounts, base, MaxJoinLimit,
	), []rule.Field[request]{
		rule.OptionalFunc("project_by", rule.Enum(catalog.Names(joinNumbers)...).Default(joinNumbers[0].Name).
			Described("Of the projects that meet `has_project` the one with the highest value comes; those without a value are last, ties go by id."),
			func(r *request, name string) {
				r.join.ProjectBy, _ = catalog.FieldNamed(catalog.Projects, name)
			}),
		rule.Optional(
			"project_fields",
			catalog.RecordFieldsRule(catalog.Projects),
			func(r *request) *catalog.FieldSet { return &r.join.ProjectFields },
		),
		rule.Optional(
			"contact_fields",
			catalog.RecordFieldsRule(catalog.Contacts),
			func(r *request) *catalog.FieldSet { return &r.join.ContactFields },
		),
	})
	r := sortedByRelevance(rule.Object(of...), base)
	return rule.Map(r, func(r request) Join {
		r.Query.Dataset, r.Query.Base.Kind, r.Query.Where = catalog.Accounts, base, r.where
		r.join.Query = r.Query
		if r.join.ProjectBy.Name == "" {
			r.join.ProjectBy = joinNumbers[0]
		}
		return r.join
	}).Named(baseNames[base] + "AccountJoinRequest")
}
