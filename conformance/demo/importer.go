package main

import (
	"fmt"
	"os"
	"strconv"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

func ownedFile(fd int) *os.File { return os.NewFile(uintptr(fd), "payload") }

func importer() error {
	d, err := openDevice()
	if err != nil {
		return err
	}
	defer d.Instance.Destroy()
	defer d.Destroy()
	peer, err := newChannel(os.NewFile(3, "exporter"))
	if err != nil {
		return err
	}
	if err := importDescriptor(d, peer); err != nil {
		return err
	}
	return importTrips(d, peer)
}

func importDescriptor(d *vulkan.Device, peer channel) error {
	text, fd, err := peer.receive()
	if err != nil {
		return err
	}
	t, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return err
	}
	var arena vulkan.Arena
	defer arena.Close()
	m, r := d.Allocate(size, uint32(t), vulkan.ImportFdInfo(&arena, vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, fd, nil))
	if r != vk.SUCCESS {
		return must("vkAllocateMemory with VkImportMemoryFdInfoKHR", r)
	}
	defer d.Free(m)
	b, err := bytesOf(d, m, size)
	if err != nil {
		return err
	}
	if err := check(b, pattern); err != nil {
		return fmt.Errorf("the exporter's bytes: %w", err)
	}
	say("importer", "imported the descriptor, sees the exporter's %d bytes, writes its own", size)
	fill(b, answer)
	return peer.send("done")
}
