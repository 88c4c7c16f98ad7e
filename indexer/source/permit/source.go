package permit

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"atlas/indexer/source"
	"atlas/indexer/source/epsg"
	"atlas/indexer/source/people"
	"atlas/indexer/source/read"
	"atlas/indexer/source/value"
	"atlas/internal/edits"
	"atlas/internal/fault"
)

// Source is a compiled description. It is for one goroutine.
type Source struct {
	*source.Description
	// Namespace of the ids of its records.
	Namespace uuid.UUID

	columns  value.Columns
	made     map[int]*text // columns made of others, by number
	personal func(string) bool
	none     *value.Matcher
	dates    value.Dates
	numbers  value.Numbers
	refuse   bool

	key, number *text
	asOf        *text
	fields      map[string]*text
	skip        []rule
	parties     []party
	place       place
	row         row
	kinds       map[nameKey]people.Kind
}

// namespace is the parent of the namespaces of sources.
var namespace = uuid.MustParse("b2f4c1d6-3a75-5e0c-8f19-64d0a7e2c983")

type rule struct {
	of        value.Template
	is, isNot *value.Matcher
	why       string
}

// The fields of a project that are texts of a row.
const (
	fieldName        = "name"
	fieldDescription = "description"
	fieldAddress     = "address"
	fieldCity        = "city"
	fieldState       = "state"
	fieldCountry     = "country"
	fieldStatus      = "status"
	fieldUse         = "primary_use"
	fieldUnits       = "residential_units"
	fieldSqft        = "sqft"
	fieldStories     = "stories"
	fieldCost        = "cost"
	fieldFiled       = "filed_at"
	fieldPermitted   = "permitted_at"
	fieldCompleted   = "completed_at"
	fieldUpdated     = "updated_at"
	fieldURL         = "url"
)

// Compile prepares a description.
func Compile(d *source.Description) (*Source, error) {
	s := &Source{Description: d, made: map[int]*text{}, personal: d.PersonalColumns(), refuse: d.Values.Errors == "refuse"}
	s.Namespace = uuid.NewSHA1(namespace, []byte("source/"+d.Name))
	var err error
	if d.Namespace != "" {
		if s.Namespace, err = uuid.Parse(d.Namespace); err != nil {
			return nil, wrong(err)
		}
	}
	if err := s.compileValues(); err != nil {
		return nil, err
	}
	for _, c := range d.Columns {
		t, err := compileText(c.Value, &s.columns)
		if err != nil {
			return nil, wrong(err)
		}
		s.made[s.columns.Number(c.Name)] = t
	}
	if err := s.compileFields(); err != nil {
		return nil, err
	}
	for _, f := range d.Firms {
		for n := range max(f.Numbered, 1) {
			p, err := compileParty(f, n+1, &s.columns)
			if err != nil {
				return nil, wrong(err)
			}
			s.parties = append(s.parties, p)
		}
	}
	s.row.source = s
	return s, nil
}

func wrong(err error) error {
	return fault.Wrap(err, fault.BadRequest, "the description is wrong")
}

func (s *Source) compileValues() error {
	v := s.Values
	for _, f := range v.Dates {
		s.dates.Forms = append(s.dates.Forms, value.Form(f))
	}
	if v.Zone != "" {
		zone, err := time.LoadLocation(v.Zone)
		if err != nil {
			return wrong(err)
		}
		s.dates.Zone = zone
	}
	s.numbers.Comma = v.Decimal == "comma"
	if len(v.None) > 0 {
		none, err := value.NewMatcher(v.None)
		if err != nil {
			return wrong(err)
		}
		s.none = none
	}
	return nil
}

func (s *Source) compileFields() error {
	p := s.Project
	s.fields = map[string]*text{}
	for name, v := range map[string]source.Value{
		fieldName: p.Name, fieldDescription: p.Description, fieldAddress: p.Address, fieldCity: p.City,
		fieldState: p.State, fieldCountry: p.Country,
		fieldStatus: p.Status, fieldUse: p.PrimaryUse, fieldUnits: p.Units, fieldSqft: p.Sqft, fieldStories: p.Stories, fieldCost: p.Cost,
		fieldFiled: p.Filed, fieldPermitted: p.Permitted, fieldCompleted: p.Completed, fieldUpdated: p.Updated, fieldURL: p.URL,
	} {
		t, err := compileText(v, &s.columns)
		if err != nil {
			return wrong(err)
		}
		s.fields[name] = t
	}
	number := s.Number
	if number == "" {
		number = s.Key
	}
	for to, v := range map[**text]source.Value{&s.key: {Of: s.Key}, &s.number: {Of: number}, &s.asOf: s.Description.AsOf} {
		t, err := compileText(v, &s.columns)
		if err != nil {
			return wrong(err)
		}
		*to = t
	}
	for _, r := range s.Skip {
		of, err := value.ParseTemplate(r.Of, &s.columns)
		if err != nil {
			return wrong(err)
		}
		compiled := rule{of: of, why: r.Why}
		if r.Is != nil {
			compiled.is, err = value.NewMatcher(r.Is)
		} else {
			compiled.isNot, err = value.NewMatcher(r.IsNot)
		}
		if err != nil {
			return wrong(err)
		}
		s.skip = append(s.skip, compiled)
	}
	return s.compilePlace(p.Location)
}

