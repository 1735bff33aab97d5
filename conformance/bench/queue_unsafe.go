package main

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

const (
	commands  = 50000     // in one command buffer
	piece     = 64        // bytes of each small fill and copy
	large     = 128 * mib // bytes of a large one
	sustained = 10        // large ones in a row: the first few run slower, here and in the C library
	texels    = 2048      // width and height of the images
	transfers = vk.IMAGE_USAGE_TRANSFER_SRC_BIT | vk.IMAGE_USAGE_TRANSFER_DST_BIT
)

// submitCalls is struct submit of native/loops.c.
type submitCalls struct {
	submit, wait, reset uintptr
	device              vk.Device
	queue               vk.Queue
	fence               vk.Fence
}

func newSubmitCalls(a *vulkan.Arena, d *vulkan.Device) (*submitCalls, error) {
	fence, r := d.CreateFence(0, nil)
	if r != vk.SUCCESS {
		return nil, fmt.Errorf("vkCreateFence: %v", r)
	}
	return vulkan.Put(a, submitCalls{
		submit: d.Proc("vkQueueSubmit"), wait: d.Proc("vkWaitForFences"), reset: d.Proc("vkResetFences"),
		device: d.Handle, queue: d.Queue(), fence: fence,
	}), nil
}

// transferBench is a driver's queue with recorded work of every kind that is measured.
type transferBench struct {
	device    *vulkan.Device
	a         vulkan.Arena
	calls     *submitCalls
	pool      vk.CommandPool // of the recorded work and of recording
	recording vk.CommandBuffer
	threads   []vk.CommandBuffer // one for each processor, each in a pool of its own
	small     [2]vk.Buffer
	big       [2]vk.Buffer
	large     [2][]byte   // the memory of the big buffers, mapped
	images    [3]vk.Image // the last one with half the width and height
	region    *vk.BufferCopy
	barrier   *vk.MemoryBarrier
	work      []transferWork
}

// transferWork is one recorded command buffer: divide is how many of the item it holds, rounds how often it is
// submitted for one sample.
type transferWork struct {
	name   string
	info   *vk.SubmitInfo
	divide float64
	rounds int
}

// openTransferBench makes the objects of a driver and records its command buffers.
func openTransferBench(d *vulkan.Device, memoryType uint32) (*transferBench, error) {
	b := &transferBench{device: d}
	var err error
	if b.calls, err = newSubmitCalls(&b.a, d); err != nil {
		return nil, err
	}
	if err := b.makeBuffers(); err != nil {
		return nil, err
	}
	for i := range 2 {
		if b.small[i], _, err = boundBuffer(d, mib, memoryType); err != nil {
			return nil, err
		}
		var memory vk.DeviceMemory
		if b.big[i], memory, err = boundBuffer(d, large, memoryType); err != nil {
			return nil, err
		}
		mapped, r := d.Map(memory, 0, large)
		if r != vk.SUCCESS {
			return nil, fmt.Errorf("vkMapMemory: %v", r)
		}
		b.large[i] = unsafe.Slice((*byte)(mapped), large)
	}
	for i, size := range []uint32{texels, texels, texels / 2} {
		if b.images[i], err = boundImage(d, size, memoryType); err != nil {
			return nil, err
		}
	}
	b.region = vulkan.Put(&b.a, vk.BufferCopy{SrcOffset: 128, DstOffset: 4096, Size: piece})
	b.barrier = vulkan.Struct[vk.MemoryBarrier](&b.a)
	b.barrier.SrcAccessMask, b.barrier.DstAccessMask = vk.ACCESS_TRANSFER_WRITE_BIT, vk.ACCESS_TRANSFER_READ_BIT
	return b, errors.Join(b.recordBuffers(), b.recordImages())
}

// makeBuffers makes the command pools, and the command buffers that are recorded while time is taken.
func (b *transferBench) makeBuffers() error {
	var r vk.Result
	if b.pool, r = b.device.CreateCommandPool(0); r != vk.SUCCESS {
		return fmt.Errorf("vkCreateCommandPool: %v", r)
	}
	if b.recording, r = b.device.AllocateCommandBuffer(b.pool); r != vk.SUCCESS {
		return fmt.Errorf("vkAllocateCommandBuffers: %v", r)
	}
	b.threads = vulkan.Make[vk.CommandBuffer](&b.a, min(runtime.NumCPU(), 64))
	for i := range b.threads {
		own, r := b.device.CreateCommandPool(0)
		if r == vk.SUCCESS {
			b.threads[i], r = b.device.AllocateCommandBuffer(own)
		}
		if r != vk.SUCCESS {
			return fmt.Errorf("command buffers for threads: %v", r)
		}
	}
	return nil
}

