package ofi

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"
)

// endpoint is an enabled endpoint of the library with all that it needs: a fabric, a domain, an address
// vector, a completion queue. Its functions may be called from several threads at once, save for close.
type endpoint struct {
	library *library
	info    *info
	fabric  *fabricObject
	domain  *domainObject
	av      *avObject
	cq      *cqObject
	ep      *epObject

	maxMessage uint64 // bytes
	local      bool   // local buffers must be registered, too
	virtual    bool   // remote addresses are those in the target's process, not offsets in the region

	read, write, fetch, compare, poll, pollError, register uintptr
	signal                                                 uintptr // 0 where the provider has none
}

// maxEntries is the number of completions that are taken at once.
const maxEntries = 16

// openEndpoint makes an endpoint at an address of this host. depth is the number of operations that can be
// under way. On failure nothing is left.
func openEndpoint(provider, source string, depth int) (_ *endpoint, err error) {
	library, err := load()
	if err != nil {
		return nil, err
	}
	e := &endpoint{library: library}
	defer func() {
		if err != nil {
			e.close()
		}
	}()
	if e.info, err = library.query(provider, source); err != nil {
		return nil, err
	}
	e.maxMessage = uint64(e.info.ep.maxMessage)
	e.local = e.info.domain.mrMode&mrLocal != 0
	e.virtual = e.info.domain.mrMode&mrVirtualAddr != 0

	err = library.failure("fi_fabric", call(library.openFabric,
		uintptr(unsafe.Pointer(e.info.fabric)), uintptr(unsafe.Pointer(&e.fabric)), 0))
	if err != nil {
		return nil, err
	}
	t := unsafe.Pointer(e.fabric.ops)
	if err = e.do(t, unsafe.Offsetof(e.fabric.ops.domain), "fi_domain", uintptr(unsafe.Pointer(e.fabric)),
		uintptr(unsafe.Pointer(e.info)), uintptr(unsafe.Pointer(&e.domain)), 0); err != nil {
		return nil, err
	}
	t = unsafe.Pointer(e.domain.ops)
	domain := uintptr(unsafe.Pointer(e.domain))
	av := avAttr{count: 1}
	if err = e.do(t, unsafe.Offsetof(e.domain.ops.openAV), "fi_av_open", domain,
		uintptr(unsafe.Pointer(&av)), uintptr(unsafe.Pointer(&e.av)), 0); err != nil {
		return nil, err
	}
	cq := cqAttr{size: uintptr(depth), format: cqFormatContext, wait: waitUnspecified}
	if err = e.do(t, unsafe.Offsetof(e.domain.ops.openCQ), "fi_cq_open", domain,
		uintptr(unsafe.Pointer(&cq)), uintptr(unsafe.Pointer(&e.cq)), 0); err != nil {
		return nil, err
	}
	if err = e.do(t, unsafe.Offsetof(e.domain.ops.endpoint), "fi_endpoint", domain,
		uintptr(unsafe.Pointer(e.info)), uintptr(unsafe.Pointer(&e.ep)), 0); err != nil {
		return nil, err
	}
	t = unsafe.Pointer(e.ep.fid.ops)
	ep := uintptr(unsafe.Pointer(e.ep))
	if err = e.do(t, unsafe.Offsetof(e.ep.fid.ops.bind), "fi_ep_bind", ep,
		uintptr(unsafe.Pointer(e.av)), 0); err != nil {
		return nil, err
	}
	if err = e.do(t, unsafe.Offsetof(e.ep.fid.ops.bind), "fi_ep_bind", ep,
		uintptr(unsafe.Pointer(e.cq)), bindTransmit|bindReceive); err != nil {
		return nil, err
	}
	if err = e.do(t, unsafe.Offsetof(e.ep.fid.ops.control), "fi_enable", ep, controlEnable, 0); err != nil {
		return nil, err
	}
	return e, e.find()
}

// find looks up the functions of the hot path. Enabling an endpoint may change its tables.
func (e *endpoint) find() (err error) {
	for _, f := range []struct {
		into   *uintptr
		table  unsafe.Pointer
		offset uintptr
		name   string
	}{
		{&e.read, unsafe.Pointer(e.ep.rma), unsafe.Offsetof(e.ep.rma.read), "fi_read"},
		{&e.write, unsafe.Pointer(e.ep.rma), unsafe.Offsetof(e.ep.rma.write), "fi_write"},
		{&e.fetch, unsafe.Pointer(e.ep.atomic), unsafe.Offsetof(e.ep.atomic.fetch), "fi_fetch_atomic"},
		{&e.compare, unsafe.Pointer(e.ep.atomic), unsafe.Offsetof(e.ep.atomic.compare), "fi_compare_atomic"},
		{&e.poll, unsafe.Pointer(e.cq.ops), unsafe.Offsetof(e.cq.ops.wait), "fi_cq_sread"},
		{&e.pollError, unsafe.Pointer(e.cq.ops), unsafe.Offsetof(e.cq.ops.readError), "fi_cq_readerr"},
		{&e.register, unsafe.Pointer(e.domain.mr), unsafe.Offsetof(e.domain.mr.register), "fi_mr_reg"},
	} {
		if *f.into, err = lookup(f.table, f.offset, f.name); err != nil {
			return err
		}
	}
	e.signal, _ = lookup(unsafe.Pointer(e.cq.ops), unsafe.Offsetof(e.cq.ops.signal), "fi_cq_signal")
	return nil
}

