package cabi

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"farside/internal/gate"
	"farside/internal/vk"
)

// callers is C code that calls entry points as applications do.
const callers = `
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef uint64_t (*many)(uint32_t, float, uint64_t, void *, float, int32_t, uint64_t, uint64_t,
	uint32_t, float, void *, uint64_t, int32_t);
uint64_t call_many(many f) {
	return f(1, 1.5f, 0x2222222222222222u, (void *)0x333333, -2.5f, -4, 5, 0x6666666666666666u,
		7, 3.25f, (void *)0x888888, 9, -10);
}

typedef int64_t (*one)(void *);
int64_t call_one(one f, void *p) { return f(p); }

double bench(one f, void *p, int64_t n) {
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int64_t i = 0; i < n; i++) f(p);
	clock_gettime(CLOCK_MONOTONIC, &b);
	return ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / n;
}

/* Records into the window at w, begun anew when it is nearly full: the arguments are those of vkCmdFillBuffer,
   vkCmdCopyBuffer and vkCmdPipelineBarrier alike. */
typedef void (*recorder)(void *, uint64_t, uint64_t, uint64_t, void *, uint64_t, void *, uint64_t, void *, uint64_t,
	void *);
double record(recorder f, void *p, uint64_t *w, int64_t n) {
	uint64_t region[3] = {0, 0, 64}, begin = w[0];
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int64_t i = 0; i < n; i++) {
		f(p, 1, 2, 1, region, 0, 0, 0, 0, 0, 0);
		if (w[1] - w[0] < 128) w[0] = begin;
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	return ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / n;
}

struct work { one f; int64_t id, n, wrong; };
static void *loop(void *p) {
	struct work *w = p;
	for (int64_t i = 0; i < w->n; i++)
		if (w->f((void *)(w->id << 32 | (i + 4096))) != (w->id << 32 | (i + 4096)) + 1) w->wrong++;
	return 0;
}
int64_t threads(one f, int64_t count, int64_t n) {
	pthread_t t[64];
	struct work w[64];
	int64_t wrong = 0;
	for (int i = 0; i < count; i++) {
		w[i] = (struct work){f, i + 1, n, 0};
		if (pthread_create(&t[i], 0, loop, &w[i])) abort();
	}
	for (int i = 0; i < count; i++) {
		pthread_join(t[i], 0);
		wrong += w[i].wrong;
	}
	return wrong;
}

/* Calls f and g in a forked child whose standard error is fd; returns the wait status. */
int64_t forked(one f, one g, int fd) {
	pid_t child = fork();
	if (child == 0) {
		signal(SIGALRM, SIG_DFL);
		sigset_t none;
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, 0);
		alarm(10);
		dup2(fd, 2);
		int code = 0;
		if ((int32_t)f(0) != -13) code |= 1;
		if (g(0) != 0) code |= 2;
		if ((int32_t)f(0) != -13) code |= 4;
		_exit(code);
	}
	int status = -1;
	waitpid(child, &status, 0);
	return status;
}
`

var c struct {
	callMany func(f uintptr) uint64
	callOne  func(f, p uintptr) int64
	bench    func(f, p uintptr, n int64) float64
	threads  func(f uintptr, count, n int64) int64
	record   func(f, p, window uintptr, n int64) float64
	forked   func(f, g uintptr, fd int32) int64
}

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "cabi")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	src, lib := filepath.Join(dir, "callers.c"), filepath.Join(dir, "callers.so")
	if err := os.WriteFile(src, []byte(callers), 0o600); err != nil {
		panic(err)
	}
	if out, err := exec.Command("gcc", "-O2", "-shared", "-fPIC", "-pthread", "-o", lib, src).CombinedOutput(); err !=
		nil {
		panic(errors.Join(errors.New("these tests need gcc: "+string(out)), err))
	}
	h, err := purego.Dlopen(lib, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		panic(err)
	}
	purego.RegisterLibFunc(&c.callMany, h, "call_many")
	purego.RegisterLibFunc(&c.callOne, h, "call_one")
	purego.RegisterLibFunc(&c.bench, h, "bench")
	purego.RegisterLibFunc(&c.threads, h, "threads")
	purego.RegisterLibFunc(&c.record, h, "record")
	purego.RegisterLibFunc(&c.forked, h, "forked")
	return m.Run()
}

