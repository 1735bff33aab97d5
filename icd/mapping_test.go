package icd

import (
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/vk"
	"farside/memory"
)

// TestMapOfRefusingDMABuf maps and uses memory whose dma-buf's driver refuses accesses, as an eventfd does.
func TestMapOfRefusingDMABuf(t *testing.T) {
	p, err := memory.NewShared(4096, memory.Metadata{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	d := syncDevice(t)
	visible := slices.IndexFunc(d.physical.profile.Types, func(t memory.Type) bool {
		return t.Flags&vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT != 0
	})
	m := &deviceMemory{child: child{device: d}, size: 4096, payload: p, typeIndex: uint32(visible)}
	handle := vk.DeviceMemory(deviceMemories.Insert(m))
	t.Cleanup(func() { deviceMemories.Remove(uint64(handle)) })
	m.handle = uint64(handle)
	var at unsafe.Pointer
	mapAll := func() vk.Result { return commands.MapMemory(m.device.handle, handle, 0, vk.WHOLE_SIZE, 0, &at) }
	if r := mapAll(); r != vk.SUCCESS {
		t.Fatalf("before it has a dma-buf: %v", r)
	}
	refusing := func(int, uint64) (*fd.FD, error) { return fd.Fresh(unix.Eventfd(0, unix.EFD_CLOEXEC)) }
	if _, err := p.DMABuf(refusing); err != nil {
		t.Fatal(err)
	}
	// What is mapped can be unmapped, whatever the driver says.
	commands.UnmapMemory(m.device.handle, handle)
	if m.isMapped() {
		t.Error("still mapped")
	}
	if r := mapAll(); r != vk.ERROR_MEMORY_MAP_FAILED || m.isMapped() {
		t.Errorf("mapped: %v", r)
	}
	if _, _, err := mapped(m, 0, 4096); err == nil {
		t.Error("a queue begins to use it")
	}
}
