package reference

import "farside/internal/vk"

// CopyBufferToImage is one region of vkCmdCopyBufferToImage.
func CopyBufferToImage(dst *Image, src []byte, r vk.BufferImageCopy) {
	walkBuffer(dst, &r, func(block []byte, offset uint64) { copy(block, src[offset:offset+uint64(len(block))]) })
}

// CopyImageToBuffer is one region of vkCmdCopyImageToBuffer.
func CopyImageToBuffer(dst []byte, src *Image, r vk.BufferImageCopy) {
	walkBuffer(src, &r, func(block []byte, offset uint64) { copy(dst[offset:offset+uint64(len(block))], block) })
}

// walkBuffer pairs each block of a region with its place in the buffer.
func walkBuffer(m *Image, r *vk.BufferImageCopy, visit func(block []byte, offset uint64)) {
	s, block := r.ImageSubresource, m.BlockExtent()
	length, height := r.BufferRowLength, r.BufferImageHeight
	if length == 0 {
		length = r.ImageExtent.Width
	}
	if height == 0 {
		height = r.ImageExtent.Height
	}
	pitch := blocksOf([3]uint32{length, height, 1}, block)
	n := blocksOf([3]uint32{r.ImageExtent.Width, r.ImageExtent.Height, r.ImageExtent.Depth}, block)
	x0, y0 := uint32(r.ImageOffset.X)/block[0], uint32(r.ImageOffset.Y)/block[1]
	for i := range max(n[2], s.LayerCount) {
		layer, z := m.slice(&s, r.ImageOffset.Z, i)
		for y := range n[1] {
			for x := range n[0] {
				at := uint64((i*pitch[1]+y)*pitch[0]+x) * uint64(m.BlockSize(s.AspectMask))
				visit(m.Block(s.AspectMask, s.MipLevel, layer, x0+x, y0+y, z), r.BufferOffset+at)
			}
		}
	}
}

// CopyImage is one region of vkCmdCopyImage. Blocks go to blocks: where one image is compressed and the other
// is not, a block is a texel of the other.
func CopyImage(dst, src *Image, r vk.ImageCopy) {
	from, to := src.BlockExtent(), dst.BlockExtent()
	n := blocksOf([3]uint32{r.Extent.Width, r.Extent.Height, r.Extent.Depth}, from)
	sx, sy := uint32(r.SrcOffset.X)/from[0], uint32(r.SrcOffset.Y)/from[1]
	dx, dy := uint32(r.DstOffset.X)/to[0], uint32(r.DstOffset.Y)/to[1]
	slices := max(n[2], r.SrcSubresource.LayerCount, r.DstSubresource.LayerCount)
	for _, aspect := range src.Aspects() {
		if r.SrcSubresource.AspectMask&aspect == 0 {
			continue
		}
		for i := range slices {
			sl, sz := src.slice(&r.SrcSubresource, r.SrcOffset.Z, i)
			dl, dz := dst.slice(&r.DstSubresource, r.DstOffset.Z, i)
			for y := range n[1] {
				for x := range n[0] {
					copy(dst.Block(aspect, r.DstSubresource.MipLevel, dl, dx+x, dy+y, dz),
						src.Block(aspect, r.SrcSubresource.MipLevel, sl, sx+x, sy+y, sz))
				}
			}
		}
	}
}
