package main

import (
	"archive/tar"
	"compress/gzip"
	_ "embed"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// installNote is what the tarball says of its use.
//
//go:embed INSTALL
var installNote []byte

// tarball writes the tree below a directory of the package's name, with a note, Farside's licence and those of others.
func (o *options) tarball(to io.Writer, tree []file, modules []byte) error {
	licence, err := os.ReadFile(filepath.Join(o.source, "LICENSE"))
	if err != nil {
		return err
	}
	all := slices.Concat(tree, []file{
		{path: "INSTALL", mode: 0o644, body: installNote},
		{path: "LICENSE", mode: 0o644, body: licence},
		{path: "THIRD-PARTY", mode: 0o644, body: modules},
	})
	sortFiles(all)
	z, err := gzip.NewWriterLevel(to, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	made := map[string]bool{}
	for _, f := range all {
		name := path.Join("farside-"+o.version+"-linux-"+o.arch, f.path)
		if err := o.directories(w, path.Dir(name), made); err != nil {
			return err
		}
		h := tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(f.mode), Size: int64(len(f.body))}
		if f.target != "" {
			h.Typeflag, h.Linkname = tar.TypeSymlink, f.target
		}
		if err := o.entry(w, h, f.body); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), z.Close())
}

// directories writes a directory and those above it, each once.
func (o *options) directories(w *tar.Writer, dir string, made map[string]bool) error {
	if dir == "." || made[dir] {
		return nil
	}
	made[dir] = true
	if err := o.directories(w, path.Dir(dir), made); err != nil {
		return err
	}
	return o.entry(w, tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755}, nil)
}

// entry writes an entry that belongs to root.
func (o *options) entry(w *tar.Writer, h tar.Header, body []byte) error {
	h.Uname, h.Gname, h.ModTime, h.Format = "root", "root", o.epoch, tar.FormatUSTAR
	if err := w.WriteHeader(&h); err != nil {
		return err
	}
	_, err := w.Write(body)
	return err
}