func (s *Source) compilePlace(l source.Location) error {
	for to, v := range map[**text]source.Value{
		&s.place.latitude: l.Latitude, &s.place.longitude: l.Longitude, &s.place.point: l.Point, &s.place.x: l.X,
		&s.place.y: l.Y,
	} {
		t, err := compileText(v, &s.columns)
		if err != nil {
			return wrong(err)
		}
		*to = t
	}
	if l.EPSG != 0 && l.EPSG != epsg.Degrees {
		system, err := epsg.Find(l.EPSG)
		if err != nil {
			return wrong(err)
		}
		s.place.system = system
	}
	box, err := l.Box()
	if err != nil {
		return wrong(err)
	}
	s.place.box = box
	for _, p := range l.Ignore {
		latitude, longitude, err := source.ParsePoint(p)
		if err != nil {
			return wrong(err)
		}
		s.place.ignore = append(s.place.ignore, [2]float64{latitude, longitude})
	}
	return nil
}

// Reading is how files of the source are read.
func (s *Source) Reading() read.Options {
	r := s.Read
	return read.Options{
		Format: read.Format(r.Format), Encoding: r.Encoding, Delimiter: r.Delimiter, SkipLines: r.SkipLines, FillShort: r.FillShort,
		Path: r.Path, Sheet: r.Sheet, Member: r.Member,
	}
}

// ID is the id of a record of the source.
func (s *Source) ID(dataset, key string) string {
	return uuid.NewSHA1(s.Namespace, []byte(dataset+"/"+key)).String()
}

// Personal reports whether a column is about private persons.
func (s *Source) Personal(column string) bool { return s.personal(column) }

// Bind prepares for rows with these columns. complete means that there are no others: then
// columns that the description names and the file lacks are an error (BadRequest). It may
// be called a second time when a file has more columns.
func (s *Source) Bind(format read.Format, names []string, complete bool) error {
	at := make(map[string]int, len(names))
	twice := map[string]bool{}
	for i, name := range names {
		key := value.ColumnKey(name)
		if _, known := at[key]; known {
			continue
		}
		if base, suffixed := strings.CutSuffix(name, " (2)"); suffixed {
			twice[value.ColumnKey(base)] = true
		}
		at[key] = i
	}
	s.row.at = make([]int, len(s.columns.Names))
	for n, name := range s.columns.Names {
		i, known := at[value.ColumnKey(name)]
		if !known {
			i = -1
		}
		if s.made[n] == nil && twice[value.ColumnKey(name)] {
			return fault.New(fault.BadRequest, "the file has the column %s twice: name %q or %q", name, name+" (2)", name)
		}
		s.row.at[n] = i
	}
	if format == read.XLSX && !slices.Contains(s.dates.Forms, value.Serial) {
		s.dates.Forms = append(s.dates.Forms, value.Serial)
	}
	if !complete {
		return nil
	}
	return s.missing(names)
}

// missing is the error of columns that a file lacks.
func (s *Source) missing(names []string) error {
	var lacking []string
	for _, group := range s.columns.Groups {
		if slices.ContainsFunc(group, func(n int) bool { return s.row.at[n] >= 0 || s.made[n] != nil }) || s.numbered(group) {
			continue
		}
		name := s.columns.Names[group[0]]
		if near := nearest(name, names); near != "" {
			name += " (did you mean " + near + "?)"
		}
		if !slices.Contains(lacking, name) {
			lacking = append(lacking, name)
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	return fault.New(
		fault.BadRequest, "this is not a file of the source %s: it lacks the columns %s; it has %.400s", s.Name,
		strings.Join(lacking, ", "), strings.Join(names, ", "),
	)
}

// numbered reports whether a group of columns describes a participant beyond the first.
func (s *Source) numbered(group []int) bool {
	return slices.ContainsFunc(s.parties, func(p party) bool {
		return p.number > 1 && slices.Contains(p.columns, group[0])
	})
}

func nearest(name string, names []string) string {
	best, least := "", 4
	for _, n := range names {
		if d := edits.Distance(strings.ToLower(name), strings.ToLower(n), least); d < least {
			best, least = n, d
		}
	}
	return best
}

// Columns lists the columns of a file that the description uses.
func (s *Source) Columns() (names []string) {
	for n, name := range s.columns.Names {
		if s.made[n] == nil {
			names = append(names, name)
		}
	}
	return names
}

// Cells are the cells of a row in the columns that the description names.
func (s *Source) Cells(cells []string) map[string]string {
	all := map[string]string{}
	for n, name := range s.columns.Names {
		if i := s.row.at[n]; s.made[n] == nil && i >= 0 && i < len(cells) {
			all[name] = cells[i]
		}
	}
	return all
}
