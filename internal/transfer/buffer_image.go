package transfer

import (
	"math/bits"

	"farside/internal/vk"
)

// linearRules are the VUIDs of a command that copies between an image and linear memory, a buffer's or the
// host's.
type linearRules struct {
	rules
	size      vk.VUID // the memory holds the region
	offset    vk.VUID // the offset is a multiple of the texel block size
	offset4   vk.VUID // and of 4 for depth and stencil
	texel     vk.VUID // of the texel of a plane
	alone     vk.VUID // one aspect at a time
	samples   vk.VUID // one sample
	empty     [3]vk.VUID
	row       vk.VUID // the row length is 0 or not shorter than the region's rows
	height    vk.VUID // so is the image height
	rowBlocks vk.VUID // the row length is whole blocks
	heights   vk.VUID // the image height is whole blocks
	rowMost   vk.VUID // a row is shorter than 2 GiB
}

// A region between a buffer and an image that ends within a block is the whole block (the CTS has such regions, against
// VUID-vkCmdCopyBufferToImage-dstImage-00207): the image has all of it, and what the
// buffer must have is counted in blocks.
var (
	bufferToImage = &linearRules{
		rules: rules{
			bound:   vk.VUID_vkCmdCopyBufferToImage_dstImage_07966,
			aspects: vk.VUID_vkCmdCopyBufferToImage_imageSubresource_09105,
			level:   vk.VUID_vkCmdCopyBufferToImage_imageSubresource_07967,
			layers:  vk.VUID_vkCmdCopyBufferToImage_imageSubresource_07968,
			volume:  vk.VUID_vkCmdCopyBufferToImage_dstImage_07983,
			flat:    vk.VUID_vkCmdCopyBufferToImage_dstImage_07979,
			plane:   vk.VUID_vkCmdCopyBufferToImage_dstImage_07980,
			single:  vk.VUID_vkCmdCopyBufferToImage_dstImage_07981,
			inside: [3]vk.VUID{
				vk.VUID_vkCmdCopyBufferToImage_imageSubresource_07971,
				vk.VUID_vkCmdCopyBufferToImage_imageSubresource_07972,
				vk.VUID_vkCmdCopyBufferToImage_imageOffset_09104,
			},
			aligned: [3]vk.VUID{
				vk.VUID_vkCmdCopyBufferToImage_dstImage_07274,
				vk.VUID_vkCmdCopyBufferToImage_dstImage_07275,
				vk.VUID_vkCmdCopyBufferToImage_dstImage_07276,
			},
		},
		size:    vk.VUID_vkCmdCopyBufferToImage_pRegions_00171,
		offset:  vk.VUID_vkCmdCopyBufferToImage_dstImage_07975,
		offset4: vk.VUID_vkCmdCopyBufferToImage_dstImage_07978,
		texel:   vk.VUID_vkCmdCopyBufferToImage_dstImage_07976,
		alone:   vk.VUID_VkBufferImageCopy_aspectMask_09103,
		samples: vk.VUID_vkCmdCopyBufferToImage_dstImage_07973,
		empty: [3]vk.VUID{
			vk.VUID_VkBufferImageCopy_imageExtent_06659,
			vk.VUID_VkBufferImageCopy_imageExtent_06660,
			vk.VUID_VkBufferImageCopy_imageExtent_06661,
		},
		row:       vk.VUID_VkBufferImageCopy_bufferRowLength_09101,
		height:    vk.VUID_VkBufferImageCopy_bufferImageHeight_09102,
		rowBlocks: vk.VUID_vkCmdCopyBufferToImage_bufferRowLength_09106,
		heights:   vk.VUID_vkCmdCopyBufferToImage_bufferImageHeight_09107,
		rowMost:   vk.VUID_vkCmdCopyBufferToImage_bufferRowLength_09108,
	}
	imageToBuffer = &linearRules{
		rules: rules{
			bound:   vk.VUID_vkCmdCopyImageToBuffer_srcImage_07966,
			aspects: vk.VUID_vkCmdCopyImageToBuffer_imageSubresource_09105,
			level:   vk.VUID_vkCmdCopyImageToBuffer_imageSubresource_07967,
			layers:  vk.VUID_vkCmdCopyImageToBuffer_imageSubresource_07968,
			volume:  vk.VUID_vkCmdCopyImageToBuffer_srcImage_07983,
			flat:    vk.VUID_vkCmdCopyImageToBuffer_srcImage_07979,
			plane:   vk.VUID_vkCmdCopyImageToBuffer_srcImage_07980,
			single:  vk.VUID_vkCmdCopyImageToBuffer_srcImage_07981,
			inside: [3]vk.VUID{
				vk.VUID_vkCmdCopyImageToBuffer_imageSubresource_07971,
				vk.VUID_vkCmdCopyImageToBuffer_imageSubresource_07972,
				vk.VUID_vkCmdCopyImageToBuffer_imageOffset_09104,
			},
			aligned: [3]vk.VUID{
				vk.VUID_vkCmdCopyImageToBuffer_srcImage_07274,
				vk.VUID_vkCmdCopyImageToBuffer_srcImage_07275,
				vk.VUID_vkCmdCopyImageToBuffer_srcImage_07276,
			},
		},
		size:    vk.VUID_vkCmdCopyImageToBuffer_pRegions_00183,
		offset:  vk.VUID_vkCmdCopyImageToBuffer_srcImage_07975,
		offset4: vk.VUID_vkCmdCopyImageToBuffer_srcImage_07978,
		texel:   vk.VUID_vkCmdCopyImageToBuffer_srcImage_07976,
		alone:   vk.VUID_VkBufferImageCopy_aspectMask_09103,
		samples: vk.VUID_vkCmdCopyImageToBuffer_srcImage_07973,
		empty: [3]vk.VUID{
			vk.VUID_VkBufferImageCopy_imageExtent_06659,
			vk.VUID_VkBufferImageCopy_imageExtent_06660,
			vk.VUID_VkBufferImageCopy_imageExtent_06661,
		},
		row:       vk.VUID_VkBufferImageCopy_bufferRowLength_09101,
		height:    vk.VUID_VkBufferImageCopy_bufferImageHeight_09102,
		rowBlocks: vk.VUID_vkCmdCopyImageToBuffer_bufferRowLength_09106,
		heights:   vk.VUID_vkCmdCopyImageToBuffer_bufferImageHeight_09107,
		rowMost:   vk.VUID_vkCmdCopyImageToBuffer_bufferRowLength_09108,
	}
)

