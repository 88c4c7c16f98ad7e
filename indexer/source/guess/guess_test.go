package guess_test

import (
	"fmt"
	"strings"
	"testing"

	"atlas/indexer/permits"
	"atlas/indexer/source"
	"atlas/indexer/source/guess"
	"atlas/indexer/source/read"
)

func describe(t *testing.T, text string, o guess.Options) string {
	t.Helper()
	file, err := read.Read(strings.NewReader(text), read.Options{})
	if err != nil {
		t.Fatal(err)
	}
	described, err := guess.Describe(file, o)
	if err != nil {
		t.Fatal(err)
	}
	return string(described)
}

// mentions reports the parts of a text that another has not.
func mentions(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("no %q in\n%s", p, text)
		}
	}
}

// The rows of the shipped sources become records by the guessed descriptions.
func TestGuessesWhatShips(t *testing.T) {
	t.Parallel()
	for _, name := range permits.WithSamples() {
		in, _ := permits.MadeUp(name)
		file, err := in.Open(read.Options{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := guess.Describe(file, guess.Options{
			Name: name, Near: map[string]*guess.Near{"burlington": {Latitude: 43.33, Longitude: -79.8}}[name],
		})
		if err != nil {
			t.Fatal(err)
		}
		d, err := source.Parse("guess", text)
		if err != nil {
			t.Fatal(err)
		}
		checked, err := permits.Check(t.Context(), d, []permits.Input{in}, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		if checked.RefusedRows*50 > checked.Rows || checked.UnreadCells*50 > checked.Rows {
			t.Errorf("%s: of %d rows %d left out, %d cells unread", name, checked.Rows, checked.RefusedRows, checked.UnreadCells)
		}
		for _, field := range []string{"name", "address", "latitude", "permitted_at", "stage", "description"} {
			if checked.Fields[field]*10 < checked.Rows*5 {
				t.Errorf("%s: %d of %d rows have %s\n%s", name, checked.Fields[field], checked.Rows, field, text)
			}
		}
		if name != "burlington" && checked.Fields["account_ids"]*4 < checked.Rows {
			t.Errorf("%s: %d of %d rows have firms\n%s", name, checked.Fields["account_ids"], checked.Rows, text)
		}
	}
}

// CR alone, projected coordinates whose system follows from the state, days above 12,
// placeholders.
func TestCROnly(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("Record No,Type,Site Address,State,Date Opened,Date Issued,Record Status,Job Value,X_COORD,Y_COORD,Contractor Name,Contractor Phone,Inspector\r")
	for i := range 40 {
		fmt.Fprintf(&b, "R%04d,%s,%d Main St,TX,%d/%d/2024,N/A,%s,$%d.00,%d,%d,%s,512-555-0100,Jane Doe\r",
			i, []string{"COM - Office", "RES - House"}[i%2], i+1, i%12+1, i%28+1,
			[]string{"Issued", "Finaled", "In Review", "Void"}[i%4], []int{0, 1, 20000}[i%3], 3109812+i*100,
			10087635+i*100, []string{"Acme Homes LLC", "Jane Doe", "Roe Builders"}[i%3])
	}
	text := describe(t, b.String(), guess.Options{})
	mentions(
		t, text, `key: "{Record No}"`, `name: "{Site Address}, `, `address: "{Site Address}"`, `state: "{State}"`,
		`dates: [m/d/y]`, `zone: America/Chicago`, `none: ["N/A"]`,
		`"Issued": permitted   # 10`, `"Void": cancelled   # 10`, `"In Review": under_review`,
		`filed_at: "{Date Opened}"`, `cost: { of: "{Job Value}", unknown: [0, 1] }`,
		`epsg: 2277   # NAD83 / Texas Central (ftUS)`, `name: "{Contractor Name}"`, `type: general_contractor`, `phone: "{Contractor Phone}"`,
	)
	if strings.Contains(text, "Jane") || strings.Contains(text, "555") {
		t.Errorf("it shows a person:\n%s", text)
	}
}

// An export of ArcGIS: milliseconds, attributes, contacts with their roles in one cell.
func TestArcGIS(t *testing.T) {
	t.Parallel()
	var rows []string
	for i := range 30 {
		rows = append(rows, fmt.Sprintf(`{"attributes":{"OBJECTID":%d,"PERMITNO":"BP-%d","STATUS":"%s","ISSUEDDATE":%d,"APPLIEDDATE":%d,"LOCATION_ADDRESS":"%d Main St","PERMITTYPE":"%s","CONTACTS":"Owner: Jane Doe; Contractor: Acme Builders Inc, 312-555-0100"},"geometry":{"x":-87.6%02d,"y":41.8%02d}}`,
			i, 1000+i, []string{"Issued", "Closed"}[i%2], 1451973600000+int64(i)*86_400_000,
			1451800800000+int64(i)*86_400_000, i+1, []string{"New single family house", "Office alteration"}[i%2], i, i))
	}
	text := describe(t, `{"objectIdFieldName":"OBJECTID","fields":[{"name":"OBJECTID"}],"features":[`+strings.Join(rows, ",")+`]}`, guess.Options{})
	mentions(
		t, text, `key: "{PERMITNO}"`, `address: "{LOCATION_ADDRESS}"`, `filed_at: "{APPLIEDDATE}"`,
		`permitted_at: "{ISSUEDDATE}"`, `zone: America/Chicago`, `cell: labelled`,
		`latitude: "{geometry.y}"`, `"New single family house": single_family`, `"Office alteration": office`,
	)
	if strings.Contains(text, "312") {
		t.Errorf("it shows a person:\n%s", text)
	}
	d, err := source.Parse("guess", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	all := `{"features":[` + strings.Join(rows, ",") + `]}`
	checked, err := permits.Check(t.Context(), d, []permits.Input{permits.Memory("x.json", []byte(all))}, 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	if checked.Permits != 30 || checked.Names.Firms != 30 || checked.Names.Persons != 30 || len(checked.Examples) != 3 ||
		checked.Examples[0].Firms[0].Name != "Acme Builders Inc" {
		t.Errorf("%+v", checked.Report)
	}
}

// An export of OData: an envelope, /Date(…)/, places within places.
func TestOData(t *testing.T) {
	t.Parallel()
	var rows []string
	for i := range 30 {
		rows = append(rows, fmt.Sprintf(`{"__metadata":{"uri":"x"},"ApplicationNumber":"A%d","ApplicationStatus":"%s","ReceivedDate":"/Date(%d)/","Location":{"StreetNumber":"%d","StreetName":"QUARRY","StreetType":"RD","City":"Renton","Province":"WA","Coordinates":{"X":%f,"Y":%f}},"ScopeOfWork":"Build %d decks","Builder":{"CompanyName":"Acme Builders %d LLC"}}`,
			i, []string{"Approved", "Withdrawn"}[i%2], 1451973600000+int64(i)*86_400_000, i+1, 1298000.5+float64(i*10),
			178000.25+float64(i*10), i, i%3))
	}
	text := describe(t, `{"d":{"results":[`+strings.Join(rows, ",")+`]}}`, guess.Options{})
	mentions(
		t, text, `key: "{ApplicationNumber}"`,
		`address: "{Location.StreetNumber} {Location.StreetName} {Location.StreetType}"`, `city: "{Location.City}"`,
		`state: "{Location.Province}"`, `filed_at: "{ReceivedDate}"`,
		`"Withdrawn": cancelled`, `epsg: 2285`, `description: "{ScopeOfWork}"`, `name: "{Builder.CompanyName}"`,
	)
}

// Titles above the header, semicolons, texts in a column of costs, places that are 0.
func TestTitlesAboveTheHeader(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("Ville d'Elmhaven - permits\rExtracted: 2025-07-01\r\rPermit #;Sub Type;Work Proposed;Street No;Street Name;Application Date;Status Desc;Constr. Value;Floor Area (m2);Builder;Latitude;Longitude\r")
	for i := range 60 {
		fmt.Fprintf(
			&b, "24 %d BLD;%s;%s;%d;Quarry Rd;%d/%02d/2024;%s;%s;%d;Acme Homes Ltd;%s\r", 1000+i,
			[]string{"SFD - Detached", "Office"}[i%2], []string{"New dwelling", "Deck"}[i%2], i+1, i%28+1, i%12+1,
			[]string{"Issued", "Closed"}[i%2], []string{"$1,200.00", "$900.00", "DO NOT UPDATE"}[i%3], 100+i,
			[]string{fmt.Sprintf("43.7%02d;-79.4%02d", i, i), "0;0", fmt.Sprintf("43.6%02d;-79.3%02d", i, i)}[i%3],
		)
	}
	mentions(
		t, describe(t, b.String(), guess.Options{}), `key: "{Permit #}"`, `dates: [d/m/y]`,
		`description: "{Work Proposed}"`, `address: "{Street No} {Street Name}"`,
		`cost: { of: "{Constr. Value}", unknown: ["DO NOT UPDATE"] }`,
		`sqft: { of: "{Floor Area (m2)}", unit: m2 }`, `within: [`, `zone: America/Toronto`,
		`filed_at: "{Application Date}"`, `"Closed": completed`,
	)
}

// Short names of columns, web Mercator, a date that is none, roles in the file's own words.
func TestShortNames(t *testing.T) {
	t.Parallel()
	var rows []string
	for i := range 40 {
		rows = append(rows, fmt.Sprintf(`{"attributes":{"PMT_NUM":"B-%d","PMT_TYPE":"%s","TYPE_DESC":"%s","STAT":"%s","APP_DT":%d,"ISS_DT":%d,"CO_DT":-2209161600000,"ADDR":"%d Mill Ln","PRJ_DESC":"Reroof %d","CONTACTS":"GC: Acme Inc | Expediter: Swift Paper LLC"},"geometry":{"x":%d.5,"y":%d}}`,
			1000+i, []string{"BLDR", "BLDC"}[i%2], []string{"Residential Building", "Commercial Building"}[i%2],
			[]string{"Active", "Complete"}[i%2], 1700000000000+int64(i)*86_400_000, 1700500000000+int64(i)*86_400_000,
			i+1, i, -11_690_000-i*90, 4_830_000+i*90))
	}
	text := describe(t, `{"features":[`+strings.Join(rows, ",")+`]}`, guess.Options{})
	mentions(
		t, text, `of: "{STAT}"`, `filed_at: "{APP_DT}"`, `permitted_at: "{ISS_DT}"`, `completed_at: "{CO_DT}"`,
		`description: "{PRJ_DESC}"`, `name: "{ADDR}, {TYPE_DESC}"`, `epsg: 3857`, `state: "CO"`,
		`zone: America/Denver`,
		`"GC": general_contractor   # 40`, `"Expediter":`,
	)
	if strings.Contains(text, "dates:") {
		t.Errorf("dates that are clear need no form:\n%s", text)
	}
}

// Participants in a list of objects have their roles beside their names.
func TestParticipants(t *testing.T) {
	t.Parallel()
	var rows []string
	for i := range 30 {
		rows = append(rows, fmt.Sprintf(`{"RecordId":"R%d","Dates":{"Setup":"/Date(%d)/"},"Site":{"Address":{"House":%d,"Prefix":"NE","Street":"QUARRY","Type":"RD"},"StateCode":"OR","Centroid":{"EastFt":%d.5,"NorthFt":%d.25}},"Parties":{"results":[{"ContactType":"CONTRACTOR","DisplayName":"Acme %d LLC","Phone":"503-555-0100"},{"ContactType":"OWNER","DisplayName":"Mill Street Holdings LP","Phone":null}]}}`,
			i, 1700000000000+int64(i)*86_400_000, i+1, 7_640_000+i*100, 690_000+i*100, i%3))
	}
	text := describe(t, `{"d":{"results":[`+strings.Join(rows, ",")+`]}}`, guess.Options{})
	mentions(
		t, text, `address: "{Site.Address.House} {Site.Address.Prefix} {Site.Address.Street} {Site.Address.Type}"`,
		`filed_at: "{Dates.Setup}"`, `epsg: 2269`, `numbered: 2`, `name: "{Parties.results.#.DisplayName}"`,
		`of: "{Parties.results.#.ContactType}"`, `"CONTRACTOR": general_contractor   # 30`, `"OWNER": owner   # 30`,
		`phone: "{Parties.results.#.Phone}"`,
	)
	if strings.Contains(text, "503") {
		t.Errorf("it shows a phone:\n%s", text)
	}
}

func TestNothingToGuess(t *testing.T) {
	t.Parallel()
	describe(t, "a,b\n1,2\n", guess.Options{})
	describe(t, "name\nJane Doe\n", guess.Options{})
	describe(t, `[{"x":{"y":[1,2]}}]`, guess.Options{})
	file, err := read.Read(strings.NewReader("a,b\n"), read.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := guess.Describe(file, guess.Options{}); err == nil {
		t.Error("a file without rows is described")
	}
}

func FuzzDescribe(f *testing.F) {
	f.Add([]byte("permit no,status,{x},y|z\n1,Open,3,4\n2,\"a\nb\",5,6\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := read.Read(strings.NewReader(string(text)), read.Options{})
		if err != nil {
			return
		}
		if text, err := guess.Describe(file, guess.Options{}); err != nil && text != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	})
}
