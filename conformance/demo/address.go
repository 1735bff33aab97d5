package main

import (
	"encoding/binary"
	"fmt"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// header is what the data of remote memory begins behind, in bytes: the counter to which the peers add, and
// the number of peers that have come to do so.
const header = 16

// remoteMemory is RDMA memory, which its owner can't map, and host-visible memory that its queue copies to
// and from.
type remoteMemory struct {
	d             *vulkan.Device
	remote, local vk.Buffer
	memories      []vk.DeviceMemory
	host          []byte // local's
	address       uint64
}

const rdmaAddress = vk.EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV

// newRemoteMemory allocates n bytes, has the queue fill them with zeroes in the header and the pattern behind
// it, and asks for the address.
func newRemoteMemory(d *vulkan.Device, n uint64) (*remoteMemory, error) {
	m := &remoteMemory{d: d}
	if err := m.allocate(n); err != nil {
		return nil, err
	}
	fill(m.host, pattern)
	clear(m.host[:header])
	if err := must("copy", d.CopyBuffer(m.remote, m.local, n)); err != nil {
		return nil, err
	}
	clear(m.host)
	address, r := d.RemoteAddress(m.memories[0], rdmaAddress)
	m.address = uint64(address)
	return m, must("vkGetMemoryRemoteAddressNV", r)
}

func (m *remoteMemory) allocate(n uint64) error {
	device, err := memoryType(m.d, vk.MEMORY_PROPERTY_DEVICE_LOCAL_BIT|vk.MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV)
	if err != nil {
		return err
	}
	host, err := memoryType(m.d, vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT|vk.MEMORY_PROPERTY_HOST_COHERENT_BIT)
	if err != nil {
		return err
	}
	var arena vulkan.Arena
	defer arena.Close()
	m.memories = make([]vk.DeviceMemory, 2)
	m.remote, m.memories[0], err = boundBuffer(m.d, n, device, vulkan.ExportInfo(&arena, rdmaAddress, nil), rdmaAddress)
	if err == nil {
		m.local, m.memories[1], err = boundBuffer(m.d, n, host, nil, 0)
	}
	if err == nil {
		m.host, err = bytesOf(m.d, m.memories[1], int(n))
	}
	return err
}

// verify has the queue copy the memory back, and holds data and counter against what the peers were to leave.
func (m *remoteMemory) verify() error {
	if err := must("copy", m.d.CopyBuffer(m.local, m.remote, uint64(len(m.host)))); err != nil {
		return err
	}
	if err := check(m.host[header:], func(i int) byte { return answer(i + header) }); err != nil {
		return fmt.Errorf("the peer's answer: %w", err)
	}
	if got := binary.NativeEndian.Uint64(m.host); got != peers*adds {
		return fmt.Errorf("the counter is %d, want %d", got, peers*adds)
	}
	say("exporter", "its queue copied the memory back: every byte and the count, %d, are right", peers*adds)
	return nil
}

func (m *remoteMemory) close() {
	m.d.DestroyBuffer(m.remote)
	m.d.DestroyBuffer(m.local)
	for _, memory := range m.memories {
		m.d.Free(memory)
	}
}

// shareAddress hands RDMA memory over as a remote address, to peers that know nothing of Vulkan.
func shareAddress(d *vulkan.Device) error {
	fmt.Println("By remote address (VK_NV_external_memory_rdma), to a peer in C and three in Go:")
	if err := compilePeer(); err != nil {
		return err
	}
	m, err := newRemoteMemory(d, size)
	if err != nil {
		return err
	}
	defer m.close()
	say("exporter", "its queue filled RDMA memory; the remote address is %#x", m.address)
	if err := compete("", m.address, size); err != nil {
		return err
	}
	return m.verify()
}
