package api

import (
	"net/http"
	"strings"

	"github.com/google/uuid"

	"atlas/service/endpoint"
	"atlas/workspace"
	"atlas/workspace/scim"
)

func equalFold(a, b string) bool { return strings.EqualFold(a, b) }

// scimID returns the id in the path. All ids are UUIDs.
func scimID[T ~[16]byte](c *endpoint.Call, resource string) (T, error) {
	id, err := workspace.ParseUUID(c.Gin.Param("id"))
	if err != nil || id == uuid.Nil {
		return T{}, scim.Unknown(resource)
	}
	return T(id), nil
}

func (s *Server) scimListUsers(c *endpoint.Call, by provider) error {
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
	all, err := s.SCIM.Provisioning.List(c.Context(), by.Workspace, f)
	if err != nil {
		return err
	}
	return writeSCIM(c, http.StatusOK, scim.ListOf(page, all, func(u scim.User) scim.Resource { return u.Resource(s.PublicURL, chosen) }))
}

// writeUser answers with a user.
func (s *Server) writeUser(c *endpoint.Call, status int, u scim.User) error {
	chosen, err := selected(c, scim.SelectUser)
	if err != nil {
		return err
	}
	root := s.PublicURL
	return writeResource(c, status, u.Version, u.Location(root), u.Resource(root, chosen))
}

func (s *Server) scimCreateUser(c *endpoint.Call, by provider) error {
	body, err := scimInput(c)
	if err != nil {
		return err
	}
	u, err := scim.NewUser(body)
	if err == nil {
		u, err = s.SCIM.Provisioning.Create(c.Context(), by.Workspace, u)
	}
	if err != nil {
		return err
	}
	return s.writeUser(c, http.StatusCreated, u)
}

func (s *Server) scimGetUser(c *endpoint.Call, by provider) error {
	id, err := scimID[scim.UserID](c, "User")
	if err != nil {
		return err
	}
	u, err := s.SCIM.Provisioning.Store.SCIMUser(c.Context(), by.Workspace, id)
	switch {
	case err != nil:
		return err
	case isVersion(c, u.Version):
		c.Gin.Status(http.StatusNotModified)
		return nil
	}
	return s.writeUser(c, http.StatusOK, u)
}

func (s *Server) scimReplaceUser(c *endpoint.Call, by provider) error {
	body, err := scimInput(c)
	if err != nil {
		return err
	}
	return s.scimChangeUser(c, by, func(u scim.User) (scim.User, error) { return u.Replaced(body) })
}

func (s *Server) scimPatchUser(c *endpoint.Call, by provider) error {
	patch, err := scimPatch(c)
	if err != nil {
		return err
	}
	return s.scimChangeUser(c, by, func(u scim.User) (scim.User, error) { return u.Patched(patch) })
}

func scimPatch(c *endpoint.Call) (scim.Patch, error) {
	body, err := scimInput(c)
	if err != nil {
		return nil, err
	}
	return scim.ParsePatch(body)
}

func (s *Server) scimChangeUser(c *endpoint.Call, by provider, change func(scim.User) (scim.User, error)) error {
	id, err := scimID[scim.UserID](c, "User")
	if err != nil {
		return err
	}
	u, err := s.SCIM.Provisioning.Change(c.Context(), by.Workspace, id, ifMatch(c), change)
	if err != nil {
		return err
	}
	return s.writeUser(c, http.StatusOK, u)
}

func (s *Server) scimDeleteUser(c *endpoint.Call, by provider) error {
	id, err := scimID[scim.UserID](c, "User")
	if err == nil {
		err = s.SCIM.Provisioning.Delete(c.Context(), by.Workspace, id, ifMatch(c))
	}
	if err == nil {
		c.Gin.Status(http.StatusNoContent)
	}
	return err
}

func (s *Server) scimListGroups(c *endpoint.Call, by provider) error {
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
	groups, total, err := s.SCIM.Provisioning.GroupsOf(c.Context(), by.Workspace, f, page, chosen.Has("members"))
	if err != nil {
		return err
	}
	l := scim.ListOf(scim.Page{Start: 1, Count: len(groups)}, groups, func(g scim.Group) scim.Resource {
		return g.Resource(s.PublicURL,
			chosen)
	})
	l.TotalResults, l.StartIndex = total, page.Start
	return writeSCIM(c, http.StatusOK, l)
}

// writeGroup answers with a group.
func (s *Server) writeGroup(c *endpoint.Call, status int, g scim.Group) error {
	chosen, err := selected(c, scim.SelectGroup)
	if err != nil {
		return err
	}
	root := s.PublicURL
	return writeResource(c, status, g.Version, g.Location(root), g.Resource(root, chosen))
}

func (s *Server) scimCreateGroup(c *endpoint.Call, by provider) error {
	body, err := scimInput(c)
	if err != nil {
		return err
	}
	g, err := scim.NewGroup(body)
	if err == nil {
		g, err = s.SCIM.Provisioning.CreateGroup(c.Context(), by.Workspace, g)
	}
	if err != nil {
		return err
	}
	return s.writeGroup(c, http.StatusCreated, g)
}

func (s *Server) scimGetGroup(c *endpoint.Call, by provider) error {
	id, err := scimID[scim.GroupID](c, "Group")
	if err != nil {
		return err
	}
	chosen, err := selected(c, scim.SelectGroup)
	if err != nil {
		return err
	}
	g, err := s.SCIM.Provisioning.Groups.SCIMGroup(c.Context(), by.Workspace, id, chosen.Has("members"))
	switch {
	case err != nil:
		return err
	case isVersion(c, g.Version):
		c.Gin.Status(http.StatusNotModified)
		return nil
	}
	return s.writeGroup(c, http.StatusOK, g)
}

func (s *Server) scimReplaceGroup(c *endpoint.Call, by provider) error {
	body, err := scimInput(c)
	if err != nil {
		return err
	}
	return s.scimChangeGroup(c, by, func(g scim.Group) (scim.Group, error) { return g.Replaced(body) })
}

func (s *Server) scimPatchGroup(c *endpoint.Call, by provider) error {
	patch, err := scimPatch(c)
	if err != nil {
		return err
	}
	return s.scimChangeGroup(c, by, func(g scim.Group) (scim.Group, error) { return g.Patched(patch) })
}

func (s *Server) scimChangeGroup(c *endpoint.Call, by provider, change func(scim.Group) (scim.Group, error)) error {
	id, err := scimID[scim.GroupID](c, "Group")
	if err != nil {
		return err
	}
	g, err := s.SCIM.Provisioning.ChangeGroup(c.Context(), by.Workspace, id, ifMatch(c), change)
	if err != nil {
		return err
	}
	return s.writeGroup(c, http.StatusOK, g)
}

func (s *Server) scimDeleteGroup(c *endpoint.Call, by provider) error {
	id, err := scimID[scim.GroupID](c, "Group")
	if err == nil {
		err = s.SCIM.Provisioning.DeleteGroup(c.Context(), by.Workspace, id, ifMatch(c))
	}
	if err == nil {
		c.Gin.Status(http.StatusNoContent)
	}
	return err
}
