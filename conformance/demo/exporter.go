package main

import (
	"fmt"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

func exporter() error {
	d, err := openDevice()
	if err != nil {
		return err
	}
	defer d.Instance.Destroy()
	defer d.Destroy()
	peer, importer, err := startImporter()
	if err != nil {
		return err
	}
	if err := shareDescriptor(d, peer); err != nil {
		return err
	}
	if err := shareAddress(d, peer); err != nil {
		return err
	}
	if err := exportTrips(d, peer); err != nil {
		return err
	}
	if err := importer.Wait(); err != nil {
		return fmt.Errorf("the importer: %w", err)
	}
	fmt.Println("Every byte was right.")
	return nil
}

// shareDescriptor hands memory over as a file descriptor and checks the answer.
func shareDescriptor(d *vulkan.Device, peer channel) error {
	fmt.Println("By file descriptor (VK_KHR_external_memory_fd):")
	t, err := memoryType(d, vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT|vk.MEMORY_PROPERTY_HOST_COHERENT_BIT)
	if err != nil {
		return err
	}
	var arena vulkan.Arena
	defer arena.Close()
	m, r := d.Allocate(size, t, vulkan.ExportInfo(&arena, vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, nil))
	if r != vk.SUCCESS {
		return must("vkAllocateMemory", r)
	}
	defer d.Free(m)
	b, err := bytesOf(d, m, size)
	if err != nil {
		return err
	}
	fill(b, pattern)
	fd, r := d.GetFd(m, vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT)
	if r != vk.SUCCESS {
		return must("vkGetMemoryFdKHR", r)
	}
	say("exporter", "wrote %d bytes and exported them as descriptor %d", size, fd)
	file := ownedFile(fd)
	err = peer.send(fmt.Sprint(t), fd)
	file.Close()
	if err != nil {
		return err
	}
	if _, _, err := peer.receive(); err != nil {
		return err
	}
	if err := check(b, answer); err != nil {
		return fmt.Errorf("the importer's answer: %w", err)
	}
	say("exporter", "sees the importer's %d bytes in its own mapping", size)
	return nil
}

// shareAddress hands RDMA memory over as a remote address. The exporter cannot map such memory: its queue
// copies the answer to host-visible memory, where it is checked.
func shareAddress(d *vulkan.Device, peer channel) error {
	const rdma = vk.EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV
	fmt.Println("By remote address (VK_NV_external_memory_rdma):")
	t, err := memoryType(d, vk.MEMORY_PROPERTY_DEVICE_LOCAL_BIT|vk.MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV)
	if err != nil {
		return err
	}
	host, err := memoryType(d, vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT|vk.MEMORY_PROPERTY_HOST_COHERENT_BIT)
	if err != nil {
		return err
	}
	var arena vulkan.Arena
	defer arena.Close()
	remote, remoteMemory, err := boundBuffer(d, size, t, vulkan.ExportInfo(&arena, rdma, nil), rdma)
	if err != nil {
		return err
	}
	defer d.Free(remoteMemory)
	defer d.DestroyBuffer(remote)
	local, localMemory, err := boundBuffer(d, size, host, nil, 0)
	if err != nil {
		return err
	}
	defer d.Free(localMemory)
	defer d.DestroyBuffer(local)
	b, err := bytesOf(d, localMemory, size)
	if err != nil {
		return err
	}
	fill(b, pattern)
	if err := must("copy", d.CopyBuffer(remote, local, size)); err != nil {
		return err
	}
	address, r := d.RemoteAddress(remoteMemory, rdma)
	if r != vk.SUCCESS {
		return must("vkGetMemoryRemoteAddressNV", r)
	}
	say("exporter", "its queue filled RDMA memory; the remote address is %#x", uint64(address))
	if err := peer.send(fmt.Sprintf("%#x", uint64(address))); err != nil {
		return err
	}
	if _, _, err := peer.receive(); err != nil {
		return err
	}
	clear(b)
	if err := must("copy", d.CopyBuffer(local, remote, size)); err != nil {
		return err
	}
	// The counter is in the first word: the importer added to it, then swapped it for its mark.
	if err := check(b[8:], func(i int) byte { return answer(i + 8) }); err != nil {
		return fmt.Errorf("the importer's answer: %w", err)
	}
	if got := word(b); got != mark {
		return fmt.Errorf("the counter is %#x, want %#x", got, uint64(mark))
	}
	say("exporter", "its queue copied the memory back: the importer's %d bytes and its mark %#x are there", size-8, uint64(mark))
	return nil
}

// boundBuffer makes a buffer of size bytes, bound to memory of its own.
func boundBuffer(d *vulkan.Device, size uint64, memoryType uint32, next vulkan.Pointer, types vk.ExternalMemoryHandleTypeFlags) (vk.Buffer, vk.DeviceMemory, error) {
	b, r := d.CreateBuffer(size, types)
	if r != vk.SUCCESS {
		return 0, 0, must("vkCreateBuffer", r)
	}
	m, r := d.Allocate(d.BufferRequirements(b).Size, memoryType, next)
	if r != vk.SUCCESS {
		return 0, 0, must("vkAllocateMemory", r)
	}
	return b, m, must("vkBindBufferMemory", d.BindBuffer(b, m, 0))
}
