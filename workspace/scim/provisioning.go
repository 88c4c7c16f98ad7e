package scim

import (
	"context"
	"strings"
	"time"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/people"
)

// Store stores users and groups of workspaces, one change of a workspace at a time. A change
// without effect leaves the version as it is.
type Store interface {
	// SCIMUsers lists the users that match a Lookup, in the order of their ids.
	SCIMUsers(ctx context.Context, in workspace.ID, l Lookup) ([]User, error)
	// SCIMPeople lists a page by userName.
	SCIMPeople(ctx context.Context, in workspace.ID, limit, offset int) ([]User, error)
	// SCIMUser returns one user: fault.NotFound.
	SCIMUser(ctx context.Context, in workspace.ID, id UserID) (User, error)
	// InsertSCIMUser adds a user, links it with the workspace's member of the same address, and
	// returns the users whose role may have changed. Errors: Taken, Unproved,
	// fault.LimitReached.
	InsertSCIMUser(ctx context.Context, in workspace.ID, u User) (User, []workspace.UserID, error)
	// ChangeSCIMUser changes a user, whose row is locked, and their membership. Errors:
	// fault.NotFound, those of InsertSCIMUser, LastOwner, those of change.
	ChangeSCIMUser(
		ctx context.Context, in workspace.ID, id UserID, now time.Time, change func(User) (User, error),
	) (User, []workspace.UserID, error)
	// DeleteSCIMUser deletes a user and ends their membership. Errors: fault.NotFound,
	// LastOwner, those of permit.
	DeleteSCIMUser(
		ctx context.Context, in workspace.ID, id UserID, now time.Time, permit func(User) error,
	) ([]workspace.UserID, error)
}

// GroupStore stores groups, as Store stores users.
type GroupStore interface {
	// SCIMGroups lists groups, with members on request.
	SCIMGroups(ctx context.Context, in workspace.ID, l Lookup, members bool) ([]Group, error)
	// SCIMMembers returns the members of groups.
	SCIMMembers(ctx context.Context, in workspace.ID, groups []GroupID) (map[GroupID][]UserID, error)
	// SCIMGroupsByName lists a page by name, without members.
	SCIMGroupsByName(ctx context.Context, in workspace.ID, limit, offset int) ([]Group, error)
	SCIMGroup(ctx context.Context, in workspace.ID, id GroupID, members bool) (Group, error)
	InsertSCIMGroup(ctx context.Context, in workspace.ID, g Group) (Group, []workspace.UserID, error)
	ChangeSCIMGroup(
		ctx context.Context, in workspace.ID, id GroupID, now time.Time, change func(Group) (Group, error),
	) (Group, []workspace.UserID, error)
	DeleteSCIMGroup(
		ctx context.Context, in workspace.ID, id GroupID, now time.Time, permit func(Group) error,
	) ([]workspace.UserID, error)
	// SetSCIMGroupRole sets the role that the members of a group have in the workspace, "" for
	// none, if permit allows it: fault.NotFound.
	SetSCIMGroupRole(
		ctx context.Context, in workspace.ID, by workspace.UserID, id GroupID, role people.Role, permit func(people.Role) error,
	) (Group, []workspace.UserID, error)
}