// record adds a command buffer to the work.
func (b *transferBench) record(name string, divide float64, rounds int, commands func(vk.CommandBuffer)) error {
	c, r := b.device.AllocateCommandBuffer(b.pool)
	if r == vk.SUCCESS {
		r = b.device.Record(c, 0, commands)
	}
	if r != vk.SUCCESS {
		return fmt.Errorf("record %s: %v", name, r)
	}
	info := vulkan.Struct[vk.SubmitInfo](&b.a)
	info.CommandBufferCount, info.PCommandBuffers = 1, vulkan.Put(&b.a, c)
	b.work = append(b.work, transferWork{name, info, divide, rounds})
	return nil
}

// recordBuffers records fills and copies of buffers, small ones and large ones, behind a submission of nothing.
func (b *transferBench) recordBuffers() error {
	d := b.device
	b.work = append(b.work, transferWork{"submit", vulkan.Struct[vk.SubmitInfo](&b.a), 1, 500})
	all := vulkan.Put(&b.a, vk.BufferCopy{Size: large})
	return errors.Join(
		b.record("fills", commands, 1, func(c vk.CommandBuffer) {
			for i := range uintptr(commands) {
				d.CallOn("vkCmdFillBuffer", uintptr(c), uintptr(b.small[0]), i%1024*piece, piece, i)
			}
		}),
		b.record("copies", commands, 1, func(c vk.CommandBuffer) {
			for range commands {
				d.CallOn("vkCmdCopyBuffer", uintptr(c), uintptr(b.small[0]), uintptr(b.small[1]), 1, address(b.region))
			}
		}),
		b.record("large fill", 1, sustained, func(c vk.CommandBuffer) {
			d.CallOn("vkCmdFillBuffer", uintptr(c), uintptr(b.big[0]), 0, large, 0x5a5a5a5a)
		}),
		b.record("large copy", 1, sustained, func(c vk.CommandBuffer) {
			d.CallOn("vkCmdCopyBuffer", uintptr(c), uintptr(b.big[0]), uintptr(b.big[1]), 1, address(all))
		}))
}

// recordImages records a copy from a buffer to an image, and blits.
func (b *transferBench) recordImages() error {
	d := b.device
	layers := vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LayerCount: 1}
	region := vulkan.Put(&b.a, vk.BufferImageCopy{ImageSubresource: layers,
		ImageExtent: vk.Extent3D{Width: texels, Height: texels, Depth: 1}})
	err := b.record("buffer to image", 1, 2, func(c vk.CommandBuffer) {
		d.CallOn("vkCmdCopyBufferToImage", uintptr(c), uintptr(b.big[0]), uintptr(b.images[0]),
			uintptr(vk.IMAGE_LAYOUT_GENERAL), 1, address(region))
	})
	blit := vulkan.Put(&b.a, vk.ImageBlit{SrcSubresource: layers, DstSubresource: layers})
	blit.SrcOffsets[1] = vk.Offset3D{X: texels / 2, Y: texels / 2, Z: 1}
	blit.DstOffsets[1] = vk.Offset3D{X: texels, Y: texels, Z: 1}
	for filter, name := range map[vk.Filter]string{vk.FILTER_NEAREST: "blit nearest", vk.FILTER_LINEAR: "blit linear"} {
		err = errors.Join(err, b.record(name, 1, 1, func(c vk.CommandBuffer) {
			d.CallOn("vkCmdBlitImage", uintptr(c), uintptr(b.images[2]), uintptr(vk.IMAGE_LAYOUT_GENERAL),
				uintptr(b.images[1]), uintptr(vk.IMAGE_LAYOUT_GENERAL), 1, address(blit), uintptr(filter))
		}))
	}
	return err
}

