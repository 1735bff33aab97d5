package callsite

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const source = `
#include <stdio.h>
__attribute__((noinline)) int leaf(int n) { return puts("x") + n; }
static inline __attribute__((always_inline)) int inlined(int n) { return leaf(n) + 1; }
__attribute__((noinline)) int middle(int n) {
	volatile char room[200];
	room[n] = n;
	return inlined(n) + room[n];
}
int main(int argc, char **argv) { (void)argv; return middle(argc); }
`

// compiled returns the module of a program without frame pointers.
func compiled(t testing.TB) *module {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "called.c")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	m := &module{path: filepath.Join(dir, "called")}
	out, err := exec.Command("gcc", "-g", "-O2", "-fomit-frame-pointer", "-o", m.path, file).CombinedOutput()
	if err != nil {
		t.Skipf("SKIPPED: gcc (Debian package gcc): %v\n%s", err, out)
	}
	m.open()
	m.bias = 0
	m.name()
	return m
}

// symbol returns the place of a function of a module.
func (m *module) symbol(t testing.TB, name string) elf.Symbol {
	t.Helper()
	i := slices.IndexFunc(m.symbols, func(s elf.Symbol) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("there is no %s", name)
	}
	return m.symbols[i]
}

// TestNames: addresses have functions and lines, also those of functions that were put into others, and of main, which
// gcc puts in a section of its own.
func TestNames(t *testing.T) {
	m := compiled(t)
	middle := m.symbol(t, "middle")
	found := map[string]bool{}
	for a := middle.Value; a < middle.Value+middle.Size; a++ {
		if f := m.function(a); f != "middle" {
			t.Fatalf("%#x is in %q", a, f)
		}
		if lines := m.lines(a); len(lines) == 2 {
			if lines[0].function != "inlined" || lines[0].number != 4 || lines[1].function != "" || lines[1].number != 8 {
				t.Fatalf("%#x: %+v", a, lines)
			}
			found["inlined"] = true
		} else if len(lines) == 1 && lines[0].number >= 5 && lines[0].number <= 9 {
			found["plain"] = true
		} else {
			t.Fatalf("%#x: %+v", a, lines)
		}
	}
	if !found["inlined"] || !found["plain"] {
		t.Errorf("found %v", found)
	}
	if lines := m.lines(m.symbol(t, "main").Value); len(lines) != 1 || lines[0].number != 10 {
		t.Errorf("main: %+v", lines)
	}
	if f, l := m.function(1), m.lines(1); f != "" || l != nil {
		t.Errorf("address 1 is %q, %v", f, l)
	}
}

// TestFrames: at the first instruction of a function the frame's address is behind the return address, and later
// behind what the function has put there.
func TestFrames(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("SKIPPED: .eh_frame is followed on amd64")
	}
	m := compiled(t)
	middle := m.symbol(t, "middle")
	first, ok := m.frames.row(middle.Value)
	if !ok || first.reg != regSP || first.offset != 8 || first.rules[regRA] != (rule{true, -8}) {
		t.Errorf("at the beginning: %+v, %v", first, ok)
	}
	deepest := int64(0)
	for a := middle.Value; a < middle.Value+middle.Size; a++ {
		r, ok := m.frames.row(a)
		if !ok || r.rules[regRA] != (rule{true, -8}) {
			t.Fatalf("%#x: %+v, %v", a, r, ok)
		}
		deepest = max(deepest, r.offset)
	}
	if deepest < 200 {
		t.Errorf("the frame is at most %d bytes", deepest)
	}
	if r, ok := m.frames.row(1); ok {
		t.Errorf("address 1 has %+v", r)
	}
}

// TestWalk: a walk from nowhere has its first address and no more; one of the test's own code has a module.
func TestWalk(t *testing.T) {
	if got := Walk(Registers{PC: 1, SP: 16, BP: 8}); !slices.Equal(got, []uintptr{1}) {
		t.Errorf("walked to %x", got)
	}
	pc, _, _, _ := runtime.Caller(0)
	if m := find(pc); m == nil || !strings.HasSuffix(m.path, ".test") {
		t.Errorf("the module of %#x is %+v", pc, m)
	}
	if names := Names([]uintptr{8}); !slices.Equal(names, []string{"0x8"}) {
		t.Errorf("8 is %q", names)
	}
}