// serve makes f answer a command that returns kind, and returns the command's address.
func serve(t testing.TB, kind uint8, f func(*Frame)) uintptr {
	t.Helper()
	for i, k := range resultKinds {
		if i == 0 || k != kind {
			continue
		}
		before := dispatchers[i]
		dispatchers[i] = f
		t.Cleanup(func() { dispatchers[i] = before })
		return Entry(names[i])
	}
	t.Fatalf("no command returns kind %d", kind)
	return 0
}

func TestArguments(t *testing.T) {
	type arguments struct {
		a          uint32
		f0, f1, f2 float32
		b          uint64
		p          uintptr
		c          int32
		d, e       uint64
		g          uint32
		q          uintptr
		h          uint64
		i          int32
	}
	var got arguments
	entry := serve(t, kindWord, func(f *Frame) {
		got = arguments{
			a: uint32(f.word(0)), f0: f.float(0), b: uint64(f.word(1)), p: uintptr(f.pointer(2)), f1: f.float(1),
			c: int32(f.word(3)), d: uint64(f.word(4)), e: uint64(f.word(5)), g: uint32(f.word(6)), f2: f.float(2),
			q: uintptr(f.pointer(7)), h: uint64(f.word(8)), i: int32(f.word(9)),
		}
		f.result = 0xfedcba9876543210
	})
	want := arguments{
		a: 1, f0: 1.5, b: 0x2222222222222222, p: 0x333333, f1: -2.5, c: -4, d: 5, e: 0x6666666666666666,
		g: 7, f2: 3.25, q: 0x888888, h: 9, i: -10,
	}
	if result := c.callMany(entry); result != 0xfedcba9876543210 {
		t.Errorf("result %#x", result)
	}
	if got != want {
		t.Errorf("arguments arrived as\n%+v, want\n%+v", got, want)
	}
}

func TestGeneratedReaders(t *testing.T) {
	before := installed
	t.Cleanup(func() { installed = before })
	var got *uint32
	var c Commands
	c.EnumerateInstanceVersion = func(v *uint32) vk.Result {
		got = v
		return -7
	}
	Install(&c)
	var version uint32
	r, _, _ := purego.SyscallN(Entry("vkEnumerateInstanceVersion"), uintptr(unsafe.Pointer(&version)))
	if int32(r) != -7 || got != &version {
		t.Errorf("result %d, pointer %p; want -7, %p", int32(r), got, &version)
	}
}

func TestEntry(t *testing.T) {
	seen := map[uintptr]string{}
	for i, name := range names[1:] {
		p := Entry(name)
		if p == 0 || p != stubsAddress()+uintptr(i+1)*stubSize {
			t.Fatalf("%s is at %#x, the table at %#x", name, p, stubsAddress())
		}
		if other := seen[p]; other != "" {
			t.Fatalf("%s and %s share %#x", name, other, p)
		}
		seen[p] = name
		if dispatchers[i+1] == nil {
			t.Errorf("%s has no reader", name)
		}
	}
	if a, b := Entry("vkGetPhysicalDeviceProperties2KHR"), Entry("vkGetPhysicalDeviceProperties2"); a != b || a == 0 {
		t.Errorf("the KHR alias is at %#x, the core command at %#x", a, b)
	}
	for _, name := range []string{"", "vk", "vkNoSuchCommand", "CreateInstance"} {
		if p := Entry(name); p != 0 {
			t.Errorf("Entry(%q) = %#x", name, p)
		}
	}
}

// TestEveryStub calls each stub and looks at the index that arrives.
func TestEveryStub(t *testing.T) {
	before := dispatchers
	t.Cleanup(func() { dispatchers = before })
	var got uintptr
	for i := range dispatchers {
		dispatchers[i] = func(f *Frame) { got = f.index }
	}
	for i, name := range names[1:] {
		purego.SyscallN(Entry(name))
		if got != uintptr(i+1) {
			t.Fatalf("the stub of %s loads %d, want %d", name, got, i+1)
		}
	}
}

// catch collects what OnPanic is told.
func catch(t *testing.T) func() (string, any, string) {
	before := OnPanic
	t.Cleanup(func() { OnPanic = before })
	var command string
	var value any
	var stack string
	OnPanic = func(c string, v any, s []byte) { command, value, stack = c, v, string(s) }
	return func() (string, any, string) { return command, value, stack }
}

func mapping(t *testing.T, protection int) uintptr {
	t.Helper()
	p, err := syscall.Mmap(-1, 0, os.Getpagesize(), protection, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(p) })
	return uintptr(unsafe.Pointer(&p[0]))
}

