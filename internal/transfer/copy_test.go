package transfer

import (
	"bytes"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"syscall"
	"testing"

	"farside/internal/vk"
)

// noise returns n bytes that depend on the seed only.
func noise(seed uint64, n int) []byte {
	var key [32]byte
	key[0], key[1] = byte(seed), byte(seed>>8)
	b := make([]byte, n)
	rand.NewChaCha8(key).Read(b)
	return b
}

func TestFill(t *testing.T) {
	const guard = 64
	sizes := []int{0, 1, 3, 4, 5, 7, 8, 12, 15, 16, 20, 31, 32, 36, 60, 64, 68, 100, 127, 128, 132, 252, 256, 260, 1000,
		1020,
		2044, 2048, 2052, 4096, 5000, parallelBytes - 4, parallelBytes, parallelBytes + 4, 4*parallelBytes + 20}
	for _, size := range sizes {
		for _, start := range []int{0, 1, 2, 4, 8, 12, 16, 28, 33, 60} {
			if size > 1<<18 && start > 4 {
				continue
			}
			b := bytes.Repeat([]byte{0xee}, guard+start+size+guard)
			want := bytes.Clone(b)
			for i := range size &^ 3 {
				want[guard+start+i] = []byte{0x44, 0x33, 0x22, 0x11}[i%4]
			}
			Fill(b[guard+start:][:size:size], 0x11223344)
			if !bytes.Equal(b, want) {
				t.Fatalf("%d bytes from %d are not filled as they must", size, start)
			}
		}
	}
}

func TestFillPast(t *testing.T) {
	for _, size := range []int{0, 4, 64, 124, 128, 132, 191, 192, 256, 1000, 16384, 100001} {
		for _, start := range []int{0, 4, 7, 32, 60} {
			m := newMemory(1, start+size)
			want := m.clone()
			fillBytes(want.bytes[start:], 0x11223344)
			fillPast(m.bytes[start:], 0x11223344)
			if !bytes.Equal(m.all, want.all) {
				t.Fatalf("%d bytes from %d are not filled as they must", size, start)
			}
		}
	}
	large := make([]byte, fillPastBytes+12)
	Fill(large, 0x01020304)
	for i := 0; i < len(large); i += 4 {
		if large[i] != 4 || large[i+1] != 3 || large[i+2] != 2 || large[i+3] != 1 {
			t.Fatalf("the word at %d of a large fill is %x", i, large[i:i+4])
		}
	}
}

func TestCopy(t *testing.T) {
	for _, size := range []int{0, 1, 63, 4096, parallelBytes - 1, parallelBytes, 3*parallelBytes + 17} {
		for _, start := range []int{0, 1, 15} {
			checkCopy(t, Copy, size, start, 1)
		}
	}
}

func TestCopyPast(t *testing.T) {
	for _, size := range []int{0, 1, 64, 127, 128, 129, 191, 192, 255, 256, 1000, 16383, 16384, 16512, 40000, 100001} {
		for _, start := range []int{0, 1, 32} {
			for _, at := range []int{0, 1, 31, 32, 63} {
				checkCopy(t, copyPast, size, start, at)
			}
		}
	}
}

// checkCopy copies from byte start of one slice to byte at of another.
func checkCopy(t *testing.T, f func(dst, src []byte), size, start, at int) {
	t.Helper()
	src, dst := noise(1, start+size), newMemory(2, at+size)
	want := dst.clone()
	copy(want.bytes[at:], src[start:])
	f(dst.bytes[at:], src[start:])
	if !bytes.Equal(dst.all, want.all) {
		t.Fatalf("%d bytes from %d to %d are not copied", size, start, at)
	}
}

func TestCopyOverlapping(t *testing.T) {
	const size = 2 * parallelBytes
	for _, distance := range []int{-100000, -1, 0, 1, 100000} {
		b := noise(2, size+2*100000)
		from, to := 100000, 100000+distance
		want := bytes.Clone(b[from:][:size])
		Copy(b[to:][:size], b[from:][:size])
		if !bytes.Equal(b[to:][:size], want) {
			t.Errorf("a copy by %d bytes onto itself is wrong", distance)
		}
	}
}

func TestSplitCoversEachOnce(t *testing.T) {
	for _, n := range []int{0, 1, 4095, 4096, 8191, 8192, 100000, 1 << 22} {
		seen := make([]byte, n)
		split(n, 4096, func(from, to int) {
			if to-from < min(n, 4096) {
				t.Errorf("part [%d, %d) of %d is too small", from, to, n)
			}
			for i := from; i < to; i++ {
				seen[i]++
			}
		})
		if bytes.Count(seen, []byte{1}) != n {
			t.Errorf("the parts of %d are not %d once each", n, n)
		}
	}
}

func TestSplitRaisesFaults(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	const n = 1 << 20
	for _, bad := range []int{0, n - 1} {
		func() {
			defer func() {
				if reason := recover(); reason != "fault" {
					t.Errorf("a fault at %d is raised as %v", bad, reason)
				}
			}()
			split(n, 4096, func(from, to int) {
				if from <= bad && bad < to {
					panic("fault")
				}
			})
		}()
	}
}

