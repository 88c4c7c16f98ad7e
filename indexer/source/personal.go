package source

import (
	"atlas/indexer/source/people"
	"atlas/indexer/source/value"
)

// PersonalColumns returns a function that reports whether a column is about private
// persons: those that the description lists, and those whose names say so, except those
// that it lists as public.
func (s *Description) PersonalColumns() func(column string) bool {
	personal, _ := value.NewMatcher(s.Personal) // both were checked
	public, _ := value.NewMatcher(s.Public)
	return func(column string) bool {
		if personal.Find(column) >= 0 {
			return true
		}
		return public.Find(column) < 0 && people.PersonalColumn(column)
	}
}

// templates are all templates of a value.
func (v Value) templates() []string {
	all := []string{v.Of}
	for _, f := range v.First {
		all = append(all, f.templates()...)
	}
	return all
}
