package texel

import "farside/internal/vk"

// BlockExtent is the texels of a block along x and y, of the formats that have Blocks.
const BlockExtent = 4

// Blocks decodes the blocks of a compressed format: 4 x 4 texels each.
type Blocks struct {
	size     int // bytes
	unpacked vk.Format
	texel    int // bytes of a texel of unpacked
	decode   func(dst []byte, block []byte)
}

// BlocksOf returns how the blocks of a format are decoded: ETC2 and EAC. Others are stored and copied, no more.
func BlocksOf(f vk.Format) (*Blocks, bool) {
	if f < firstBlocks || f >= firstBlocks+vk.Format(len(blocks)) {
		return nil, false
	}
	return &blocks[f-firstBlocks], true
}

const firstBlocks = vk.FORMAT_ETC2_R8G8B8_UNORM_BLOCK

var blocks = [...]Blocks{
	vk.FORMAT_ETC2_R8G8B8_UNORM_BLOCK - firstBlocks:   {8, vk.FORMAT_R8G8B8A8_UNORM, 4, decodeETC2},
	vk.FORMAT_ETC2_R8G8B8_SRGB_BLOCK - firstBlocks:    {8, vk.FORMAT_R8G8B8A8_SRGB, 4, decodeETC2},
	vk.FORMAT_ETC2_R8G8B8A1_UNORM_BLOCK - firstBlocks: {8, vk.FORMAT_R8G8B8A8_UNORM, 4, decodeETC2A1},
	vk.FORMAT_ETC2_R8G8B8A1_SRGB_BLOCK - firstBlocks:  {8, vk.FORMAT_R8G8B8A8_SRGB, 4, decodeETC2A1},
	vk.FORMAT_ETC2_R8G8B8A8_UNORM_BLOCK - firstBlocks: {16, vk.FORMAT_R8G8B8A8_UNORM, 4, decodeETC2A8},
	vk.FORMAT_ETC2_R8G8B8A8_SRGB_BLOCK - firstBlocks:  {16, vk.FORMAT_R8G8B8A8_SRGB, 4, decodeETC2A8},
	vk.FORMAT_EAC_R11_UNORM_BLOCK - firstBlocks: {8, vk.FORMAT_R32_SFLOAT, 4, func(dst, block []byte) {
		decodeEAC11(dst, block, 4, false)
	}},
	vk.FORMAT_EAC_R11_SNORM_BLOCK - firstBlocks: {8, vk.FORMAT_R32_SFLOAT, 4, func(dst, block []byte) {
		decodeEAC11(dst, block, 4, true)
	}},
	vk.FORMAT_EAC_R11G11_UNORM_BLOCK - firstBlocks: {16, vk.FORMAT_R32G32_SFLOAT, 8, func(dst, block []byte) {
		decodeEAC11x2(dst, block, false)
	}},
	vk.FORMAT_EAC_R11G11_SNORM_BLOCK - firstBlocks: {16, vk.FORMAT_R32G32_SFLOAT, 8, func(dst, block []byte) {
		decodeEAC11x2(dst, block, true)
	}},
}

// Size returns the bytes of a block.
func (b *Blocks) Size() int { return b.size }

// Unpacked returns the format of the decoded texels.
func (b *Blocks) Unpacked() vk.Format { return b.unpacked }

// UnpackedSize returns the bytes of a decoded block.
func (b *Blocks) UnpackedSize() int { return b.texel * BlockExtent * BlockExtent }

// Decode decodes a block into 16 texels, row by row.
func (b *Blocks) Decode(dst []byte, block []byte) { b.decode(dst[:b.UnpackedSize()], block[:b.size]) }
