//go:build unix && !linux

package rig

import "syscall"

func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
