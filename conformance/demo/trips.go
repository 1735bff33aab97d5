package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"time"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

const (
	trips       = 1000
	tripSize    = 64 << 10 // bytes, each way
	semaphoreFd = vk.EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT
)

// station is one end of the round trips: the shared memory, which is DEVICE_LOCAL and so out of the host's reach,
// host-visible memory, and the timeline semaphore that both queues wait for and signal.
type station struct {
	d         *vulkan.Device
	arena     vulkan.Arena
	shared    vk.Buffer
	local     vk.Buffer
	memories  [2]vk.DeviceMemory // of shared, of local
	host      []byte             // local's
	semaphore vk.Semaphore
	pool      vk.CommandPool
	commands  [2]vk.CommandBuffer // to fill, to read
	fence     vk.Fence
	half      *vk.BufferCopy
	barrier   *vk.MemoryBarrier
}

// newStation makes an end; next is chained behind the allocation of the shared memory, and semaphore behind the
// semaphore's creation.
func newStation(d *vulkan.Device, next, semaphore func(*vulkan.Arena) vulkan.Pointer) (_ *station, err error) {
	s := &station{d: d}
	s.half = vulkan.Put(&s.arena, vk.BufferCopy{DstOffset: tripSize / 2, Size: tripSize / 2})
	s.barrier = vulkan.Struct[vk.MemoryBarrier](&s.arena)
	s.barrier.SrcAccessMask, s.barrier.DstAccessMask = vk.ACCESS_TRANSFER_WRITE_BIT, vk.ACCESS_TRANSFER_READ_BIT
	device, err := memoryType(d, vk.MEMORY_PROPERTY_DEVICE_LOCAL_BIT)
	if err != nil {
		return nil, err
	}
	host, err := memoryType(d, vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT|vk.MEMORY_PROPERTY_HOST_COHERENT_BIT)
	if err != nil {
		return nil, err
	}
	if s.shared, s.memories[0], err = boundBuffer(d, tripSize, device, next(&s.arena),
		vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT); err != nil {
		return nil, err
	}
	if s.local, s.memories[1], err = boundBuffer(d, tripSize, host, nil, 0); err != nil {
		return nil, err
	}
	if s.host, err = bytesOf(d, s.memories[1], tripSize); err != nil {
		return nil, err
	}
	var r vk.Result
	if s.semaphore, r = d.CreateSemaphore(semaphore(&s.arena)); r != vk.SUCCESS {
		return nil, must("vkCreateSemaphore", r)
	}
	if s.fence, r = d.CreateFence(0, nil); r != vk.SUCCESS {
		return nil, must("vkCreateFence", r)
	}
	if s.pool, r = d.CreateCommandPool(0); r != vk.SUCCESS {
		return nil, must("vkCreateCommandPool", r)
	}
	for i := range s.commands {
		if s.commands[i], r = d.AllocateCommandBuffer(s.pool); r != vk.SUCCESS {
			return nil, must("vkAllocateCommandBuffers", r)
		}
	}
	return s, nil
}

func (s *station) close() {
	s.d.DestroyCommandPool(s.pool)
	s.d.DestroyFence(s.fence)
	s.d.DestroySemaphore(s.semaphore)
	s.d.DestroyBuffer(s.shared)
	s.d.DestroyBuffer(s.local)
	for _, m := range s.memories {
		s.d.Free(m)
	}
	s.arena.Close()
}

// letter is the word that fills half of the memory on the way with counter value v.
func letter(v uint64) uint32 { return uint32(v) * 2654435761 }

// send has the queue fill the first half of the shared memory, copy that half to the second, and signal v.
func (s *station) send(v uint64) error {
	r := s.d.Record(s.commands[0], vk.COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT, func(c vk.CommandBuffer) {
		s.d.CallOn("vkCmdFillBuffer", uintptr(c), uintptr(s.shared), 0, tripSize/2, uintptr(letter(v)))
		s.d.CallOn("vkCmdPipelineBarrier", uintptr(c), uintptr(vk.PIPELINE_STAGE_TRANSFER_BIT),
			uintptr(vk.PIPELINE_STAGE_TRANSFER_BIT),
			0, 1, uintptr(vulkan.Ptr(s.barrier)), 0, 0, 0, 0)
		s.d.CallOn("vkCmdCopyBuffer", uintptr(c), uintptr(s.shared), uintptr(s.shared), 1, uintptr(vulkan.Ptr(s.half)))
	})
	if r != vk.SUCCESS {
		return must("record", r)
	}
	return must("vkQueueSubmit", s.d.SubmitBatches(s.d.Queue(), 0, vulkan.Batch{
		Buffers: s.commands[:1], Signal: []vulkan.Point{{Semaphore: s.semaphore, Value: v}},
	}))
}