// sample measures recording and execution on one driver, once.
func (b *transferBench) sample(d *driver, l *loops, into *samples) error {
	add := func(what string, n int, loop uintptr, args ...uintptr) {
		into.add(d.name+" "+what, func() float64 { return run(n, loop, args...) })
	}
	fill := d.dev.Proc("vkCmdFillBuffer")
	r := d.dev.Record(b.recording, 0, func(c vk.CommandBuffer) {
		add("record fill", commands/10, l.recordFill, fill, uintptr(c), uintptr(b.small[0]))
		add("record copy", commands/10, l.recordCopy, d.dev.Proc("vkCmdCopyBuffer"), uintptr(c), uintptr(b.small[0]),
			uintptr(b.small[1]), address(b.region))
		add("record barrier", commands/10, l.recordBarrier, d.dev.Proc("vkCmdPipelineBarrier"), uintptr(c),
			address(b.barrier))
	})
	if r == vk.SUCCESS {
		r = b.recordAll(d.dev, b.threads, func() {
			// As many each: long enough for the start of a thread not to count.
			add("record thread", commands, l.recordThreads, fill, address(&b.threads[0]), uintptr(b.small[0]), 1)
			add("record threads", commands*len(b.threads), l.recordThreads, fill, address(&b.threads[0]),
				uintptr(b.small[0]), uintptr(len(b.threads)))
		})
	}
	if r != vk.SUCCESS {
		return fmt.Errorf("%s: record: %v", d.name, r)
	}
	for _, w := range b.work {
		into.add(d.name+" "+w.name, func() float64 {
			run(1, l.submit, address(b.calls), address(w.info)) // wakes the cores, which what ran before may have left idle
			return run(w.rounds, l.submit, address(b.calls), address(w.info)) / w.divide
		})
	}
	return nil
}

// recordAll calls record while every command buffer of list is being recorded.
func (b *transferBench) recordAll(d *vulkan.Device, list []vk.CommandBuffer, record func()) vk.Result {
	if len(list) == 0 {
		record()
		return vk.SUCCESS
	}
	inner := vk.SUCCESS
	r := d.Record(list[0], 0, func(vk.CommandBuffer) { inner = b.recordAll(d, list[1:], record) })
	return min(r, inner) // errors are negative
}

// sampleMemory measures the C library's memset and memcpy on as many threads as there are processors, on the memory of
// the driver's large buffers: how fast memory is depends on the pages that it was given.
func (b *transferBench) sampleMemory(l *loops, into *samples) {
	threads := uintptr(runtime.NumCPU())
	from, to := b.large[1], b.large[0]
	into.add("memset", func() float64 {
		run(1, l.memoryThreads, address(&to[0]), 0, uintptr(len(to)), threads)
		return run(sustained, l.memoryThreads, address(&to[0]), 0, uintptr(len(to)), threads)
	})
	to, from = from, to // the driver copies from the first to the second
	into.add("memcpy", func() float64 {
		return run(sustained, l.memoryThreads, address(&to[0]), address(&from[0]), uintptr(len(to)), threads)
	})
}

// boundBuffer makes a buffer for transfers, bound to memory of its own.
func boundBuffer(d *vulkan.Device, size uint64, memoryType uint32) (vk.Buffer, vk.DeviceMemory, error) {
	b, r := d.CreateBuffer(size, 0)
	if r != vk.SUCCESS {
		return 0, 0, fmt.Errorf("vkCreateBuffer: %v", r)
	}
	m, r := d.Allocate(d.BufferRequirements(b).Size, memoryType, nil)
	if r == vk.SUCCESS {
		r = d.BindBuffer(b, m, 0)
	}
	if r != vk.SUCCESS {
		return 0, 0, fmt.Errorf("memory of a buffer of %d bytes: %v", size, r)
	}
	return b, m, nil
}

// boundImage makes an RGBA8 image of size x size texels, bound to memory of its own.
func boundImage(d *vulkan.Device, size, memoryType uint32) (vk.Image, error) {
	var a vulkan.Arena
	defer a.Close()
	info := vulkan.Struct[vk.ImageCreateInfo](&a)
	info.ImageType, info.Format = vk.IMAGE_TYPE_2D, vk.FORMAT_R8G8B8A8_UNORM
	info.Extent = vk.Extent3D{Width: size, Height: size, Depth: 1}
	info.MipLevels, info.ArrayLayers, info.Samples = 1, 1, vk.SAMPLE_COUNT_1_BIT
	info.Tiling, info.Usage = vk.IMAGE_TILING_OPTIMAL, transfers
	out := vulkan.New[vk.Image](&a)
	if r := vk.Result(d.Call("vkCreateImage", address(info), 0, address(out))); r != vk.SUCCESS {
		return 0, fmt.Errorf("vkCreateImage: %v", r)
	}
	m, r := d.Allocate(d.ImageRequirements(*out).Size, memoryType, nil)
	if r == vk.SUCCESS {
		r = d.BindImage(*out, m, 0)
	}
	if r != vk.SUCCESS {
		return 0, fmt.Errorf("memory of an image: %v", r)
	}
	return *out, nil
}

// pointerTo types an address for a chain of structures.
func pointerTo[T any](p *T) unsafe.Pointer { return unsafe.Pointer(p) }
