package undo_test

import (
	"testing"
	"time"

	"atlas/workspace/audit"
	"atlas/workspace/people"
	"atlas/workspace/undo"
)

func TestStateOfAChange(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 14, 9, 30, 0, 0, time.UTC)
	change := func(kind audit.Kind, op audit.Op, more func(*undo.Change)) undo.Change {
		c := undo.Change{Subject: audit.Subject{Kind: kind}, At: now, Op: op}
		if op == audit.Upsert {
			c.Since = now.Add(-time.Second)
		}
		if more != nil {
			more(&c)
		}
		return c
	}
	role := func(now people.Role) func(*undo.Change) {
		return func(c *undo.Change) { c.Before, c.RoleBefore, c.Role = audit.Upsert, people.Admin, now }
	}
	for name, each := range map[string]struct {
		change undo.Change
		done   undo.Done
		state  undo.State
	}{
		"a new View":            {change(audit.View, audit.Upsert, nil), undo.Created, undo.Possible},
		"a View that is gone":   {change(audit.View, audit.Upsert, func(c *undo.Change) { c.Since = time.Time{} }), undo.Created, undo.NothingLeft},
		"a View that is theirs": {change(audit.View, audit.Upsert, func(c *undo.Change) { c.Others = true }), undo.Created, undo.ChangedSince},
		"a View from before, whose changes are forgotten": {
			change(audit.View, audit.Upsert, func(c *undo.Change) { c.Since = now.Add(-time.Hour) }), undo.Changed, undo.NotStored,
		},
		"a View that was deleted before": {
			change(audit.View, audit.Upsert, func(c *undo.Change) { c.Before = audit.Delete }), undo.Created, undo.Possible,
		},
		"another change of a View": {
			change(audit.View, audit.Upsert, func(c *undo.Change) { c.Before = audit.Upsert }), undo.Changed, undo.NotStored,
		},
		"a deleted View": {change(audit.View, audit.Delete, nil), undo.Removed, undo.NotStored},
		"a record that a merge moved": {
			change(audit.Overlay, audit.Upsert, func(c *undo.Change) { c.Since, c.LastBySystem = time.Time{}, true }),
			undo.Created, undo.ChangedSince,
		},
		"a record out of a View": {
			change(audit.Membership, audit.Delete, func(c *undo.Change) { c.HasView = true }), undo.Removed, undo.Possible,
		},
		"a record out of a View that is gone": {change(audit.Membership, audit.Delete, nil), undo.Removed, undo.NotStored},
		"a record that is in the View again": {
			change(audit.Membership, audit.Delete, func(c *undo.Change) { c.HasView, c.Since = true, now }), undo.Removed, undo.NothingLeft,
		},
		"a Skill":   {change(audit.Skill, audit.Upsert, nil), undo.Created, undo.NotOffered},
		"a setting": {change(audit.Setting, audit.Upsert, func(c *undo.Change) { c.Since = time.Time{} }), undo.Changed, undo.NotStored},
		"a role": {
			change(audit.Member, audit.Upsert, role(people.MemberRole)),
			undo.Changed, undo.Possible,
		},
		"a role that is back": {
			change(audit.Member, audit.Upsert, role(people.Admin)),
			undo.Changed, undo.NothingLeft,
		},
		"a role without its event": {
			change(audit.Member, audit.Upsert, func(c *undo.Change) { c.Before = audit.Upsert }), undo.Changed, undo.NotStored,
		},
		"a removed member": {change(audit.Member, audit.Delete, nil), undo.Removed, undo.NotStored},
	} {
		if done, state := each.change.Done(), each.change.State(); done != each.done || state != each.state {
			t.Errorf("%s: %s, %s, want %s, %s", name, done, state, each.done, each.state)
		}
	}
}