// receive has the queue wait for v and copy the shared memory to the host's, where every byte is checked.
func (s *station) receive(v uint64) error {
	err := must("vkQueueSubmit", s.d.SubmitBatches(s.d.Queue(), s.fence, vulkan.Batch{
		Wait: []vulkan.Point{{Semaphore: s.semaphore, Value: v}}, Buffers: s.commands[1:],
	}))
	if err == nil {
		err = must("vkWaitForFences", s.d.WaitFences(true, uint64(time.Minute), s.fence))
	}
	if err == nil {
		err = must("vkResetFences", s.d.ResetFences(s.fence))
	}
	if err != nil {
		return err
	}
	for i := 0; i < tripSize; i += 4 {
		if got := binary.NativeEndian.Uint32(s.host[i:]); got != letter(v) {
			return fmt.Errorf("bytes %d to %d after semaphore value %d are %#x, want %#x", i, i+3, v, got, letter(v))
		}
	}
	return nil
}

// recordRead records the copy to the host's memory, which is the same on every trip.
func (s *station) recordRead() error {
	region := vulkan.Put(&s.arena, vk.BufferCopy{Size: tripSize})
	return must("record", s.d.Record(s.commands[1], 0, func(c vk.CommandBuffer) {
		s.d.CallOn("vkCmdCopyBuffer", uintptr(c), uintptr(s.shared), uintptr(s.local), 1, uintptr(vulkan.Ptr(region)))
	}))
}

// exportTrips is the exporter's side: it makes memory and semaphore, and its odd counter values go out.
func exportTrips(d *vulkan.Device, peer channel) error {
	fmt.Println("By queue, memory and timeline semaphore as descriptors (VK_KHR_external_semaphore_fd):")
	s, err := newStation(d,
		func(a *vulkan.Arena) vulkan.Pointer {
			return vulkan.ExportInfo(a, vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, nil)
		},
		func(a *vulkan.Arena) vulkan.Pointer {
			return vulkan.ExportSemaphoreInfo(a, semaphoreFd, vulkan.SemaphoreTypeInfo(a, 0, nil))
		})
	if err != nil {
		return err
	}
	defer s.close()
	memory, r := d.GetFd(s.memories[0], vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT)
	if r != vk.SUCCESS {
		return must("vkGetMemoryFdKHR", r)
	}
	semaphore, r := d.SemaphoreFd(s.semaphore, semaphoreFd)
	if r != vk.SUCCESS {
		return must("vkGetSemaphoreFdKHR", r)
	}
	for what, fd := range map[string]int{"memory": memory, "semaphore": semaphore} {
		file := os.NewFile(uintptr(fd), what)
		err := peer.send(what, fd)
		file.Close()
		if err != nil {
			return err
		}
	}
	if err := s.recordRead(); err != nil {
		return err
	}
	start := time.Now()
	for v := uint64(1); v < 2*trips; v += 2 {
		if err := s.send(v); err != nil {
			return err
		}
		if err := s.receive(v + 1); err != nil {
			return fmt.Errorf("the importer's answer: %w", err)
		}
	}
	spent := time.Since(start)
	say("exporter", "%d round trips of %d KiB, every byte checked on both sides: %v a trip",
		trips, tripSize>>10, (spent / trips).Round(100*time.Nanosecond))
	_, _, err = peer.receive()
	return err
}

// importTrips is the importer's side: it takes the odd values and answers with the even ones.
func importTrips(d *vulkan.Device, peer channel) error {
	var memory, semaphore int
	for range 2 {
		what, fd, err := peer.receive()
		if err != nil {
			return err
		}
		if strings.HasPrefix(what, "memory") {
			memory = fd
		} else {
			semaphore = fd
		}
	}
	s, err := newStation(d,
		func(a *vulkan.Arena) vulkan.Pointer {
			return vulkan.ImportFdInfo(a, vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, memory, nil)
		},
		func(a *vulkan.Arena) vulkan.Pointer { return vulkan.SemaphoreTypeInfo(a, 0, nil) })
	if err != nil {
		return err
	}
	defer s.close()
	if err := must("vkImportSemaphoreFdKHR", d.ImportSemaphoreFd(s.semaphore, semaphoreFd, 0, semaphore)); err != nil {
		return err
	}
	if err := s.recordRead(); err != nil {
		return err
	}
	say("importer", "imported both; its queue waits for the exporter's")
	for v := uint64(1); v < 2*trips; v += 2 {
		if err := s.receive(v); err != nil {
			return fmt.Errorf("the exporter's bytes: %w", err)
		}
		if err := s.send(v + 1); err != nil {
			return err
		}
	}
	if err := must("vkQueueWaitIdle", s.d.QueueWaitIdle(s.d.Queue())); err != nil {
		return err
	}
	return peer.send("done")
}
