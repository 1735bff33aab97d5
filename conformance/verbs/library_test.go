package verbs

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// versioned are the symbols that a library defines, or that a program or library wants from others, as NAME@NODE.
// Symbols for old programs alone, which a linker doesn't choose any more, are left out.
func versioned(t *testing.T, path string, defined bool) []string {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, s := range symbols {
		if (s.Section != elf.SHN_UNDEF) == defined && s.Section != elf.SHN_ABS && s.Version != "" &&
			(!defined || !s.VersionIndex.IsHidden() || strings.Contains(s.Version, "PRIVATE")) {
			list = append(list, s.Name+"@"+s.Version)
		}
	}
	slices.Sort(list)
	return list
}

const debian = "/usr/lib/x86_64-linux-gnu/"

// TestSymbols compares the symbols with what Debian's libraries define, and with what programs and the providers of
// adapters, which are loaded with them, ask for.
func TestSymbols(t *testing.T) {
	need(t, "ibverbs-utils", "ibv_devinfo")
	need(t, "perftest", "ib_write_bw")
	need(t, "rdmacm-utils", "rping")
	ours := versioned(t, built(t, "verbs/libibverbs.so.1"), true)
	check := func(path string, wanted []string, least int) {
		n := 0
		for _, s := range wanted {
			_, node, _ := strings.Cut(s, "@")
			if !strings.HasPrefix(node, "IBVERBS_") && !strings.HasPrefix(node, "RDMACM_") {
				continue
			}
			n++
			if _, found := slices.BinarySearch(ours, s); !found {
				t.Errorf("%s has or wants %s, which there is not", path, s)
			}
		}
		if n < least {
			t.Errorf("%s: only %d symbols of the libraries", path, n)
		}
	}
	check("libibverbs", versioned(t, debian+"libibverbs.so.1", true), 140)
	check("librdmacm", versioned(t, debian+"librdmacm.so.1", true), 60)
	for _, name := range []string{"ibv_devices", "ibv_devinfo", "ibv_rc_pingpong", "ib_write_bw", "ib_atomic_lat", "rping",
		"ucmatose", "udaddy", "cmtime", "ucx_perftest", "fi_pingpong", "qperf", "fio"} {
		if path, err := exec.LookPath(name); err == nil {
			check(name, versioned(t, path, false), 0)
		}
	}
	for _, pattern := range []string{"libmlx5.so.1", "libefa.so.1", "libmlx4.so.1", "libmana.so.1",
		"libibverbs/*-rdmav34.so", "libfabric.so.1", "libuct_ib.so.0", "ucx/libuct_ib.so.0", "ucx/libuct_rdmacm.so.0",
		"librdmacm.so.1"} {
		paths, err := filepath.Glob(debian + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			check(path, versioned(t, path, false), 1)
		}
	}
	for _, s := range []string{"ibv_reg_mr_ex@IBVERBS_1.15", "ibv_query_port_speed@IBVERBS_1.16",
		"ibv_alloc_buf@IBVERBS_1.17", "verbs_register_driver_57@IBVERBS_PRIVATE_57",
		"verbs_register_driver_59@IBVERBS_PRIVATE_59", "verbs_register_driver_64@IBVERBS_PRIVATE_64",
		"ibv_cmd_create_qp_ex2@IBVERBS_PRIVATE_59"} {
		if _, found := slices.BinarySearch(ours, s); !found {
			t.Errorf("newer distributions want %s, which there is not", s)
		}
	}
	for _, s := range ours {
		if name, _, ok := strings.Cut(s, "@"); !ok || strings.HasPrefix(name, "farside") || strings.HasPrefix(name, "stub") {
			t.Errorf("%s is exported", s)
		}
	}
}

func TestSoname(t *testing.T) {
	f, err := elf.Open(built(t, "verbs/librdmacm.so.1"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	names, err := f.DynString(elf.DT_SONAME)
	if err != nil {
		t.Fatal(err)
	}
	needed, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"libibverbs.so.1"}, names); diff != "" {
		t.Errorf("soname: %s", diff)
	}
	if diff := cmp.Diff([]string{"libc.so.6"}, needed); diff != "" {
		t.Errorf("needed: %s", diff)
	}
}

// TestTexts compares the functions that need no device with Debian's.
func TestTexts(t *testing.T) {
	program := compile(t, "texts.c")
	want, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	if len(want) < 10000 {
		t.Fatalf("the program says only %q", want)
	}
	if diff := cmp.Diff(string(want), output(t, program)); diff != "" {
		t.Errorf("-Debian's +Farside's: %s", diff)
	}
}

// TestLoading looks at the threads of a process that only loads the libraries, then uses them, then forks: the child is
// told once, and each function fails. A child that forks before the first call has an engine of its own.
func TestLoading(t *testing.T) {
	program := compile(t, "loading.c")
	cmd := command(t, program)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, stderr.String())
	}
	want := `loaded: 1 thread
early child: port error
used: more threads
late child: no list, ENODEV
late child: pd -1, 19
`
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Error(diff)
	}
	if n := strings.Count(stderr.String(), "forked after it loaded"); n != 1 {
		t.Errorf("the child was told %d times: %s", n, stderr.String())
	}
}

// TestOneEngine has a process load a driver from elsewhere before it uses verbs: that one is the engine, and there is
// no other one.
func TestOneEngine(t *testing.T) {
	b, err := os.ReadFile(built(t, "libvulkan_farside.so"))
	if err != nil {
		t.Fatal(err)
	}
	driver := filepath.Join(t.TempDir(), "libvulkan_farside.so")
	if err := os.WriteFile(driver, b, 0o755); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(driver+"\n", output(t, compile(t, "engine.c"), driver)); diff != "" {
		t.Errorf("-want +loaded: %s", diff)
	}
}

// TestNoEngine moves the library away from its engine.
func TestNoEngine(t *testing.T) {
	program := compile(t, "texts.c")
	dir := filepath.Join(t.TempDir(), "deep", "down", "there")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(built(t, "verbs/libibverbs.so.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"libibverbs.so.1", "librdmacm.so.1"} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := command(t, program, "-devices")
	cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := "farside: libibverbs: libvulkan_farside.so: it is not near this library\ndevices: no, ENODEV\n"
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Error(diff)
	}
}

// TestLibrariesAreReplacedWhole starts programs while the libraries are made: each has Farside's, and a device. Tests
// of several packages make them at the same time, and a program that found no file took the system's library.
func TestLibrariesAreReplacedWhole(t *testing.T) {
	program := compile(t, "device.c")
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			make := exec.Command("make", "build")
			make.Dir = "../.."
			if out, err := make.CombinedOutput(); err != nil {
				t.Errorf("make build: %v\n%s", err, out)
			}
		})
	}
	made := make(chan struct{})
	go func() {
		all.Wait()
		close(made)
	}()
	for n := 0; ; n++ {
		if out, err := command(t, program).CombinedOutput(); err != nil || string(out) != "farside0\n" {
			t.Errorf("start %d: %v\n%s", n, err, out)
		}
		select {
		case <-made:
			return
		default:
		}
	}
}
