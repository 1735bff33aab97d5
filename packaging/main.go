// Command packaging makes a tarball and a .deb of what farside install --package has laid out. make dist calls it.
//
// Its outputs depend on nothing but its inputs: files are sorted and belong to root, their times are -epoch, their
// modes are 0755 and 0644.
//
// It is a module of its own: nfpm, which writes the .deb, needs more modules than all of Farside.
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// options say what is packaged.
type options struct {
	tree    string // the prefix that farside install --package has filled
	source  string // the top of Farside's source
	arch    string // Debian's name, which is Go's, too
	version string
	commit  string
	out     string    // the directory that gets the packages
	epoch   time.Time // of everything in them
}

func main() {
	var o options
	var epoch int64
	flag.StringVar(&o.tree, "tree", "", "`DIRECTORY` that farside install --package has filled")
	flag.StringVar(&o.source, "source", "", "`DIRECTORY` of Farside's source")
	flag.StringVar(&o.arch, "arch", "", "`ARCHITECTURE`: amd64 or arm64")
	flag.StringVar(&o.version, "version", "", "`VERSION` of the packages")
	flag.StringVar(&o.commit, "commit", "", "`COMMIT` that they are made of")
	flag.Int64Var(&epoch, "epoch", 0, "time of all files, in `SECONDS` since 1970")
	flag.StringVar(&o.out, "out", "", "`DIRECTORY` to write to")
	flag.Parse()
	o.epoch = time.Unix(epoch, 0).UTC()
	if err := o.write(); err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

// write writes both packages, and prints the size and the SHA-256 of each.
func (o *options) write() error {
	tree, err := readTree(o.tree)
	if err != nil {
		return err
	}
	modules, err := o.thirdParty(tree)
	if err != nil {
		return err
	}
	for _, p := range []struct {
		name  string
		write func(*os.File) error
	}{
		{"farside-" + o.version + "-linux-" + o.arch + ".tar.gz",
			func(f *os.File) error { return o.tarball(f, tree, modules) }},
		{"farside_" + o.version + "_" + o.arch + ".deb",
			func(f *os.File) error { return o.deb(f, tree, modules) }},
	} {
		path := filepath.Join(o.out, p.name)
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		if err := errors.Join(p.write(f), f.Close()); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		made, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fmt.Printf("%x  %s  (%.1f MiB)\n", sha256.Sum256(made), path, float64(len(made))/(1<<20))
	}
	return nil
}
