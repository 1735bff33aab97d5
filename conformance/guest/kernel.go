package main

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// suite is the Debian release that the guest's kernel comes from: the first with CONFIG_UDMABUF.
const suite = "trixie"

// modules are what the guest loads, with what they need. udmabuf and the heaps of dma-bufs are in the kernel itself.
var modules = []string{
	"9p", "9pnet_virtio", // this machine's files
	"virtio_net", "crc32_generic", "rdma_rxe", "ib_uverbs", "rdma_ucm", // rxe0
	"veth", "sch_netem", // hosts of their own for rxe and Farside, and a link that loses packets
	"vgem",
}

// kernel is a folder with vmlinuz and modules/, whose files are to be loaded in the order of their names.
type kernel string

func (k kernel) image() string   { return filepath.Join(string(k), "vmlinuz") }
func (k kernel) modules() string { return filepath.Join(string(k), "modules") }

// findKernel returns the kernel in the user's cache. It downloads and unpacks one if there is none for this list of
// modules, and says so first.
func findKernel(ctx context.Context) (kernel, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "farside", "guest")
	removeAbandoned(cache)
	list := fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(strings.Join(modules, " "))))
	if found, _ := filepath.Glob(filepath.Join(cache, "linux-image-*-"+list)); len(found) > 0 {
		return kernel(slices.Max(found)), nil
	}
	if err := os.MkdirAll(cache, 0o777); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(cache, downloadPrefix)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	fmt.Printf("guest: downloading a kernel (about 110 MB, once) into %s\n", cache)
	name, err := download(ctx, work)
	if err != nil {
		return "", err
	}
	unpacked := filepath.Join(work, "unpacked")
	if err := execute(ctx, work, nil, "dpkg-deb", "-x", filepath.Join(work, name+".deb"), unpacked); err != nil {
		return "", err
	}
	made := filepath.Join(work, "made")
	if err := pick(ctx, unpacked, kernel(made)); err != nil {
		return "", err
	}
	k := filepath.Join(cache, name+"-"+list)
	// Somebody else may have been faster.
	if err := os.Rename(made, k); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return kernel(k), nil
}

const (
	downloadPrefix = "download-"
	// downloadTime is more than any download takes.
	downloadTime = 24 * time.Hour
)

// removeAbandoned removes what downloads have left that were killed.
func removeAbandoned(cache string) {
	left, _ := filepath.Glob(filepath.Join(cache, downloadPrefix+"*"))
	for _, dir := range left {
		if info, err := os.Lstat(dir); err == nil && time.Since(info.ModTime()) > downloadTime {
			_ = os.RemoveAll(dir)
		}
	}
}

// download puts the package of the suite's kernel into dir as NAME.deb, and returns its name. apt is told by a file of
// options to keep everything that it writes in dir.
func download(ctx context.Context, dir string) (string, error) {
	mirror, err := debianMirror(ctx)
	if err != nil {
		return "", err
	}
	for _, d := range []string{"lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o777); err != nil {
			return "", err
		}
	}
	options := fmt.Sprintf(`Dir::Etc::sourcelist "%[1]s/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State::lists "%[1]s/lists";
Dir::State::status "/dev/null";
Dir::Cache "%[1]s/cache";
APT::Sandbox::User "";
Acquire::Retries "5";
`, dir)
	source := fmt.Sprintf("deb [arch=amd64] %s %s main\n", mirror, suite)
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "apt.conf"), []byte(options), 0o666),
		os.WriteFile(filepath.Join(dir, "sources.list"), []byte(source), 0o666),
	); err != nil {
		return "", err
	}
	env := []string{"APT_CONFIG=" + filepath.Join(dir, "apt.conf")}
	if err := execute(ctx, dir, env, "apt-get", "-qq", "update"); err != nil {
		return "", err
	}
	about, err := output(ctx, dir, env, "apt-cache", "show", "linux-image-amd64")
	if err != nil {
		return "", err
	}
	// The package without a version depends on the current one.
	depends := regexp.MustCompile(`(?m)^Depends: (linux-image-[^ ,]+)`).FindStringSubmatch(about)
	if depends == nil {
		return "", fmt.Errorf("linux-image-amd64 of %s names no kernel", suite)
	}
	name := depends[1]
	if err := execute(ctx, dir, env, "apt-get", "-qq", "download", name); err != nil {
		return "", err
	}
	debs, err := filepath.Glob(filepath.Join(dir, name+"_*.deb"))
	if err != nil || len(debs) != 1 {
		return "", fmt.Errorf("apt-get download %s left %q (%v)", name, debs, err)
	}
	return name, os.Rename(debs[0], filepath.Join(dir, name+".deb"))
}