// Memory that an application unmapped is a fault in the middle of assembly.
func TestFaultsInKernels(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	const size = 4 * parallelBytes
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(b)
	if err := syscall.Mprotect(b[size-4096:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	good := make([]byte, size)
	for name, f := range map[string]func(){
		"small fill": func() { Fill(b[size-4196:], 1) },
		"large fill": func() { Fill(b, 1) },
		"small copy": func() { Copy(b[size-4196:], good[:4196]) },
		"large copy": func() { Copy(b, good) },
		"large read": func() { Copy(good, b) },
	} {
		func() {
			defer func() {
				if _, ok := recover().(interface{ Addr() uintptr }); !ok {
					t.Errorf("%s: no fault is raised", name)
				}
			}()
			f()
		}()
	}
}

func TestCopyBuffer(t *testing.T) {
	src, dst := noise(3, 1000), make([]byte, 500)
	err := CopyBuffer(dst, src, []vk.BufferCopy{
		{SrcOffset: 1, DstOffset: 0, Size: 10},
		{SrcOffset: 999, DstOffset: 499, Size: 1},
		{SrcOffset: 0, DstOffset: 20, Size: 400},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, 500)
	copy(want, src[1:11])
	want[499] = src[999]
	copy(want[20:], src[:400])
	if !bytes.Equal(dst, want) {
		t.Error("the regions are not where they must be")
	}
}

func TestCopyBufferRefuses(t *testing.T) {
	const most = math.MaxUint64
	one := make([]byte, 100)
	for _, c := range []struct {
		name   string
		region vk.BufferCopy
		vuid   string
	}{
		{"empty", vk.BufferCopy{}, "VUID-VkBufferCopy-size-01988"},
		{"source begins behind", vk.BufferCopy{SrcOffset: 100, Size: 1}, "VUID-vkCmdCopyBuffer-srcOffset-00113"},
		{"target begins behind", vk.BufferCopy{DstOffset: 200, Size: 1}, "VUID-vkCmdCopyBuffer-dstOffset-00114"},
		{"source ends behind", vk.BufferCopy{SrcOffset: 1, Size: 100}, "VUID-vkCmdCopyBuffer-size-00115"},
		{"target ends behind", vk.BufferCopy{DstOffset: 150, Size: 51}, "VUID-vkCmdCopyBuffer-size-00116"},
		{"source wraps around", vk.BufferCopy{SrcOffset: 99, Size: most}, "VUID-vkCmdCopyBuffer-size-00115"},
		{"target wraps around", vk.BufferCopy{DstOffset: most, Size: 2}, "VUID-vkCmdCopyBuffer-dstOffset-00114"},
	} {
		dst := bytes.Repeat([]byte{7}, 200)
		err := CopyBuffer(dst, one, []vk.BufferCopy{{Size: 100}, c.region})
		if vk.VUIDOf(err).String() != c.vuid {
			t.Errorf("%s: %v, want %s", c.name, err, c.vuid)
		}
		if bytes.Count(dst, []byte{7}) != 200 {
			t.Errorf("%s: an earlier region was copied", c.name)
		}
	}
}

func TestCopyBufferWithinItself(t *testing.T) {
	b := noise(4, 4096)
	want := bytes.Clone(b)
	copy(want[1000:], b[0:100])
	copy(want[2000:], b[100:200])
	copy(want[200:], b[3000:3100])
	legal := []vk.BufferCopy{
		{SrcOffset: 0, DstOffset: 1000, Size: 100},
		{SrcOffset: 100, DstOffset: 2000, Size: 100},
		{SrcOffset: 3000, DstOffset: 200, Size: 100},
	}
	if err := CopyBuffer(b, b, legal); err != nil || !bytes.Equal(b, want) {
		t.Errorf("regions that only touch: %v", err)
	}
	for _, r := range []vk.BufferCopy{
		{SrcOffset: 2099, DstOffset: 4000, Size: 1}, // reads what another writes
		{SrcOffset: 4000, DstOffset: 50, Size: 1},   // writes what another reads
		{SrcOffset: 3500, DstOffset: 3510, Size: 20},
	} {
		err := CopyBuffer(b, b, append(legal[:3:3], r))
		if vk.VUIDOf(err).String() != "VUID-vkCmdCopyBuffer-pRegions-00117" || !bytes.Equal(b, want) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if err := CopyBuffer(b, b, nil); err != nil {
		t.Errorf("no regions: %v", err)
	}
}

func TestSmallOperationsDoNotAllocate(t *testing.T) {
	dst, src := make([]byte, 1<<16), make([]byte, 1<<16)
	buffers := []vk.BufferCopy{{Size: 1 << 16}}
	img, _ := shape{vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_TYPE_2D, [3]uint32{100, 100, 1}, 2, 1}.image(t, 1)
	other, _ := shape{vk.FORMAT_R32_UINT, vk.IMAGE_TYPE_2D, [3]uint32{100, 100, 1}, 1, 1}.image(t, 1)
	sub := vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LayerCount: 1}
	extent := vk.Extent3D{Width: 100, Height: 100, Depth: 1}
	texels := []vk.BufferImageCopy{{ImageSubresource: sub, ImageExtent: extent}}
	images := []vk.ImageCopy{{SrcSubresource: sub, DstSubresource: sub, Extent: extent}}
	for name, f := range map[string]func() error{
		"Fill":              func() error { Fill(dst, 1); return nil },
		"Copy":              func() error { Copy(dst, src); return nil },
		"CopyBuffer":        func() error { return CopyBuffer(dst, src, buffers) },
		"CopyBufferToImage": func() error { return CopyBufferToImage(img, src, texels) },
		"CopyImageToBuffer": func() error { return CopyImageToBuffer(dst, img, texels) },
		"CopyMemoryToImage": func() error { return CopyMemoryToImage(img, src, &texels[0], 0) },
		"CopyImageToMemory": func() error { return CopyImageToMemory(dst, img, &texels[0], 0) },
		"CopyImage":         func() error { return CopyImage(other, img, images) },
	} {
		if err := f(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n := testing.AllocsPerRun(100, func() { f() }); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}
