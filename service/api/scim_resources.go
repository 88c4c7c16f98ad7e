package api

import (
	"net/http"

	"atlas/service/endpoint"
	"atlas/workspace/scim"
)

// SCIM serves identity providers; the zero value disables its addresses.
type SCIM struct {
	Provisioning *scim.Provisioning
	Tokens       *scim.Tokens
}

// scimResources answers with people and groups.
type scimResources struct {
	SCIM
	// root is the origin of the service.
	root string
}

func (s scimResources) scimListUsers(c *endpoint.Call, by provider) error {
	filter, given := scimQuery(c, "filter")
	f, err := scim.UserFilter(filter, given)
	if err != nil {
		return err
	}
	page, err := scimPage(c)
	if err != nil {
		return err
	}
	chosen, err := selected(c, scim.SelectUser)
	if err != nil {
		return err
	}
	all, err := s.Provisioning.List(c.Context(), by.Workspace, f)
	if err != nil {
		return err
	}
	return writeSCIM(c, http.StatusOK, scim.ListOf(page, all, func(u scim.User) scim.Resource { return u.Resource(s.root, chosen) }))
}

// writeUser answers with a user.
func (s scimResources) writeUser(c *endpoint.Call, status int, u scim.User) error {
	chosen, err := selected(c, scim.SelectUser)
	if err != nil {
		return err
	}
	root := s.root
	return writeResource(c, status, u.Version, u.Location(root), u.Resource(root, chosen))
}

func (s scimResources) scimCreateUser(c *endpoint.Call, by provider) error {
	body, err := scimInput(c)
	if err != nil {
		return err
	}
	u, err := scim.NewUser(body)
	if err == nil {
		u, err = s.Provisioning.Create(c.Context(), by.Workspace, u)
	}
	if err != nil {
		return err
	}
	return s.writeUser(c, http.StatusCreated, u)
}

func (s scimResources) scimGetUser(c *endpoint.Call, by provider) error {
	id, err := scimID[scim.UserID](c, "User")
	if err != nil {
		return err
	}
	u, err := s.Provisioning.Store.SCIMUser(c.Context(), by.Workspace, id)
	switch {
	case err != nil:
		return err
	case isVersion(c, u.Version):
		c.Gin.Status(http.StatusNotModified)
		return nil
	}
	return s.writeUser(c, http.StatusOK, u)
}

func (s scimResources) scimReplaceUser(c *endpoint.Call, by provider) error {
	body, err := scimInput(c)
	if err != nil {
		return err
	}
	return s.scimChangeUser(c, by, func(u scim.User) (scim.User, error) { return u.Replaced(body) })
}

func (s scimResources) scimPatchUser(c *endpoint.Call, by provider) error {
	patch, err := scimPatch(c)
	if err != nil {
		return err
	}
	return s.scimChangeUser(c, by, func(u scim.User) (scim.User, error) { return u.Patched(patch) })
}

func (s scimResources) scimChangeUser(c *endpoint.Call, by provider, change func(scim.User) (scim.User, error)) error {
	id, err := scimID[scim.UserID](c, "User")
	if err != nil {
		return err
	}
	u, err := s.Provisioning.Change(c.Context(), by.Workspace, id, ifMatch(c), change)
	if err != nil {
		return err
	}
	return s.writeUser(c, http.StatusOK, u)
}

func (s scimResources) scimDeleteUser(c *endpoint.Call, by provider) error {
	id, err := scimID[scim.UserID](c, "User")
	if err == nil {
		err = s.Provisioning.Delete(c.Context(), by.Workspace, id, ifMatch(c))
	}
	if err == nil {
		c.Gin.Status(http.StatusNoContent)
	}
	return err
}

func (s scimResources) scimListGroups(c *endpoint.Call, by provider) error {
	filter, given := scimQuery(c, "filter")
	f, err := scim.GroupFilter(filter, given)
	if err != nil {
		return err
	}
	page, err := scimPage(c)
	if err != nil {
		return err
	}
	chosen, err := selected(c, scim.SelectGroup)
	if err != nil {
		return err
	}
	groups, total, err := s.Provisioning.GroupsOf(c.Context(), by.Workspace, f, page, chosen.Has("members"))
	if err != nil {
		return err
	}
	l := scim.ListOf(scim.Page{Start: 1, Count: len(groups)}, groups, func(g scim.Group) scim.Resource {
		return g.Resource(s.root,
			chosen)
	})
	l.TotalResults, l.StartIndex = total, page.Start
	return writeSCIM(c, http.StatusOK, l)
}

// writeGroup answers with a group.
func (s scimResources) writeGroup(c *endpoint.Call, status int, g scim.Group) error {
	chosen, err := selected(c, scim.SelectGroup)
	if err != nil {
		return err
	}
	root := s.root
	return writeResource(c, status, g.Version, g.Location(root), g.Resource(root, chosen))
}

func (s scimResources) scimCreateGroup(c *endpoint.Call, by provider) error {
	body, err := scimInput(c)
	if err != nil {
		return err
	}
	g, err := scim.NewGroup(body)
	if err == nil {
		g, err = s.Provisioning.CreateGroup(c.Context(), by.Workspace, g)
	}
	if err != nil {
		return err
	}
	return s.writeGroup(c, http.StatusCreated, g)
}

func (s scimResources) scimGetGroup(c *endpoint.Call, by provider) error {
	id, err := scimID[scim.GroupID](c, "Group")
	if err != nil {
		return err
	}
	chosen, err := selected(c, scim.SelectGroup)
	if err != nil {
		return err
	}
	g, err := s.Provisioning.Groups.SCIMGroup(c.Context(), by.Workspace, id, chosen.Has("members"))
	switch {
	case err != nil:
		return err
	case isVersion(c, g.Version):
		c.Gin.Status(http.StatusNotModified)
		return nil
	}
	return s.writeGroup(c, http.StatusOK, g)
}

func (s scimResources) scimReplaceGroup(c *endpoint.Call, by provider) error {
	body, err := scimInput(c)
	if err != nil {
		return err
	}
	return s.scimChangeGroup(c, by, func(g scim.Group) (scim.Group, error) { return g.Replaced(body) })
}

func (s scimResources) scimPatchGroup(c *endpoint.Call, by provider) error {
	patch, err := scimPatch(c)
	if err != nil {
		return err
	}
	return s.scimChangeGroup(c, by, func(g scim.Group) (scim.Group, error) { return g.Patched(patch) })
}

func (s scimResources) scimChangeGroup(c *endpoint.Call, by provider, change func(scim.Group) (scim.Group, error)) error {
	id, err := scimID[scim.GroupID](c, "Group")
	if err != nil {
		return err
	}
	g, err := s.Provisioning.ChangeGroup(c.Context(), by.Workspace, id, ifMatch(c), change)
	if err != nil {
		return err
	}
	return s.writeGroup(c, http.StatusOK, g)
}

func (s scimResources) scimDeleteGroup(c *endpoint.Call, by provider) error {
	id, err := scimID[scim.GroupID](c, "Group")
	if err == nil {
		err = s.Provisioning.DeleteGroup(c.Context(), by.Workspace, id, ifMatch(c))
	}
	if err == nil {
		c.Gin.Status(http.StatusNoContent)
	}
	return err
}
