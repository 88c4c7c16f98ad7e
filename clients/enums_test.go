package clients

import (
	"flag"
	"fmt"
	"go/format"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/search/catalog"
)

var update = flag.Bool("update", false, "write what is generated again")

// enum is a closed list of values of the API as a type of the Go client.
type enum struct {
	name, prefix string
	doc          string
	// terms are those of the catalog, path is where the OpenAPI document has the others.
	terms catalog.Vocabulary
	path  string
}

var enums = []enum{
	{"Stage", "Stage", "how far a project is", catalog.Stages, ""},
	{"Disposition", "Disposition", "whether a project goes ahead", catalog.Dispositions, ""},
	{"PrimaryUse", "Use", "what most of a project is for", catalog.PrimaryUses, ""},
	{"GCStatus", "GC", "whether a project has a general contractor", catalog.GCStatuses, ""},
	{"AccountType", "AccountType", "a kind of company", catalog.AccountTypes, ""},
	{"ContactRole", "ContactRole", "what a person does", catalog.ContactRoles, ""},
	{"ContactStatus", "Contact", "whether a person is still in the position", catalog.ContactStatuses, ""},
	{"SignalType", "Signal", "a kind of event", catalog.SignalTypes, ""},
	{"ICPTier", "ICP", "how well a company fits the workspace's ideal customer", catalog.ICPTiers, ""},
	{"Trend", "Trend", "where the signals of a company go", catalog.Trends, ""},
	{"DatasetName", "Dataset", "the name of a dataset, or of the fields of a book", nil, "DescriptorDataset"},
	{"FieldKind", "Field", "the kind of a field, which decides what its filter takes", nil, "Descriptor.kind"},
	{"Words", "Words", "how the words of a query match", nil, "AccountSearchRequest.words"},
	{"Typos", "Typos", "whether a query also finds similar terms", nil, "AccountSearchRequest.typos"},
	{"Order", "Order", "the direction of a sort", nil, "AccountSort.order"},
	{"MeasureOf", "Measure", "how a Measure combines numbers", nil, "AccountPivotRequestMeasure.of"},
	{"PivotGroupKind", "GroupOf", "which records are in a PivotGroup", nil, "PivotGroup.group"},
	{"TileKind", "Tile", "what a tile shows", nil, "TileKind"},
	{"TileSource", "TileOf", "where the records of a tile are", nil, "TileSource"},
	{"Interval", "Interval", "the width of a bucket of dates", nil, "AccountDateFacet.interval"},
	{"ViewDataset", "ViewOf", "the dataset of a View", nil, "ViewDataset"},
	{"ViewType", "View", "how a View selects records", nil, "ViewType"},
	{"Role", "Role", "the role of a user in a workspace", nil, "Role"},
	{"InvitationStatus", "Invitation", "the state of an invitation", nil, "Invitation.status"},
	{"LetterStatus", "Letter", "the state of the e-mail of an invitation", nil, "CreateInvitationDataLetter.status"},
	{"LetterLimit", "PacedBy", "the limit that delays or withholds an e-mail", nil, "CreateInvitationDataLetter.paced_by"},
	{"Channel", "Channel", "where alerts go", nil, "SignalSubscriptionDelivery.channels"},
	{"Frequency", "Frequency", "how often alerts are sent", nil, "SignalSubscriptionDelivery.frequency"},
	{"SkillScope", "Skill", "who may see a Skill", nil, "Skill.scope"},
	{"SkillStatus", "Skill", "whether a Skill is found", nil, "Skill.status"},
	{"Event", "Event", "what a webhook is notified of", nil, "WebhookDelivery.event"},
	{"DeliveryStatus", "Delivery", "the state of a delivery", nil, "WebhookDelivery.status"},
	{"KeyScope", "Scope", "what an API key may do", nil, "KeyScope"},
	{"KeyState", "Key", "what an API key is now", nil, "ApiKey.state"},
	{"SCIMTokenState", "Token", "what a token for SCIM is now", nil, "ScimToken.state"},
	{"ProvisioningState", "Provisioned", "what a person of the identity provider is in the workspace", nil, "ProvisionedPerson.state"},
	{"PrincipalKind", "Principal", "what acted", nil, "AuditPrincipal.kind"},
	{"MatchStatus", "", "what a match found for an input", nil, "MatchStatus"},
	{"Verdict", "Verdict", "how a member of an input compares with a record", nil, "MatchReason.verdict"},
	{"Op", "Op", "what happened to a record, or to a thing of the workspace", nil, "AccountChange.op"},
	{"ChangeKind", "Kind", "what changed in the workspace", nil, "WorkspaceChange.kind"},
}

// described are comments of values that the document does not describe.
var described = map[string]string{
	"OpUpsert": "it is new or has other values", "OpDelete": "it is gone",
	"OpMerge": "it is gone, because it became another", "OpLeave": "it does not match the filters",
	"Matched": "the first candidate is well ahead of all others", "Ambiguous": "another record fits about as well",
	"NoMatch":     "there is no candidate",
	"KindOverlay": "the workspace's data on a record of its book", "KindMembership": "a record in a Static View",
	"LetterDue": "being sent", "LetterDelayed": "until DueAt",
	"LetterWithheld": "it would be sent after the invitation expires", "LetterNone": "the service sends no e-mail",
	"EventWebhookTest": "by Webhooks.Test alone",
}

// The closed lists of the Go client are those of the catalog and of the OpenAPI document.
// -update writes them. It is not parallel, so that TestSurface then reads what was written.
func TestEnums(t *testing.T) {
	var b strings.Builder
	b.WriteString("// Code generated by go test ./clients -run TestEnums -update. DO NOT EDIT.\n\npackage client\n")
	for _, e := range enums {
		terms := e.terms
		if terms == nil {
			for _, value := range enumAt(t, e.path) {
				terms = append(terms, catalog.Term{Value: value})
			}
		}
		fmt.Fprintf(&b, "\n// %s is %s. A newer service may answer others.\ntype %[1]s string\n\n// The values of %[1]s.\nconst (\n", e.name, e.doc)
		for _, term := range terms {
			name := e.prefix + exported(term.Value)
			fmt.Fprintf(&b, "\t%s %s = %q", name, e.name, term.Value)
			if d := term.Description + described[name]; d != "" {
				b.WriteString(" // " + d)
			}
			b.WriteByte('\n')
		}
		b.WriteString(")\n")
	}
	want, err := format.Source([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "../client/enums.go", want)
}

// golden compares a file with what it should be, or writes it.
func golden(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got); -update writes it:\n%s", path, diff)
	}
}

// exported is a value as a part of a Go name.
func exported(value string) string {
	var b strings.Builder
	for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return strings.ContainsRune("_.:", r) }) {
		switch part {
		case "gc", "id", "icp", "url":
			b.WriteString(strings.ToUpper(part))
		case "ids":
			b.WriteString("IDs")
		default:
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}

// enumAt returns the values that a schema of the OpenAPI document, or a member of one,
// allows.
func enumAt(t *testing.T, path string) []string {
	t.Helper()
	schema, member, _ := strings.Cut(path, ".")
	at := document(t).Components.Schemas[schema]
	if member != "" {
		at = at.Properties[member]
	}
	return at.values(t)
}
