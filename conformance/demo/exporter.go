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
	peer, importer, err := start("importer", nil)
	if err != nil {
		return err
	}
	if err := shareDescriptor(d, peer); err != nil {
		return err
	}
	if err := shareAddress(d); err != nil {
		return err
	}
	if err := shareShaders(d); err != nil {
		return err
	}
	if err := exportTrips(d, peer); err != nil {
		return err
	}
	if err := importer.Wait(); err != nil {
		return fmt.Errorf("the importer: %w", err)
	}
	if err := sharePicture(); err != nil {
		return err
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

// boundBuffer makes a buffer of size bytes, bound to memory of its own.
func boundBuffer(d *vulkan.Device, size uint64, memoryType uint32, next vulkan.Pointer,
	types vk.ExternalMemoryHandleTypeFlags) (vk.Buffer, vk.DeviceMemory, error) {
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
