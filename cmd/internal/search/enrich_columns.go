package search

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"atlas/client"
	"atlas/cmd/internal/cli"
	"atlas/internal/input"
)

// matchMember is a member of client.MatchInput that columns are read for.
type matchMember struct {
	name string
	of   func(*client.MatchInput) *string
	// headers are usual headers, the most usual first, in the form of plainHeader. Those
	// with a + are two columns.
	headers string
}

// matchMembers are in the order of the documentation.
var matchMembers = []matchMember{
	{"name", func(in *client.MatchInput) *string { return &in.Name },
		"name company companyname firm firmname business businessname organization organisation organizationname organisationname account accountname contractor contractorname vendor vendorname customer customername legalname operatingname"},
	{"domain", func(in *client.MatchInput) *string { return &in.Domain },
		"domain website web webpage homepage url site companydomain companywebsite websiteurl"},
	{"email", func(in *client.MatchInput) *string { return &in.Email },
		"email emailaddress mail workemail contactemail companyemail"},
	{"phone", func(in *client.MatchInput) *string { return &in.Phone },
		"phone phonenumber telephone telephonenumber tel businessphone companyphone officephone workphone mobile mobilephone cell cellphone"},
	{"city", func(in *client.MatchInput) *string { return &in.City },
		"city town municipality companycity mailingcity billingcity"},
	{"state", func(in *client.MatchInput) *string { return &in.State },
		"state province region stateprovince provincestate companystate mailingstate billingstate prov"},
}

// namesOfPersons are the headers of a person's name; the firm is another column.
const namesOfPersons = "name fullname contact contactname person personname firstname+lastname givenname+familyname first+last"

// usual are the usual headers of a member for a list of a dataset.
func (m matchMember) usual(dataset string) []string {
	if m.name == "name" && dataset == "contacts" {
		return strings.Fields(namesOfPersons)
	}
	return strings.Fields(m.headers)
}

// plainHeader is a header in lower case, with only letters and digits.
func plainHeader(header string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, header)
}

// chosenColumns are, for each member of the input, the columns that it is read from, joined
// by a space; none if it has no column.
type chosenColumns [][]int

// chooseColumns finds the columns of each of matchMembers: those of --column, else those
// with usual headers.
func chooseColumns(header, given []string, dataset string) (chosenColumns, error) {
	var f cli.Problems
	chosen := make(chosenColumns, len(matchMembers))
	asked := make([]bool, len(matchMembers))
	for _, pair := range given {
		name, column, _ := strings.Cut(pair, "=") // checked by Check
		i := memberNamed(name)
		asked[i] = true
		if column == "" {
			continue // the member has no column
		}
		at, err := columnNamed(header, column)
		if err != nil {
			f.Add("--column %s: %v", pair, err)
			continue
		}
		chosen[i] = append(chosen[i], at)
	}
	for i, m := range matchMembers {
		if !asked[i] {
			var err error
			if chosen[i], err = usualColumns(header, m.usual(dataset)); err != nil {
				f.Add("%v, such as --column %s=#2", err, m.name)
			}
		}
	}
	findable := 0
	for i, m := range matchMembers {
		if len(chosen[i]) > 0 && m.finds(dataset) {
			findable++
		}
	}
	if findable == 0 && f.Err() == nil {
		found := "the columns are " + shownHeader(header)
		if len(header) == 1 {
			found += "; columns are separated by commas, semicolons, tabs or |"
		}
		f.Add("no column is known as the name, domain, email or phone of %s; say which, such as --column name=%q; %s; if this first row is data already, put a header before it, such as name,city", dataset, cli.ShownText(header[0]), found)
	}
	return chosen, f.Err()
}

// finds reports whether the member alone suffices to find a record.
func (m matchMember) finds(dataset string) bool {
	return m.name == "name" || m.name == "email" || m.name == "phone" || m.name == "domain" && dataset == "accounts"
}

func memberNamed(name string) int {
	return slices.IndexFunc(matchMembers, func(m matchMember) bool { return m.name == name })
}

