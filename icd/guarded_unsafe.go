package icd

import (
	"bytes"
	"fmt"
	"unsafe"

	"farside/internal/callsite"
	"farside/internal/config"
	"farside/internal/finding"
	"farside/internal/guard"
	"farside/internal/vk"
	"farside/memory"
)

// guarded is what is known of a mapping that is surrounded by pages without access.
type guarded struct {
	memory         *deviceMemory
	offset, length uint64
	at             uintptr
	ended          string  // the command that ended the mapping; "" while it lasts
	where          *origin // of that command
}

// tailByte is what lies behind the last byte of a mapping that does not end with a page.
const tailByte = 0xFD

// mapGuarded maps a range of shown at addresses of their own.
func (m *deviceMemory) mapGuarded(shown *memory.Payload, next *mapping) error {
	within := next.offset % memory.PageSize()
	about := &guarded{memory: m, offset: next.offset, length: next.length}
	area, err := guard.Reserve(within+next.length, about)
	if err != nil {
		return vk.Errorf(vk.ERROR_MEMORY_MAP_FAILED, vk.NoVUID, "addresses for a guarded mapping: %w", err)
	}
	begin := pointerTo(area.Begin)
	if err := shown.MapAt(begin, next.offset-within, within+next.length); err != nil {
		area.Drop(true)
		return err
	}
	next.at, next.area = unsafe.Add(begin, within), area
	about.at = uintptr(next.at)
	fillTail(next.tail(m))
	return nil
}

// pointerTo types an address outside of Go's heap.
func pointerTo(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// tail returns the bytes between the end of a guarded mapping and its last page's, if they belong to nobody: they are
// behind the end of the memory, which was not imported.
func (p *mapping) tail(m *deviceMemory) []byte {
	if p.area == nil || m.imported != 0 || p.offset+p.length != m.size {
		return nil
	}
	end := unsafe.Add(p.at, p.length)
	return unsafe.Slice((*byte)(end), p.area.End-uintptr(end))
}

func fillTail(b []byte) {
	for i := range b {
		b[i] = tailByte
	}
}

// checkTail returns how many bytes behind the end were written to; -1 if none.
func (p *mapping) checkTail(m *deviceMemory) int {
	b := p.tail(m)
	return len(bytes.TrimRight(b, string([]byte{tailByte}))) - 1
}

// endGuarded ends a guarded mapping: its addresses stay without access.
func (p *mapping) endGuarded(command string, reserve bool) error {
	about := p.area.About.(*guarded)
	about.ended, about.where = command, here()
	end := p.area.Retire
	if reserve {
		end = p.area.Leave
	}
	if err := end(); err != nil {
		about.ended = ""
		return vk.Errorf(vk.ERROR_MEMORY_MAP_FAILED, vk.NoVUID, "the end of a guarded mapping: %w", err)
	}
	return nil
}

// overrun tells, before a mapping ends, that the application has written behind its end.
func (m *deviceMemory) overrun(command string) {
	if m.device.strict(config.StrictGuard) {
		m.tellOverrun(command)
	}
}

func (m *deviceMemory) tellOverrun(command string) {
	m.mu.Lock()
	last, length := -1, uint64(0)
	if m.isMapped() {
		length = m.mapping.length
		if last = m.mapping.checkTail(m); last >= 0 {
			fillTail(m.mapping.tail(m))
		}
	}
	m.mu.Unlock()
	if last >= 0 {
		m.device.find(finding.Overrun, []object{m.object()},
			"%s: the host wrote up to %d bytes beyond the end of the mapping of %d bytes", command, last+1, length)
	}
}

// watchGuards begins to listen for accesses to guarded addresses.
func watchGuards() error { return guard.Watch(tellAccess) }

// tellAccess tells of an access in the application that its process is going to die of.
func tellAccess(f guard.Fault) {
	access := "read or wrote"
	switch {
	case f.Write:
		access = "wrote"
	case f.At.BX != 0 || f.At.BP != 0:
		access = "read"
	}
	where := origin(callsite.Walk(f.At))
	tellGuarded(f.Address, access, &where)
}

// tellGuarded tells of an access to an address if that is guarded.
func tellGuarded(address uintptr, access string, where *origin) {
	area, ended := guard.At(address)
	if area == nil {
		return
	}
	g := area.About.(*guarded)
	m := g.memory
	begin, end := g.at, g.at+uintptr(g.length)
	stack := where.Lines("accessed")
	id, text := finding.OutOfBounds, ""
	switch {
	case address >= end:
		text = fmt.Sprintf("%d bytes beyond the end of a mapping of %d bytes", address-end, g.length)
	case address < begin:
		text = fmt.Sprintf("%d bytes before the begin of a mapping of %d bytes", begin-address, g.length)
	default:
		text = fmt.Sprintf("byte %d of a mapping of %d bytes", address-begin, g.length)
	}
	if ended {
		id = finding.AfterUnmap
		text += ", which " + g.ended + " has ended"
		stack = append(stack, g.where.Lines("ended")...)
	}
	if deviceMemories.Get(m.handle) != m {
		id = finding.AfterFree
		text += ", whose memory has been freed"
	}
	m.device.physical.instance.find(id, uint64(address), append(stack, m.made.Lines("allocated")...), []object{m.object()},
		"the application %s %s (from byte %d of %d bytes of memory on)", access, text, g.offset, m.size)
}
