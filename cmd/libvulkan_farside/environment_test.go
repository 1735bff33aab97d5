package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// heaps sets a variable after it has loaded the driver, NAME=VALUE or nothing, makes two instances, and prints the size
// of the device heap, or the error of vkCreateInstance.
const heaps = `
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *(*get)(void *, const char *);
struct create {
	int32_t type; const void *next; uint32_t flags; const void *app;
	uint32_t nl; const void *l; uint32_t ne; const void *e;
};
struct memory {
	uint32_t types; struct { uint32_t flags, heap; } type[32];
	uint32_t heaps; struct { uint64_t size; uint32_t flags, pad; } heap[16];
};

int main(int argc, char **argv) {
	void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!lib) { printf("%s\n", dlerror()); return 1; }
	get proc = (get)dlsym(lib, "vk_icdGetInstanceProcAddr");
	if (argc > 2) putenv(argv[2]);
	for (int i = 0; i < 2; i++) {
		struct create info = {1};
		void *instance = 0, *physical = 0;
		uint32_t n = 1;
		int32_t r = ((int32_t (*)(const struct create *, const void *, void **))proc(0, "vkCreateInstance"))(&info, 0,
			&instance);
		if (r) { printf("vkCreateInstance %d\n", r); continue; }
		((int32_t (*)(void *, uint32_t *, void **))proc(instance, "vkEnumeratePhysicalDevices"))(instance, &n, &physical);
		struct memory m;
		((void (*)(void *, struct memory *))proc(instance, "vkGetPhysicalDeviceMemoryProperties"))(physical, &m);
		printf("heap of %llu MiB\n", (unsigned long long)m.heap[0].size >> 20);
		((void (*)(void *, const void *))proc(instance, "vkDestroyInstance"))(instance, 0);
	}
	return 0;
}
`

// Attack 10: what setenv(3) does between loading the driver and vkCreateInstance was not seen, and a wrong value was
// ignored or an error as the variable had it.
func TestEnvironmentOfInstance(t *testing.T) {
	exe := build(t, heaps)
	for _, c := range []struct {
		start, set  string // entries of the environment: of the process' start, and set after loading
		out, stderr string // what is printed, twice on standard output
	}{
		{"FARSIDE_HEAP_DEVICE=32MiB", "", "heap of 32 MiB\n", ""},
		{"", "FARSIDE_HEAP_DEVICE=64MiB", "heap of 64 MiB\n", ""},
		{"FARSIDE_HEAP_DEVICE=32MiB", "FARSIDE_HEAP_DEVICE=64MiB", "heap of 64 MiB\n", ""},
		{"FARSIDE_HEAP_DEVICE=lots", "FARSIDE_HEAP_DEVICE=64MiB", "heap of 64 MiB\n", ""},
		{"", "FARSIDE_KERNELS=mmx", "vkCreateInstance -3\n", `FARSIDE_KERNELS=\"mmx\" is not one of go, vector, narrow`},
		{"FARSIDE_WATCHDOG=soon", "", "vkCreateInstance -3\n", `FARSIDE_WATCHDOG=\"soon\" is not a duration`},
		{"FARSIDE_FABRIC_ACCESS=", "FARSIDE_HEAP_DEVICE=64MiB", "heap of 64 MiB\n", ""},
		{"FARSIDE_HEAP_DEVCIE=64MiB", "FARSIDE_LOG=error", "", ""},
		{"FARSIDE_HEAP_DEVCIE=64MiB", "FARSIDE_LOG=warn", "", "the nearest is FARSIDE_HEAP_DEVICE"},
	} {
		args := []string{library}
		if c.set != "" {
			args = append(args, c.set)
		}
		cmd := exec.Command(exe, args...)
		if cmd.Env = []string{"HOME=/"}; c.start != "" {
			cmd.Env = append(cmd.Env, c.start)
		}
		out, stderr := runHeaps(t, cmd)
		if c.out != "" && out != c.out+c.out {
			t.Errorf("%q, then %q: %s%s, want %s", c.start, c.set, out, stderr, c.out)
		}
		if !strings.Contains(stderr, c.stderr) || c.stderr == "" && stderr != "" {
			t.Errorf("%q, then %q: standard error is %q, want %q", c.start, c.set, stderr, c.stderr)
		}
	}
}

func runHeaps(t *testing.T, cmd *exec.Cmd) (out, stderr string) {
	t.Helper()
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &o, &e, time.Second
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s%s", cmd, err, o.String(), e.String())
	}
	return o.String(), e.String()
}

