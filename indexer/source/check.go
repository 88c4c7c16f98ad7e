package source

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"atlas/indexer/source/epsg"
	"atlas/indexer/source/value"
	"atlas/search/catalog"
)

// names matches the names of sources, which become parts of file names.
var names = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

const maxName = 40

// None is the type for someone who does not count as a participant.
const None = "none"

// bad reports a problem at a path, or at the nearest enclosing part whose position is
// known.
func (d *decoder) bad(path, format string, args ...any) {
	at := place{1, 1}
	for p := path; ; p = p[:max(strings.LastIndexByte(p, '.'), 0)] {
		if known, is := d.at[p]; is {
			at = known
			break
		}
		if p == "" {
			break
		}
	}
	d.problems = append(d.problems, Problem{at.line, at.column, path, fmt.Sprintf(format, args...)})
}

// check reports what is wrong with a well-formed description.
func (d *decoder) check(s *Description) {
	if s.Version != 1 {
		d.bad("version", "must be 1")
	}
	if !names.MatchString(s.Name) || len(s.Name) > maxName {
		d.bad("source", "must be a name such as austin: lower-case letters, digits and hyphens, at most %d", maxName)
	}
	if len(s.Title) > catalog.ShortChars {
		d.bad("title", "is longer than %d characters", catalog.ShortChars)
	}
	for path, text := range map[string]string{"page": s.Page, "licence": s.Licence, "attribution": s.Attribution, "terms": s.Terms} {
		if len(text) > catalog.ShortChars {
			d.bad(path, "is longer than %d characters", catalog.ShortChars)
		}
		if (path == "page" || path == "terms") && text != "" && !strings.HasPrefix(text, "https://") && !strings.HasPrefix(text, "http://") {
			d.bad(path, "must begin with https:// or http://")
		}
	}
	if s.Namespace != "" {
		if _, err := uuid.Parse(s.Namespace); err != nil {
			d.bad("namespace", "must be a UUID")
		}
	}
	d.checkReading(s)
	d.checkTemplate("key", s.Key)
	d.checkTemplate("number", s.Number)
	d.patterns("personal", s.Personal)
	d.patterns("public", s.Public)
	for i, r := range s.Skip {
		at := "skip." + strconv.Itoa(i)
		d.checkTemplate(at+".of", r.Of)
		d.patterns(at+".is", r.Is)
		d.patterns(at+".is_not", r.IsNot)
		if (r.Is == nil) == (r.IsNot == nil) {
			d.bad(at, "needs either is or is_not")
		}
	}
	d.checkColumns(s.Columns)
	d.checkValue("as_of", s.AsOf, nil)
	d.checkProject(s.Project)
	d.checkPersonal(s)
	for i, f := range s.Firms {
		d.checkFirm("firms."+strconv.Itoa(i), f)
	}
	if _, err := s.Changes.Share(); err != nil {
		d.bad("changes.cost", "%v", err)
	}
	d.checkPull(s.Pull)
}

// checkColumns checks columns made of others: they can use those before them.
func (d *decoder) checkColumns(all []Column) {
	later := map[string]bool{}
	for _, c := range all {
		later[value.ColumnKey(c.Name)] = true
	}
	for _, c := range all {
		at := "columns." + c.Name
		d.checkValue(at, c.Value, nil)
		for _, t := range c.Value.templates() {
			named := value.Columns{}
			_, _ = value.ParseTemplate(t, &named) // checkValue reported its error
			for _, n := range named.Names {
				if later[value.ColumnKey(n)] {
					d.bad(at, "names the column %q, which is made here or later", n)
				}
			}
		}
		delete(later, value.ColumnKey(c.Name))
	}
}