// debianMirror is the address from which this machine's apt has Debian's main packages.
func debianMirror(ctx context.Context) (string, error) {
	targets, err := output(ctx, "", nil, "apt-get", "indextargets", "--format",
		"$(ORIGIN) $(LABEL) $(COMPONENT) $(REPO_URI)", "Created-By: Packages")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(targets) {
		if mirror, ok := strings.CutPrefix(strings.TrimSpace(line), "Debian Debian main "); ok {
			return mirror, nil
		}
	}
	return "", errors.New("apt-get indextargets names no mirror of Debian; run apt-get update first")
}

// pick copies vmlinuz and the modules from an unpacked package.
func pick(ctx context.Context, unpacked string, to kernel) error {
	if err := os.MkdirAll(to.modules(), 0o777); err != nil {
		return err
	}
	images, err := filepath.Glob(filepath.Join(unpacked, "boot/vmlinuz-*"))
	if err != nil || len(images) != 1 {
		return fmt.Errorf("the package holds the kernels %q", images)
	}
	if err := os.Rename(images[0], to.image()); err != nil {
		return err
	}
	files := map[string]string{}
	err = filepath.WalkDir(filepath.Join(unpacked, "usr/lib/modules"), func(path string, d fs.DirEntry, err error) error {
		if name, _, ok := strings.Cut(filepath.Base(path), ".ko"); ok && !d.IsDir() {
			files[moduleName(name)] = path
		}
		return err
	})
	if err != nil {
		return err
	}
	l := loadOrder{files: files, done: map[string]bool{}, read: func(path string) ([]byte, error) {
		if !strings.HasSuffix(path, ".xz") {
			return os.ReadFile(path)
		}
		out, err := output(ctx, "", nil, "xz", "-dc", path)
		return []byte(out), err
	}}
	for _, name := range modules {
		if err := l.add(name); err != nil {
			return err
		}
	}
	for i, m := range l.list {
		file := filepath.Join(to.modules(), fmt.Sprintf("%02d-%s.ko", i, m.name))
		if err := os.WriteFile(file, m.content, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// moduleName is the name of a module's file as modules name each other.
func moduleName(s string) string { return strings.ReplaceAll(s, "-", "_") }

type module struct {
	name    string
	content []byte
}

// loadOrder collects modules, each behind those that it needs.
type loadOrder struct {
	files map[string]string // by name
	read  func(path string) ([]byte, error)
	done  map[string]bool
	list  []module
}

func (l *loadOrder) add(name string) error {
	if l.done[name] {
		return nil
	}
	l.done[name] = true
	if l.files[name] == "" {
		return fmt.Errorf("the kernel's package has no module %s", name)
	}
	content, err := l.read(l.files[name])
	if err != nil {
		return err
	}
	needs, err := dependencies(content)
	if err != nil {
		return fmt.Errorf("module %s: %w", name, err)
	}
	for _, n := range needs {
		if err := l.add(n); err != nil {
			return fmt.Errorf("%s needs: %w", name, err)
		}
	}
	l.list = append(l.list, module{name, content})
	return nil
}

// dependencies are the modules that a module names in its section .modinfo.
func dependencies(content []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	section := f.Section(".modinfo")
	if section == nil {
		return nil, errors.New("it has no section .modinfo")
	}
	info, err := section.Data()
	if err != nil {
		return nil, err
	}
	var needs []string
	for field := range strings.SplitSeq(string(info), "\x00") {
		if list, ok := strings.CutPrefix(field, "depends="); ok && list != "" {
			for n := range strings.SplitSeq(list, ",") {
				needs = append(needs, moduleName(n))
			}
		}
	}
	return needs, nil
}