// checkColumnOption says what is wrong with a value of --column.
func checkColumnOption(f *cli.Problems, pair string) {
	names := make([]string, len(matchMembers))
	for i, m := range matchMembers {
		names[i] = m.name
	}
	name, _, found := strings.Cut(pair, "=")
	switch {
	case !found:
		f.Add("--column %s: must be MEMBER=HEADER, such as name=Firm", pair)
	case !slices.Contains(names, name):
		f.Add("--column %s: %q is none of %s%s", pair, name, strings.Join(names, ", "), input.DidYouMean("; ", name, names, ""))
	}
}

// columnNamed finds the column with a header, exactly or by its letters and digits, or with
// a number, as in #3.
func columnNamed(header []string, name string) (int, error) {
	at := columnsWith(header, func(h string) bool { return h == name })
	if at == nil {
		at = columnsWith(header, func(h string) bool { return plainHeader(h) == plainHeader(name) && plainHeader(name) != "" })
	}
	if digits, ok := strings.CutPrefix(name, "#"); ok && at == nil {
		if n, err := strconv.Atoi(digits); err == nil && n >= 1 && n <= len(header) {
			return n - 1, nil
		}
		return 0, fmt.Errorf("the file has the columns #1 to #%d", len(header))
	}
	switch len(at) {
	case 0:
		return 0, fmt.Errorf("the file has no such column%s; it has %s", input.DidYouMean("; ", name, header, ""), shownHeader(header))
	case 1:
		return at[0], nil
	}
	return 0, fmt.Errorf("the columns %s are all called that: give a number", numbered(at))
}

// usualColumns finds the columns of the first usual header that the file has.
func usualColumns(header, usual []string) ([]int, error) {
	for _, name := range usual {
		var columns []int
		parts := strings.Split(name, "+")
		for _, part := range parts {
			at := columnsWith(header, func(h string) bool { return plainHeader(h) == part })
			switch {
			case len(at) > 1:
				return nil, fmt.Errorf("the columns %s are all called %q: say which is meant", numbered(at), cli.ShownText(header[at[0]]))
			case len(at) == 1:
				columns = append(columns, at[0])
			}
		}
		if len(columns) == len(parts) {
			return columns, nil
		}
	}
	return nil, nil
}

func columnsWith(header []string, is func(string) bool) (at []int) {
	for i, h := range header {
		if is(h) {
			at = append(at, i)
		}
	}
	return at
}

func numbered(columns []int) string {
	texts := make([]string, len(columns))
	for i, at := range columns {
		texts[i] = fmt.Sprintf("#%d", at+1)
	}
	return strings.Join(texts, ", ")
}

// mostShownHeaders is the maximum number of columns in a message.
const mostShownHeaders = 20

func shownHeader(header []string) string {
	var shown []string
	for i, h := range header {
		if i == mostShownHeaders {
			shown = append(shown, "…")
			break
		}
		shown = append(shown, fmt.Sprintf("#%d %s", i+1, cli.ShownText(h)))
	}
	return strings.Join(shown, ", ")
}

// describe says which columns are read: "name: Firm, city: Town".
func (c chosenColumns) describe(header []string) string {
	var parts []string
	for i, columns := range c {
		if len(columns) == 0 {
			continue
		}
		var names []string
		for _, at := range columns {
			names = append(names, cli.ShownText(header[at]))
		}
		parts = append(parts, matchMembers[i].name+": "+strings.Join(names, " + "))
	}
	return strings.Join(parts, ", ")
}

// input is the input of a row; false if nothing can be found by it.
func (c chosenColumns) input(row csvRow, dataset string) (in client.MatchInput, findable bool) {
	for i, columns := range c {
		var texts []string
		for _, at := range columns {
			if text := oneLine(row.cells[at]); text != "" {
				texts = append(texts, text)
			}
		}
		*matchMembers[i].of(&in) = strings.Join(texts, " ")
		findable = findable || len(texts) > 0 && matchMembers[i].finds(dataset)
	}
	return in, findable
}
