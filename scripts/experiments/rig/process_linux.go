package rig

import "syscall"

// childAttributes has a process end with this one, however that ends.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