func (d *decoder) checkReading(s *Description) {
	if len(s.Read.Delimiter) > 1 {
		d.bad("read.delimiter", "must be one character")
	}
	if s.Values.Zone != "" {
		if _, err := time.LoadLocation(s.Values.Zone); err != nil || s.Values.Zone == "Local" {
			d.bad("values.zone", "is no time zone; one is America/Chicago")
		}
	}
	if slices.Contains(s.Values.Dates, string(value.MonthFirst)) && slices.Contains(s.Values.Dates, string(value.DayFirst)) {
		d.bad("values.dates", "cannot be m/d/y and d/m/y")
	}
	d.patterns("values.none", s.Values.None)
}

func (d *decoder) checkTemplate(path, text string) {
	if _, err := value.ParseTemplate(text, &value.Columns{}); err != nil {
		d.bad(path, "%v", err)
	}
}

func (d *decoder) patterns(path string, all []string) {
	if _, err := value.NewMatcher(all); err != nil {
		d.bad(path, "%v", err)
	}
}

// checkValue checks a value; allowed, if set, says what is wrong with a result of the
// value.
func (d *decoder) checkValue(path string, v Value, allowed func(string) string) {
	for i, f := range v.First {
		d.checkValue(joined(path, strconv.Itoa(i)), f, allowed)
	}
	d.checkTemplate(path+".of", v.Of)
	for key, pattern := range map[string]string{".match": v.Match, ".without": v.Without} {
		if _, err := value.Pattern(pattern); err != nil {
			d.bad(path+key, "%v", err)
		}
	}
	d.patterns(path+".unknown", v.Unknown)
	patterns := make([]string, len(v.Table))
	for i, e := range v.Table {
		patterns[i] = e.Pattern
		if allowed != nil {
			if wrong := allowed(e.Value); wrong != "" {
				d.bad(joined(path+".table", e.Pattern), "%s", wrong)
			}
		}
	}
	d.patterns(path+".table", patterns)
	if allowed != nil && v.Default != "" {
		if wrong := allowed(v.Default); wrong != "" {
			d.bad(path+".default", "%s", wrong)
		}
	}
	if t, err := value.ParseTemplate(v.Of, &value.Columns{}); err == nil && allowed != nil && v.Of != "" && t.Constant() {
		if wrong := allowed(v.Of); wrong != "" {
			d.bad(path, "%s", wrong)
		}
	}
}

// oneOfVocabulary allows values of a vocabulary, and some more words.
func oneOfVocabulary(v catalog.Vocabulary, more ...string) func(string) string {
	all := append(slices.Clone(v.Values()), more...)
	return func(s string) string {
		if slices.Contains(all, s) {
			return ""
		}
		return fmt.Sprintf("is %.100q; it must be one of %s", s, strings.Join(all, ", "))
	}
}

// Status is what a value of the field status means. Parts that it does not name are "".
func Status(text string) (stage, disposition string, ok bool) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '/' }) {
		switch {
		case catalog.Stages.Has(word) && stage == "":
			stage = word
		case catalog.Dispositions.Has(word) && disposition == "":
			disposition = word
		default:
			return "", "", false
		}
	}
	return stage, disposition, stage != "" || disposition != ""
}

func statusWrong(text string) string {
	if _, _, ok := Status(text); ok {
		return ""
	}
	return fmt.Sprintf(
		"is %.100q; it must be a stage (%s), a disposition (%s), or both", text,
		strings.Join(catalog.Stages.Values(), ", "), strings.Join(catalog.Dispositions.Values(), ", "),
	)
}

func (d *decoder) checkProject(p Project) {
	for key, v := range map[string]Value{
		"name": p.Name, "description": p.Description, "address": p.Address, "city": p.City, "state": p.State, "country": p.Country,
		"residential_units": p.Units, "sqft": p.Sqft, "stories": p.Stories, "cost": p.Cost,
		"filed_at": p.Filed, "permitted_at": p.Permitted, "completed_at": p.Completed, "updated_at": p.Updated, "url": p.URL,
	} {
		d.checkValue("project."+key, v, nil)
	}
	d.checkValue("project.status", p.Status, statusWrong)
	d.checkValue("project.primary_use", p.PrimaryUse, oneOfVocabulary(catalog.PrimaryUses))
	if p.Name.IsZero() && p.Address.IsZero() && p.Description.IsZero() {
		d.bad("project", "needs a name, or an address or a description to name projects by")
	}
	d.checkLocation(p.Location)
}