// layersOf is withLayers for copies between an image and linear memory.
func layersOf(img *Image, regions []vk.BufferImageCopy) []vk.BufferImageCopy {
	return withLayers(regions, img, img, func(r *vk.BufferImageCopy) (_, _ *vk.ImageSubresourceLayers) {
		return &r.ImageSubresource, &r.ImageSubresource
	})
}

// CopyBufferToImage is vkCmdCopyBufferToImage from the buffer whose bytes are src.
func CopyBufferToImage(dst *Image, src []byte, regions []vk.BufferImageCopy) error {
	regions = layersOf(dst, regions)
	if len(regions) > 1 { // one alone is checked below
		for i := range regions {
			if _, err := bufferToImage.place(dst, uint64(len(src)), &regions[i]); err != nil {
				return err
			}
		}
	}
	for _, region := range regions {
		p, err := bufferToImage.place(dst, uint64(len(src)), &region)
		if err != nil { // the application may have changed it meanwhile
			return err
		}
		p.box.copy(p.img.Bytes, p.image, src, p.memory)
	}
	return nil
}

// CopyImageToBuffer is vkCmdCopyImageToBuffer to the buffer whose bytes are dst.
func CopyImageToBuffer(dst []byte, src *Image, regions []vk.BufferImageCopy) error {
	regions = layersOf(src, regions)
	if len(regions) > 1 {
		for i := range regions {
			if _, err := imageToBuffer.place(src, uint64(len(dst)), &regions[i]); err != nil {
				return err
			}
		}
	}
	for _, region := range regions {
		p, err := imageToBuffer.place(src, uint64(len(dst)), &region)
		if err != nil {
			return err
		}
		p.box.copy(dst, p.memory, p.img.Bytes, p.image)
	}
	return nil
}

// placed is where a region lies: in an image, or in a plane of it, and in linear memory.
type placed struct {
	box
	img           *Image
	image, memory side
}

// place checks a region and says where it lies in the image and in size bytes of linear memory.
func (r *linearRules) place(img *Image, size uint64, region *vk.BufferImageCopy) (placed, error) {
	p, err := r.locate(img, region)
	if err == nil {
		err = r.holds(size, &p)
	}
	return p, err
}

// holds checks that a region lies in size bytes of linear memory.
func (r *linearRules) holds(size uint64, p *placed) error {
	if end := p.end(p.memory); end > size {
		return invalid(r.size, "the region ends at byte %d of %d", end, size)
	}
	return nil
}

