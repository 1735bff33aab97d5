package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The tests look at what make dist has made. make dist-test runs both.

var cold = flag.Bool("cold", false, "build the second packages without what is in Go's cache (some ten minutes)")

const dist = "../build/dist"

// packages are the paths of what make dist has made for an architecture.
type packages struct{ deb, tarball, version string }

func made(t *testing.T, arch string) packages {
	t.Helper()
	debs, _ := filepath.Glob(filepath.Join(dist, "farside_*_"+arch+".deb"))
	if len(debs) != 1 {
		t.Fatalf("%s has %q for %s: run make dist", dist, debs, arch)
	}
	version := strings.Split(filepath.Base(debs[0]), "_")[1]
	p := packages{debs[0], filepath.Join(dist, "farside-"+version+"-linux-"+arch+".tar.gz"), version}
	for _, path := range []*string{&p.deb, &p.tarball} {
		var err error
		if *path, err = filepath.Abs(*path); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// needs skips the test if a program is missing, and names Debian's package of it.
func needs(t *testing.T, program, debian string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("SKIPPED: %s is missing (Debian package %s)", program, debian)
	}
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", cmd, err, out, &stderr)
	}
	return string(out)
}

// The source in another directory, with another umask, gives the same bytes.
func TestSameBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: builds everything, and -short is set")
	}
	tree := filepath.Join(t.TempDir(), "another place")
	epoch := run(t, "git", "-C", "..", "log", "-1", "--format=%ct")
	commit := run(t, "git", "-C", "..", "rev-parse", "--short=12", "HEAD")
	script := `umask 077; mkdir "$1"
		git ls-files -z --cached --others --exclude-standard | tar -c --null -T - | tar -x -C "$1"
		cd "$1"; exec make dist COMMIT="$2"`
	cmd := exec.CommandContext(t.Context(), "bash", "-ec", script, "bash", tree, strings.TrimSpace(commit))
	cmd.Dir, cmd.Env = "..", append(os.Environ(), "SOURCE_DATE_EPOCH="+strings.TrimSpace(epoch), "MAKEFLAGS=")
	if *cold {
		cmd.Env = append(cmd.Env, "GOCACHE="+t.TempDir())
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make dist: %v\n%s", err, out)
	}
	entries, err := os.ReadDir(dist)
	if err != nil || len(entries) != 5 {
		t.Fatalf("%s has %v, %v; want two packages for each of two architectures, and their sums", dist, entries, err)
	}
	for _, e := range entries {
		want, err := os.ReadFile(filepath.Join(dist, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(tree, "build/dist", e.Name()))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs when it is made in another directory (%v); was make dist run on this source?",
				e.Name(), err)
		}
	}
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = dist
	if out, err := check.CombinedOutput(); err != nil || strings.Count(string(out), ": OK") != 4 {
		t.Errorf("%v: %s", err, out)
	}
}

// unpacked is the tree of a package, by path below its prefix.
func unpacked(t *testing.T, r io.Reader, prefix string) map[string]file {
	t.Helper()
	all, last, epoch := map[string]file{}, "", int64(0)
	for a := tar.NewReader(r); ; {
		h, err := a.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uname != "root" || h.Gname != "root" || h.Uid != 0 || h.Gid != 0 {
			t.Errorf("%s belongs to %s (%d), %s (%d)", h.Name, h.Uname, h.Uid, h.Gname, h.Gid)
		}
		if epoch == 0 {
			epoch = h.ModTime.Unix()
		}
		if h.ModTime.Unix() != epoch {
			t.Errorf("%s is of %v, not of the time of the others", h.Name, h.ModTime)
		}
		if h.Name < last {
			t.Errorf("%s comes after %s", h.Name, last)
		}
		last = h.Name
		if h.Typeflag == tar.TypeDir {
			if h.Mode != 0o755 {
				t.Errorf("%s has mode %o", h.Name, h.Mode)
			}
			continue
		}
		body, err := io.ReadAll(a)
		if err != nil {
			t.Fatal(err)
		}
		path, ok := strings.CutPrefix(strings.TrimPrefix(h.Name, "./"), prefix)
		if !ok {
			t.Errorf("%s is not below %s", h.Name, prefix)
		}
		all[path] = file{path: path, mode: fs.FileMode(h.Mode), body: body, target: h.Linkname}
	}
}

// trees reads both packages of an architecture.
func trees(t *testing.T, arch string) (deb, tarball map[string]file) {
	t.Helper()
	needs(t, "dpkg-deb", "dpkg")
	p := made(t, arch)
	deb = unpacked(t, strings.NewReader(run(t, "dpkg-deb", "--fsys-tarfile", p.deb)), "usr/")
	f, err := os.Open(p.tarball)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return deb, unpacked(t, z, "farside-"+p.version+"-linux-"+arch+"/")
}

var kernels = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

