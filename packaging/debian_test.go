package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The tests below install packages into trees of Debian 12 that mmdebstrap makes. It does so without root, in a user
// namespace. The trees are kept in build/debian; delete that to get newer ones.

// shown is what vulkaninfo has for the driver.
const shown = "= Farside (software, external memory)"

// chroot is a tree in which programs run, in a namespace of its own with the host's devices and network.
type chroot struct {
	t        *testing.T
	dir      string
	emulator string // put before programs; empty if they are for this machine
}

// inNamespace is what every program runs in.
var inNamespace = []string{"unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child",
	"--mount-proc"}

// tools are what a tree for this machine has beyond the smallest one with apt.
var tools = []string{"libvulkan1", "vulkan-tools", "libvulkan-dev", "gcc", "libc6-dev", "pkgconf"}

// debian unpacks a tree of Debian 12 with packages.
func debian(t *testing.T, arch string, packages ...string) *chroot {
	t.Helper()
	if out, err := exec.Command(inNamespace[0], append(inNamespace[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: user namespaces are not permitted here (unshare --map-root-user: %v: %s)", err, out)
	}
	c := &chroot{t: t, dir: t.TempDir()}
	run(t, "tar", "-xf", debianTar(t, arch, packages...), "-C", c.dir, "--exclude=./dev/*", "--no-same-owner")
	return c
}

// debianTar makes such a tree as a tarball, unless it is there. Packages for another machine are only unpacked in it.
func debianTar(t *testing.T, arch string, packages ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: makes a tree of Debian, and -short is set")
	}
	needs(t, "mmdebstrap", "mmdebstrap")
	cached, err := filepath.Abs(filepath.Join(dist, "../debian", "bookworm-"+arch+".tar"))
	if err != nil {
		t.Fatal(err)
	}
	variant := "minbase"
	if arch != host(t) {
		variant = "extract"
	}
	if _, err := os.Stat(cached); err != nil {
		if err := os.MkdirAll(filepath.Dir(cached), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Logf("mmdebstrap makes %s", cached)
		run(t, "mmdebstrap", "--mode=unshare", "--variant="+variant, "--architectures="+arch,
			"--include="+strings.Join(packages, ","), "bookworm", cached+".new.tar")
		if err := os.Rename(cached+".new.tar", cached); err != nil {
			t.Fatal(err)
		}
	}
	return cached
}

// host is Debian's name, and Go's, of this machine's architecture.
func host(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(run(t, "go", "env", "GOHOSTARCH"))
}

// run runs a program in the tree and returns its standard output.
func (c *chroot) run(args ...string) string {
	c.t.Helper()
	const enter = `mkdir -p "$0/dev" "$0/proc"; mount --rbind /dev "$0/dev"; mount -t proc proc "$0/proc"
		exec chroot "$0" "$@"`
	if c.emulator != "" {
		args = append([]string{c.emulator}, args...)
	}
	command := append(append([]string{}, inNamespace[1:]...), "sh", "-ec", enter, c.dir)
	cmd := exec.CommandContext(c.t.Context(), inNamespace[0], append(command, args...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "XDG_RUNTIME_DIR=/tmp", "LC_ALL=C.UTF-8"}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		c.t.Fatalf("%q in the tree: %v\n%s%s", args, err, out, &stderr)
	}
	return string(out)
}

// put copies a file into the tree and returns its path there.
func (c *chroot) put(path string) string {
	c.t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		c.t.Fatal(err)
	}
	name := "/tmp/" + filepath.Base(path)
	if err := os.WriteFile(filepath.Join(c.dir, name), body, 0o755); err != nil {
		c.t.Fatal(err)
	}
	return name
}

// state is what lies in the tree, but for what dpkg and ldconfig keep for themselves.
func (c *chroot) state() string {
	c.t.Helper()
	const theirs = "/(proc|dev|tmp|var/lib/dpkg|var/log|var/cache/ldconfig)"
	return c.run("find", "/", "-regextype", "egrep", "-regex", theirs, "-prune", "-o", "-printf", "%p %l\n")
}

// Installing the package is all that it takes; removing it leaves nothing.
func TestInstallInDebian(t *testing.T) {
	arch := host(t)
	c := debian(t, arch, tools...)
	before := c.state()
	c.run("dpkg", "-i", c.put(made(t, arch).deb))
	if got := c.run("dpkg", "--verify", "farside"); got != "" {
		t.Errorf("dpkg --verify: %s", got)
	}
	if out := c.run("vulkaninfo", "--summary"); !strings.Contains(out, shown) {
		t.Errorf("vulkaninfo doesn't show the driver:\n%s", out)
	}
	manifest := "/usr/share/vulkan/icd.d/farside_icd." + kernels[arch] + ".json"
	if out := c.run("farside", "doctor"); !strings.Contains(out, manifest) ||
		!regexp.MustCompile(`(?m)^ok +verbs `).MatchString(out) || strings.Contains(out, "error ") {
		t.Errorf("farside doctor:\n%s", out)
	}
	if out := c.run("farside", "run", "--", "sh", "-c", "echo $VK_DRIVER_FILES"); out != manifest+"\n" {
		t.Errorf("farside run: %s", out)
	}

	// A program in C owns remote memory through the Vulkan loader, and reaches it by the library of peers. The other
	// links with that library as pkg-config says.
	const clients = "../conformance/clients/cpeer/"
	c.put(clients + "check.h")
	both := c.put(clients + "both.c")
	c.run("gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", "/tmp/both", both, "-lfarside_rdma")
	c.run("/tmp/both", "/usr/lib/libfarside_rdma.so.0")
	program := filepath.Join(t.TempDir(), "linked.c")
	if err := os.WriteFile(program, []byte("#include <farside_rdma.h>\n#include <stdio.h>\n"+
		"int main(void) { return puts(farside_status_string(FARSIDE_REM_ACCESS_ERR)) < 0; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.run("sh", "-ec", `gcc -o /tmp/linked "$0" $(pkg-config --cflags --libs farside-rdma)`, c.put(program))
	if out := c.run("/tmp/linked"); !strings.Contains(out, "access to remote memory") {
		t.Errorf("the linked program says %q", out)
	}

	c.run("dpkg", "-r", "farside")
	if after := c.state(); after != before {
		t.Errorf("dpkg -r leaves another tree than there was:\n%s", difference(before, after))
	}
}

// difference is the lines of either text that the other doesn't have.
func difference(before, after string) string {
	var all strings.Builder
	for _, d := range []struct{ sign, lines, others string }{{"-", before, after}, {"+", after, before}} {
		others := map[string]bool{}
		for line := range strings.Lines(d.others) {
			others[line] = true
		}
		for line := range strings.Lines(d.lines) {
			if !others[line] {
				all.WriteString(d.sign + line)
			}
		}
	}
	return all.String()
}

// Under qemu-user the package for arm64 is unpacked and not installed: dpkg would have to run programs for arm64.
// Remote memory isn't tried, as qemu-user has no robust futexes.
func TestArm64InDebian(t *testing.T) {
	if host(t) == "arm64" {
		t.Skip("SKIPPED: TestInstallInDebian is about arm64 here")
	}
	needs(t, "qemu-aarch64-static", "qemu-user-static")
	c := debian(t, "arm64", "libvulkan1", "vulkan-tools")
	qemu, err := exec.LookPath("qemu-aarch64-static")
	if err != nil {
		t.Fatal(err)
	}
	c.emulator = c.put(qemu)
	p := made(t, "arm64")
	run(t, "dpkg-deb", "-x", p.deb, c.dir)
	if out := c.run("/usr/bin/farside", "--version"); !strings.Contains(out, p.version) {
		t.Errorf("--version says %q, want %s", out, p.version)
	}
	if out := c.run("/usr/bin/vulkaninfo", "--summary"); !strings.Contains(out, shown) {
		t.Errorf("vulkaninfo doesn't show the driver:\n%s", out)
	}
}