// locate is place for memory that is large enough.
func (r *linearRules) locate(img *Image, region *vk.BufferImageCopy) (p placed, err error) {
	offset, extent := offset3(region.ImageOffset), extent3(region.ImageExtent)
	whole := img
	img, sub := img.of(&region.ImageSubresource)
	if img.Layout.Samples != 1 {
		return p, invalid(r.samples, "an image with %d samples", img.Layout.Samples)
	}
	if err := r.check(img, &sub); err != nil {
		return p, err
	}
	if err := r.checkExtent(img, &sub, offset, extent); err != nil {
		return p, err
	}
	format := &img.Layout.Format
	blockSize := format.Planes[0].BlockSize
	if sub.AspectMask != format.Planes[0].Aspect {
		blockSize = format.Planes[1].BlockSize
	}
	rowTexels, imageRows, err := r.pitches(img, region.BufferRowLength, region.BufferImageHeight, extent, blockSize)
	if err != nil {
		return p, err
	}
	if err := r.checkOffset(img, whole, region.BufferOffset, blockSize); err != nil {
		return p, err
	}
	p.img = img
	p.box = box{
		rowBytes: img.blocks(extent[0], 0) * uint64(blockSize),
		rows:     img.blocks(extent[1], 1),
		slices:   img.blocks(extent[2], 2) * uint64(sub.LayerCount), // one of them is 1
	}
	p.image = img.side(sub.AspectMask, blockSize, sub.MipLevel, sub.BaseArrayLayer, offset)
	p.memory = side{offset: region.BufferOffset, rowPitch: img.blocks(rowTexels, 0) * uint64(blockSize)}
	p.memory.slicePitch = p.memory.rowPitch * img.blocks(imageRows, 1)
	return p, nil
}

func (r *linearRules) checkExtent(img *Image, sub *vk.ImageSubresourceLayers, offset, extent [3]uint32) error {
	for axis := range extent {
		if extent[axis] == 0 {
			return invalid(r.empty[axis], "no texels along %s", axes[axis])
		}
	}
	if bits.OnesCount32(uint32(sub.AspectMask)) != 1 {
		return invalid(r.alone, "aspects %v together", sub.AspectMask)
	}
	if img.Type != vk.IMAGE_TYPE_3D && (offset[2] != 0 || extent[2] != 1) {
		return invalid(r.plane, "z %d and depth %d in an image that is not 3D", int32(offset[2]), extent[2])
	}
	return r.checkTexels(img, sub.MipLevel, offset, extent)
}

// pitches returns the texels from row to row and the rows from slice to slice of the linear memory.
func (r *linearRules) pitches(img *Image, rowLength, imageHeight uint32, extent [3]uint32, blockSize uint32) (row,
	rows uint32, err error) {
	block := &img.Layout.Format.Block
	switch {
	case rowLength != 0 && rowLength < extent[0]:
		return 0, 0, invalid(r.row, "row length %d of rows of %d texels", rowLength, extent[0])
	case imageHeight != 0 && imageHeight < extent[1]:
		return 0, 0, invalid(r.height, "image height %d of %d rows", imageHeight, extent[1])
	case rowLength%block[0] != 0:
		return 0, 0, invalid(r.rowBlocks, "row length %d is not a multiple of the block extent %d", rowLength, block[0])
	case imageHeight%block[1] != 0:
		return 0, 0, invalid(r.heights, "image height %d is not a multiple of the block extent %d", imageHeight, block[1])
	case uint64(rowLength/block[0])*uint64(blockSize) > 1<<31-1:
		return 0, 0, invalid(r.rowMost, "row length %d of blocks of %d bytes", rowLength, blockSize)
	}
	if rowLength == 0 {
		rowLength = extent[0]
	}
	if imageHeight == 0 {
		imageHeight = extent[1]
	}
	return rowLength, imageHeight, nil
}

func (r *linearRules) checkOffset(img, whole *Image, offset uint64, blockSize uint32) error {
	switch colour := img.Layout.Format.Aspects() == vk.IMAGE_ASPECT_COLOR_BIT; {
	case len(whole.Planes) > 0 && offset%uint64(blockSize) != 0:
		return invalid(r.texel, "offset %d is not a multiple of the texel size %d of the plane", offset, blockSize)
	case colour && offset%uint64(blockSize) != 0:
		return invalid(r.offset, "offset %d is not a multiple of the block size %d", offset, blockSize)
	case !colour && offset%4 != 0:
		return invalid(r.offset4, "offset %d of depth or stencil is not a multiple of 4", offset)
	}
	return nil
}
