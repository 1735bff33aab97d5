package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
)

// maintainer is who Debian's tools name. The address is one that never reaches anybody (RFC 6761).
const maintainer = "The Farside authors <farside@example.invalid>"

// The year is that of the commit.
const copyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: farside
Comment: THIRD-PARTY.gz has the licences of the Go modules that are linked into the binaries.

Files: *
Copyright: %d The Farside authors
License: Apache-2.0
 On Debian systems the whole text of the licence is in /usr/share/common-licenses/Apache-2.0.
`

// overrides are for lintian(1).
const overrides = `# The package has all of Farside. A library of peers that other packages depend on would be a
# package of its own, with a shlibs file, and one with its header and its link beside it.
farside: no-shlibs usr/lib/libfarside_rdma.so.0
farside: package-name-doesnt-match-sonames libfarside-rdma0
farside: link-to-shared-library-in-wrong-package usr/lib/libfarside_rdma.so.0 [usr/lib/libfarside_rdma.so]
# The tree is the same for each architecture and wherever it lies.
farside: pkg-config-unavailable-for-cross-compilation [usr/lib/pkgconfig/farside-rdma.pc]
# Programs in Go have no buffers that overflow.
farside: hardening-no-pie [usr/bin/farside]
`

// deb writes the package for dpkg.
func (o *options) deb(to io.Writer, tree []file, modules []byte) (err error) {
	libc, err := checkBinaries(tree, o.arch)
	if err != nil {
		return err
	}
	all, err := o.debianTree(tree, modules)
	if err != nil {
		return err
	}
	// nfpm reads its files from a disk.
	dir, err := os.MkdirTemp("", "farside-deb-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var contents files.Contents
	for n, f := range all {
		c := files.Content{Destination: "/usr/" + f.path, Type: files.TypeFile, FileInfo: &files.ContentFileInfo{
			Owner: "root", Group: "root", Mode: f.mode, MTime: o.epoch, Size: int64(len(f.body))}}
		if f.target != "" {
			c.Type, c.Source = files.TypeSymlink, f.target
		} else {
			c.Source = filepath.Join(dir, fmt.Sprint(n))
			if err := os.WriteFile(c.Source, f.body, 0o600); err != nil {
				return err
			}
		}
		contents = append(contents, &c)
	}
	return deb.Default.Package(nfpm.WithDefaults(&nfpm.Info{
		Name: "farside", Arch: o.arch, Platform: "linux", Version: o.version, MTime: o.epoch,
		Section: "libs", Priority: "optional", Maintainer: maintainer, DisableGlobbing: true,
		Description: "software Vulkan driver whose subject is external memory\n" +
			"Farside is a Vulkan driver for machines without a GPU. Memory leaves a\n" +
			"process as a file descriptor or as a remote (RDMA) address, and another\n" +
			"process uses it. For tests it can be other devices, fail on command, and\n" +
			"report misuse.\n" +
			"\n" +
			"The package has the driver, the tool farside, the library of peers in C with\n" +
			"its header, and a libibverbs for programs that farside verbs runs.",
		Overridables: nfpm.Overridables{
			Depends:  []string{fmt.Sprintf("libc6 (>= %d.%d)", libc[0], libc[1]), "libvulkan1"},
			Suggests: []string{"vulkan-tools"},
			Provides: []string{"vulkan-icd"},
			Contents: contents,
			Deb: nfpm.Deb{
				Compression: "xz",
				Triggers:    nfpm.DebTriggers{ActivateNoAwait: []string{"ldconfig"}},
			},
		},
	}), to)
}

// debianTree is the tree as Debian wants it: manual pages compressed, zsh's completions where Debian's zsh looks for
// packages' ones, and the documents that each package has.
func (o *options) debianTree(tree []file, modules []byte) ([]file, error) {
	all := slices.Clone(tree)
	for n := range all {
		f := &all[n]
		if rest, ok := strings.CutPrefix(f.path, "share/zsh/site-functions/"); ok {
			f.path = "share/zsh/vendor-completions/" + rest
		}
		if strings.HasPrefix(f.path, "share/man/") {
			body, err := gzipped(f.body)
			if err != nil {
				return nil, err
			}
			f.path, f.body = f.path+".gz", body
		}
	}
	changelog, err := gzipped(fmt.Appendf(nil,
		"farside (%s) unstable; urgency=medium\n\n  * Made of commit %s.\n\n -- %s  %s\n",
		o.version, o.commit, maintainer, o.epoch.Format("Mon, 02 Jan 2006 15:04:05 -0700")))
	if err != nil {
		return nil, err
	}
	licences, err := gzipped(modules)
	if err != nil {
		return nil, err
	}
	all = append(all,
		file{path: "share/doc/farside/changelog.gz", mode: 0o644, body: changelog},
		file{path: "share/doc/farside/copyright", mode: 0o644, body: fmt.Appendf(nil, copyright, o.epoch.Year())},
		file{path: "share/doc/farside/THIRD-PARTY.gz", mode: 0o644, body: licences},
		file{path: "share/lintian/overrides/farside", mode: 0o644, body: []byte(overrides)})
	sortFiles(all)
	return all, nil
}
