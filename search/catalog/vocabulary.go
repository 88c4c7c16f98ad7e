package catalog

import "slices"

// Vocabulary is the closed list of values of an enum field.
type Vocabulary []Term

// Term is one value of a Vocabulary, with its label for people.
type Term struct {
	Value       string `json:"value"`
	Label       string `json:"label"`
	Description string `json:"description"`
}

// Has reports whether the vocabulary has the value, exactly as written.
func (v Vocabulary) Has(value string) bool {
	return slices.ContainsFunc(v, func(t Term) bool { return t.Value == value })
}

// Values lists the values in the vocabulary's order.
func (v Vocabulary) Values() []string {
	values := make([]string, len(v))
	for i, t := range v {
		values[i] = t.Value
	}
	return values
}

// Label is the label of a value, the value itself when it is unknown.
func (v Vocabulary) Label(value string) string {
	for _, t := range v {
		if t.Value == value {
			return t.Label
		}
	}
	return value
}

// The closed vocabularies of docs/api.md, "Enumerations".
var (
	Stages = Vocabulary{
		{"pre_filing", "Pre-filing", "Known before any permit was filed"},
		{"filed", "Filed", "A permit application was filed"},
		{"under_review", "Under review", "The authority is reviewing the application"},
		{"approved", "Approved", "Approved, the permit not yet issued"},
		{"permitted", "Permitted", "The permit was issued"},
		{"under_construction", "Under construction", "Work on site has begun"},
		{"completed", "Completed", "The work is finished"},
	}
	Dispositions = Vocabulary{
		{"active", "Active", "Going ahead"},
		{"on_hold", "On hold", "Paused, not given up"},
		{"cancelled", "Cancelled", "Given up by its owner"},
		{"expired", "Expired", "The permit lapsed"},
		{"refused", "Refused", "The authority refused it"},
	}
	AccountTypes = Vocabulary{
		{"developer", "Developer", "Initiates and finances projects"},
		{"owner", "Owner", "Owns the property"},
		{"general_contractor", "General contractor", "Runs the construction site"},
		{"subcontractor", "Subcontractor", "Does a trade's part of the work"},
		{"architect", "Architect", "Designs buildings"},
		{"engineer", "Engineer", "Designs structure or services"},
		{"lender", "Lender", "Lends money for projects"},
		{"broker", "Broker", "Brokers property or leases"},
		{"supplier", "Supplier", "Supplies material or equipment"},
		{"public_agency", "Public agency", "A public body"},
		{"other", "Other", "None of the other types"},
	}
	PrimaryUses = Vocabulary{
		{"single_family", "Single family", "A house for one household"},
		{"multifamily", "Multifamily", "Several dwellings"},
		{"mixed_use", "Mixed use", "Several uses in one project"},
		{"office", "Office", "Offices"},
		{"retail", "Retail", "Shops and restaurants"},
		{"industrial", "Industrial", "Production, storage, logistics"},
		{"hospitality", "Hospitality", "Hotels and the like"},
		{"healthcare", "Healthcare", "Hospitals, clinics, care"},
		{"education", "Education", "Schools and universities"},
		{"institutional", "Institutional", "Public and institutional buildings"},
		{"infrastructure", "Infrastructure", "Roads, utilities, transport"},
		{"other", "Other", "None of the other uses"},
	}
	GCStatuses = Vocabulary{
		{"assigned", "Assigned", "A general contractor is known"},
		{"unassigned", "Unassigned", "Known to have no general contractor yet"},
		{"unknown", "Unknown", "Not known whether there is one"},
	}
	ContactRoles = Vocabulary{
		{"owner", "Owner", "Owns the firm or the property"},
		{"executive", "Executive", "Leads the firm"},
		{"developer", "Developer", "Develops projects"},
		{"project_manager", "Project manager", "Manages projects"},
		{"architect", "Architect", "Designs buildings"},
		{"engineer", "Engineer", "Designs structure or services"},
		{"estimator", "Estimator", "Estimates cost"},
		{"superintendent", "Superintendent", "Runs the site"},
		{"broker", "Broker", "Brokers property or leases"},
		{"lender", "Lender", "Lends money"},
		{"public_official", "Public official", "Works for a public body"},
		{"other", "Other", "None of the other roles"},
	}
	ContactStatuses = Vocabulary{
		{"active", "Active", "Known to be in this position"},
		{"inactive", "Inactive", "No longer in this position"},
		{"unverified", "Unverified", "Not verified yet"},
	}
	SignalTypes = Vocabulary{
		{"permit_filed", "Permit filed", "A permit application was filed"},
		{"permit_issued", "Permit issued", "A permit was issued"},
		{"construction_started", "Construction started", "Work on site began"},
		{"project_completed", "Project completed", "The work was finished"},
		{"project_on_hold", "Project on hold", "The project was paused"},
		{"project_cancelled", "Project cancelled", "The project was given up"},
		{"permit_expired", "Permit expired", "The permit lapsed"},
		{"gc_assigned", "Contractor assigned", "A general contractor became known"},
		{"cost_changed", "Cost changed", "The estimated cost changed"},
		{"stage_changed", "Stage changed", "The project reached another stage"},
	}
	ICPTiers = Vocabulary{
		{"tier_1", "Tier 1", "Fits the ideal customer profile best"},
		{"tier_2", "Tier 2", "Fits well"},
		{"tier_3", "Tier 3", "Fits in part"},
		{"disqualified", "Disqualified", "Not a customer to win"},
	}
	Trends = Vocabulary{
		{"rising", "Rising", "More signals than before"},
		{"steady", "Steady", "About as many signals as before"},
		{"falling", "Falling", "Fewer signals than before"},
	}
)
