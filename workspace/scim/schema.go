package scim

import "strings"

// The URNs of schemas and messages.
const (
	UserSchema       = "urn:ietf:params:scim:schemas:core:2.0:User"
	GroupSchema      = "urn:ietf:params:scim:schemas:core:2.0:Group"
	EnterpriseSchema = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
	PatchMessage     = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
	ListMessage      = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
	ErrorMessage     = "urn:ietf:params:scim:api:messages:2.0:Error"
)

type kind uint8

const (
	text kind = iota
	boolean
	moment // a time, which the server sets
	complexKind
	// foreign attributes are accepted, but neither stored nor returned: Atlas needs less of a
	// person than a provider has.
	foreign
)

// attribute is an attribute of a resource.
type attribute struct {
	name, about string
	kind        kind
	// multi attributes are lists, exact ones are case-sensitive.
	multi, exact, required, unique bool
	// readOnly attributes are set by the server: in a body they are ignored.
	readOnly bool
	sub      []attribute
}

// schema is the schema of a kind of resource.
type schema struct {
	urn, name, about string
	attributes       []attribute
	// extensions are schemas whose values are not stored.
	extensions []string
}

var common = []attribute{
	{name: "id", about: "Atlas names it.", exact: true, readOnly: true, unique: true},
	{name: "schemas", kind: foreign, readOnly: true},
	{name: "meta", kind: complexKind, readOnly: true, sub: []attribute{
		{name: "created", kind: moment, readOnly: true}, {name: "lastModified", kind: moment, readOnly: true},
		{name: "resourceType", readOnly: true, kind: foreign}, {name: "location", readOnly: true, kind: foreign},
		{name: "version", readOnly: true, kind: foreign},
	}},
}

var userSchema = schema{
	urn: UserSchema, name: "User", about: "A person", extensions: []string{EnterpriseSchema},
	attributes: append([]attribute{
		{name: "userName", about: "Names the person at the provider.", required: true, unique: true},
		{name: "externalId", about: "The provider's own id of the person.", exact: true, unique: true},
		{name: "active", about: "False ends the membership.", kind: boolean},
		{name: "displayName", about: "The name as it is shown."},
		{name: "name", about: "The parts of the name.", kind: complexKind, sub: append([]attribute{
			{name: "formatted", about: "The whole name."}, {name: "familyName", about: "The family name."},
			{name: "givenName", about: "The given name."},
		}, foreigners("middleName honorificPrefix honorificSuffix")...)},
		{name: "emails", about: "The addresses. The person signs in with the primary one, else with that of their work.",
			kind: complexKind, multi: true, sub: []attribute{
				{name: "value", about: "The address.", required: true}, {name: "type", about: "Such as work or home."},
				{name: "display", about: "A name for it."}, {name: "primary", about: "True for at most one.", kind: boolean},
			}},
		{name: "groups", kind: foreign, readOnly: true},
	}, append(common, foreigners("nickName profileUrl title userType preferredLanguage locale timezone password phoneNumbers ims photos "+
		"addresses entitlements roles x509Certificates")...)...),
}

var groupSchema = schema{
	urn: GroupSchema, name: "Group", about: "A group of people",
	attributes: append([]attribute{
		{name: "displayName", about: "The name of the group.", required: true, unique: true},
		{name: "externalId", about: "The provider's own id of the group.", exact: true},
		{name: "members", about: "The people in it.", kind: complexKind, multi: true, sub: append([]attribute{
			{name: "value", about: "The id of a User.", exact: true, required: true},
		}, foreigners("$ref display type")...)},
	}, common...),
}

func foreigners(names string) (all []attribute) {
	for _, name := range strings.Fields(names) {
		all = append(all, attribute{name: name, kind: foreign})
	}
	return all
}

// find returns the attribute with a name, case-insensitively.
func find(all []attribute, name string) *attribute {
	name = lower(name)
	for i := range all {
		if lower(all[i].name) == name {
			return &all[i]
		}
	}
	return nil
}

// foreignAttribute stands for every attribute that is not stored.
var foreignAttribute = attribute{name: "foreign", kind: foreign}

// within returns the sub-attribute with a name, nil for none.
func (a *attribute) within(name string) *attribute {
	if a.kind == foreign {
		return &foreignAttribute
	}
	return find(a.sub, name)
}

// ofSchema splits the URN of a schema off a name. extension means that nothing of that schema
// is stored. ok is false for the URN of a schema that the resource does not have.
func (s *schema) ofSchema(name string) (rest string, extension, ok bool) {
	if len(name) < 4 || lower(name[:4]) != "urn:" {
		return name, false, true
	}
	for _, urn := range append([]string{s.urn}, s.extensions...) {
		if len(name) >= len(urn) && lower(name[:len(urn)]) == lower(urn) && (len(name) == len(urn) || name[len(urn)] == ':') {
			return strings.TrimPrefix(name[len(urn):], ":"), urn != s.urn, true
		}
	}
	return name, false, false
}

// object is a resource, or one of its complex values. It has a string, a bool, an object or a
// list of objects by the name of the attribute, and no key for an absent value.
type object map[string]any
