package vk

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

func TestFind(t *testing.T) {
	export := ExportMemoryAllocateInfo{SType: STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
		HandleTypes: EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT}
	unknown := BaseInStructure{SType: 0x7ffffff0, PNext: (*BaseInStructure)(unsafe.Pointer(&export))}
	fd := ImportMemoryFdInfoKHR{SType: STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, PNext: unsafe.Pointer(&unknown)}
	info := MemoryAllocateInfo{PNext: unsafe.Pointer(&fd)}

	if got := Find[ExportMemoryAllocateInfo](info.PNext); got != &export {
		t.Errorf("found %p, want %p", got, &export)
	}
	if got := Find[ImportMemoryFdInfoKHR](info.PNext); got != &fd {
		t.Errorf("found %p, want %p", got, &fd)
	}
	if got := Find[MemoryDedicatedAllocateInfo](info.PNext); got != nil {
		t.Errorf("found %p in a chain without it", got)
	}
	if got := Find[MemoryDedicatedAllocateInfo](nil); got != nil {
		t.Errorf("found %p in no chain", got)
	}
	var types []StructureType
	for s := range Chain(info.PNext) {
		types = append(types, s.SType)
	}
	if want := []StructureType{fd.SType, unknown.SType, export.SType}; !slices.Equal(types, want) {
		t.Errorf("chain %v, want %v", types, want)
	}
	for range Chain(info.PNext) {
		break
	}
	if n := testing.AllocsPerRun(100, func() { Find[ExportMemoryAllocateInfo](info.PNext) }); n != 0 {
		t.Errorf("Find allocates %v times", n)
	}
}

func TestCyclicChainEnds(t *testing.T) {
	var a, b BaseInStructure
	a.PNext, b.PNext = &b, &a
	n := 0
	for range Chain(unsafe.Pointer(&a)) {
		n++
	}
	if n != maxChain {
		t.Errorf("%d links, want %d", n, maxChain)
	}
	a.SType, b.SType = -1, -2
	if got := Find[MemoryAllocateInfo](unsafe.Pointer(&a)); got != nil {
		t.Errorf("found %p", got)
	}
}

// FuzzChain lays an arena out from the input: every 16-byte slot is a structure whose sType and link are the
// input's, the link an offset inside the arena, or none. Cycles and unknown sTypes come by themselves.
func FuzzChain(f *testing.F) {
	f.Add([]byte{}, uint16(0))
	f.Add([]byte{1, 0, 1, 0}, uint16(0))
	f.Add([]byte{5, 0, 0, 0, 5, 0, 1, 0, 5, 0, 2, 0}, uint16(2))
	r := rand.New(rand.NewPCG(1, 2))
	random := make([]byte, 4096)
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	f.Add(random, uint16(7))
	f.Fuzz(func(t *testing.T, data []byte, start uint16) {
		arena := make([]BaseInStructure, len(data)/4+1)
		links := make([]int, len(arena))
		for i := range arena {
			links[i] = -1
			if 4*i+4 > len(data) {
				continue
			}
			word := binary.LittleEndian.Uint32(data[4*i:])
			arena[i].SType = StructureType(word & 0xff)
			if word&0x8000 != 0 {
				arena[i].SType = Structures[int(word&0xff)%len(Structures)].SType
			}
			if word&0x4000 == 0 {
				links[i] = int(word>>16) % len(arena)
				arena[i].PNext = &arena[links[i]]
			}
		}
		// Slot -1 is the end; the model walks indices instead of memory.
		var want []int
		for at := int(start) % len(arena); at >= 0 && len(want) < maxChain; at = links[at] {
			want = append(want, at)
		}
		first := map[StructureType]*BaseInStructure{}
		chain := unsafe.Pointer(&arena[int(start)%len(arena)])
		n := 0
		for s := range Chain(chain) {
			if n >= len(want) || s != &arena[want[n]] {
				t.Fatalf("link %d is wrong", n)
			}
			if first[s.SType] == nil {
				first[s.SType] = s
			}
			n++
		}
		if n != len(want) {
			t.Fatalf("%d links, want %d", n, len(want))
		}
		if got := Find[MemoryAllocateInfo](chain); unsafe.Pointer(got) !=
			unsafe.Pointer(first[STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO]) {
			t.Errorf("Find gives %p, want %p", got, first[STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO])
		}
		if got := Find[DeviceCreateInfo](chain); unsafe.Pointer(got) !=
			unsafe.Pointer(first[STRUCTURE_TYPE_DEVICE_CREATE_INFO]) {
			t.Errorf("Find gives %p, want %p", got, first[STRUCTURE_TYPE_DEVICE_CREATE_INFO])
		}
	})
}

func TestSlice(t *testing.T) {
	a := [3]uint16{1, 2, 3}
	if got := Slice(&a[0], uint32(2)); !slices.Equal(got, a[:2]) {
		t.Errorf("%v", got)
	}
	if Slice[uint16](nil, uint32(5)) != nil || Slice(&a[0], uint64(0)) != nil {
		t.Error("want nil for no pointer and for no elements")
	}
}

func TestCStrings(t *testing.T) {
	text := append([]byte("abc"), 0, 'd')
	if got := GoString(&text[0]); got != "abc" {
		t.Errorf("%q", got)
	}
	if got := GoString(nil); got != "" {
		t.Errorf("%q for nil", got)
	}
	endless := []byte(strings.Repeat("x", maxString+10))
	if got := GoString(&endless[0]); len(got) != maxString {
		t.Errorf("%d bytes of an endless string, want %d", len(got), maxString)
	}

	for _, test := range []struct{ in, want string }{{"", ""}, {"abc", "abc"}, {"abcdefg", "abcdefg"},
		{"abcdefgh", "abcdefg"}} {
		dst := [8]byte{1, 2, 3, 4, 5, 6, 7, 8}
		CopyString(dst[:], test.in)
		if got := FixedString(dst[:]); got != test.want || dst[7] != 0 {
			t.Errorf("%q is stored as %q", test.in, dst)
		}
	}
	CopyString(nil, "abc")
	if got := FixedString([]byte("full")); got != "full" {
		t.Errorf("%q", got)
	}
}

func TestWriteArray(t *testing.T) {
	values := []uint32{7, 8, 9}
	for _, test := range []struct {
		room   uint32
		out    bool
		count  uint32
		result Result
	}{
		{99, false, 3, SUCCESS},
		{0, true, 0, INCOMPLETE},
		{2, true, 2, INCOMPLETE},
		{3, true, 3, SUCCESS},
		{4, true, 3, SUCCESS},
	} {
		var buf [4]uint32
		var out *uint32
		if test.out {
			out = &buf[0]
		}
		count := test.room
		if got := WriteArray(&count, out, values); got != test.result || count != test.count {
			t.Errorf("room %d: %v, count %d; want %v, %d", test.room, got, count, test.result, test.count)
		}
		want := [4]uint32{}
		if test.out {
			copy(want[:test.count], values)
		}
		if buf != want {
			t.Errorf("room %d: wrote %v, want %v", test.room, buf, want)
		}
	}
}
