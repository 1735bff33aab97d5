package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// archive writes an initramfs: a cpio archive of the "newc" format (the kernel's
// Documentation/driver-api/early-userspace/buffer-format.rst).
type archive struct {
	w    io.Writer
	n    int // bytes written
	node int
	err  error
}

const (
	directory  = 0o040755
	executable = 0o100755
)

// add writes an entry: a file with content or a directory without.
func (a *archive) add(name string, mode uint32, content []byte) {
	a.node++
	// Magic, inode, mode, uid, gid, links, mtime, size, device (2), device of a special file (2), length of the
	// name with its NUL, checksum.
	a.write(fmt.Appendf(nil, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x", a.node, mode, 0, 0, 1, 0,
		len(content), 0, 0, 0, 0, len(name)+1, 0))
	a.write(append([]byte(name), 0))
	a.align()
	a.write(content)
	a.align()
}

func (a *archive) write(b []byte) {
	if a.err == nil {
		_, a.err = a.w.Write(b)
	}
	a.n += len(b)
}

func (a *archive) align() { a.write(make([]byte, -a.n&3)) }

// order is what the guest's init is told.
type order struct {
	Visible     []string // folders that stay visible, wherever they lie
	Environment []string // of the jobs, beside PATH and HOME
	Jobs        []job
}

// The names of what is in the initramfs.
const (
	initName    = "init"
	orderName   = "order.json"
	modulesName = "modules"
)

// writeInitramfs makes the file of that name: init, the kernel's modules and the order.
func writeInitramfs(name, init string, k kernel, o *order) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	a := archive{w: f}
	program, err := os.ReadFile(init)
	if err != nil {
		return err
	}
	a.add(initName, executable, program)
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	a.add(orderName, executable, text)
	a.add(modulesName, directory, nil)
	files, err := os.ReadDir(k.modules())
	if err != nil {
		return err
	}
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(k.modules(), file.Name()))
		if err != nil {
			return err
		}
		a.add(modulesName+"/"+file.Name(), executable, content)
	}
	a.add("TRAILER!!!", 0, nil)
	if a.err != nil {
		return a.err
	}
	return f.Close()
}