// Attack 7: a set-user-ID program obeyed its caller's FARSIDE_*. Here one of a second user is run by a third.
func TestPrivilegedProgramIgnoresEnvironment(t *testing.T) {
	const owner, caller = 65533, 65534
	exe := build(t, heaps)
	var fs unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(exe), &fs); err != nil {
		t.Fatal(err)
	}
	switch noNew, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); {
	case os.Geteuid() != 0:
		t.Skip("SKIPPED: a program of another user needs root")
	case fs.Flags&unix.ST_NOSUID != 0:
		t.Skip("SKIPPED: the file system of temporary files is mounted with nosuid; set TMPDIR to one that is not")
	case err != nil || noNew != 0:
		t.Skip("SKIPPED: the process has no_new_privs, so that set-user-ID programs have no effect")
	}
	for _, dir := range []string{filepath.Dir(exe), filepath.Dir(filepath.Dir(exe))} {
		must(t, os.Chmod(dir, 0o755))
	}
	must(t, os.Chmod(library, 0o755))
	asCaller := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: caller, Gid: caller}}
	environ := []string{"FARSIDE_HEAP_DEVICE=64MiB", "FARSIDE_FABRIC_ALLOW_UIDS=65534", "FARSIDE_LOG=off"}

	must(t, os.Chmod(exe, 0o755))
	plain := exec.Command(exe, library)
	plain.SysProcAttr, plain.Env = asCaller, environ
	if out, stderr := runHeaps(t, plain); out != "heap of 64 MiB\nheap of 64 MiB\n" || stderr != "" {
		t.Fatalf("without privileges: %s%s", out, stderr)
	}
	check := func(what string, cmd *exec.Cmd) { checkPrivileged(t, what, cmd, environ) }
	for what, mode := range map[string]os.FileMode{"set-user-ID": os.ModeSetuid, "set-group-ID": os.ModeSetgid} {
		must(t, os.Chown(exe, owner, owner))
		must(t, os.Chmod(exe, 0o755|mode))
		cmd := exec.Command(exe, library)
		cmd.SysProcAttr = asCaller
		check(what, cmd)
	}
	// Without /proc: in a mount namespace in which something else lies over it.
	if out, err := exec.Command("unshare", "--mount", "mount", "-t", "tmpfs", "none", "/proc").CombinedOutput(); err !=
		nil {
		t.Skipf("SKIPPED: without /proc: unshare(1) and mount(8) are needed, in a mount namespace of our own: %v: %s", err,
			out)
	}
	must(t, os.Chmod(exe, 0o755|os.ModeSetuid))
	check("without /proc", exec.Command("unshare", "--mount", "sh", "-c",
		`mount -t tmpfs none /proc && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"`, "sh", exe, library))
}

// checkPrivileged runs heaps as a privileged program: environ doesn't count, and one message says so.
func checkPrivileged(t *testing.T, what string, cmd *exec.Cmd, environ []string) {
	t.Helper()
	cmd.Env = environ
	out, stderr := runHeaps(t, cmd)
	if strings.Contains(out, "heap of 64 MiB") || strings.Count(out, "heap of ") != 2 {
		t.Errorf("%s: %s", what, out)
	}
	if strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr,
		"privileged (AT_SECURE): its environment does not count, ignored FARSIDE_FABRIC_ALLOW_UIDS, "+
			"FARSIDE_HEAP_DEVICE, FARSIDE_LOG") {
		t.Errorf("%s: standard error is %q, want one message", what, stderr)
	}
}

// A program that gets privileges by its file's capabilities ignores the environment. Nobody needs to be root for it:
// the root of a user namespace gives the file a capability, and a user of a namespace in that one gets it by exec.
func TestFileCapabilitiesIgnoreEnvironment(t *testing.T) {
	setcap, err := exec.LookPath("setcap")
	if err != nil {
		setcap = "/usr/sbin/setcap" // not in everybody's PATH
	}
	if _, err := os.Stat(setcap); err != nil {
		t.Skip("SKIPPED: setcap (Debian package libcap2-bin) is missing")
	}
	if out, err := exec.Command("unshare", "--user", "--map-root-user", "unshare", "--user", "--map-user=1000", "true").
		CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: unshare(1) and user namespaces that users may make are needed: %v: %s", err, out)
	}
	exe := build(t, heaps)
	var fs unix.Statfs_t
	must(t, unix.Statfs(filepath.Dir(exe), &fs))
	if noNew, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || noNew != 0 {
		t.Skip("SKIPPED: the process has no_new_privs, so that capabilities of files have no effect")
	}
	if fs.Flags&unix.ST_NOSUID != 0 {
		t.Skip("SKIPPED: the file system of temporary files is mounted with nosuid; set TMPDIR to one that is not")
	}
	environ := []string{"FARSIDE_HEAP_DEVICE=64MiB", "FARSIDE_FABRIC_ALLOW_UIDS=65534", "FARSIDE_LOG=off",
		"PATH=" + os.Getenv("PATH")}
	inside := func(prepare string) *exec.Cmd {
		return exec.Command("unshare", "--user", "--map-root-user", "sh", "-ec",
			prepare+`; shift; exec unshare --user --map-user=1000 "$@"`, "sh", setcap, exe, library)
	}
	plain := inside("true")
	plain.Env = environ
	if out, stderr := runHeaps(t, plain); out != "heap of 64 MiB\nheap of 64 MiB\n" || stderr != "" {
		t.Fatalf("without capabilities: %s%s", out, stderr)
	}
	checkPrivileged(t, "capabilities of the file", inside(`"$1" cap_net_bind_service+ep "$2"`), environ)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
