package devstack

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// devUser is the user that scripts/setup creates to run the servers where the
// caller is root.
const devUser = "atlas-dev"

// account is an unprivileged user.
type account struct {
	name     string
	uid, gid uint32
}

// unprivileged returns the account that runs the servers when the caller is
// root: they refuse root. It is nil for any other caller.
func unprivileged() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{devUser, "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil && uid != 0 {
			return &account{name: name, uid: uint32(uid), gid: uint32(gid)}, nil
		}
	}
	return nil, fmt.Errorf(
		"devstack: the servers do not run as root, and there is neither a user %s nor nobody: useradd --system %s",
		devUser,
		devUser,
	)
}

// canEnter reports whether a may enter the folder dir, which need not exist yet. It
// does not check a nil account, the caller, whose own calls fail.
func canEnter(dir string, a *account) bool {
	if a == nil {
		return true
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for {
		var s syscall.Stat_t
		if err := syscall.Stat(dir, &s); err == nil {
			bit := fs.FileMode(0o001)
			switch {
			case s.Uid == a.uid:
				bit = 0o100
			case s.Gid == a.gid:
				bit = 0o010
			}
			if fs.FileMode(s.Mode)&bit == 0 {
				return false
			}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return true
		}
		dir = parent
	}
}
