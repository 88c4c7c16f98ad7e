package scim

import (
	"strconv"
	"strings"
	"time"

	"atlas/workspace"
)

// Base is where the resources are, from the root of the service.
const Base = "/scim/v2"

// Selection says which attributes of a resource an answer has (RFC 7644, 3.9). The zero value
// is all of them.
type Selection struct {
	only, without []path
	limited       bool
}

// selection parses the parameters attributes and excludedAttributes; "" is left out. Unknown
// names of attributes are ignored.
func (s *schema) selection(attributes, excluded string) (Selection, error) {
	if attributes != "" && excluded != "" {
		return Selection{}, refuse(InvalidValue, "give attributes or excludedAttributes, not both")
	}
	return Selection{s.paths(attributes), s.paths(excluded), attributes != ""}, nil
}

// SelectUser is the selection of users, SelectGroup that of groups.
func SelectUser(attributes, excluded string) (Selection, error) {
	return userSchema.selection(attributes, excluded)
}

// SelectGroup is SelectUser for groups.
func SelectGroup(attributes, excluded string) (Selection, error) {
	return groupSchema.selection(attributes, excluded)
}

// maxSelected limits the names of a selection.
const maxSelected = 50

func (s *schema) paths(names string) (all []path) {
	for i, name := range strings.Split(names, ",") {
		if p, err := parsePath(s, strings.TrimSpace(name)); err == nil && p.filter == nil && i < maxSelected {
			all = append(all, p)
		}
	}
	return all
}

// Has reports whether the answer has an attribute.
func (s Selection) Has(name string) bool {
	for _, p := range s.without {
		if p.attribute.name == name && p.sub == nil {
			return false
		}
	}
	if !s.limited {
		return true
	}
	for _, p := range s.only {
		if p.attribute.name == name {
			return true
		}
	}
	return false
}

// of returns what of an object is selected.
func (s Selection) of(o object) object {
	chosen := object{}
	for name, v := range o {
		if name == "id" || name == "schemas" || s.Has(name) {
			chosen[name] = s.part(name, v)
		}
	}
	return chosen
}

func (s Selection) part(name string, v any) any {
	switch v := v.(type) {
	case object:
		part := object{}
		for sub, value := range v {
			if s.hasPart(name, sub) {
				part[sub] = value
			}
		}
		return part
	case []object:
		list := make([]any, len(v))
		for i, each := range v {
			list[i] = s.part(name, each)
		}
		return list
	}
	return v
}

func (s Selection) hasPart(name, sub string) bool {
	for _, p := range s.without {
		if p.attribute.name == name && p.sub != nil && p.sub.name == sub {
			return false
		}
	}
	if !s.limited {
		return true
	}
	for _, p := range s.only {
		if p.attribute.name == name && (p.sub == nil || p.sub.name == sub) {
			return true
		}
	}
	return false
}

// Resource is a resource of an answer.
type Resource = map[string]any

func (s Selection) resource(o object, of, urn, location, version string) Resource {
	o["schemas"] = []string{urn}
	about := o["meta"].(object)
	about["resourceType"], about["location"], about["version"] = of, location, version
	return Resource(s.of(o))
}

// ETag is the version of a resource as an ETag.
func ETag(version int) string { return `W/"` + strconv.Itoa(version) + `"` }

// Location is the address of the user, for a service at root.
func (u User) Location(root string) string { return root + Base + "/Users/" + idText(u.ID) }

// Location is the address of the group.
func (g Group) Location(root string) string { return root + Base + "/Groups/" + idText(g.ID) }

// Resource returns the user in the form of an answer.
func (u User) Resource(root string, s Selection) Resource {
	return s.resource(u.object(), "User", UserSchema, u.Location(root), ETag(u.Version))
}

// Resource returns the group in the form of an answer.
func (g Group) Resource(root string, s Selection) Resource {
	o := g.object()
	if list, ok := o["members"].([]object); ok {
		for _, m := range list {
			m["type"], m["$ref"] = "User", root+Base+"/Users/"+m["value"].(string)
		}
	}
	return s.resource(o, "Group", GroupSchema, g.Location(root), ETag(g.Version))
}

// List is a page of resources (RFC 7644, 3.4.2).
type List struct {
	Schemas      []string   `json:"schemas"`
	TotalResults int        `json:"totalResults"`
	StartIndex   int        `json:"startIndex"`
	ItemsPerPage int        `json:"itemsPerPage"`
	Resources    []Resource `json:"Resources"`
}

// Page says which resources of a list an answer has. Start counts from 1.
type Page struct{ Start, Count int }

