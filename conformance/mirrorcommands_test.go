package conformance

import (
	"encoding/binary"
	"math"

	"farside/conformance/reference"
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// general is the layout of all images here.
const general = uintptr(vk.IMAGE_LAYOUT_GENERAL)

// array puts the regions of a command where C can read them.
func array[T any](a *vulkan.Arena, s []T) (count, first uintptr) {
	p := vulkan.Make[T](a, len(s))
	copy(p, s)
	return uintptr(len(s)), ptr(vulkan.First(p))
}

// array2 is array for the structures of VK_KHR_copy_commands2.
func array2[T, U any](a *vulkan.Arena, s []T, put func(to *U, from *T)) (uint32, *U) {
	p := vulkan.Make[U](a, len(s))
	for i := range s {
		put(&p[i], &s[i])
	}
	return uint32(len(s)), vulkan.First(p)
}

func (m *mirror) fill(b *mirrorBuffer, offset, size uint64, word uint32) {
	m.cmd("vkCmdFillBuffer", uintptr(b.handle), uintptr(offset), uintptr(size), uintptr(word))
	if size == vk.WHOLE_SIZE {
		size = (uint64(len(b.want)) - offset) &^ 3
	}
	for i := offset; i < offset+size; i += 4 {
		binary.LittleEndian.PutUint32(b.want[i:], word)
	}
}

func (m *mirror) update(b *mirrorBuffer, offset uint64, data []byte) {
	n, p := array(&m.a, data)
	m.cmd("vkCmdUpdateBuffer", uintptr(b.handle), uintptr(offset), n, p)
	copy(b.want[offset:], data)
}

func (m *mirror) copyBuffer(dst, src *mirrorBuffer, regions ...vk.BufferCopy) {
	if m.copy2 {
		info := vulkan.Struct[vk.CopyBufferInfo2](&m.a)
		info.SrcBuffer, info.DstBuffer = src.handle, dst.handle
		info.RegionCount, info.PRegions = array2(&m.a, regions, func(to *vk.BufferCopy2, r *vk.BufferCopy) {
			to.SType = vk.STRUCTURE_TYPE_BUFFER_COPY_2
			to.SrcOffset, to.DstOffset, to.Size = r.SrcOffset, r.DstOffset, r.Size
		})
		m.cmd("vkCmdCopyBuffer2KHR", ptr(info))
	} else {
		n, p := array(&m.a, regions)
		m.cmd("vkCmdCopyBuffer", uintptr(src.handle), uintptr(dst.handle), n, p)
	}
	for _, r := range regions {
		copy(dst.want[r.DstOffset:r.DstOffset+r.Size], src.want[r.SrcOffset:r.SrcOffset+r.Size])
	}
}

func bufferImageCopy2(to *vk.BufferImageCopy2, r *vk.BufferImageCopy) {
	to.SType = vk.STRUCTURE_TYPE_BUFFER_IMAGE_COPY_2
	to.BufferOffset, to.BufferRowLength, to.BufferImageHeight = r.BufferOffset, r.BufferRowLength, r.BufferImageHeight
	to.ImageSubresource, to.ImageOffset, to.ImageExtent = r.ImageSubresource, r.ImageOffset, r.ImageExtent
}

func (m *mirror) bufferToImage(dst *mirrorImage, src *mirrorBuffer, regions ...vk.BufferImageCopy) {
	if m.copy2 {
		info := vulkan.Struct[vk.CopyBufferToImageInfo2](&m.a)
		info.SrcBuffer, info.DstImage, info.DstImageLayout = src.handle, dst.handle, vk.IMAGE_LAYOUT_GENERAL
		info.RegionCount, info.PRegions = array2(&m.a, regions, bufferImageCopy2)
		m.cmd("vkCmdCopyBufferToImage2KHR", ptr(info))
	} else {
		n, p := array(&m.a, regions)
		m.cmd("vkCmdCopyBufferToImage", uintptr(src.handle), uintptr(dst.handle), general, n, p)
	}
	for _, r := range regions {
		reference.CopyBufferToImage(dst.want, src.want, r)
	}
}

func (m *mirror) imageToBuffer(dst *mirrorBuffer, src *mirrorImage, regions ...vk.BufferImageCopy) {
	if m.copy2 {
		info := vulkan.Struct[vk.CopyImageToBufferInfo2](&m.a)
		info.SrcImage, info.SrcImageLayout, info.DstBuffer = src.handle, vk.IMAGE_LAYOUT_GENERAL, dst.handle
		info.RegionCount, info.PRegions = array2(&m.a, regions, bufferImageCopy2)
		m.cmd("vkCmdCopyImageToBuffer2KHR", ptr(info))
	} else {
		n, p := array(&m.a, regions)
		m.cmd("vkCmdCopyImageToBuffer", uintptr(src.handle), general, uintptr(dst.handle), n, p)
	}
	for _, r := range regions {
		dst.depth = dst.depth || r.ImageSubresource.AspectMask == vk.IMAGE_ASPECT_DEPTH_BIT && depthBits(src.format) == 24
		reference.CopyImageToBuffer(dst.want, src.want, r)
	}
}

func imageCopy2(to *vk.ImageCopy2, r *vk.ImageCopy) {
	to.SType = vk.STRUCTURE_TYPE_IMAGE_COPY_2
	to.SrcSubresource, to.SrcOffset = r.SrcSubresource, r.SrcOffset
	to.DstSubresource, to.DstOffset, to.Extent = r.DstSubresource, r.DstOffset, r.Extent
}

func (m *mirror) copyImage(dst, src *mirrorImage, regions ...vk.ImageCopy) {
	if m.copy2 {
		info := vulkan.Struct[vk.CopyImageInfo2](&m.a)
		info.SrcImage, info.SrcImageLayout = src.handle, vk.IMAGE_LAYOUT_GENERAL
		info.DstImage, info.DstImageLayout = dst.handle, vk.IMAGE_LAYOUT_GENERAL
		info.RegionCount, info.PRegions = array2(&m.a, regions, imageCopy2)
		m.cmd("vkCmdCopyImage2KHR", ptr(info))
	} else {
		n, p := array(&m.a, regions)
		m.cmd("vkCmdCopyImage", uintptr(src.handle), general, uintptr(dst.handle), general, n, p)
	}
	for _, r := range regions {
		n := max(src.samples, 1) // texels of the reference are samples
		r.SrcOffset.X, r.DstOffset.X, r.Extent.Width = r.SrcOffset.X*int32(n), r.DstOffset.X*int32(n), r.Extent.Width*n
		reference.CopyImage(dst.want, src.want, r)
	}
}

func (m *mirror) resolve(dst, src *mirrorImage, regions ...vk.ImageResolve) {
	if m.copy2 {
		info := vulkan.Struct[vk.ResolveImageInfo2](&m.a)
		info.SrcImage, info.SrcImageLayout = src.handle, vk.IMAGE_LAYOUT_GENERAL
		info.DstImage, info.DstImageLayout = dst.handle, vk.IMAGE_LAYOUT_GENERAL
		info.RegionCount, info.PRegions = array2(&m.a, regions, func(to *vk.ImageResolve2, r *vk.ImageResolve) {
			to.SType = vk.STRUCTURE_TYPE_IMAGE_RESOLVE_2
			to.SrcSubresource, to.SrcOffset = r.SrcSubresource, r.SrcOffset
			to.DstSubresource, to.DstOffset, to.Extent = r.DstSubresource, r.DstOffset, r.Extent
		})
		m.cmd("vkCmdResolveImage2KHR", ptr(info))
	} else {
		n, p := array(&m.a, regions)
		m.cmd("vkCmdResolveImage", uintptr(src.handle), general, uintptr(dst.handle), general, n, p)
	}
	for _, r := range regions {
		reference.Resolve(dst.want, src.want, src.samples, r)
	}
}

func (m *mirror) blit(dst, src *mirrorImage, filter vk.Filter, regions ...vk.ImageBlit) {
	if m.copy2 {
		info := vulkan.Struct[vk.BlitImageInfo2](&m.a)
		info.SrcImage, info.SrcImageLayout = src.handle, vk.IMAGE_LAYOUT_GENERAL
		info.DstImage, info.DstImageLayout, info.Filter = dst.handle, vk.IMAGE_LAYOUT_GENERAL, filter
		info.RegionCount, info.PRegions = array2(&m.a, regions, func(to *vk.ImageBlit2, r *vk.ImageBlit) {
			to.SType = vk.STRUCTURE_TYPE_IMAGE_BLIT_2
			to.SrcSubresource, to.SrcOffsets = r.SrcSubresource, r.SrcOffsets
			to.DstSubresource, to.DstOffsets = r.DstSubresource, r.DstOffsets
		})
		m.cmd("vkCmdBlitImage2KHR", ptr(info))
	} else {
		n, p := array(&m.a, regions)
		m.cmd("vkCmdBlitImage", uintptr(src.handle), general, uintptr(dst.handle), general, n, p, uintptr(filter))
	}
	for _, r := range regions {
		reference.Blit(dst.want, src.want, r, filter)
	}
}

// numbersOf64 says whether the numbers of a format have 64 bits.
func numbersOf64(f vk.Format) bool {
	info, _ := vk.FormatInfo(f)
	return info.Components()[0].Bits == 64
}

func (m *mirror) clearColor(dst *mirrorImage, t reference.Texel, ranges ...vk.ImageSubresourceRange) {
	value := vulkan.New[vk.ClearColorValue](&m.a)
	integer := dst.want.Integer(vk.IMAGE_ASPECT_COLOR_BIT)
	for i := range t.F {
		switch {
		case numbersOf64(dst.format) && i >= 2: // two words are one number, so that there are two
			t.F[i], t.I[i] = 0, 0
		case numbersOf64(dst.format):
			bits := uint64(t.I[i])
			if !integer {
				bits = math.Float64bits(t.F[i])
			}
			value.Uint32()[2*i], value.Uint32()[2*i+1] = uint32(bits), uint32(bits>>32)
		case integer:
			value.Int32()[i] = int32(t.I[i])
		default:
			value.Float32()[i] = float32(t.F[i])
		}
	}
	n, p := array(&m.a, ranges)
	m.cmd("vkCmdClearColorImage", uintptr(dst.handle), general, ptr(value), n, p)
	for _, r := range ranges {
		reference.Clear(dst.want, r, func(vk.ImageAspectFlags) reference.Texel { return t })
	}
}

func (m *mirror) clearDepthStencil(dst *mirrorImage, depth float32, stencil uint32,
	ranges ...vk.ImageSubresourceRange) {
	value := vulkan.Put(&m.a, vk.ClearDepthStencilValue{Depth: depth, Stencil: stencil})
	n, p := array(&m.a, ranges)
	m.cmd("vkCmdClearDepthStencilImage", uintptr(dst.handle), general, ptr(value), n, p)
	for _, r := range ranges {
		reference.Clear(dst.want, r, func(vk.ImageAspectFlags) reference.Texel {
			return reference.Texel{F: [4]float64{float64(depth)}, I: [4]int64{int64(stencil)}}
		})
	}
}
