package rig

import "syscall"

// childAttributes makes a process end with this one, however this one ends.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
