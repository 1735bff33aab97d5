package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"

	"farside/conformance/vulkan"
	"farside/internal/vk"
	"farside/rdmasim"
)

// What the importer leaves in the first word of the RDMA memory.
const (
	mark = 0xfa451de
	adds = 1000
)

func word(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

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
	if err := useAddress(peer); err != nil {
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

func useAddress(peer channel) error {
	text, _, err := peer.receive()
	if err != nil {
		return err
	}
	address, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return err
	}
	fabric, err := rdmasim.Open(context.Background(), "")
	if err != nil {
		return err
	}
	defer fabric.Close()
	b := make([]byte, size)
	if err := fabric.Read(address, b); err != nil {
		return fmt.Errorf("read by remote address: %w", err)
	}
	if err := check(b, pattern); err != nil {
		return fmt.Errorf("the exporter's bytes: %w", err)
	}
	say("importer", "read %d bytes by the address, all as the exporter's queue wrote them", size)
	fill(b, answer)
	if err := fabric.Write(address, b); err != nil {
		return fmt.Errorf("write by remote address: %w", err)
	}
	start := word(b)
	for range adds {
		if _, err := fabric.FetchAdd64(address, 1); err != nil {
			return fmt.Errorf("fetch-add: %w", err)
		}
	}
	old, err := fabric.CompareSwap64(address, start+adds, mark)
	if err != nil {
		return fmt.Errorf("compare-swap: %w", err)
	}
	if old != start+adds {
		return fmt.Errorf("after %d fetch-adds the counter is %#x, want %#x", adds, old, start+adds)
	}
	say("importer", "wrote %d bytes back, added 1 %d times, swapped the counter for its mark", size, adds)
	return peer.send("done")
}
