package ofi

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// library is libfabric in this process: its exported functions that are used.
type library struct {
	getInfo, freeInfo, dupInfo, openFabric, strError uintptr
}

// settings are environment variables that have to be there when the library is loaded. What the user has set
// stays.
var settings = [...][2]string{
	// A library that comes with it would take SIGSEGV and others, without SA_ONSTACK, which Go needs.
	{"IPATH_NO_BACKTRACE", "1"},
	{"HFI_NO_BACKTRACE", "1"},
	// Look at connections each time that completions are looked at: a lost one is back after 50 ms, not 2.6
	// s.
	{"FI_OFI_RXM_CQ_EQ_FAIRNESS", "1"},
	// No patching of mmap and munmap to keep a cache that nobody here uses.
	{"FI_MR_CACHE_MONITOR", "disabled"},
}

// Load loads the library and has it look for its providers, which takes half a second, and several on a busy machine,
// once. Connect and NewTarget do so, too; who has a deadline for a peer's answer calls it before the clock starts.
func Load() error { return loadReady() }

var loadReady = sync.OnceValue(func() error {
	l, err := load()
	if err != nil {
		return err
	}
	// Whether this provider is there is told to who asks for it.
	if found, err := l.query(DefaultProvider, ""); err == nil {
		call(l.freeInfo, uintptr(unsafe.Pointer(found)))
	}
	return nil
})

// load finds the library.
var load = sync.OnceValues(func() (*library, error) {
	setenv, err := purego.Dlsym(purego.RTLD_DEFAULT, "setenv")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLibrary, err)
	}
	for _, s := range settings {
		// The C library's own table: os.Setenv reaches it only where cgo is linked in.
		name, value := append([]byte(s[0]), 0), append([]byte(s[1]), 0)
		purego.SyscallN(setenv, uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(&value[0])), 0)
	}
	return open("libfabric.so.1")
})

func open(name string) (*library, error) {
	handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("%w: install the Debian package libfabric1: %w", ErrLibrary, err)
	}
	l := &library{}
	for name, f := range map[string]*uintptr{
		"fi_getinfo": &l.getInfo, "fi_freeinfo": &l.freeInfo, "fi_dupinfo": &l.dupInfo,
		"fi_fabric": &l.openFabric, "fi_strerror": &l.strError,
	} {
		if *f, err = purego.Dlsym(handle, name); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrLibrary, err)
		}
	}
	return l, nil
}

// call calls a function that returns an int or a small ssize_t: a count, or an error negated.
//
//go:uintptrescapes
func call(function uintptr, args ...uintptr) int {
	r, _, _ := purego.SyscallN(function, args...)
	return int(int32(r))
}

// failure makes an error of what a call returned, nil of 0 and above.
func (l *library) failure(name string, result int) error {
	if result >= 0 {
		return nil
	}
	return &CallError{Call: name, Code: -result, text: l.text(-result)}
}

func (l *library) text(code int) string {
	r, _, _ := purego.SyscallN(l.strError, uintptr(code))
	return goString(*(**byte)(unsafe.Pointer(&r)))
}

func goString(s *byte) string {
	if s == nil {
		return ""
	}
	return unix.BytePtrToString(s)
}

// lookup returns the function at an offset of a table. Tables grow with versions, and one that ends before
// the offset, or has nothing there, lacks the function.
func lookup(table unsafe.Pointer, offset uintptr, name string) (uintptr, error) {
	if table != nil && *(*uintptr)(table) > offset {
		if f := *(*uintptr)(unsafe.Add(table, offset)); f != 0 {
			return f, nil
		}
	}
	return 0, fmt.Errorf("%w: the provider has no %s", ErrProvider, name)
}

// query asks for a provider that can do remote memory access and atomics on reliable unconnected endpoints.
// source is the address of an interface of this host. The result is the caller's to free.
func (l *library) query(provider, source string) (*info, error) {
	r, _, _ := purego.SyscallN(l.dupInfo, 0)
	hints := *(**info)(unsafe.Pointer(&r))
	if hints == nil {
		return nil, fmt.Errorf("%w: fi_dupinfo gives nothing", ErrLibrary)
	}
	page, err := newPage(len(provider) + len(source) + 2)
	if err != nil {
		return nil, err
	}
	defer page.free()
	copy(page.bytes, provider)
	node := page.bytes[len(provider)+1:]
	copy(node, source)

	hints.caps = capRMA | capAtomic
	hints.mode = modeContext | modeContext2
	hints.ep.kind = epRDM
	// Without delivery, a write is complete when it is in a socket's buffer here.
	hints.tx.opFlags = flagCompletion | flagDelivered
	hints.domain.threading = threadSafe
	hints.domain.mrMode = mrLocal | mrVirtualAddr | mrAllocated | mrProviderKey
	hints.fabric.provider = &page.bytes[0]
	var list *info
	if source != "" {
		r, _, _ = purego.SyscallN(l.getInfo, apiVersion, uintptr(unsafe.Pointer(&node[0])), 0,
			asSource|numericHost, uintptr(unsafe.Pointer(hints)), uintptr(unsafe.Pointer(&list)))
	} else {
		r, _, _ = purego.SyscallN(l.getInfo, apiVersion, 0, 0,
			0, uintptr(unsafe.Pointer(hints)), uintptr(unsafe.Pointer(&list)))
	}
	hints.fabric.provider = nil // fi_freeinfo would free it
	call(l.freeInfo, uintptr(unsafe.Pointer(hints)))
	if err := l.failure("fi_getinfo", int(int32(r))); err != nil {
		return nil, fmt.Errorf("%w: provider %q at %q: %w", ErrProvider, provider, source, err)
	}
	return list, nil
}

// page is zeroed memory outside of Go's heap.
type page struct{ bytes []byte }

func newPage(size int) (page, error) {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return page{}, fmt.Errorf("ofi: %d bytes of memory: %w", size, err)
	}
	return page{b}, nil
}

func (p page) free() { _ = unix.Munmap(p.bytes) }

func (p page) address(offset int) uintptr { return uintptr(unsafe.Pointer(&p.bytes[offset])) }

// word returns a word of the page.
func (p page) word(i int) uintptr { return *(*uintptr)(unsafe.Pointer(&p.bytes[i*8])) }