// ReadPage parses startIndex and count; "" is left out. It clamps values out of range, as the
// standard requires.
func ReadPage(start, count string) (p Page, err error) {
	read := func(name, given string, otherwise, least, most int) (int, error) {
		if given == "" {
			return otherwise, nil
		}
		n, err := strconv.Atoi(given)
		if err != nil {
			return 0, refuse(InvalidValue, "%s must be a whole number", name)
		}
		return min(max(n, least), most), nil
	}
	if p.Start, err = read("startIndex", start, 1, 1, MaxUsers+1); err != nil {
		return p, err
	}
	p.Count, err = read("count", count, 100, 0, MaxPage)
	return p, err
}

// of returns the elements of a page.
func pageOf[T any](p Page, all []T) []T {
	from := min(p.Start-1, len(all))
	return all[from:min(from+p.Count, len(all))]
}

// ListOf returns an answer with a page of all resources.
func ListOf[T any](p Page, all []T, resource func(T) Resource) List {
	page := pageOf(p, all)
	l := List{[]string{ListMessage}, len(all), p.Start, len(page), make([]Resource, len(page))}
	for i, each := range page {
		l.Resources[i] = resource(each)
	}
	return l
}

// PageOfGroups returns the groups of a page. With their members, it ends before the groups have
// more than MaxMembers together.
func PageOfGroups(p Page, all []Group, members bool) []Group {
	page, sum := pageOf(p, all), 0
	for i, g := range page {
		if sum += g.Size; members && i > 0 && sum > MaxMembers {
			return page[:i]
		}
	}
	return page
}

// ServiceProviderConfig lists the supported parts of SCIM. docs is the address of the
// documentation.
func ServiceProviderConfig(root, docs string) Resource {
	supported := func(is bool) Resource { return Resource{"supported": is} }
	return Resource{
		"schemas":          []string{"urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"},
		"documentationUri": docs,
		"patch":            supported(true), "changePassword": supported(false), "sort": supported(false), "etag": supported(true),
		"bulk":   Resource{"supported": false, "maxOperations": 0, "maxPayloadSize": 0},
		"filter": Resource{"supported": true, "maxResults": MaxPage},
		"authenticationSchemes": []Resource{{
			"type": "oauthbearertoken", "name": "Token", "primary": true,
			"description": "A token of the workspace: Authorization: Bearer " + workspace.SCIMTokenStart + "…",
		}},
		"meta": Resource{"resourceType": "ServiceProviderConfig", "location": root + Base + "/ServiceProviderConfig"},
	}
}

// ResourceTypes are the kinds of resources, by their ids.
func ResourceTypes(root string) []Resource {
	var all []Resource
	for _, s := range []schema{userSchema, groupSchema} {
		extensions := []Resource{}
		for _, urn := range s.extensions {
			extensions = append(extensions, Resource{"schema": urn, "required": false})
		}
		all = append(all, Resource{
			"schemas": []string{"urn:ietf:params:scim:schemas:core:2.0:ResourceType"},
			"id":      s.name, "name": s.name, "description": s.about, "endpoint": "/" + s.name + "s", "schema": s.urn,
			"schemaExtensions": extensions,
			"meta":             Resource{"resourceType": "ResourceType", "location": root + Base + "/ResourceTypes/" + s.name},
		})
	}
	return all
}

// Schemas are the schemas, with the stored attributes only.
func Schemas(root string) []Resource {
	var all []Resource
	for _, s := range []schema{userSchema, groupSchema} {
		all = append(all, Resource{
			"schemas": []string{"urn:ietf:params:scim:schemas:core:2.0:Schema"},
			"id":      s.urn, "name": s.name, "description": s.about, "attributes": described(s.attributes),
			"meta": Resource{"resourceType": "Schema", "location": root + Base + "/Schemas/" + s.urn},
		})
	}
	return all
}

func described(attributes []attribute) []Resource {
	all := []Resource{}
	for _, a := range attributes {
		if a.kind == foreign || a.readOnly {
			continue
		}
		r := Resource{
			"name": a.name, "description": a.about, "type": [...]string{"string", "boolean", "dateTime", "complex"}[a.kind],
			"multiValued": a.multi, "required": a.required, "caseExact": a.exact, "mutability": "readWrite", "returned": "default",
			"uniqueness": map[bool]string{true: "server", false: "none"}[a.unique],
		}
		if a.kind == complexKind {
			r["subAttributes"] = described(a.sub)
		}
		all = append(all, r)
	}
	return all
}

// Error is an error in the form of an answer (RFC 7644, 3.12).
type Error struct {
	Schemas  []string `json:"schemas"`
	Status   string   `json:"status"`
	SCIMType Type     `json:"scimType,omitempty"`
	Detail   string   `json:"detail"`
}

// ErrorOf returns the error of an answer with a status.
func ErrorOf(status int, t Type, detail string) Error {
	return Error{[]string{ErrorMessage}, strconv.Itoa(status), t, detail}
}

// storedNow is the time of a change.
func storedNow(now func() time.Time) time.Time { return workspace.Clock(now)() }
