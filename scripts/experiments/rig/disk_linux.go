package rig

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// mount creates a separate in-memory file system for the backends' data, so that it
// can be filled. This requires root.
func (r *Rig) mount(dir string, size int64) {
	r.t.Helper()
	Check(r.t, os.MkdirAll(dir, 0o755)) // #nosec G301 -- the account of the servers enters it
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0755", size)); err != nil {
		r.t.Fatalf("a file system of %d bytes cannot be mounted, which only root may: %v", size, err)
	}
	r.t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			r.t.Error(err)
		}
	})
	r.disk = dir
}

// ballast is what fills the disk.
func (r *Rig) ballast() string { return filepath.Join(r.disk, "ballast") }

// FillDisk fills the free space of the backends' disk (Options.Disk). Call it again
// to fill space that they have freed since.
func (r *Rig) FillDisk() error {
	file, err := os.OpenFile(r.ballast(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	for block := make([]byte, 1<<20); len(block) > 0; {
		n, err := file.Write(block)
		if err != nil && n < len(block) {
			block = block[:len(block)/2] // the last of it
		}
	}
	return nil
}

// FreeDisk frees the space that FillDisk filled.
func (r *Rig) FreeDisk() error { return os.Remove(r.ballast()) }