// Both packages have what make install installs, and the documents that go with binaries.
func TestContents(t *testing.T) {
	for arch, kernel := range kernels {
		deb, tarball := trees(t, arch)
		for path, f := range tarball {
			in, ok := deb[debianPath(path)]
			if path == "INSTALL" || path == "LICENSE" || path == "THIRD-PARTY" {
				continue
			}
			body := in.body
			if strings.HasSuffix(in.path, ".gz") {
				body = gunzip(t, body)
			}
			if !ok || in.mode != f.mode || in.target != f.target || !bytes.Equal(body, f.body) {
				t.Errorf("%s: the .deb's %s is not the tarball's %s", arch, debianPath(path), path)
			}
		}
		if got := len(deb) - len(tarball); got != 1 {
			t.Errorf("%s: the .deb has %d files more than the tarball, want its documents: %q", arch, got,
				slices.Sorted(maps.Keys(deb)))
		}
		for _, path := range []string{
			"bin/farside", "lib/farside/libvulkan_farside.so", "share/vulkan/icd.d/farside_icd." + kernel + ".json",
			"lib/libfarside_rdma.so", "lib/libfarside_rdma.so.0", "include/farside_rdma.h",
			"lib/pkgconfig/farside-rdma.pc", "lib/farside/verbs/libibverbs.so.1", "lib/farside/verbs/librdmacm.so.1",
			"share/man/man1/farside.1", "share/man/man7/farside.7", "share/bash-completion/completions/farside",
			"share/fish/vendor_completions.d/farside.fish", "share/zsh/site-functions/_farside",
			"INSTALL", "LICENSE", "THIRD-PARTY",
		} {
			if f, ok := tarball[path]; !ok || len(f.body) == 0 && f.target == "" {
				t.Errorf("%s: the tarball lacks %s, or it is empty: %q", arch, path,
					slices.Sorted(maps.Keys(tarball)))
			}
		}
		manifest := string(tarball["share/vulkan/icd.d/farside_icd."+kernel+".json"].body)
		if !strings.Contains(manifest, `"library_path": "../../../lib/farside/libvulkan_farside.so"`) {
			t.Errorf("%s: the manifest is %s", arch, manifest)
		}
		notices := tarball["THIRD-PARTY"].body
		for _, name := range []string{
			"==== Go ====", "==== github.com/ebitengine/purego v", "Apache License", "Redistributions",
		} {
			if !bytes.Contains(notices, []byte(name)) {
				t.Errorf("%s: THIRD-PARTY doesn't have %q", arch, name)
			}
		}
		if !bytes.Equal(gunzip(t, deb["share/doc/farside/THIRD-PARTY.gz"].body), notices) {
			t.Errorf("%s: the .deb's THIRD-PARTY.gz is not the tarball's", arch)
		}
	}
}

// debianPath is where the .deb has a file of the tarball.
func debianPath(path string) string {
	if strings.HasPrefix(path, "share/man/") {
		return path + ".gz"
	}
	return strings.Replace(path, "zsh/site-functions", "zsh/vendor-completions", 1)
}

func gunzip(t *testing.T, b []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if b, err = io.ReadAll(z); err != nil {
		t.Fatal(err)
	}
	return b
}

// Binaries are for the architecture, need no C library newer than Depends says, and hold no path of where they were
// built.
func TestBinaries(t *testing.T) {
	needs(t, "readelf", "binutils")
	here, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	for arch := range kernels {
		deb, _ := trees(t, arch)
		depends := run(t, "dpkg-deb", "-f", made(t, arch).deb, "Depends")
		m := regexp.MustCompile(`\blibc6 \(>= 2\.(\d+)\)`).FindStringSubmatch(depends)
		if m == nil || !strings.Contains(depends, "libvulkan1") {
			t.Fatalf("%s depends on %q", arch, depends)
		}
		stated, _ := strconv.Atoi(m[1])
		newest, binaries := 0, 0
		for _, f := range deb {
			b, err := f.binary()
			if err != nil {
				t.Fatal(err)
			}
			if b == nil {
				continue
			}
			binaries++
			want := map[string]string{"amd64": "EM_X86_64", "arm64": "EM_AARCH64"}
			if b.Machine.String() != want[arch] {
				t.Errorf("%s has %s for %v", arch, f.path, b.Machine)
			}
			for _, path := range []string{here, home + "/", os.TempDir() + "/go-"} {
				if bytes.Contains(f.body, []byte(path)) {
					t.Errorf("%s: %s holds the path %s", arch, f.path, path)
				}
			}
			// Not the reader that wrote Depends.
			onDisk := filepath.Join(t.TempDir(), "binary")
			if err := os.WriteFile(onDisk, f.body, 0o600); err != nil {
				t.Fatal(err)
			}
			versions := run(t, "readelf", "-V", "-W", onDisk)
			for _, v := range regexp.MustCompile(`GLIBC_2\.(\d+)`).FindAllStringSubmatch(versions, -1) {
				n, _ := strconv.Atoi(v[1])
				newest = max(newest, n)
			}
		}
		if binaries < 4 || newest != stated || newest > 36 {
			t.Errorf("%s: %d binaries need glibc 2.%d, Depends says 2.%d, and Debian 12 has 2.36",
				arch, binaries, newest, stated)
		}
	}
}