func TestPanics(t *testing.T) {
	caught := catch(t)
	for kind, want := range map[uint8]int64{kindResult: errorUnknown, kindVoid: 0, kindWord: 0} {
		entry := serve(t, kind, func(f *Frame) {
			f.result = 99
			panic("broken")
		})
		if r := c.callOne(entry, 0); kind != kindVoid && int64(int32(r)) != want || kind == kindWord && r != 0 {
			t.Errorf("kind %d: result %d, want %d", kind, r, want)
		}
		command, value, stack := caught()
		if Entry(command) != entry || value != "broken" || !strings.Contains(stack, "TestPanics") {
			t.Errorf("kind %d: OnPanic(%q, %v, %s)", kind, command, value, stack)
		}
	}
}

func TestPanicInOnPanic(t *testing.T) {
	catch(t)
	OnPanic = func(string, any, []byte) { panic("worse") }
	entry := serve(t, kindResult, func(*Frame) { panic("broken") })
	if r := c.callOne(entry, 0); int32(r) != errorUnknown {
		t.Errorf("result %d", int32(r))
	}
}

func TestWildPointers(t *testing.T) {
	caught := catch(t)
	var sink byte
	entry := serve(t, kindResult, func(f *Frame) {
		deep(200) // moves the stack, which checks the pointers on it
		sink = *(*byte)(f.pointer(0))
		f.result = 0
	})
	for _, p := range []uintptr{0, 1, 8, 4095, 4096, mapping(t, syscall.PROT_NONE), 0xdead0000, math.MaxInt64,
		0xffff_8000_0000_0000, ^uintptr(0)} {
		if r := c.callOne(entry, p); int32(r) != errorUnknown {
			t.Errorf("pointer %#x: result %d, want %d", p, int32(r), errorUnknown)
		}
		if _, value, _ := caught(); value == nil {
			t.Errorf("pointer %#x: OnPanic was not called", p)
		} else if _, ok := value.(error); !ok {
			t.Errorf("pointer %#x: OnPanic got %v", p, value)
		}
	}
	write := serve(t, kindResult, func(f *Frame) { *(*uint64)(f.pointer(0)) = 1 })
	if r := c.callOne(write, mapping(t, syscall.PROT_READ)); int32(r) != errorUnknown {
		t.Errorf("write to a read-only page: result %d", int32(r))
	}
	if good := mapping(t, syscall.PROT_READ); int32(c.callOne(serve(t, kindResult, func(f *Frame) {
		sink = *(*byte)(f.pointer(0))
		f.result = 0
	}), good)) != 0 {
		t.Error("a good pointer faults")
	}
	_ = sink
}

//go:noinline
func deep(n int) int {
	var pad [256]byte
	if n > 0 {
		pad[n%256] = byte(deep(n - 1))
	}
	return int(pad[0])
}

func TestThreads(t *testing.T) {
	var calls atomic.Int64
	var mu sync.Mutex
	entry := serve(t, kindWord, func(f *Frame) {
		mu.Lock()
		calls.Add(1)
		mu.Unlock()
		f.result = f.word(0) + 1
	})
	if wrong := c.threads(entry, 8, 2000); wrong != 0 || calls.Load() != 16000 {
		t.Errorf("%d wrong results in %d calls", wrong, calls.Load())
	}
}

func TestForkedChild(t *testing.T) {
	result := serve(t, kindResult, func(f *Frame) { f.result = 0 })
	word := serve(t, kindWord, func(f *Frame) { f.result = 0 })
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	status := syscall.WaitStatus(c.forked(result, word, int32(w.Fd())))
	w.Close()
	if !status.Exited() || status.ExitStatus() != 0 {
		t.Errorf("the child's wait status is %#x: exit code bits 1, 2, 4 are wrong answers, signal 14 is a hang", status)
	}
	if gate.Forked() {
		t.Error("the parent takes itself for a child")
	}
	if c.callOne(result, 0) != 0 {
		t.Error("the parent's calls fail after a fork")
	}
}

func TestEntryDoesNotAllocate(t *testing.T) {
	entry := serve(t, kindVoid, func(*Frame) {})
	if n := testing.AllocsPerRun(10, func() { c.bench(entry, 0, 1000) }); n > 100 {
		t.Errorf("%v allocations in 1000 calls", n)
	}
}

// BenchmarkEntry is the time of a call from a C loop through a stub to an empty Go function and back.
func BenchmarkEntry(b *testing.B) {
	entry := serve(b, kindResult, func(*Frame) {})
	b.ReportMetric(c.bench(entry, 0, int64(b.N)), "ns/op")
}
