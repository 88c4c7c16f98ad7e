//go:build unix && !linux

package devstack

import (
	"errors"
	"os/exec"
	"syscall"
)

// Servers run as processes only on Linux, because cleaning up after a killed
// starter needs /proc. Other systems use containers or given addresses.

type starter struct{}

func newStarter() *starter { return &starter{} }

func (*starter) start(*exec.Cmd) error {
	return errors.New("servers of this machine are started on Linux only; run a container engine, or give the address of one that runs")
}

func (*starter) close() {}

func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}

func startTime(int) (uint64, bool) { return 0, false }

func bootID() string { return "" }

func groupMembers(processRecord) []int { return nil }

func children(int) []int { return nil }

func atHome(int, string) bool { return false }

func killGroup(processRecord) error { return nil }

type heldPort struct{ kind string }

func holdPort(int) (*heldPort, error) { return &heldPort{}, nil }

func (*heldPort) letGo() {}
