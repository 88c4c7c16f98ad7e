package scim

import (
	"strings"

	"atlas/internal/input"
	"atlas/workspace"
)

// object returns the user in the form of the schemas.
func (u User) object() object {
	o := object{"userName": u.UserName, "active": u.Active, "meta": meta(u.Created, u.Modified)}
	for name, v := range map[string]string{"externalId": u.ExternalID, "displayName": u.DisplayName} {
		if v != "" {
			o[name] = v
		}
	}
	if !u.ID.IsZero() {
		o["id"] = idText(u.ID)
	}
	name := object{}
	for part, v := range map[string]string{"formatted": u.Name.Formatted, "familyName": u.Name.Family, "givenName": u.Name.Given} {
		if v != "" {
			name[part] = v
		}
	}
	if len(name) > 0 {
		o["name"] = name
	}
	var emails []object
	for _, e := range u.Emails {
		each := object{"value": e.Value}
		if e.Type != "" {
			each["type"] = e.Type
		}
		if e.Display != "" {
			each["display"] = e.Display
		}
		if e.Primary {
			each["primary"] = true
		}
		emails = append(emails, each)
	}
	if emails != nil {
		o["emails"] = emails
	}
	return o
}

// with returns the user with the values of an object.
func (u User) with(o object) (User, error) {
	t := func(o object, name string) string { v, _ := o[name].(string); return v }
	u.UserName, u.ExternalID, u.DisplayName = t(o, "userName"), t(o, "externalId"), t(o, "displayName")
	if active, given := o["active"].(bool); given {
		u.Active = active
	}
	name, _ := o["name"].(object)
	u.Name = Name{t(name, "formatted"), t(name, "familyName"), t(name, "givenName")}
	list, _ := o["emails"].([]object)
	u.Emails = nil
	primary := 0
	for _, each := range list {
		e := Email{Value: t(each, "value"), Type: t(each, "type"), Display: t(each, "display"), Primary: each["primary"] == true}
		if e.Primary {
			primary++
		}
		if !workspace.ValidEmail(e.Value) {
			return u, refuse(InvalidValue, "emails: %.100q is not an e-mail address", e.Value)
		}
		u.Emails = append(u.Emails, e)
	}
	switch {
	case u.UserName == "":
		return u, refuse(InvalidValue, "userName is required")
	case len(u.Emails) > MaxEmails:
		return u, refuse(InvalidValue, "emails has at most %d elements", MaxEmails)
	case primary > 1:
		return u, refuse(InvalidValue, "emails has at most one primary element")
	case !workspace.ValidEmail(u.Address()):
		return u, refuse(InvalidValue, "a person needs an e-mail address, in emails or as userName")
	}
	return u, nil
}

// NewUser reads a user from the body of a POST.
func NewUser(v input.Value) (User, error) {
	o, err := userSchema.read(v)
	if err != nil {
		return User{}, err
	}
	return User{ID: UserID(workspace.NewUUID()), Active: true, Version: 1}.with(o)
}

// Replaced returns the user after a PUT. Without active its value stays: an omission must not
// admit somebody again.
func (u User) Replaced(v input.Value) (User, error) {
	o, err := userSchema.read(v)
	if err != nil {
		return User{}, err
	}
	return u.with(o)
}

// Patched returns the user after a PATCH.
func (u User) Patched(p Patch) (User, error) {
	o, err := userSchema.patched(u.object(), p)
	if err != nil {
		return User{}, err
	}
	return u.with(o)
}

// Same reports whether all values that a provider sets are equal.
func (u User) Same(v User) bool {
	if u.UserName != v.UserName || u.ExternalID != v.ExternalID || u.Active != v.Active || u.DisplayName != v.DisplayName ||
		u.Name != v.Name || len(u.Emails) != len(v.Emails) {
		return false
	}
	for i := range u.Emails {
		if u.Emails[i] != v.Emails[i] {
			return false
		}
	}
	return true
}

// ShownName is the person's name in Atlas.
func (u User) ShownName() string {
	parts := strings.TrimSpace(u.Name.Given + " " + u.Name.Family)
	local, _, _ := strings.Cut(u.Address(), "@")
	for _, name := range []string{u.DisplayName, u.Name.Formatted, parts, local} {
		if name == "" {
			continue
		}
		if all := []rune(name); len(all) > workspace.MaxName {
			name = strings.TrimSpace(string(all[:workspace.MaxName]))
		}
		return name
	}
	return u.UserName
}

// Domain is the domain of the address that the person signs in with, in the form in which
// domains are proved.
func (u User) Domain() string {
	address := u.Address()
	return strings.ToLower(address[strings.LastIndexByte(address, '@')+1:])
}

// Addresses are all addresses of the person, folded as filters compare them.
func (u User) Addresses() []string {
	all := make([]string, len(u.Emails))
	for i, e := range u.Emails {
		all[i] = fold(e.Value)
	}
	return all
}

// UserFilter reads a filter of users; "" takes all.
func UserFilter(text string, given bool) (Filter, error) {
	if !given {
		return Filter{}, nil
	}
	return parseFilter(&userSchema, text)
}

// Users returns those that match a filter.
func (f Filter) Users(all []User) (taken []User) {
	for _, u := range all {
		if f.takes(u.object()) {
			taken = append(taken, u)
		}
	}
	return taken
}
