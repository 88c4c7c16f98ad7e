package people

import (
	"slices"
	"testing"
)

func TestKinds(t *testing.T) {
	t.Parallel()
	for kind, names := range map[Kind][]string{
		Firm: {
			"In Charge Electrical Services, LLC", "KB Home", "D R Horton Homes", "JAMES MCHUGH CONSTRUCTION CO",
			"BULLEY & ANDREWS, L.L.C.", "A.D.T. INC.", "GURTZ ELECTRIC COMPANY",
			"City of Austin", "1824457 Alberta Ltd.", "Building Abatement Demolition Co Inc",
			"BIG BEAR LAKE SHORE CONSTRUCTI", "Smith Brothers", "RLJ II-F AUSTIN CENTRAL LP", "Acme Co",
			"Austin Independent School District",
		},
		Person: {
			"Jane Doe", "DOE, JANE", "John Q. Public Jr.", "MARY ANN O'BRIEN", "Emily Stone", "John Church", "Bob Wood",
			"SMITH FAMILY TRUST", "JOHN & MARY SMITH", "John Smith, P.E.", "Estate of Ann Lee", "Grace Glass",
			"José García López",
		},
		Nobody: {"", "SELF", "N/A", "Owner", "self contractor (jane doe)", "---", "Same as owner", "HOMEOWNER", "0", "12345"},
	} {
		for _, name := range names {
			if got := KindOf(name, false); got != kind {
				t.Errorf("%q is %v, want %v", name, got, kind)
			}
		}
	}
	if KindOf("Skanska", true) != Firm || KindOf("Skanska", false) == Firm || KindOf("Smith", false) == Firm {
		t.Error("a single word")
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Mira Thornbury, In Charge Electrical Services, LLC": "In Charge Electrical Services, LLC",
		"Building Abatement Demolition Co Inc":               "Building Abatement Demolition Co Inc",
		"Carl Electric Co., Inc":                             "Carl Electric Co., Inc",
		"Ada Dunmore, Austin Lanehart Electric Co., Inc.":    "Austin Lanehart Electric Co., Inc.",
		"Jane Doe": "Jane Doe",
	} {
		if got := Split(in, "person-firm", true); !slices.Equal(got, []string{want}) {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
	if got := Split("Acme Inc; Jane Doe|Roe Ltd", "list", true); !slices.Equal(got, []string{"Acme Inc", " Jane Doe", "Roe Ltd"}) {
		t.Errorf("%q", got)
	}
}

func TestWithoutPersons(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Mira Thornbury / Acme Builders LLC": "Acme Builders LLC", "ACME INC / THORNBURY, MIRA L": "ACME INC",
		"Acme Inc / Stone Holdings LP / Mira Thornbury": "Acme Inc / Stone Holdings LP",
		"Acme Inc / Larkspur Homes":                     "Acme Inc / Larkspur Homes", "Owner/Builder": "Owner/Builder",
		"Mira Thornbury / Owner/Builder": "Mira Thornbury", "Mira Thornbury // Otto Fernhill": "Mira Thornbury",
		"A/C Repair Co": "A/C Repair Co",
	} {
		if got := WithoutPersons(in); got != want {
			t.Errorf("%q gives %q, not %q", in, got, want)
		}
	}
}

func TestWithoutCare(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Acme LLC % Jane Doe": "Acme LLC", "Acme Inc, c/o Jane Doe": "Acme Inc", "100% Homes": "100% Homes",
	} {
		if got := WithoutCare(in); got != want {
			t.Errorf("%q becomes %q", in, got)
		}
	}
}

func TestScrub(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"New deck. Call 512-555-0142 first":            "New deck. Call […] first",
		"Call (512) 555-0142 or jane.doe@mail.example": "Call […] or […]",
		"Owner: Jane Doe. New garage":                  "Owner: […]. New garage",
		"CONTACT: JANE DOE 512.555.0142":               "CONTACT: […] […]",
		"c/o Jane Doe":                                 "c/o […]",
		"ADT SALES REP MARY VALENTA":                   "ADT SALES REP […]",
		"Contractor: Acme Homes Inc":                   "Contractor: Acme Homes Inc",
		"Owner: Acme Homes Inc":                        "Owner: Acme Homes Inc",
		"refer# 2015-154108-BP":                        "refer# 2015-154108-BP",
		"First tenant: fit out":                        "First tenant: fit out",
		"17-10-318-034-0000":                           "17-10-318-034-0000",
		"JOB # 330-00547-02":                           "JOB # 330-00547-02",
		"Lot: 1 Block: C":                              "Lot: 1 Block: C",
		"tel 5550142, 1,200 sq ft":                     "[…], 1,200 sq ft",
	} {
		got, changed := Scrub(in)
		if got != want || changed != (in != want) {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestPersonalColumns(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"folder_owner", "OWNER_NAME", "ContactPhone", "applicantname", "Applicant Name", "email", "CONTRACTOR_1_NAME",
		"FirstName", "property_owner_addrstreet", "InspectorName", "CONTRACTOR_1_PHONE", "Name",
	} {
		if !PersonalColumn(name) {
			t.Errorf("%q is not personal", name)
		}
	}
	for _, name := range []string{
		"street_name", "STREET_NAME", "Project Name", "permit_number", "communityname", "WORK_DESCRIPTION", "SUBDESC",
		"status", "BusinessName", "total_job_valuation", "X", "owner company",
	} {
		if PersonalColumn(name) {
			t.Errorf("%q is personal", name)
		}
	}
}

func FuzzPeople(f *testing.F) {
	f.Add("Jane Doe, Acme Inc", "Owner: Jane Doe 512-555-0142")
	f.Fuzz(func(_ *testing.T, name, text string) {
		for _, form := range []string{"name", "person-firm", "firm-person", "list"} {
			for _, n := range Split(name, form, true) {
				_ = KindOf(n, true)
			}
		}
		_, _ = Scrub(text)
		_ = PersonalColumn(name)
	})
}
