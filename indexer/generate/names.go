package generate

import (
	"strconv"
	"strings"
)

// Parts of firm names. The first ones are much more frequent, so that equal names are
// as common as in real registers.
var (
	firmStems = []string{
		"Smith", "Northwind", "Summit", "Pacific", "Lévesque", "Johnson", "Prairie", "Blue Spruce", "Cascade", "Groupe Beauséjour",
		"Martínez", "Keystone", "Red Rock", "Tremblay", "Evergreen", "Harbour", "Müller", "Cornerstone", "Peña", "Highland",
		"Great Lakes", "Bélanger", "Iron Gate", "Sierra", "Maple Leaf", "Granite", "Ångström", "Bow River", "Côté", "Lone Star",
		"Silver Birch", "Núñez", "Union", "Aspen", "Champlain", "Desert Sun", "O'Connor", "Fraser Valley", "Atlantic", "Gagné",
		"Twin Peaks", "Liberty", "Sørensen", "Foothills", "Évasion", "Whitewater", "Beacon", "Nguyen", "Copper Hill", "Château",
		"Mountain View", "Kowalski", "Old Mill", "Sun Valley", "Bâtir", "Meridian", "Ravenwood", "Khan", "Stonebridge", "Zócalo",
	}
	firmTrades = map[string][]string{
		"developer":          {"Developments", "Homes", "Properties", "Land Group", "Communities", "Immobilier", "Urban Partners"},
		"general_contractor": {"Construction", "Builders", "Contracting", "Constructors", "Bâtiments", "Building Co.", "Construcción"},
		"owner":              {"Holdings", "Realty", "Property Trust", "Capital", "REIT", "Investments"},
		"subcontractor":      {"Electric", "Plumbing & Heating", "Roofing", "Drywall", "Concrete", "Mécanique"},
		"architect":          {"Architects", "Architecture", "Design Studio", "Architectes", "Planning & Design"},
		"engineer":           {"Engineering", "Consulting Engineers", "Structural", "Génie-conseil"},
		"lender":             {"Bank", "Credit Union", "Mortgage", "Finance"},
		"supplier":           {"Supply", "Lumber", "Ready-Mix", "Equipment Rentals", "Matériaux"},
		"public_agency":      {"Housing Authority", "School Board", "Transit Commission", "Ville et services"},
		"other":              {"Group", "Services", "Associates", "& Sons"},
	}
	firmForms = []string{"", "", "", " Inc.", " Ltd.", " LLC", " Corp.", " Ltée", " Co.", " LP", " S.A."}
)

// trades maps the number of an account, modulo 16, to its main type, so that an account
// of a type can be chosen without a search.
var trades = [16]string{
	"developer", "general_contractor", "owner", "developer", "general_contractor", "architect", "developer", "general_contractor",
	"owner", "subcontractor", "engineer", "general_contractor", "lender", "public_agency", "supplier", "other",
}

var (
	developers  = places("developer", "owner", "public_agency")
	contractors = places("general_contractor")
	advisers    = places("architect", "engineer", "lender", "subcontractor", "supplier")
)

// places lists the indices of types in trades.
func places(types ...string) []int64 {
	var list []int64
	for i, t := range trades {
		for _, want := range types {
			if t == want {
				list = append(list, int64(i))
			}
		}
	}
	return list
}

// Parts of project names.
var (
	sites = []string{
		"Maple Ridge", "Harbour View", "Riverside", "Oak Park", "Station Square", "Saint-Laurent", "Lakeside",
		"Hillcrest", "Downtown", "Côte Sainte-Catherine",
		"Union", "Cedar Grove", "Mission", "Eastgate", "Plaza San Ángel", "Willow Creek", "Airport", "Beauharnois", "Kingsway", "Mill Pond",
		"Foothills", "Champs-Élysées", "Sunset", "Northgate", "Peñón Blanco", "Old Town", "Belle Rivière",
		"Highland Park", "Gardens", "Montée Saint-François",
	}
	useKinds = map[string][]string{
		"single_family":  {"House", "Residence", "Detached Garage", "Addition", "Basement Suite", "Résidence"},
		"multifamily":    {"Apartments", "Townhomes", "Lofts", "Condominiums", "Rowhouses", "Habitations"},
		"mixed_use":      {"Square", "Crossing", "Mixed-Use Tower", "Quartier"},
		"office":         {"Office Tower", "Office Fit-Out", "Business Centre", "Bureaux"},
		"retail":         {"Shops", "Restaurant", "Market", "Café", "Retail Pad"},
		"industrial":     {"Warehouse", "Distribution Centre", "Plant Expansion", "Cold Storage"},
		"hospitality":    {"Hotel", "Inn & Suites", "Resort", "Auberge"},
		"healthcare":     {"Medical Clinic", "Hospital Wing", "Care Home", "Clínica"},
		"education":      {"Elementary School", "College Residence", "École secondaire", "Science Building"},
		"institutional":  {"Fire Hall", "Library", "Community Centre", "Church Hall"},
		"infrastructure": {"Pumping Station", "Bridge Renewal", "Substation", "Transit Terminal"},
		"other":          {"Site Works", "Accessory Building", "Sign", "Temporary Structure"},
	}
	// uses are sorted by frequency, most frequent first.
	uses = []string{
		"single_family", "single_family", "single_family", "single_family", "multifamily", "multifamily", "retail",
		"office", "other", "industrial",
		"mixed_use", "institutional", "education", "healthcare", "hospitality", "infrastructure",
	}
	sentences = []string{
		"New construction on a vacant lot.",
		"Interior alteration of an existing building, no change of use.",
		"Includes underground parking and a rooftop terrace.",
		"Rénovation complète de l'enveloppe et des fenêtres.",
		"The applicant asks for a relaxation of the front setback.",
		"Site servicing and grading are under a separate permit.",
		"Mass timber structure over a concrete podium.",
		"Replaces two houses that were taken down.",
		"Phase one of three; later phases follow the market.",
		"Ground floor retail with dwellings above.",
		"Ampliación del café y de la terraza.",
		"Mechanical and electrical upgrade throughout.",
		"Tenant improvement for a new lease.",
		"Secondary suite in the basement with its own entrance.",
	}
	firmSentences = []string{
		"Family-owned since 1978.", "Works across the region.", "Specialised in mid-rise wood frame.", "Bilingue, français et anglais.",
		"Public and private clients.", "Part of a larger group of companies.",
		"Known for restoration of heritage façades.", "Design-build and construction management.",
	}
)

// prose joins sentences, usually few and sometimes very many.
func (d dice) prose(from []string) string {
	n := 1 + d.IntN(3)
	if d.chance(0.2) {
		n = 20 + d.IntN(120)
	}
	if n == 1 {
		return one(d, from)
	}
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(one(d, from))
	}
	return b.String()
}

// projectName makes a name of the use and, sometimes, the address.
func (d dice) projectName(use, address string) string {
	k := one(d, useKinds[use])
	if address != "" && d.chance(45) {
		return address + ", " + k
	}
	name := hot(d, sites) + " " + k
	if d.chance(8) {
		name += " Phase " + strconv.Itoa(1+d.IntN(4))
	}
	return name
}
