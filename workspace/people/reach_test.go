package people

import (
	"testing"

	"atlas/internal/fault"
)

// A key without workspace:admin can only change members.
func TestReachOfAPlainKey(t *testing.T) {
	t.Parallel()
	all := []Role{Owner, Admin, MemberRole, ""}
	for _, target := range all {
		locked := LockedMembers{Actor: PlainKeyActor.Role, Target: target, Owners: 2}
		reached := target == MemberRole || target == ""
		if err := checkRemoval(PlainKeyActor, locked, false); (err == nil) != reached {
			t.Errorf("removing %q: %v", target, err)
		}
		for _, role := range []Role{Owner, Admin, MemberRole} {
			want := fault.Forbidden
			switch {
			case role == MemberRole && target == MemberRole:
				want = ""
			case role != Owner && target == "":
				want = fault.NotFound
			}
			if err := checkRoleChange(PlainKeyActor, locked, role); fault.CodeOf(err) != want {
				t.Errorf("from %q to %q: %v, want %q", target, role, err, want)
			}
		}
		if err := checkRemoval(KeyActor, LockedMembers{Actor: Admin, Target: target, Owners: 2}, false); err != nil {
			t.Errorf("an admin's key removing %q: %v", target, err)
		}
	}
}