// Provisioning implements the operations of providers in workspaces.
type Provisioning struct {
	Store  Store
	Groups GroupStore
	// Changed, when not nil, is called for each user whose membership may have changed, so that
	// caches drop it.
	Changed func(in workspace.ID, user workspace.UserID)
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

func (p *Provisioning) now() time.Time { return storedNow(p.Now) }

func (p *Provisioning) notify(in workspace.ID, changed []workspace.UserID) {
	if p.Changed != nil {
		for _, user := range changed {
			p.Changed(in, user)
		}
	}
}

// IfMatch is the header If-Match, "" without one.
type IfMatch string

// permits refuses a version other than the current one.
func (m IfMatch) permits(version int) error {
	if m == "" || m == "*" {
		return nil
	}
	for _, tag := range strings.Split(string(m), ",") {
		if tag = strings.TrimSpace(tag); tag == ETag(version) || "W/"+tag == ETag(version) {
			return nil
		}
	}
	return Outdated()
}

// List lists the users that match a filter.
func (p *Provisioning) List(ctx context.Context, in workspace.ID, f Filter) ([]User, error) {
	l := f.Lookup()
	if l.Nobody {
		return nil, nil
	}
	all, err := p.Store.SCIMUsers(ctx, in, l)
	if err != nil || f.root == nil {
		return all, err
	}
	return f.Users(all), nil
}

// Create adds a user.
func (p *Provisioning) Create(ctx context.Context, in workspace.ID, u User) (User, error) {
	u.Created = p.now()
	u.Modified = u.Created
	u, changed, err := p.Store.InsertSCIMUser(ctx, in, u)
	p.notify(in, changed)
	return u, err
}

// Change changes a user.
func (p *Provisioning) Change(ctx context.Context, in workspace.ID, id UserID, m IfMatch, change func(User) (User, error)) (User, error) {
	u, changed, err := p.Store.ChangeSCIMUser(ctx, in, id, p.now(), func(u User) (User, error) {
		if err := m.permits(u.Version); err != nil {
			return u, err
		}
		return change(u)
	})
	p.notify(in, changed)
	return u, err
}

// Delete deletes a user.
func (p *Provisioning) Delete(ctx context.Context, in workspace.ID, id UserID, m IfMatch) error {
	changed, err := p.Store.DeleteSCIMUser(ctx, in, id, p.now(), func(u User) error { return m.permits(u.Version) })
	p.notify(in, changed)
	return err
}

// People lists a page of users by userName, for people of the workspace.
func (p *Provisioning) People(ctx context.Context, in workspace.ID, limit, offset int) ([]User, error) {
	return p.Store.SCIMPeople(ctx, in, limit, offset)
}

// GroupsByName lists a page of groups, without members.
func (p *Provisioning) GroupsByName(ctx context.Context, in workspace.ID, limit, offset int) ([]Group, error) {
	return p.Groups.SCIMGroupsByName(ctx, in, limit, offset)
}

// GroupsOf lists a page of the groups that match a filter, with their members on request, and
// the number of matches.
func (p *Provisioning) GroupsOf(ctx context.Context, in workspace.ID, f Filter, page Page, members bool) ([]Group, int, error) {
	all, err := p.listGroups(ctx, in, f)
	if err != nil {
		return nil, 0, err
	}
	list := PageOfGroups(page, all, members)
	if !members || f.AsksMembers() {
		return list, len(all), nil
	}
	ids := make([]GroupID, len(list))
	for i, g := range list {
		ids[i] = g.ID
	}
	of, err := p.Groups.SCIMMembers(ctx, in, ids)
	for i, g := range list {
		list[i].Members = of[g.ID]
	}
	return list, len(all), err
}

func (p *Provisioning) listGroups(ctx context.Context, in workspace.ID, f Filter) ([]Group, error) {
	l := f.Lookup()
	if l.Nobody {
		return nil, nil
	}
	all, err := p.Groups.SCIMGroups(ctx, in, l, f.AsksMembers())
	if err != nil || f.root == nil {
		return all, err
	}
	return f.Groups(all), nil
}

// CreateGroup adds a group.
func (p *Provisioning) CreateGroup(ctx context.Context, in workspace.ID, g Group) (Group, error) {
	g.Created = p.now()
	g.Modified = g.Created
	g, changed, err := p.Groups.InsertSCIMGroup(ctx, in, g)
	p.notify(in, changed)
	return g, err
}

// ChangeGroup changes a group.
func (p *Provisioning) ChangeGroup(
	ctx context.Context, in workspace.ID, id GroupID, m IfMatch, change func(Group) (Group, error),
) (Group, error) {
	g, changed, err := p.Groups.ChangeSCIMGroup(ctx, in, id, p.now(), func(g Group) (Group, error) {
		if err := m.permits(g.Version); err != nil {
			return g, err
		}
		return change(g)
	})
	p.notify(in, changed)
	return g, err
}

// DeleteGroup deletes a group. Its members stay, with the roles of their other groups.
func (p *Provisioning) DeleteGroup(ctx context.Context, in workspace.ID, id GroupID, m IfMatch) error {
	changed, err := p.Groups.DeleteSCIMGroup(ctx, in, id, p.now(), func(g Group) error { return m.permits(g.Version) })
	p.notify(in, changed)
	return err
}

// SetGroupRole sets the role that the members of a group have in the workspace; "" removes it.
// Errors: fault.NotFound, fault.Forbidden for users who are no longer owners or admins.
func (p *Provisioning) SetGroupRole(ctx context.Context, in workspace.ID, by workspace.UserID, id GroupID, role people.Role) (Group,
	error) {
	g, changed, err := p.Groups.SetSCIMGroupRole(ctx, in, by, id, role, administers)
	p.notify(in, changed)
	return g, err
}

func administers(role people.Role) error {
	if !role.Administers() {
		return fault.New(fault.Forbidden, "only an owner or admin of the workspace may do this")
	}
	return nil
}
