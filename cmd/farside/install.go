package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"farside/manifest"
)

// version is set at link time.
var version = "0.1.0"

// installation is what make build has made, and where it goes.
type installation struct {
	from    string // the directory that has the files, that of this tool if empty
	scope   string
	prefix  string // absolute; the scope's if empty
	destdir string // put before every path that is written, for packages
}

// item is a file of an installation.
type item struct {
	path    string // below the prefix
	mode    fs.FileMode
	content func(*installation) ([]byte, error) // nil for a symbolic link
	target  string                              // of a symbolic link
}

const (
	rdmaLibrary = "libfarside_rdma.so"
	rdmaSoname  = rdmaLibrary + ".0"
	rdmaHeader  = "farside_rdma.h"
)

// driverPath is where the driver goes below the prefix.
const driverPath = "lib/farside/" + manifest.LibraryName

// items is everything but the manifest, which is written last and removed first.
func items() []item {
	return []item{
		{path: driverPath, mode: 0o755, content: fromBuild(manifest.LibraryName)},
		{path: "lib/" + rdmaSoname, mode: 0o755, content: fromBuild(rdmaLibrary)},
		{path: "lib/" + rdmaLibrary, target: rdmaSoname},
		{path: "lib/pkgconfig/farside-rdma.pc", mode: 0o644, content: pkgConfig},
		{path: "include/" + rdmaHeader, mode: 0o644, content: fromBuild(rdmaHeader)},
		{path: "share/man/man1/farside.1", mode: 0o644, content: toolPage},
		{path: "share/man/man7/farside.7", mode: 0o644, content: variablesPage},
		{path: "share/bash-completion/completions/farside", mode: 0o644, content: completion((*cobra.Command).GenBashCompletionV2)},
		{path: "share/fish/vendor_completions.d/farside.fish", mode: 0o644, content: completion((*cobra.Command).GenFishCompletion)},
		{path: "share/zsh/site-functions/_farside", mode: 0o644, content: completion(zsh)},
		{path: "bin/farside", mode: 0o755, content: fromBuild("farside")},
	}
}

func (t *tool) install() *cobra.Command {
	var i installation
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install the driver, the library of peers in C, and this tool",
		Long: `Copies what make build has made to where the Vulkan loader, compilers and the shell
find it, and replaces an older version of it. A manifest that isn't Farside's is left
alone. make install calls this.`,
		Example: "  build/farside install\n  sudo build/farside install --scope system",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return t.fail(i.install()) },
	}
	i.flags(cmd)
	cmd.Flags().StringVar(&i.from, "from", "", "`DIRECTORY` that make build has filled (default: that of this tool)")
	return cmd
}

func (t *tool) uninstall() *cobra.Command {
	var i installation
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove what install has installed",
		Long: `Removes the files that install has written, with the same flags. Install keeps a list
of them. A file that has changed since, or that install did not write, stays and is
an error. Files that are not there are no error.`,
		Example: "  farside uninstall",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return t.fail(i.uninstall()) },
	}
	i.flags(cmd)
	return cmd
}

func (i *installation) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&i.scope, "scope", "user", "for whom: user or system")
	cmd.Flags().StringVar(&i.prefix, "prefix", "", "`DIRECTORY` of lib, include and bin (default: ~/.local or /usr/local)")
	cmd.Flags().StringVar(&i.destdir, "destdir", "", "`DIRECTORY` to put before all of these, for packages")
}

