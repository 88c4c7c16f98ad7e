package match

import (
	"strings"

	"atlas/search/catalog"
	tables "atlas/search/words"
)

// class is the role of a word in a firm's name.
type class uint8

const (
	core   class = iota // what distinguishes the firm: "trico"
	number              // digits alone: "1824457"
	trade               // what a firm does, common to many: "homes"
	place               // a province, a country, or the city of the record or the input
	filler              // joins words: "by"
	legal               // the legal form: "inc"
)

// forms are legal forms, by their spellings; equal ones have one value.
var forms = catalog.LegalForms

// canonical maps spellings of a word to one. The common spelling comes before the colon.
var canonical = table(`
construction: const constr constrution construct
contracting: contr
contractor: contr
renovation: reno renov renos renovate renovating renovator
development: dev devt dvlpmt develop
developer: devs
management: mgmt mgt mngmt
service: svc svcs srvcs serv
architect: arch architecture architectural
builder: bldr bldrs
building: bldg bldgs
home: hm hms
design: des dsgn
designer: desgnr
electric: elec elect electrical electrician
mechanical: mech
engineering: eng engg engr engineer
enterprise: ent entr enterprize
group: grp
brother: bro bros
association: assn assoc
associate: associates assocs
international: intl
manufacturing: mfg
distribution: dist
property: prop
industry: ind inds industrie
industrial: indl
investment: inv invt
holding: hldg hldgs
restoration: resto
improvement: improv
landscaping: landscape landscaper
plumbing: plumb plumber
heating: htg
commercial: comm
residential: resid
national: natl
mountain: mtn mt
saint: st
center: centre ctr
technology: tech
system: sys
supply: supplies
general: gen
excavating: excavation exc
custom: cust
interior: int
exterior: ext
community: comms communitie
studio: stu
`)

// trades are words that many firms have in their names. Other words are distinctive.
var trades = set(`
home construction contracting contractor renovation development developer management service architect builder
building design designer electric mechanical engineering enterprise group brother association associate international
manufacturing distribution property industry industrial investment holding restoration improvement landscaping
plumbing heating commercial residential interior exterior community studio general custom excavating project solution
drafting roofing siding concrete window door basement garage deck fence fencing cabinet kitchen flooring painting
painter drywall stucco masonry demolition remodeling remodelling living luxury estate homebuilder house housing
carpentry woodwork millwork finishing maintenance cooling hvac air gas power energy solar fire safety security
consulting consultant planner planning partner partnership capital venture trading trade supply material product
equipment rental rent transport trucking hauling moving moving cleaning system technology technologies wireless
medical dental clinic health care restaurant bar cafe pizza grill bakery food foods auto repair salon spa fitness
church society foundation school college university real realty infill townhome condo condominium multi family
urban modern quality professional affordable master signature pro premium elite superior classic creative
infrastructure developments structure structural steel glass metal wood stone tile floor foundation framing
bathroom shed pool patio railing rail landscape yard tree garden lawn art license licensed licenced handyman inspection permit
built build fabrication installation install insulation paving asphalt drilling welding machine tool print
media marketing software data digital network logistic shipping travel insurance mortgage finance financial
bank law legal accounting tax education training daycare child hotel inn motel store shop market mart retail
wholesale farm ranch pet animal veterinary pharmacy optical beauty hair nail tattoo liquor brewery vape
geomatics survey surveying environmental environment mining oil petroleum pipeline resource water waste recycling
`)

// places are words of provinces and countries. Those of the city are added.
var places = words(`alberta ab bc ontario quebec qc manitoba saskatchewan yukon nunavut canada usa america british columbia nova scotia brunswick newfoundland`)

// states are provinces and states, by their spellings.
var states = tables.Published.StateSymbols()

// publicHosts are domains of public mail and web services: they do not identify a firm.
var publicHosts = words(`gmail.com googlemail.com hotmail.com hotmail.ca outlook.com live.com live.ca msn.com yahoo.com yahoo.ca ymail.com icloud.com me.com mac.com
aol.com protonmail.com proton.me gmx.com gmx.de web.de mail.com zoho.com yandex.com qq.com 163.com shaw.ca telus.net telusplanet.net rogers.com bell.net sympatico.ca
videotron.ca comcast.net verizon.net att.net sbcglobal.net cox.net facebook.com instagram.com linkedin.com twitter.com x.com youtube.com google.com wixsite.com
wordpress.com blogspot.com linktr.ee houzz.com yelp.com kijiji.ca homestars.com`)

var fillers = words(`by for in at on with to from n y et und und le la les de du des el al`)

// dropped are words without meaning in names.
var dropped = words(`the and of a an`)

// The words between two names of one firm: "1824457 Alberta Ltd o/a Trico Homes".
var aliases = [][]string{
	{"operating", "as"}, {"doing", "business", "as"}, {"trading", "as"}, {"also", "known", "as"}, {"known", "as"},
	{"carrying", "on", "business", "as"},
	{"o", "/", "a"}, {"t", "/", "a"}, {"d", "/", "b", "/", "a"}, {"a", "/", "k", "/", "a"}, {"dba"}, {"aka"}, {"fka"}, {"formerly"},
}

// phrases are legal forms of several words, as tokens.
var phrases = []struct {
	words []string
	form  string
}{
	{[]string{"limited", "partnership"}, "lp"}, {[]string{"general", "partnership"}, "gp"},
	{[]string{"unlimited", "liability", "company"}, "ulc"},
	{[]string{"limited", "liability", "partnership"}, "llp"}, {[]string{"limited", "liability", "company"}, "llc"},
	{[]string{"joint", "venture"}, "jv"}, {[]string{"professional", "corporation"}, "pc"},
}

// nicknames maps short forms of given names to the full ones.
var nicknames = table(`
robert: bob rob bobby
william: bill will billy
richard: rick dick rich
james: jim jimmy jamie
john: jack johnny jon
michael: mike mick
joseph: joe joey
thomas: tom tommy
charles: charlie chuck
christopher: chris
daniel: dan danny
david: dave
edward: ed eddie ted
elizabeth: liz beth betty
katherine: kate kathy katie catherine
margaret: maggie peggy meg
matthew: matt
nicholas: nick
patrick: pat
peter: pete
steven: steve stephen
susan: sue
anthony: tony
andrew: andy
alexander: alex sandy
samuel: sam
benjamin: ben
gregory: greg
jeffrey: jeff geoffrey geoff
jennifer: jen jenny
kenneth: ken
ronald: ron
donald: don
timothy: tim
victoria: vicky
deborah: deb debbie
`)

// table maps each word of a line to the word before its colon.
func table(text string) map[string]string {
	of := map[string]string{}
	for line := range strings.Lines(text) {
		to, from, _ := strings.Cut(line, ":")
		if to = strings.TrimSpace(to); to == "" {
			continue
		}
		of[to] = to
		for _, word := range strings.Fields(from) {
			of[word] = to
		}
	}
	return of
}

func set(text string) map[string]bool {
	of := map[string]bool{}
	for _, word := range strings.Fields(text) {
		of[stem(word)] = true
	}
	return of
}

func words(text string) map[string]bool {
	of := map[string]bool{}
	for _, word := range strings.Fields(text) {
		of[word] = true
	}
	return of
}

// stem removes a final s from a word, if it may be a plural.
func stem(word string) string {
	switch n := len(word); {
	case n > 4 && strings.HasSuffix(word, "ies"):
		return word[:n-3] + "y"
	case n > 3 && word[n-1] == 's' && word[n-2] != 's' && word[n-2] != 'u' && word[n-2] != 'i':
		return word[:n-1]
	}
	return word
}
