package export

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/fd/fdtest"
	"farside/internal/vk"
	"farside/memory"
)

func TestImportHostPointer(t *testing.T) {
	fdtest.NoLeaks(t)
	page := memory.PageSize()
	good := pages(t, 3, unix.PROT_READ|unix.PROT_WRITE)
	mixed := pages(t, 4, unix.PROT_READ|unix.PROT_WRITE)
	if err := unix.Mprotect(mixed[page:2*page], unix.PROT_READ); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mprotect(mixed[2*page:3*page], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	short, err := os.Create(t.TempDir() + "/short")
	if err != nil {
		t.Fatal(err)
	}
	defer short.Close()
	if err := short.Truncate(10); err != nil {
		t.Fatal(err)
	}
	beyond, err := unix.Mmap(int(short.Fd()), 0, 2*int(page), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(beyond)

	p, err := importPointer(unsafe.Pointer(&good[0]), 3*page, host)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := p.Bytes(); err != nil || &b[0] != &good[0] || len(b) != len(good) {
		t.Errorf("%v", err)
	}
	p.Release()
	good[0] = 1 // still the application's

	for _, c := range []struct {
		name string
		at   unsafe.Pointer
		size uint64
		h    vk.ExternalMemoryHandleTypeFlags
		vuid vk.VUID
		says string
	}{
		{"handle type", unsafe.Pointer(&good[0]), page, hostMap, vk.VUID_VkImportMemoryHostPointerInfoEXT_handleType_01747,
			"can't be imported"},
		{"null", nil, page, host, vuidHostAligned, "multiple"},
		{"unaligned pointer", unsafe.Pointer(&good[8]), page, host, vuidHostAligned, "multiple"},
		{"unaligned size", unsafe.Pointer(&good[0]), page + 1, host, vuidHostSize, "multiple"},
		{"empty", unsafe.Pointer(&good[0]), 0, host, vuidHostSize, "multiple"},
		{"read only", unsafe.Pointer(&mixed[page]), page, host, vuidHostRange, "not readable and writable"},
		{"runs into read only", unsafe.Pointer(&mixed[0]), 2 * page, host, vuidHostRange, "not readable and writable"},
		{"inaccessible", unsafe.Pointer(&mixed[2*page]), page, host, vuidHostRange, "not readable and writable"},
		{"beyond its file", unsafe.Pointer(&beyond[0]), 2 * page, host, vuidHostRange, "end of its file"},
		{"wraps around", unsafe.Pointer(&good[0]), -page, host, vuidHostRange, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := importPointer(c.at, c.size, c.h)
			if err == nil {
				t.Fatal("imported")
			}
			wantInvalid(t, err, c.vuid, c.says)
		})
	}

	if bits, err := pointerProperties(unsafe.Pointer(&good[0]), host); err != nil || bits != 0b1100 {
		t.Errorf("types %#b, %v", bits, err)
	}
	_, err = pointerProperties(unsafe.Pointer(&good[0]), hostMap)
	wantInvalid(t, err, vk.VUID_vkGetMemoryHostPointerPropertiesEXT_handleType_01752, "")
	_, err = pointerProperties(unsafe.Pointer(&good[1]), host)
	wantInvalid(t, err, vuidPropsAlign, "")
	_, err = pointerProperties(unsafe.Pointer(&mixed[page]), host)
	wantInvalid(t, err, vuidPropsRange, "")
}

func TestImportUnmappedPointer(t *testing.T) {
	fdtest.NoLeaks(t)
	page := memory.PageSize()
	for _, c := range []struct {
		name         string
		first, pages uint64
	}{{"unmapped", 1, 1}, {"runs into unmapped", 0, 3}} {
		t.Run(c.name, func(t *testing.T) {
			// Somebody else in the process may map the page that has just become free.
			for range 100 {
				at, err := unix.MmapPtr(-1, 0, nil, 3*uintptr(page), unix.PROT_READ|unix.PROT_WRITE,
					unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
				if err != nil {
					t.Fatal(err)
				}
				unmap := func(n uint64) {
					if err := unix.MunmapPtr(unsafe.Add(at, n*page), uintptr(page)); err != nil {
						t.Error(err)
					}
				}
				unmap(1)
				p, err := importPointer(unsafe.Add(at, c.first*page), c.pages*page, host)
				unmap(0)
				unmap(2)
				if err != nil {
					wantInvalid(t, err, vuidHostRange, "not mapped")
					return
				}
				p.Release()
			}
			t.Error("imported a hundred times")
		})
	}
}