// checkPersonal refuses fields of projects that show columns of persons.
func (d *decoder) checkPersonal(s *Description) {
	personal := s.PersonalColumns()
	made := map[string]string{}
	ofPersons := func(template string) string {
		columns := value.Columns{}
		_, _ = value.ParseTemplate(template, &columns)
		for _, c := range columns.Names {
			if from, is := made[value.ColumnKey(c)]; is {
				if from != "" {
					return from
				}
				continue
			}
			if personal(c) {
				return c
			}
		}
		return ""
	}
	for _, c := range s.Columns {
		from := ""
		for _, t := range c.Value.templates() {
			from = cmp.Or(from, ofPersons(t))
		}
		made[value.ColumnKey(c.Name)] = from
	}
	shown := map[string]Value{
		"name": s.Project.Name, "description": s.Project.Description, "address": s.Project.Address,
		"city": s.Project.City, "url": s.Project.URL,
	}
	for key, v := range shown {
		for _, t := range v.templates() {
			if c := ofPersons(t); c != "" {
				d.bad("project."+key, "shows the column %q, which is of persons; if it is not, list it under public", c)
			}
		}
	}
	for key, t := range map[string]string{"key": s.Key, "number": s.Number} {
		if c := ofPersons(t); c != "" {
			d.bad(key, "shows the column %q, which is of persons; if it is not, list it under public", c)
		}
	}
}

func (d *decoder) checkLocation(l Location) {
	const at = "project.location"
	for key, v := range map[string]Value{"latitude": l.Latitude, "longitude": l.Longitude, "point": l.Point, "x": l.X, "y": l.Y} {
		d.checkValue(at+"."+key, v, nil)
	}
	if l.Latitude.IsZero() != l.Longitude.IsZero() {
		d.bad(at, "needs both latitude and longitude")
	}
	if projected := !l.X.IsZero(); projected != !l.Y.IsZero() || projected != (l.EPSG != 0) {
		d.bad(at, "needs x, y and epsg together")
	}
	if l.EPSG != 0 && l.EPSG != epsg.Degrees {
		if _, err := epsg.Find(l.EPSG); err != nil {
			d.bad(at+".epsg", "%v", err)
		}
	}
	if _, err := l.Box(); err != nil {
		d.bad(at+".within", "%v", err)
	}
	for i, p := range l.Ignore {
		if _, _, err := ParsePoint(p); err != nil {
			d.bad(at+".ignore."+strconv.Itoa(i), "%v", err)
		}
	}
}

func (d *decoder) checkFirm(at string, f Firm) {
	if f.Numbered > 100 {
		d.bad(at+".numbered", "is %d, at most 100 are read", f.Numbered)
	}
	for key, v := range map[string]Value{"name": f.Name, "phone": f.Phone, "city": f.City, "state": f.State, "country": f.Country} {
		d.checkValue(at+"."+key, v, nil)
	}
	d.checkValue(at+".type", f.Type, oneOfVocabulary(catalog.AccountTypes, None))
	if f.Persons == "keep" && len(strings.Fields(f.Why)) < 3 {
		d.bad(at+".why", "must say what allows keeping private persons")
	}
}

func (d *decoder) checkPull(p Pull) {
	if p.Interface == "" && p.URL == "" {
		return
	}
	u, err := url.Parse(p.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		d.bad("pull.url", "must be an address such as https://data.example.gov/resource/abcd-1234")
	}
	if p.Interface == "" {
		d.bad("pull", "needs the key interface: soda or arcgis")
	}
	if p.Token != "" && !regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`).MatchString(p.Token) {
		d.bad("pull.token", "must be the name of an environment variable, such as AUSTIN_APP_TOKEN, and not the token")
	}
}
