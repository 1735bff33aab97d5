package main

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// file is a file of a package.
type file struct {
	path   string // below the prefix
	mode   fs.FileMode
	body   []byte
	target string // of a symbolic link
}

// readTree reads a directory, sorted by path. Empty directories are left out.
func readTree(dir string) (list []file, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f := file{path: name, mode: 0o644}
		if info.Mode()&0o100 != 0 {
			f.mode = 0o755
		}
		switch {
		case info.Mode().Type() == fs.ModeSymlink:
			f.mode = 0o777
			f.target, err = os.Readlink(path)
		case info.Mode().IsRegular():
			f.body, err = os.ReadFile(path)
		default:
			err = fmt.Errorf("%s is neither a file nor a symbolic link", path)
		}
		list = append(list, f)
		return err
	})
	sortFiles(list)
	return list, err
}

func sortFiles(list []file) {
	slices.SortFunc(list, func(a, b file) int { return strings.Compare(a.path, b.path) })
}

// binary reads a program or a library; nil if the file is neither.
func (f *file) binary() (*elf.File, error) {
	if !bytes.HasPrefix(f.body, []byte(elf.ELFMAG)) {
		return nil, nil
	}
	return elf.NewFile(bytes.NewReader(f.body))
}

// machines are the architectures that there are packages for.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// checkBinaries returns the oldest C library (major, minor) that has all that the files of a tree ask for. It is an
// error if one is for another architecture, or needs another library than that.
func checkBinaries(tree []file, arch string) (oldest [2]int, err error) {
	for _, f := range tree {
		b, err := f.binary()
		if err != nil {
			return oldest, fmt.Errorf("%s: %w", f.path, err)
		}
		if b == nil {
			continue
		}
		if b.Machine != machines[arch] {
			return oldest, fmt.Errorf("%s is for %v, not for %s", f.path, b.Machine, arch)
		}
		needed, err := b.ImportedLibraries()
		if err != nil {
			return oldest, fmt.Errorf("%s: %w", f.path, err)
		}
		for _, library := range needed {
			if library != "libc.so.6" && !strings.HasPrefix(library, "ld-linux-") {
				return oldest, fmt.Errorf("%s needs %s: it must become a dependency", f.path, library)
			}
		}
		symbols, err := b.ImportedSymbols()
		if err != nil {
			return oldest, fmt.Errorf("%s: %w", f.path, err)
		}
		for _, s := range symbols {
			if v, ok := glibc(s.Version); ok && slices.Compare(v[:], oldest[:]) > 0 {
				oldest = v
			}
		}
	}
	return oldest, nil
}

// glibc reads GLIBC_2.34, and GLIBC_2.2.5 as 2.2.
func glibc(version string) (v [2]int, ok bool) {
	rest, ok := strings.CutPrefix(version, "GLIBC_")
	parts := strings.Split(rest, ".")
	if !ok || len(parts) < 2 {
		return v, false
	}
	for n := range v {
		var err error
		if v[n], err = strconv.Atoi(parts[n]); err != nil {
			return v, false
		}
	}
	return v, true
}

// gzipped compresses without a name and a time.
func gzipped(body []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}
