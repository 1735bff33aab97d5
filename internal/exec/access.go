package exec

import (
	"farside/internal/command"
	"farside/internal/vk"
	"farside/memory"
)

// Access is what a command is about to do to bytes of an object. Shaders may do less: what they are given counts.
type Access struct {
	Queue        *Queue
	Device       uint32        // the index of the physical device that executes the command
	Type         vk.ObjectType // of the object: a buffer, an image, or a view of either
	Handle       uint64
	Offset, Size uint64 // of the object, bytes; Size may reach beyond its end
	// Layers is the part of an image that the command may reach; nil is all of it. With it Offset and Size say nothing.
	Layers        []vk.ImageSubresourceLayers
	Reads, Writes bool
	Shader        bool // a shader was given it
	Atomics       bool // a shader that has atomic instructions
	// Lasts says that it goes on behind the command, until the queue has an access that Ends, and is of no object.
	Lasts, Ends bool
	// Addressed is memory to which a shader does what nobody knows, by device addresses; the object is none.
	Addressed *memory.Payload
	Command   int // the command's number in the command buffer
	Op        command.Op
}

// wholeObject is an Access's Size that reaches to the object's end.
const wholeObject = ^uint64(0)

// accessed tells Watch of an access to a buffer. It is small enough for the compiler to put it into its callers, which
// pay for one load if nobody asks.
func (r *replay) accessed(h vk.Buffer, offset, size uint64, reads, writes bool) {
	if r.device.Watch != nil {
		r.watched(h, offset, size, reads, writes)
	}
}

func (r *replay) watched(h vk.Buffer, offset, size uint64, reads, writes bool) {
	r.device.Watch(&Access{Queue: r.queue, Device: r.device.Index, Type: vk.OBJECT_TYPE_BUFFER, Handle: uint64(h),
		Offset: offset, Size: size, Reads: reads, Writes: writes, Command: r.index, Op: r.op})
}

// accessedImage is accessed for all of an image.
func (r *replay) accessedImage(h vk.Image, reads, writes bool) {
	if r.device.Watch == nil {
		return
	}
	r.device.Watch(&Access{Queue: r.queue, Device: r.device.Index, Type: vk.OBJECT_TYPE_IMAGE, Handle: uint64(h),
		Size: wholeObject, Reads: reads, Writes: writes, Command: r.index, Op: r.op})
}

// given tells Watch of what a shader of the dispatch or draw under way is given: all that it may do to it counts.
func (b *bindings) given(t vk.ObjectType, h, offset, size uint64) {
	r := b.replay
	if r.device.Watch == nil {
		return
	}
	atomics := false
	if g := b.pipeline.Graphics; g != nil {
		atomics = g.Atomics
	} else {
		atomics = b.pipeline.Program.Atomics
	}
	r.device.Watch(&Access{Queue: r.queue, Device: r.device.Index, Type: t, Handle: h, Offset: offset, Size: size,
		Reads: true, Writes: true, Shader: true, Atomics: atomics, Command: r.index, Op: r.op})
}

// addressed tells Watch of memory that the shader of the dispatch under way reaches by device addresses.
func (r *replay) addressed(p *memory.Payload) {
	if r.device.Watch == nil {
		return
	}
	r.device.Watch(&Access{Queue: r.queue, Device: r.device.Index, Shader: true, Addressed: p, Command: r.index, Op: r.op})
}

// accessedLayers tells Watch of the subresources of an image to which a command's regions go.
func accessedLayers[T any](r *replay, h vk.Image, regions []T, layers func(*T) vk.ImageSubresourceLayers,
	reads, writes bool) {
	if r.device.Watch == nil {
		return
	}
	list := make([]vk.ImageSubresourceLayers, len(regions))
	for i := range regions {
		list[i] = layers(&regions[i])
	}
	r.device.Watch(&Access{Queue: r.queue, Device: r.device.Index, Type: vk.OBJECT_TYPE_IMAGE, Handle: uint64(h),
		Size: wholeObject, Layers: list, Reads: reads, Writes: writes, Command: r.index, Op: r.op})
}

// accessedImages is accessedLayers for a command that goes from one image to another.
func accessedImages[T any](r *replay, dst, src vk.Image, regions []T,
	of func(*T) (dst, src vk.ImageSubresourceLayers)) {
	accessedLayers(r, src, regions, func(g *T) vk.ImageSubresourceLayers { _, s := of(g); return s }, true, false)
	accessedLayers(r, dst, regions, func(g *T) vk.ImageSubresourceLayers { d, _ := of(g); return d }, false, true)
}

// accessedRegions is accessed for the buffer's side of copies between a buffer and an image of a format.
func (r *replay) accessedRegions(h vk.Buffer, f vk.Format, regions []vk.BufferImageCopy, reads, writes bool) {
	if r.device.Watch == nil {
		return
	}
	for i := range regions {
		g := &regions[i]
		size, extent := blockOf(f, g.ImageSubresource.AspectMask)
		width, height := max(g.BufferRowLength, g.ImageExtent.Width), max(g.BufferImageHeight, g.ImageExtent.Height)
		blocks := func(texels, extent uint32) uint64 { return (uint64(texels) + uint64(extent) - 1) / uint64(extent) }
		row, rows := blocks(width, extent[0]), blocks(height, extent[1])
		slices := uint64(g.ImageExtent.Depth)
		if layers := g.ImageSubresource.LayerCount; layers != vk.REMAINING_ARRAY_LAYERS {
			slices *= uint64(layers)
		}
		if slices == 0 || rows == 0 || row == 0 {
			continue
		}
		texels := ((slices-1)*rows+blocks(g.ImageExtent.Height, extent[1])-1)*row + blocks(g.ImageExtent.Width, extent[0])
		r.accessed(h, g.BufferOffset, texels*size, reads, writes)
	}
}

// blockOf returns bytes and texels of a block of a format's aspect in a buffer (chapter "Copy Commands", "Copying Data
// Between Buffers and Images").
func blockOf(f vk.Format, aspect vk.ImageAspectFlags) (size uint64, extent [3]uint32) {
	switch f {
	case vk.FORMAT_D16_UNORM_S8_UINT, vk.FORMAT_D24_UNORM_S8_UINT, vk.FORMAT_D32_SFLOAT_S8_UINT:
		switch {
		case aspect == vk.IMAGE_ASPECT_STENCIL_BIT:
			return 1, [3]uint32{1, 1, 1}
		case f == vk.FORMAT_D16_UNORM_S8_UINT:
			return 2, [3]uint32{1, 1, 1}
		}
		return 4, [3]uint32{1, 1, 1}
	}
	info, _ := vk.FormatInfo(f)
	for n, plane := range info.Planes() {
		if aspect == vk.IMAGE_ASPECT_PLANE_0_BIT<<n {
			info, _ = vk.FormatInfo(plane.Compatible)
		}
	}
	return uint64(info.BlockSize), [3]uint32{max(info.BlockExtent[0], 1), max(info.BlockExtent[1], 1), 1}
}
