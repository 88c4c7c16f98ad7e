package guess

import (
	"regexp"
	"strconv"
	"strings"
)

// role is a possible meaning of a column.
type role struct {
	name string
	// by are patterns of the letters and digits of a column's name, the best first.
	by []string
	// fits reports whether the values can be of the role.
	fits func(c *column, p *profile) bool
}

func isText(c *column, _ *profile) bool   { return !c.isDate() && c.share(c.numbers) < 0.9 }
func isAny(c *column, _ *profile) bool    { return c.filled > 0 }
func isDate(c *column, _ *profile) bool   { return c.isDate() }
func isNumber(c *column, _ *profile) bool { return c.share(c.numbers) > 0.5 && !c.isDate() }

// few reports whether the column has few distinct values.
func few(c *column, p *profile) bool {
	return len(c.counts) > 1 && isText(c, p) && !c.more && len(c.counts) <= 400 && (c.unique() < 0.5 || p.rows < 40)
}

// isKey reports whether the values may be permit numbers.
func isKey(c *column, p *profile) bool {
	return c.filled*10 > p.rows*9 && c.unique() > 0.3 && !c.isDate() && c.long <= 60
}

// between reports whether all numbers are in a range.
func between(low, high float64) func(c *column, p *profile) bool {
	return func(c *column, _ *profile) bool {
		return c.share(c.numbers) > 0.7 && c.least >= low && c.most <= high && c.most != c.least
	}
}

