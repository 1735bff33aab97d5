package cabi

import (
	"os"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"

	"farside/internal/vk"
)

var out int32 // no stack that moves has it

// TestLend: what is lent comes back as a duplicate of its own, above 2 and close-on-exec; what isn't lent or can't be
// duplicated goes through the command.
func TestLend(t *testing.T) {
	entry := Entry("vkGetMemoryFdKHR")
	i, _ := vk.CommandIndex("vkGetMemoryFdKHR")
	before, old := installed, dispatchers[indices[i]]
	t.Cleanup(func() { installed, dispatchers[indices[i]] = before, old })

	var commands Commands
	called := 0
	commands.GetMemoryFdKHR = func(_ vk.Device, _ *vk.MemoryGetFdInfoKHR, out *int32) vk.Result {
		called++
		*out = 77
		return vk.ERROR_TOO_MANY_OBJECTS
	}
	Install(&commands)
	lent, ok := 0, true
	LendMemoryFD(func(vk.Device, *vk.MemoryGetFdInfoKHR) (int, bool) { return lent, ok })

	file, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	get := func(to uintptr) vk.Result {
		r, _, _ := purego.SyscallN(entry, 1, 0, to)
		return vk.Result(int32(r))
	}
	at := uintptr(unsafe.Pointer(&out))

	lent = int(file.Fd())
	if r := get(at); r != vk.SUCCESS || called != 0 {
		t.Fatalf("%v, the command was called %d times", r, called)
	}
	defer unix.Close(int(out))
	var a, b unix.Stat_t
	flags, err := unix.FcntlInt(uintptr(out), unix.F_GETFD, 0)
	if err != nil || flags != unix.FD_CLOEXEC || out < lowestFD || int(out) == lent {
		t.Errorf("descriptor %d of %d has flags %#x: %v", out, lent, flags, err)
	}
	if unix.Fstat(lent, &a) != nil || unix.Fstat(int(out), &b) != nil || a.Rdev != b.Rdev || a.Ino != b.Ino {
		t.Error("the descriptor is of another file")
	}

	for _, c := range []struct {
		what string
		fd   int
		ok   bool
	}{{"a descriptor that isn't open", 1 << 20, true}, {"nothing lent", lent, false}} {
		out, called = 0, 0
		lent, ok = c.fd, c.ok
		if r := get(at); r != vk.ERROR_TOO_MANY_OBJECTS || called != 1 || out != 77 {
			t.Errorf("%s: %v, the command was called %d times, descriptor %d", c.what, r, called, out)
		}
	}

	panics := 0
	report := OnPanic
	t.Cleanup(func() { OnPanic = report })
	OnPanic = func(string, any, []byte) { panics++ }
	lent, ok = int(file.Fd()), true
	for _, wild := range []uintptr{0, 8, uintptr(wild)} {
		panics = 0
		if r := get(wild); r != vk.ERROR_UNKNOWN || panics != 1 {
			t.Errorf("a descriptor to %#x: %v, %d panics", wild, r, panics)
		}
	}
}
