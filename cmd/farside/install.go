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
	pack    string // the architecture (GOARCH) of a package's tree, which is what is written then; empty otherwise
}

// item is a file of an installation. It has one of file, content and target.
type item struct {
	path    string // below the prefix
	mode    fs.FileMode
	file    string // its name where make build has put it
	content func(*installation) ([]byte, error)
	target  string // of a symbolic link
}

const (
	rdmaLibrary = "libfarside_rdma.so"
	rdmaSoname  = rdmaLibrary + ".0"
	rdmaHeader  = "farside_rdma.h"
)

// driverPath is where the driver goes below the prefix.
const driverPath = "lib/farside/" + manifest.LibraryName

// verbsPath is where the library of RDMA programs goes.
const verbsPath = "lib/farside/" + verbsDir + "/" + verbsLibrary

// items is everything but the manifest, which is written last and removed first. Packages have the same files.
func items() []item {
	return []item{
		{path: driverPath, mode: 0o644, file: manifest.LibraryName},
		// Aside: in no directory that the dynamic linker searches, or programs would lose their adapters.
		{path: verbsPath, mode: 0o644, file: verbsDir + "/" + verbsLibrary},
		{path: filepath.Dir(verbsPath) + "/" + cmLibrary, target: verbsLibrary},
		{path: "lib/" + rdmaSoname, mode: 0o644, file: rdmaLibrary},
		{path: "lib/" + rdmaLibrary, target: rdmaSoname},
		{path: "lib/pkgconfig/farside-rdma.pc", mode: 0o644, content: pkgConfig},
		{path: "include/" + rdmaHeader, mode: 0o644, file: rdmaHeader},
		{path: "share/man/man1/farside.1", mode: 0o644, content: toolPage},
		{path: "share/man/man7/farside.7", mode: 0o644, content: variablesPage},
		{path: "share/bash-completion/completions/farside", mode: 0o644,
			content: completion((*cobra.Command).GenBashCompletionV2)},
		{path: "share/fish/vendor_completions.d/farside.fish", mode: 0o644,
			content: completion((*cobra.Command).GenFishCompletion)},
		{path: "share/zsh/site-functions/_farside", mode: 0o644, content: completion(zsh)},
		{path: "bin/farside", mode: 0o755, file: "farside"},
	}
}

func (t *tool) install() *cobra.Command {
	var i installation
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install the driver, its libraries for C and RDMA, and this tool",
		Long: `Copies what make build has made to where the Vulkan loader, compilers and the shell
find it, and replaces an older version of it. A manifest that isn't Farside's is left
alone. make install calls this.`,
		Example: "  build/farside install\n  sudo build/farside install --scope system",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return t.fail(i.install()) },
	}
	i.flags(cmd)
	cmd.Flags().StringVar(&i.from, "from", "", "`DIRECTORY` that make build has filled (default: that of this tool)")
	cmd.Flags().StringVar(&i.pack, "package", "", "lay out a package for `ARCHITECTURE` below the prefix")
	cmd.MarkFlagsMutuallyExclusive("package", "scope")
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
	list := items()
	if i.pack != "" {
		list = append(list, i.packageManifest())
	}
	// All that can be missing is read before anything is written.
	contents := make([][]byte, len(list))
	for n, f := range list {
		if contents[n], err = f.read(i); err != nil {
			return err
		}
	}
	if i.pack != "" {
		return i.write(list, contents)
	}
	if err := manifest.Check(scope, i.destdir); err != nil {
		return err
	}
	if err := i.keepRecord(contents); err != nil {
		return err
	}
	if err := i.write(list, contents); err != nil {
		return err
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
	// They are the driver's alone. A file of somebody else keeps them there.
	_ = os.Remove(filepath.Dir(i.place(verbsPath)))
	_ = os.Remove(filepath.Dir(i.place(driverPath)))
	return err
}

// write writes the files of a list.
func (i *installation) write(list []item, contents [][]byte) error {
	for n, f := range list {
		to := i.place(f.path)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		var err error
		if f.target != "" {
			err = link(f.target, to)
		} else {
			err = manifest.Replace(to, contents[n], f.mode)
		}
		if err != nil {
			return err
		}
		fmt.Println("installed", to)
	}
	return nil
}

// packageManifest is the manifest of a package. It names the library by the way from itself, so that the tree may lie
// anywhere.
func (i *installation) packageManifest() item {
	path := filepath.Join("share/vulkan/icd.d", manifest.FileNameOf(i.pack))
	return item{path: path, mode: 0o644, content: func(*installation) ([]byte, error) {
		library, err := filepath.Rel(filepath.Dir(path), driverPath)
		if err != nil {
			return nil, err
		}
		return manifest.New(library, manifest.APIVersion).Marshal()
	}}
}

// link makes a symbolic link, in the place of one that is there.
func link(target, path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(target, path)
}

// read returns the content of a file, nil of a symbolic link. What make build has made lies in one directory, or, where
// the tool is that of an unpacked package, as it does below a prefix.
func (f *item) read(i *installation) ([]byte, error) {
	switch {
	case f.content != nil:
		return f.content(i)
	case f.file == "":
		return nil, nil
	}
	b, err := os.ReadFile(filepath.Join(i.from, f.file))
	if errors.Is(err, fs.ErrNotExist) {
		unpacked, otherErr := os.ReadFile(filepath.Join(i.from, "..", f.path))
		if otherErr == nil {
			return unpacked, nil
		}
		err = fmt.Errorf("%w: %w", errNotBuilt, err)
	}
	return b, err
}

// completion is what one of cobra's printers says to a shell, with descriptions.
func completion(
	print func(root *cobra.Command, w io.Writer, descriptions bool) error,
) func(*installation) ([]byte, error) {
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
	prefix := inWord.Replace(i.prefix)
	if i.pack != "" {
		prefix = "${pcfiledir}/../.." // wherever the package lies
	}
	return fmt.Appendf(nil, `prefix=%s
libdir=${prefix}/lib
includedir=${prefix}/include

Name: farside-rdma
Description: remote memory of Farside's fabric for C and C++
Version: %s
Cflags: -I${includedir}
Libs: -L${libdir} -Wl,-rpath,${libdir} -lfarside_rdma
`, prefix, version), nil
}

// inWord keeps what pkg-config(1) would take for the end of a word, for a quote, or for a comment, in the word.
var inWord = strings.NewReplacer("#", `\#`, " ", `\ `, "'", `\'`, `"`, `\"`, `\`, `\\`)