// roles are the roles of columns of a project. A column has at most one.
var roles = []role{
	{
		"key",
		[]string{
			`^permit(num|number|no|id|nbr|nr)?$`, `permit(num|number|no|nbr|id)$`,
			`^(permit|record|case|application|app|folder|file|project|activity|issue)(num|number|no|nbr|id|ref|reference|row|rsn)+$`,
			`^(reference|ref|number|num|no)$`, `permit.*(num|no|id)`, `(num|number|no)$`,
		},
		isKey,
	},
	{"latitude", []string{`^(lat|latitude)$`, `lat(itude)?$`, `^latitude`, `^lat`}, between(-90, 90)},
	{"longitude", []string{`^(lon|lng|long|longitude)$`, `(longitude|lng|lon)$`, `^longitude`}, between(-180, 180)},
	{"point", []string{`^(location|point|geolocation|geopoint|coordinates|geom|latlon|latlng|mappedlocation|thegeom)`}, isPoint},
	{
		"x",
		[]string{
			`^(x|xcoord|xcoordinate|easting|pointx|geometryx|coordx|gisx|xcord|longx)$`,
			`(easting|xcoord|coordx|coordinatesx|xcoordinate|stateplanex|geometryx|centroidx|eastft|xft)$`,
			`(easting|xcoord|coordx)`, ` east `, ` x `,
		},
		isProjected,
	},
	{
		"y",
		[]string{
			`^(y|ycoord|ycoordinate|northing|pointy|geometryy|coordy|gisy|ycord|laty)$`,
			`(northing|ycoord|coordy|coordinatesy|ycoordinate|stateplaney|geometryy|centroidy|northft|yft)$`,
			`(northing|ycoord|coordy)`, ` north `, ` y `,
		},
		isProjected,
	},
	{
		"filed",
		[]string{
			`(applied|application|apply|applicationreceived|received|filed|filing|submitted|submittal|submission|indate|intake|entered|opened|open|lodged|created)(date|on|at|dt)?$`,
			`^(date)?(applied|filed|received|submitted|opened|entered|in)(date)?$`, `appl.*date`,
			`^(app|appl|apply|rcvd|recd|sub|subm)(date|dt)$`,
			`(dateapplied|datefiled|datesubmitted|datereceived|dateentered)`,
			`(opened|created|received|setup|intake|applied)`,
		},
		isDate,
	},
	{
		"completed",
		[]string{
			`(completed|complete|completion|finaled|final|finalled|finaled|closed|close|cofo|coissued|occupancy)(date|on|at|dt)?$`,
			`date(completed|finaled|closed|final)`, `^(co|cofo|fin|finl|compl|comp|cmpl)(date|dt)$`,
			`(complet|final|closed|occup).*`,
		},
		isDate,
	},
	{
		"permitted",
		[]string{
			`^(issue|issued|issuance|permitissued|permitissue)(d)?(date|on|at|dt)?$`, `^date(of)?issue(d)?$`,
			`^(iss|issd)(date|dt)$`, `issu`, `(approved|approval|granted)(date|dt)?$`,
		},
		isDate,
	},
	{"updated", []string{`(updated|modified|lastupdate|lastchange|changed|statusdate|lastedited|editdate)`}, isDate},
	{"asof", []string{`(exportdate|extractdate|asof|dataasof|dataloaded|snapshot|refreshdate|rundate)`}, isDate},
	{
		"status",
		[]string{
			`^(permit)?status(current|desc|description|name|text)?$`, `status`,
			`^(permit|pmt|app)?stat(cd|code|desc)?$`, `^(stage|phase|workflow|currentstate|milestone)`,
		},
		few,
	},
	{"direction", []string{`(street|st|addr|address)?(direction|predir|prefixdirection|stdir|dir|prefix)$`, `address(direction|predir|prefix)$`}, isText},
	{
		"number",
		[]string{
			`^(street|house|st|addr|address|civic|building|bldg|premise|location|loc)(number|num|no|nbr)$`,
			`(streetnumber|housenumber|addrhouse|addresshouse|addressnumber|civicnumber|houseno|streetno)`,
			`^(house|civic)$`,
		},
		isAny,
	},
	{"suffix", []string{`(street|st|addr|address)?(suffix|sttype|streettype|streetsuffix|type1)$`, `address(suffix|type)$`}, isText},
	{
		"street",
		[]string{`^(street|st|addr|address)(name|nm)?$`, `(streetname|stname|roadname|addrstreet|addressstreet)`, `^(street|road)$`},
		isText,
	},
	{"unit", []string{`(unit|suite|apt|apartment)(number|num|no|nbr)?$`}, isAny},
	{
		"address",
		[]string{
			`^(original|site|project|permit|job|property|work|full|street|location|premise|situs|civic|formatted|complete|prim|primary)*(address|addr|addressline|location|address1|addressfull|fulladdress)$`,
			`(fulladdress|siteaddress|projectaddress|jobaddress|originaladdress|locationaddress|permitlocation|streetaddress|addressline1)`,
			`address`, `location`,
		},
		isAddress,
	},
	{"city", []string{`^(original|site|project|job|property|location|permit|place|address|addr)*(city|town|municipality|muni|jurisdiction)(name)?$`, `(city|town|municipality)`}, isText},
	{"state", []string{`^(original|site|project|job|property|location|place|address|addr)*(state|province|stateprovince|prov|st|region)(code|name)?$`}, isText},
	{"url", []string{`(url|link|href|website|web)`}, func(c *column, _ *profile) bool { return c.share(c.urls) > 0.5 }},
	{
		"units",
		[]string{
			`(residential|res|dwelling|housing|living|num|number|of|total|new|net)*(units|unit|dwellings|dwellingunits|housingunits|dus|du|resunits)(count|added|proposed|total)?$`,
			`(numberofunits|unitcount|nounits|resunits|housingunits|dwellingunit)`,
		},
		isNumber,
	},
	{"stories", []string{`(stories|storeys|floors|noofstories|storycount|numberofstories|levels)`}, isNumber},
	{
		"cost",
		[]string{
			`(job|project|est|estimated|construction|const|constr|construct|total|declared|work|permit|building|improvement|contract)*(value|cost|valuation|projectcost|amount|jobvalue|constructvalue)$`,
			`(valuation|estprojectcost|constructioncost|jobvalue|projectvalue|estimatedcost|constructvalue|declaredvalue|estcost)`,
			`(cost|value)`,
		},
		isNumber,
	},
	{"sqft", []string{`(total|building|bldg|new|gross|floor|add|living|project)*(sqft|squarefeet|squarefootage|squarefoot|floorarea|sqfeet|totalsqft|area|gfa|sf|footage|sqm|m2)$`, `(sqft|squarefe|squarefoot|floorarea|footage)`}, isNumber},
	{
		"description",
		[]string{
			`^(work|permit|project|proj|prj|job|full|scope)*(description|desc|descriptionofwork|workproposed|proposedwork|comments|scope|scopeofwork|workdescription|workdesc|notes|narrative|detail|details|proposal)$`,
			`(description|workdesc|descofwork|scopeofwork|proposal|purpose)`, `(desc|comments|notes|remarks)`,
		},
		isText,
	},
	{"use", []string{`(use|usage|occupancy|propertyuse|proposeduse|buildinguse|permitclass|class|category|structure|buildingtype|bldgtype|propertytype|landuse|subtype|subdesc|worktype|typeofwork)`, `(type|group|kind)`}, few},
	{
		"kind",
		[]string{
			`^(permit|folder|record|case|application|work)(type|subtype|class|kind|typedesc|typedescription|typename)$`,
			`^(type|pmttype|permittype)(desc|description|name)$`,
			`(permittype|recordtype|foldertype|casetype|apptype|worktype|typedesc)`, `(type|subtype|class)`,
		},
		few,
	},
}