func TestControl(t *testing.T) {
	needs(t, "dpkg-deb", "dpkg")
	for arch := range kernels {
		p := made(t, arch)
		for field, want := range map[string]string{
			"Package": "farside", "Version": p.version, "Architecture": arch, "Section": "libs", "Priority": "optional",
			"Provides": "vulkan-icd", "Suggests": "vulkan-tools", "Maintainer": maintainer,
		} {
			if got := strings.TrimSpace(run(t, "dpkg-deb", "-f", p.deb, field)); got != want {
				t.Errorf("%s: %s is %q, want %q", arch, field, got, want)
			}
		}
		deb, _ := trees(t, arch)
		total := 0
		for _, f := range deb {
			total += len(f.body)
		}
		size, err := strconv.Atoi(strings.TrimSpace(run(t, "dpkg-deb", "-f", p.deb, "Installed-Size")))
		if err != nil || size < total/1024 || size > total/1024+200 {
			t.Errorf("%s: Installed-Size is %d KiB, of %d KiB of files; %v", arch, size, total/1024, err)
		}
		if got := run(t, "dpkg-deb", "-I", p.deb, "triggers"); !strings.Contains(got, "activate-noawait ldconfig") {
			t.Errorf("%s: the triggers are %q", arch, got)
		}
	}
}

// Debian's checker has nothing to say that the package doesn't answer in share/lintian/overrides.
func TestLintian(t *testing.T) {
	needs(t, "lintian", "lintian")
	for arch := range kernels {
		out, err := exec.CommandContext(t.Context(), "lintian", "--allow-root", "--fail-on", "error,warning",
			made(t, arch).deb).CombinedOutput()
		if err != nil || len(out) != 0 {
			t.Errorf("%s: %v\n%s", arch, err, out)
		}
	}
}

// What the tarball's note says: it works where it was unpacked, and installs itself.
func TestTarball(t *testing.T) {
	needs(t, "vulkaninfo", "vulkan-tools")
	arch := host(t)
	p := made(t, arch)
	dir := filepath.Join(t.TempDir(), "un packed")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, "tar", "-xzf", p.tarball, "-C", dir, "--strip-components=1", "--no-same-owner")
	home := filepath.Join(t.TempDir(), "home")
	t.Setenv("HOME", home)
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	tool := filepath.Join(dir, "bin/farside")
	if out := run(t, tool, "--version"); !strings.Contains(out, p.version) {
		t.Errorf("--version says %q, want %s", out, p.version)
	}
	where := `echo "$VK_DRIVER_FILES"; vulkaninfo --summary`
	manifest := "share/vulkan/icd.d/farside_icd." + kernels[arch] + ".json"
	out := run(t, tool, "run", "--", "sh", "-c", where)
	if !strings.HasPrefix(out, filepath.Join(dir, manifest)+"\n") || !strings.Contains(out, "Farside") {
		t.Errorf("where it was unpacked: %s", out)
	}
	run(t, tool, "install")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	tool = filepath.Join(home, ".local/bin/farside")
	if out := run(t, tool, "run", "--", "sh", "-c", where); !strings.HasPrefix(out,
		filepath.Join(home, ".local", manifest)+"\n") || !strings.Contains(out, "Farside") {
		t.Errorf("installed: %s", out)
	}
	run(t, tool, "uninstall")
	if left := run(t, "find", home, "-not", "-type", "d"); left != "" {
		t.Errorf("uninstall leaves %s", left)
	}
}

// Where a binary isn't what the package is for, or needs what the package doesn't depend on, there is no package.
func TestRefusals(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	other := map[string]string{"amd64": "arm64", "arm64": "amd64"}[strings.TrimSpace(run(t, "go", "env", "GOARCH"))]
	_, err = checkBinaries([]file{{path: "bin/x", body: body}}, other)
	if err == nil || !strings.Contains(err.Error(), "bin/x") {
		t.Errorf("a binary for another architecture: %v", err)
	}
	for version, want := range map[string][2]int{"GLIBC_2.34": {2, 34}, "GLIBC_2.2.5": {2, 2}} {
		if got, ok := glibc(version); !ok || got != want {
			t.Errorf("%s is %v, %t", version, got, ok)
		}
	}
	for _, version := range []string{"", "GLIBC_PRIVATE", "GCC_3.0", "GLIBC_x.1"} {
		if got, ok := glibc(version); ok {
			t.Errorf("%s is %v", version, got)
		}
	}
	if _, err := readTree("/dev/null/nothing"); err == nil {
		t.Error("a tree that isn't there was read")
	}
	if _, err := licences(t.TempDir()); err == nil || !strings.Contains(fmt.Sprint(err), errNoLicence.Error()) {
		t.Errorf("a module without licence: %v", err)
	}
}
