package guess

import (
	"regexp"
	"strings"
)

// meaning proposes a value for matching texts.
type meaning struct {
	by    *regexp.Regexp
	value string
}

func meanings(text string) (all []meaning) {
	for line := range strings.Lines(text) {
		value, pattern, _ := strings.Cut(strings.TrimSpace(line), " ")
		if pattern != "" {
			all = append(all, meaning{regexp.MustCompile(`(?i)` + pattern), value})
		}
	}
	return all
}

// statuses propose a stage or a disposition for a city's status, the first that matches.
var statuses = meanings(`
refused \b(denied|denial|refused|rejected|disapproved|not approved)\b
cancelled \b(cancel+ed|cancel|void(ed)?|withdrawn?|withdrew|abandoned|revoked|deleted|rescinded|terminated|w/d|null)\b
expired \b(expired?|expiration|lapsed|stale|closed ?- ?expired|inactive)\b
on_hold \b(hold|held|suspend(ed)?|stop ?work|deferred|incomplete|stayed|paused)\b
completed \b(final(ed|led|ized|ised)?|finals?|complet(ed?|ion)|closed?( out)?|c\.?of\.?o|co issued|occupancy (issued|granted)|certificate (issued|of)|done|finished)\b
under_construction \b(inspections?|inspection phase|under construction|in construction|in progress|construction|started|active construction|pre (board|backfill))\b
under_review \b(review|reviewing|plan ?check|pending|in process|processing|routed|corrections?|resubmit(tal|ted)?|comments?|assessment|fees? due|awaiting|intake|waiting|on-?going)\b
approved \b(approved?|ready (to|for) issu(e|ance)|ready|granted|cleared)\b
permitted \b(issued?|active|permitted|reissued|open|issuance|permit)\b
filed \b(appl(ied|ication)?|filed|received|submit(ted)?|submission|new|created|entered|accepted|lodged|registered|logged|started)\b
`)

// uses propose a primary use for a city's type, class or kind of work.
var uses = meanings(`
mixed_use \b(mixed)
hospitality \b(hotel|motel|inn|hostel|lodging)\b
healthcare \b(hospital|clinic|medical|health ?care|dental|nursing|surgery|care home)\b
education \b(school|educational?|universit|college|daycare|day care|classroom)
multifamily \b(multi|retirement|apartment|apt|townho|town ho|duplex|triplex|fourplex|condo|two[- ]family|three|5 or more|five or more|row ?house|rowhouse|semi|secondary suite|additional dwelling|accessory dwelling|adu|dwelling units|three or four|3 or 4)
single_family \b(single|one[- ]family|1[- ]family|1 ?& ?2|one and two|detached|sfd|sfr|garage|carport|deck|pool|house|home|residential|res|residence|dwelling|manufactured)\b
office \b(offices?|bank|professional)\b
retail \b(retail|restaurant|stores?|shops?|mercantile|mall|bar|food|merchandis)
industrial \b(industrial|warehouse|factory|manufactur|storage|processing plant)
institutional \b(institution|church|religious|worship|government|public|civic|assembly|library|museum|fire station|police)
infrastructure \b(tower|bridge|utilit|road|sewer|water main|telecom|antenna|infrastructure|site work|grading|retaining wall|street)
other \b(sign|signs|banner|fence|tent|temporary|demolition|demo|special event)\b
`)

// roleTypes propose an account type for the name of a role, or of a column.
var roleTypes = meanings(`
owner (own(er)?.*(general|gc|contractor|builder)|homeowner)
general_contractor (general ?contractor|general|prime|builder|^gc$|^contractors?$|contractor-general|main contractor)
architect (architect)
engineer (engineer)
developer (developer)
subcontractor (electric|plumb|mechanical|hvac|roof|mason|sub ?contractor|fire|elevator|vent|refriger|sewer|concrete|carpent|drywall|contractor)
owner (owner|tenant|lessee|occupant|property)
lender (lender|bank)
public_agency (agency|city|county|public)
other (applicant|agent|expedit|contact|representative|business|company|firm|professional|licen|design|person|other)
`)

// proposed is the proposal of the first match, "" without a match.
func proposed(all []meaning, text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '_' || r == ' ' || r == '\t' }), " ")
	for _, m := range all {
		if m.by.MatchString(text) {
			return m.value
		}
	}
	return ""
}
