package main

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// library is the driver, which is made once.
var library string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "farside-library-")
	if err != nil {
		panic(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // another user loads it, too
		panic(err)
	}
	wd, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	library = filepath.Join(dir, "libvulkan_farside.so")
	make := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false",
		`-ldflags=-s -w -extldflags "-Xlinker '--version-script=`+filepath.Join(wd, "exports.map")+`'"`, "-o", library, ".")
	if out, err := make.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%v: %v\n%s", make, err, out))
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// build makes a C program that loads the library.
func build(t *testing.T, source string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "program")
	file := program + ".c"
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, "gcc", "-O2", "-o", program, file, "-ldl", "-pthread")
	return program
}

func command(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

func TestExports(t *testing.T) {
	f, err := elf.Open(library)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	want := []string{"farside_in_go", "farside_verbs", "vk_icdGetInstanceProcAddr", "vk_icdGetPhysicalDeviceProcAddr",
		"vk_icdNegotiateLoaderICDInterfaceVersion"}
	if !slices.Equal(names, want) {
		t.Errorf("the library exports %q, want %q", names, want)
	}
}

// program makes an instance, measures a call, and then calls in a forked child.
const program = `
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef void *(*get)(void *, const char *);
struct create {
	int32_t type; const void *next; uint32_t flags; const void *app;
	uint32_t nl; const void *l; uint32_t ne; const void *e;
};

#define CHECK(x) if (!(x)) { printf("line %d: " #x "\n", __LINE__); return 1; }

int main(int argc, char **argv) {
	void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	CHECK(lib);
	int32_t (*negotiate)(uint32_t *) = (int32_t (*)(uint32_t *))dlsym(lib, "vk_icdNegotiateLoaderICDInterfaceVersion");
	get proc = (get)dlsym(lib, "vk_icdGetInstanceProcAddr");
	get physical = (get)dlsym(lib, "vk_icdGetPhysicalDeviceProcAddr");
	CHECK(negotiate && proc && physical);
	uint32_t version = 7;
	CHECK(negotiate(&version) == 0 && version == 7);
	CHECK(!proc(0, "vkNoSuchCommand") && !proc(0, "vkCreateDevice"));

	int32_t (*get_version)(uint32_t *) = (int32_t (*)(uint32_t *))proc(0, "vkEnumerateInstanceVersion");
	int32_t (*create)(const struct create *, const void *, void **) =
		(int32_t (*)(const struct create *, const void *, void **))proc(0, "vkCreateInstance");
	CHECK(get_version && create);
	CHECK(get_version(&version) == 0 && version >= 1u << 22);

	struct create info = {1};
	void *instance = 0;
	CHECK(create(&info, 0, &instance) == 0 && instance);
	CHECK(*(uintptr_t *)instance == 0x01CDC0DE);
	CHECK(proc(instance, "vkDestroyInstance"));
	CHECK(physical(instance, "vkGetPhysicalDeviceProperties") && !physical(instance, "vkCreateInstance"));

	/* Pointers that no application should pass. */
	CHECK(get_version((uint32_t *)0xdead0000) == -13);
	CHECK(get_version((uint32_t *)8) == -13);

	struct timespec a, b;
	const int n = 2000000;
	double best = 1e9;
	for (int round = 0; round < 5; round++) {
		clock_gettime(CLOCK_MONOTONIC, &a);
		for (int i = 0; i < n; i++) get_version(&version);
		clock_gettime(CLOCK_MONOTONIC, &b);
		double ns = ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / n;
		if (ns < best) best = ns;
	}
	printf("%.1f ns a call\n", best);
	fflush(stdout);

	pid_t child = fork();
	if (child == 0) {
		alarm(10);
		if (get_version(&version) != -13) _exit(1);
		if (create(&info, 0, &instance) != -13) _exit(2);
		if (negotiate(&version) != -13) _exit(3);
		if (proc(0, "vkCreateInstance")) _exit(4);
		_exit(0);
	}
	int status = -1;
	waitpid(child, &status, 0);
	if (status) { printf("the forked child's wait status is %#x\n", status); return 1; }
	CHECK(get_version(&version) == 0);
	((void (*)(void *, const void *))proc(instance, "vkDestroyInstance"))(instance, 0);
	return 0;
}
`

// TestLibrary loads the built library into a C program, as the loader does.
func TestLibrary(t *testing.T) {
	exe := build(t, program)
	cmd := exec.Command(exe, library)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), errOut.String())
	}
	t.Log(strings.TrimSpace(out.String()))
	if n := strings.Count(errOut.String(), "was forked after it loaded the Vulkan driver"); n != 1 {
		t.Errorf("the forked child's message is there %d times in\n%s", n, errOut.String())
	}
}