// do calls a function of a table.
//
//go:uintptrescapes
func (e *endpoint) do(table unsafe.Pointer, offset uintptr, name string, args ...uintptr) error {
	f, err := lookup(table, offset, name)
	if err != nil {
		return err
	}
	return e.library.failure(name, call(f, args...))
}

// close ends everything, registrations included. Nobody may be in a function of the endpoint. When it
// returns, the library uses no buffer of an operation any more.
func (e *endpoint) close(registered ...memory) {
	shut := func(f *fid) {
		if f == nil {
			return
		}
		if function, err := lookup(unsafe.Pointer(f.ops), unsafe.Offsetof(f.ops.close), "fi_close"); err == nil {
			call(function, uintptr(unsafe.Pointer(f)))
		}
	}
	shut((*fid)(unsafe.Pointer(e.ep)))
	for _, m := range registered {
		_ = m.close()
	}
	shut((*fid)(unsafe.Pointer(e.cq)))
	shut((*fid)(unsafe.Pointer(e.av)))
	shut((*fid)(unsafe.Pointer(e.domain)))
	shut((*fid)(unsafe.Pointer(e.fabric)))
	if e.info != nil {
		call(e.library.freeInfo, uintptr(unsafe.Pointer(e.info)))
	}
	*e = endpoint{}
}

// name returns the address at which others reach the endpoint, and the provider that they need for that.
func (e *endpoint) name() (name []byte, provider string, err error) {
	b := make([]byte, maxName)
	n := uintptr(len(b))
	err = e.do(unsafe.Pointer(e.ep.cm), unsafe.Offsetof(e.ep.cm.getName), "fi_getname",
		uintptr(unsafe.Pointer(e.ep)), uintptr(unsafe.Pointer(&b[0])), uintptr(unsafe.Pointer(&n)))
	if err != nil {
		return nil, "", err
	}
	return b[:n], goString(e.info.fabric.provider), nil
}

// insert adds the name of another endpoint and returns its number in operations.
func (e *endpoint) insert(name []byte) (uint64, error) {
	f, err := lookup(unsafe.Pointer(e.av.ops), unsafe.Offsetof(e.av.ops.insert), "fi_av_insert")
	if err != nil {
		return 0, err
	}
	var address uint64
	n := call(f, uintptr(unsafe.Pointer(e.av)), uintptr(unsafe.Pointer(&name[0])), 1,
		uintptr(unsafe.Pointer(&address)), 0, 0)
	if err := e.library.failure("fi_av_insert", n); err != nil {
		return 0, err
	}
	if n != 1 {
		return 0, fmt.Errorf("%w: endpoint name %x", ErrInvalid, name)
	}
	return address, nil
}

// memory is a registration.
type memory struct {
	object *mrObject
	lib    *library
}

// registerMemory lets the library, and with remote access bits others, use b. b must stay where it is until
// close returned. The key is random where the provider leaves that to us.
func (e *endpoint) registerMemory(b []byte, access uint64) (memory, error) {
	for {
		var key [8]byte
		_, _ = rand.Read(key[:]) // never fails
		m := memory{lib: e.library}
		err := e.library.failure("fi_mr_reg", call(e.register, uintptr(unsafe.Pointer(e.domain)),
			uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), uintptr(access), 0,
			uintptr(binary.NativeEndian.Uint64(key[:])), 0, uintptr(unsafe.Pointer(&m.object)), 0))
		var failed *CallError
		if errors.As(err, &failed) && failed.Code == errorKeyRequired {
			continue // somebody has this key
		}
		return m, err
	}
}

// key is what others need.
func (m memory) key() uint64 { return m.object.key }

// descriptor is what operations on local memory need; 0 of the zero value.
func (m memory) descriptor() uintptr {
	if m.object == nil {
		return 0
	}
	return m.object.descriptor
}

// close ends the registration: no operation begins with it afterwards.
func (m memory) close() error {
	if m.object == nil {
		return nil
	}
	f, err := lookup(unsafe.Pointer(m.object.ops), unsafe.Offsetof(m.object.ops.close), "fi_close")
	if err != nil {
		return err
	}
	return m.lib.failure("fi_close", call(f, uintptr(unsafe.Pointer(m.object))))
}

// wait takes completions into entries, memory for maxEntries of them, and waits up to so many milliseconds
// for the first. It returns their number, 0 when there was none, -1 when one failed (see takeError).
func (e *endpoint) wait(entries uintptr, milliseconds int) (int, error) {
	n := call(e.poll, uintptr(unsafe.Pointer(e.cq)), entries, maxEntries, 0, uintptr(milliseconds))
	switch n {
	case -errorAvailable:
		return -1, nil
	case -eAgain, -eInterrupted:
		return 0, nil
	}
	return n, e.library.failure("fi_cq_sread", n)
}

// takeError takes the failed completion that is next: the context of its operation, and the error.
func (e *endpoint) takeError() (context uintptr, err error) {
	var entry cqError
	if n := call(e.pollError, uintptr(unsafe.Pointer(e.cq)), uintptr(unsafe.Pointer(&entry)), 0); n < 0 {
		return 0, e.library.failure("fi_cq_readerr", n)
	}
	return entry.context, &CallError{Call: "completion", Code: int(entry.err), text: e.library.text(int(entry.err))}
}

// wake ends a wait early, where the provider can do that.
func (e *endpoint) wake() {
	if e.signal != 0 {
		call(e.signal, uintptr(unsafe.Pointer(e.cq)))
	}
}