// isAddress reports whether most values have a number and a word, like street addresses.
func isAddress(c *column, _ *profile) bool {
	n := 0
	for v := range c.counts {
		if strings.ContainsAny(v, "0123456789") && strings.Contains(v, " ") && !pointLike.MatchString(v) {
			n++
		}
	}
	return n*2 > len(c.counts)
}

func isPoint(c *column, _ *profile) bool {
	n := 0
	for v := range c.counts {
		if pointLike.MatchString(v) {
			n++
		}
	}
	return n > 0 && n*2 > len(c.counts)
}

var pointLike = regexp.MustCompile(`-?\d{1,3}\.\d+[ ,]+-?\d{1,3}\.\d+`)

// isProjected reports whether the numbers may be of a projected system, or degrees in x and y.
func isProjected(c *column, _ *profile) bool {
	return c.share(c.numbers) > 0.7 && c.most != c.least
}

// assign gives each role the column that fits best: the one whose name fits a better
// pattern, then the one with more values.
func (p *profile) assign() map[string]*column {
	taken := map[*column]bool{}
	of := map[string]*column{}
	for _, r := range roles {
		var best *column
		bestRank := len(r.by)
		for rank, pattern := range r.by {
			re := regexp.MustCompile(pattern)
			for _, c := range p.columns {
				if taken[c] || c.filled == 0 || rank > bestRank || !re.MatchString(c.letter) && !re.MatchString(c.spaced) || !r.fits(c, p) {
					continue
				}
				if c.private || p.ofParticipant(c) {
					continue
				}
				if best == nil || rank < bestRank || better(r.name, c, best) {
					best, bestRank = c, rank
				}
			}
			if best != nil {
				break
			}
		}
		if best != nil {
			taken[best] = true
			of[r.name] = best
		}
	}
	return of
}

// participant matches words in names of columns about participants, such as
// contractor_city.
var participant = regexp.MustCompile(`(contractor|builder|owner|applicant|architect|engineer|agent|contact|licensee|company|business|firm)`)

// ofParticipant reports whether a column describes a participant and not the project.
func (p *profile) ofParticipant(c *column) bool {
	if participant.MatchString(c.letter) {
		return true
	}
	for pattern, most := range p.numbered {
		for n := 1; n <= most; n++ {
			if strings.Replace(pattern, "#", strconv.Itoa(n), 1) == c.name && !strings.Contains(strings.ToLower(pattern), "addr") {
				return true
			}
		}
	}
	return false
}

func better(role string, a, b *column) bool {
	if role == "key" && a.unique() != b.unique() {
		return a.unique() > b.unique()
	}
	if a.filled != b.filled {
		return a.filled > b.filled
	}
	return false
}

// groups counts the columns whose names differ only by a number, such as CONTRACTOR_1_NAME,
// by the pattern of their name, with # for the number.
func (p *profile) groups() map[string]int {
	most := map[string]int{}
	for _, c := range p.columns {
		for _, at := range numbered.FindAllStringSubmatchIndex(c.name, -1) {
			pattern := c.name[:at[2]] + "#" + c.name[at[3]:]
			n := 0
			for _, d := range c.name[at[2]:at[3]] {
				n = n*10 + int(d-'0')
			}
			most[pattern] = max(most[pattern], n)
		}
	}
	for pattern, n := range most {
		if n < 2 || n > 100 || p.byName[strings.Replace(pattern, "#", "1", 1)] == nil {
			delete(most, pattern)
		}
	}
	return most
}

var numbered = regexp.MustCompile(`[^0-9]([0-9]{1,2})(?:[^0-9]|$)`)