// complete fills in what the flags leave out.
func (i *installation) complete() (manifest.Scope, error) {
	scope, err := manifest.ParseScope(i.scope)
	if err != nil {
		return 0, err
	}
	if i.prefix == "" {
		i.prefix = "/usr/local"
		if scope == manifest.User {
			home, err := os.UserHomeDir()
			if err != nil {
				return 0, err
			}
			i.prefix = filepath.Join(home, ".local")
		}
	}
	if !filepath.IsAbs(i.prefix) {
		return 0, fmt.Errorf("the prefix %q is not an absolute path", i.prefix)
	}
	if strings.ContainsAny(i.prefix, "\n\r$") {
		return 0, fmt.Errorf("the prefix %q has what a file of pkg-config(1) can't say: a line's end or $", i.prefix)
	}
	if i.from == "" {
		self, err := os.Executable()
		if err != nil {
			return 0, err
		}
		i.from = filepath.Dir(self)
	}
	return scope, nil
}

// place is where a file is written.
func (i *installation) place(path string) string { return filepath.Join(i.destdir, i.prefix, path) }

func (i *installation) install() error {
	scope, err := i.complete()
	if err != nil {
		return err
	}
	// All that can be missing is read before anything is written.
	contents := make([][]byte, len(items()))
	for n, f := range items() {
		if f.content == nil {
			continue
		}
		if contents[n], err = f.content(i); err != nil {
			return err
		}
	}
	if err := manifest.Check(scope, i.destdir); err != nil {
		return err
	}
	if err := i.keepRecord(contents); err != nil {
		return err
	}
	for n, f := range items() {
		to := i.place(f.path)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if f.content == nil {
			err = link(f.target, to)
		} else {
			err = manifest.Replace(to, contents[n], f.mode)
		}
		if err != nil {
			return err
		}
		fmt.Println("installed", to)
	}
	path, err := manifest.Install(scope, i.destdir, manifest.New(filepath.Join(i.prefix, driverPath), manifest.APIVersion))
	if err == nil {
		fmt.Println("installed", path)
	}
	return err
}

func (i *installation) uninstall() error {
	scope, err := i.complete()
	if err != nil {
		return err
	}
	list, err := i.toRemove()
	if err != nil {
		return err
	}
	path, err := manifest.Remove(scope, i.destdir, filepath.Join(i.prefix, driverPath))
	switch {
	case err == nil:
		fmt.Println("removed", path)
	case errors.Is(err, manifest.ErrOtherLibrary):
		fmt.Println("left", err)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	err = i.removeUnchanged(list)
	// It is the driver's alone. A file of somebody else keeps it there.
	_ = os.Remove(filepath.Dir(i.place(driverPath)))
	return err
}

// link makes a symbolic link, in the place of one that is there.
func link(target, path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(target, path)
}

// fromBuild reads a file that make build has made.
func fromBuild(name string) func(*installation) ([]byte, error) {
	return func(i *installation) ([]byte, error) {
		b, err := os.ReadFile(filepath.Join(i.from, name))
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: %w", errNotBuilt, err)
		}
		return b, err
	}
}

// completion is what one of cobra's printers says to a shell, with descriptions.
func completion(print func(root *cobra.Command, w io.Writer, descriptions bool) error) func(*installation) ([]byte, error) {
	return func(*installation) ([]byte, error) {
		var b bytes.Buffer
		err := print((&tool{}).command(), &b, true)
		return b.Bytes(), err
	}
}

func zsh(root *cobra.Command, w io.Writer, _ bool) error { return root.GenZshCompletion(w) }

var errNotBuilt = errors.New("there is nothing to install")

// pkgConfig is the file by which pkg-config(1) knows the library.
func pkgConfig(i *installation) ([]byte, error) {
	return fmt.Appendf(nil, `prefix=%s
libdir=${prefix}/lib
includedir=${prefix}/include

Name: farside-rdma
Description: remote memory of Farside's fabric for C and C++
Version: %s
Cflags: -I${includedir}
Libs: -L${libdir} -Wl,-rpath,${libdir} -lfarside_rdma
`, inWord.Replace(i.prefix), version), nil
}

// inWord keeps what pkg-config(1) would take for the end of a word, for a quote, or for a comment, in the word.
var inWord = strings.NewReplacer("#", `\#`, " ", `\ `, "'", `\'`, `"`, `\"`, `\`, `\\`)