// oneFrame returns sections of one function of 32 bytes at 0x5000 which takes 16 bytes of stack after its first byte,
// and keeps rbx there after its second: .eh_frame_hdr at 0x1000, .eh_frame at 0x2000.
func oneFrame() *frames {
	words := binary.LittleEndian.AppendUint32
	common := append([]byte{0, 0, 0, 0, 1}, "zR\x00"...)
	common = append(common, 1, 0x78, regRA, 1, 0x1b, 0x0c, regSP, 8, 0x80|regRA, 1, 0, 0)
	data := append(words(nil, uint32(len(common))), common...)
	entry := uint32(len(data))
	own := words(words(words(nil, entry+4), 0x5000-(0x2000+entry+8)), 32)
	own = append(own, 0, 0x41, 0x0e, 24, 0x0a, 0x41, 0x80|regBX, 3, 0x41, 0x0b, 0x41, 0, 0)
	data = append(append(words(data, uint32(len(own))), own...), 0, 0, 0, 0)
	header := words([]byte{1, 0x1b, 3, 0x3b}, 0x2000-0x1004)
	header = words(words(words(header, 1), 0x5000-0x1000), 0x2000+entry-0x1000)
	return &frames{header: header, data: data, headerAt: 0x1000, dataAt: 0x2000}
}

// TestRows: the frame instructions of a function hold from the address that they say, and not outside of it.
func TestRows(t *testing.T) {
	s := oneFrame()
	ra, bx := rule{true, -8}, rule{true, -24}
	for _, e := range []struct {
		pc     uint64
		offset int64
		bx     rule
		ok     bool
	}{{0x4fff, 0, rule{}, false}, {0x5000, 8, rule{}, true}, {0x5001, 24, rule{}, true}, {0x5002, 24, bx, true},
		{0x5003, 24, rule{}, true}, {0x501f, 24, rule{}, true}, {0x5020, 0, rule{}, false}} {
		r, ok := s.row(e.pc)
		if ok != e.ok || ok && (r.reg != regSP || r.offset != e.offset || r.rules[regRA] != ra || r.rules[regBX] != e.bx) {
			t.Errorf("%#x: %+v, %v", e.pc, r, ok)
		}
	}
}

// TestHostileFrames: a table that says it has more rows than fit, also by a number that wraps around, and frame
// instructions that remember without end are refused.
func TestHostileFrames(t *testing.T) {
	for _, count := range []uint64{2, 1 << 61, 1<<61 + 1, 1 << 63, ^uint64(0)} {
		s := oneFrame()
		long := append([]byte{1, 0x1b, 4, 0x3b}, s.header[4:8]...)
		s.header = append(binary.LittleEndian.AppendUint64(long, count), s.header[12:]...)
		if r, ok := s.row(0x5000); ok {
			t.Errorf("a table of %d: %+v", count, r)
		}
	}
	remember := bytes.Repeat([]byte{0x0a}, 1<<20)
	if n := testing.AllocsPerRun(1, func() {
		if run(remember, &common{}, &row{}, nil, ^uint64(0), 0) {
			t.Error("a million states were remembered")
		}
	}); n > 10 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzFrames: sections that a compiler has not made lead nowhere, without a panic.
func FuzzFrames(f *testing.F) {
	s := oneFrame()
	f.Add(s.header, s.data, uint64(0x5002), s.headerAt, s.dataAt)
	f.Add([]byte{1, 0x1b, 3, 0x3b, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0}, make([]byte, 64), uint64(8), uint64(0),
		uint64(0))
	f.Fuzz(func(_ *testing.T, header, data []byte, pc, headerAt, dataAt uint64) {
		s := &frames{header: header, data: data, headerAt: headerAt, dataAt: dataAt}
		s.row(pc)
	})
}
