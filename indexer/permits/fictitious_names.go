package permits

// town is a real place. The projects and firms in it are fictitious.
type town struct {
	name                string
	latitude, longitude float64
	reach               float64 // of its buildings, in degrees
}

// towns are drawn with equal probability: half of the projects are in Calgary.
var towns = []town{
	{calgaryCity, 51.045, -114.07, 0.09},
	{calgaryCity, 51.045, -114.07, 0.05},
	{calgaryCity, 51.045, -114.07, 0.09},
	{calgaryCity, 51.045, -114.07, 0.05},
	{calgaryCity, 51.045, -114.07, 0.09},
	{calgaryCity, 51.045, -114.07, 0.02},
	{"Airdrie", 51.29, -114.01, 0.02},
	{"Cochrane", 51.19, -114.47, 0.015},
	{"Okotoks", 50.73, -113.98, 0.015},
	{"Red Deer", 52.27, -113.81, 0.03},
	{"Edmonton", 53.54, -113.49, 0.08},
	{"Lethbridge", 49.69, -112.84, 0.03},
}

// building is a kind of fictitious project.
type building struct {
	use   string   // a primary use
	lead  string   // the type of the firm that initiates it
	kinds []string // last words of the names
	// Fewest and most homes; 0 for other buildings.
	homes [2]int
	// Lowest and highest cost, in dollars: of a home, or of the whole building without
	// homes.
	cost [2]float64
}

// buildings has each primary use.
var buildings = []building{
	{"single_family", "developer", []string{"Houses", "Villas"}, [2]int{1, 9}, [2]float64{350e3, 700e3}},
	{"multifamily", "developer", []string{"Apartments", "Townhomes", "Residences", "Lofts"}, [2]int{24, 320}, [2]float64{180e3, 320e3}},
	{"mixed_use", "developer", []string{"Square", "Crossing"}, [2]int{40, 260}, [2]float64{250e3, 380e3}},
	{"office", "owner", []string{"Office Tower", "Business Centre"}, [2]int{}, [2]float64{4e6, 90e6}},
	{"retail", "owner", []string{"Shops", "Market"}, [2]int{}, [2]float64{1e6, 18e6}},
	{"industrial", "owner", []string{"Distribution Centre", "Cold Storage"}, [2]int{}, [2]float64{3e6, 45e6}},
	{"hospitality", "owner", []string{"Hotel", "Inn"}, [2]int{}, [2]float64{8e6, 60e6}},
	{"healthcare", "public_agency", []string{"Clinic", "Care Home"}, [2]int{}, [2]float64{2e6, 80e6}},
	{"education", "public_agency", []string{"School", "College Hall"}, [2]int{}, [2]float64{9e6, 70e6}},
	{"institutional", "public_agency", []string{"Library", "Fire Hall"}, [2]int{}, [2]float64{3e6, 30e6}},
	{"infrastructure", "public_agency", []string{"Pumping Station", "Transit Terminal"}, [2]int{}, [2]float64{5e6, 120e6}},
	{"other", "other", []string{"Site Works", "Parkade"}, [2]int{}, [2]float64{400e3, 8e6}},
}

// sites are the first words of names of projects.
var sites = []string{
	"Aspen Court", "Bow Terrace", "Cottonwood", "Dogwood Lane", "Elbow Bend", "Foothill Gate", "Goldenrod", "Heron Pond", "Ironwood",
	"Juniper Hill", "Kestrel Point", "Larch Row", "Meadowlark", "Nighthawk", "Otter Creek", "Poplar Yard", "Quarry Edge", "Rosehip",
	"Saskatoon Lane", "Tamarack", "Upland Green", "Violet Field", "Willow Bend", "Yarrow",
}

// stems are the first words of names of firms.
var stems = []string{
	"Alderway", "Brackenstone", "Cairnwell", "Drumlin", "Eskerline", "Fenrow", "Glacierline", "Hoodoo", "Inglemark", "Jaspervale",
	"Kettlepond", "Lodgepole", "Muskegon Row", "Northfork", "Oxbow", "Prairiewind", "Quillstone", "Ribstone", "Saltgrass", "Tallgrass",
	"Umberfield", "Vetchwood", "Wheatridge", "Yellowrail",
}

// trades are the last words of names of firms, by type.
var trades = map[string][]string{
	"developer":          {"Developments", "Communities"},
	"owner":              {"Holdings", "Property Trust"},
	"general_contractor": {"Builders", "Construction"},
	"subcontractor":      {"Electric", "Concrete"},
	"architect":          {"Architects", "Design Studio"},
	"engineer":           {"Engineering", "Structural"},
	"lender":             {"Credit Union", "Mortgage"},
	"broker":             {"Realty", "Brokers"},
	"supplier":           {"Supply", "Ready-Mix"},
	"public_agency":      {"School Board", "Housing Authority"},
	"other":              {"Services", "Associates"},
}

// asWell is a second type that some firms of a type have.
var asWell = map[string]string{
	"developer": "owner", "owner": "developer", "general_contractor": "developer", "architect": "engineer", "engineer": "architect",
}
