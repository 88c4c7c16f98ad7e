//go:build !linux

package rig

import "errors"

func (r *Rig) mount(string, int64) {
	r.t.Helper()
	r.t.Fatal("a disk that can be filled is made on Linux only")
}

var errNoDisk = errors.New("there is no disk that can be filled")

// FillDisk is for Linux.
func (r *Rig) FillDisk() error { return errNoDisk }

// FreeDisk is for Linux.
func (r *Rig) FreeDisk() error { return errNoDisk }
