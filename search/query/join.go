package query

import (
	"slices"

	"atlas/internal/rule"
)

// Bounds of a join.
const (
	// MaxJoinLimit is the maximum number of firms of a page: with a project and a person
	// each they are as many records as a page of a search.
	MaxJoinLimit = 33
	// RecordsJoined is the maximum number of records of a row.
	RecordsJoined = 3
)

// Join is a search of accounts, each with a project and a contact (docs/api.md, "Join").
type Join struct {
	Query
	// ProjectBy is the number of which the project has the highest value.
	ProjectBy Field
	// ProjectFields and ContactFields are the members that the caller shows, as
	// Query.Fields are those of the account.
	ProjectFields, ContactFields FieldSet
}

// ProjectConditions are what the project of each account must meet: the request's
// has_project.
func (j Join) ProjectConditions() All {
	for _, node := range j.Where {
		if nested, is := node.(Nested); is && nested.Relation.Child == Projects {
			return All{nested.Node}
		}
	}
	return nil
}

// JoinRoles are the roles of contacts whom one calls first, in this order.
var JoinRoles = []string{"owner", "executive", "developer", "project_manager", "estimator"}

// joinNumbers are what ProjectBy can be; the first one is the default.
var joinNumbers = func() []Field {
	var all []Field
	for _, f := range Fields(Projects) {
		if f.Kind == Number && f.Sort {
			all = append(all, f)
		}
	}
	i := slices.IndexFunc(all, func(f Field) bool { return f.Name == "cost" })
	return append([]Field{all[i]}, slices.Delete(slices.Clone(all), i, i+1)...)
}()

// JoinRule is the rule of a join of accounts: of a search, without what only pages of one
// dataset have.
func JoinRule(base BaseKind) rule.Rule[Join] { return joinRules[base] }

var joinRules = map[BaseKind]rule.Rule[Join]{Data: joinRule(Data), Book: joinRule(Book)}

func joinRule(base BaseKind) rule.Rule[Join] {
	of := slices.Concat(conditionFields(Accounts, base, true), []rule.Field[request]{sortField(Accounts, base)}, pageFields(
		Accounts, base, MaxJoinLimit,
	), []rule.Field[request]{
		rule.OptionalFunc("project_by", rule.Enum(Names(joinNumbers)...).Default(joinNumbers[0].Name).
			Described("Of the projects that meet `has_project` the one with the highest value comes; those without a value are last, ties go by id."), func(r *request, name string) {
			r.join.ProjectBy, _ = FieldNamed(Projects, name)
		}),
		rule.Optional("project_fields", RecordFieldsRule(Projects), func(r *request) *FieldSet { return &r.join.ProjectFields }),
		rule.Optional("contact_fields", RecordFieldsRule(Contacts), func(r *request) *FieldSet { return &r.join.ContactFields }),
	})
	r := sortedByRelevance(rule.Object(of...), base)
	return rule.Map(r, func(r request) Join {
		r.Query.Dataset, r.Query.Base.Kind, r.Query.Where = Accounts, base, r.where
		r.join.Query = r.Query
		if r.join.ProjectBy.Name == "" {
			r.join.ProjectBy = joinNumbers[0]
		}
		return r.join
	}).Named(baseNames[base] + "AccountJoinRequest")
}
