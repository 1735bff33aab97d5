package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The files of docs/ci.md that are about packages. TestCIExamples of cmd/farside has the others.

// tests stands for your-vulkan-tests: it wants to see the driver without being told where it is.
const tests = `#!/bin/sh -e
test -z "$VK_DRIVER_FILES"
vulkaninfo --summary | grep -q "= Farside (software, external memory)"
echo passed
`

// example returns the last block of docs/ci.md in a language, with this machine's package and version in it.
func example(t *testing.T, language string, p packages) string {
	t.Helper()
	page, err := os.ReadFile("../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) == 0 {
		t.Fatalf("docs/ci.md has no block of %s", language)
	}
	text := strings.ReplaceAll(blocks[len(blocks)-1][1], "farside_0.1.0_amd64.deb", filepath.Base(p.deb))
	return strings.ReplaceAll(text, "farside:0.1.0", "farside:"+p.version)
}

// TestCIPackage runs the steps of the job with a package in a tree of Debian, apt's with the network.
func TestCIPackage(t *testing.T) {
	p := made(t, host(t))
	c := debian(t, host(t), tools...)
	// apt changes to another user to fetch, whom the namespace doesn't have. The tree has neither sudo nor curl: the
	// package is put where curl would.
	for path, text := range map[string]string{
		"etc/apt/apt.conf.d/sandbox": "APT::Sandbox::User \"root\";\n",
		"usr/bin/sudo":               "#!/bin/sh\nexec \"$@\"\n",
		"usr/bin/curl":               "#!/bin/sh -e\ntest -f \"${2##*/}\"\n",
		"tmp/your-vulkan-tests":      tests,
	} {
		if err := os.WriteFile(filepath.Join(c.dir, path), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	resolver, err := os.ReadFile("/etc/resolv.conf")
	if err == nil {
		err = os.WriteFile(filepath.Join(c.dir, "etc/resolv.conf"), resolver, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.put(p.deb)
	ran, last := 0, ""
	for _, m := range regexp.MustCompile(`(?m)^ +run: (.*)$`).FindAllStringSubmatch(example(t, "yaml", p), -1) {
		ran, last = ran+1, c.run("bash", "-ec", "cd /tmp; "+m[1])
	}
	if ran != 3 || last != "passed\n" {
		t.Errorf("%d steps ran, and the tests printed %q", ran, last)
	}
}

// store is a place of buildah's own, for one test.
type store struct {
	t   *testing.T
	dir string
}

func (s *store) try(args ...string) (string, error) {
	cmd := exec.CommandContext(s.t.Context(), "buildah", append([]string{"--root", filepath.Join(s.dir, "root"),
		"--runroot", filepath.Join(s.dir, "run"), "--storage-driver", "vfs"}, args...)...)
	cmd.Env = append(os.Environ(), "BUILDAH_ISOLATION=chroot") // needs the fewest rights
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s *store) run(args ...string) string {
	s.t.Helper()
	out, err := s.try(args...)
	if err != nil {
		s.t.Fatalf("buildah %q: %v\n%s", args, err, out)
	}
	return out
}

func newStore(t *testing.T) *store {
	t.Helper()
	needs(t, "buildah", "buildah")
	dir, err := os.MkdirTemp("", "farside-buildah-")
	if err != nil {
		t.Fatal(err)
	}
	s := &store{t, dir}
	t.Cleanup(func() {
		if os.Getuid() != 0 { // files belong to several users
			_ = exec.Command("buildah", "unshare", "rm", "-rf", dir).Run()
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if out, err := s.try("from", "--name", "base", "scratch"); err != nil {
		t.Skipf("SKIPPED: buildah has not the rights that it needs here: %v: %s", err, out)
	}
	return s
}

// TestImage builds the Containerfile, and the image of docs/ci.md that uses its image. A tree of Debian that mmdebstrap
// has made, with more packages, stands for debian:bookworm-slim, which is on the network.
func TestImage(t *testing.T) {
	p, s := made(t, host(t)), newStore(t)
	s.run("add", "base", debianTar(t, host(t), tools...), "/")
	s.run("run", "base", "--", "rm", "-rf", "/usr/lib/gcc", "/usr/share/locale") // each layer is a copy of all files
	s.run("commit", "--quiet", "base", "docker.io/library/debian:bookworm-slim")
	image := "registry.example/farside:" + p.version
	s.run("bud", "--pull-never", "--build-arg", "ARCH="+host(t), "-t", image, "-f", "../Containerfile", dist)

	s.run("from", "--pull-never", "--name", "image", image)
	if out := s.run("run", "image", "--", "farside", "doctor"); !strings.Contains(out, "/usr/local/share/vulkan/") ||
		!strings.Contains(out, "Farside (software, external memory)") {
		t.Errorf("farside doctor in the image: %s", out)
	}
	if out, err := s.try("run", "image", "--", "sh", "-c", "true"); err == nil {
		t.Errorf("the image has a shell: %s", out)
	}
	packed := filepath.Join(t.TempDir(), "packed")
	s.run("push", "--quiet", image, "oci:"+packed+":image")
	download, unpacked := sizes(t, filepath.Join(packed, "blobs/sha256"))
	t.Logf("the image takes %.1f MiB to download, %.1f MiB unpacked; docs/install.md says 19 and 48",
		mib(download), mib(unpacked))
	if mib(download) > 22 || mib(unpacked) > 54 {
		t.Error("the image has grown")
	}

	context := t.TempDir()
	for name, text := range map[string]string{
		"Containerfile": example(t, "dockerfile", p), "your-vulkan-tests": tests,
	} {
		if err := os.WriteFile(filepath.Join(context, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.run("bud", "--pull-never", "-t", "tests", context)
	s.run("from", "--pull-never", "--name", "tests", "localhost/tests")
	if out := s.run("run", "tests", "--", "./your-vulkan-tests"); !strings.HasSuffix(out, "passed\n") {
		t.Errorf("the tests in an image with Farside's /usr/local print %s", out)
	}
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// sizes is what the blobs of an image take, in bytes: as they are, and its compressed layers unpacked.
func sizes(t *testing.T, dir string) (packed, unpacked int64) {
	t.Helper()
	blobs, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(blobs) == 0 {
		t.Fatalf("%s has no blobs: %v", dir, err)
	}
	for _, path := range blobs {
		blob, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		packed += int64(len(blob))
		if bytes.HasPrefix(blob, []byte{0x1f, 0x8b}) { // gzip
			unpacked += int64(len(gunzip(t, blob)))
		}
	}
	return packed, unpacked
}
