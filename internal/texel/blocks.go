package texel

import (
	"encoding/binary"

	"farside/internal/vk"
)

// MostBlockTexels and MostBlockBytes are the most texels that a block of any format decodes to, and the most bytes.
const (
	MostBlockTexels = 12 * 12
	MostBlockBytes  = MostBlockTexels * 8
)

// Blocks decodes the blocks of a compressed format.
type Blocks struct {
	width, height uint8
	size          uint8 // bytes of a block
	texel         uint8 // bytes of a texel of unpacked
	unpacked      vk.Format
	decode        func(b *Blocks, dst, block []byte)
}

// BlocksOf returns how the blocks of a compressed format are decoded: BC, ETC2, EAC, and ASTC in two dimensions.
func BlocksOf(f vk.Format) (*Blocks, bool) {
	switch {
	case f >= firstBlocks && f < firstBlocks+vk.Format(len(blocks)):
		return &blocks[f-firstBlocks], true
	case f >= firstHDRBlocks && f < firstHDRBlocks+vk.Format(len(hdrBlocks)):
		return &hdrBlocks[f-firstHDRBlocks], true
	}
	return nil, false
}

const (
	firstBlocks    = vk.FORMAT_BC1_RGB_UNORM_BLOCK
	firstHDRBlocks = vk.FORMAT_ASTC_4x4_SFLOAT_BLOCK

	unorm8  = vk.FORMAT_R8G8B8A8_UNORM
	srgb8   = vk.FORMAT_R8G8B8A8_SRGB
	half4   = vk.FORMAT_R16G16B16A16_SFLOAT
	single1 = vk.FORMAT_R32_SFLOAT
	single2 = vk.FORMAT_R32G32_SFLOAT
	single4 = vk.FORMAT_R32G32B32A32_SFLOAT
)

// blocks has a row for each format. Where the specification gives real numbers, texels are floats: the nearest ones.
var blocks = [...]Blocks{
	vk.FORMAT_BC1_RGB_UNORM_BLOCK - firstBlocks:  {4, 4, 8, 16, single4, decodeBC1},
	vk.FORMAT_BC1_RGB_SRGB_BLOCK - firstBlocks:   {4, 4, 8, 16, single4, decodeBC1SRGB},
	vk.FORMAT_BC1_RGBA_UNORM_BLOCK - firstBlocks: {4, 4, 8, 16, single4, decodeBC1A},
	vk.FORMAT_BC1_RGBA_SRGB_BLOCK - firstBlocks:  {4, 4, 8, 16, single4, decodeBC1ASRGB},
	vk.FORMAT_BC2_UNORM_BLOCK - firstBlocks:      {4, 4, 16, 16, single4, decodeBC2},
	vk.FORMAT_BC2_SRGB_BLOCK - firstBlocks:       {4, 4, 16, 16, single4, decodeBC2SRGB},
	vk.FORMAT_BC3_UNORM_BLOCK - firstBlocks:      {4, 4, 16, 16, single4, decodeBC3},
	vk.FORMAT_BC3_SRGB_BLOCK - firstBlocks:       {4, 4, 16, 16, single4, decodeBC3SRGB},
	vk.FORMAT_BC4_UNORM_BLOCK - firstBlocks:      {4, 4, 8, 4, single1, decodeBC4},
	vk.FORMAT_BC4_SNORM_BLOCK - firstBlocks:      {4, 4, 8, 4, single1, decodeBC4Signed},
	vk.FORMAT_BC5_UNORM_BLOCK - firstBlocks:      {4, 4, 16, 8, single2, decodeBC5},
	vk.FORMAT_BC5_SNORM_BLOCK - firstBlocks:      {4, 4, 16, 8, single2, decodeBC5Signed},
	vk.FORMAT_BC6H_UFLOAT_BLOCK - firstBlocks:    {4, 4, 16, 8, half4, decodeBC6H},
	vk.FORMAT_BC6H_SFLOAT_BLOCK - firstBlocks:    {4, 4, 16, 8, half4, decodeBC6HSigned},
	vk.FORMAT_BC7_UNORM_BLOCK - firstBlocks:      {4, 4, 16, 4, unorm8, decodeBC7},
	vk.FORMAT_BC7_SRGB_BLOCK - firstBlocks:       {4, 4, 16, 4, srgb8, decodeBC7},

	vk.FORMAT_ETC2_R8G8B8_UNORM_BLOCK - firstBlocks:   {4, 4, 8, 4, unorm8, decodeETC2},
	vk.FORMAT_ETC2_R8G8B8_SRGB_BLOCK - firstBlocks:    {4, 4, 8, 4, srgb8, decodeETC2},
	vk.FORMAT_ETC2_R8G8B8A1_UNORM_BLOCK - firstBlocks: {4, 4, 8, 4, unorm8, decodeETC2A1},
	vk.FORMAT_ETC2_R8G8B8A1_SRGB_BLOCK - firstBlocks:  {4, 4, 8, 4, srgb8, decodeETC2A1},
	vk.FORMAT_ETC2_R8G8B8A8_UNORM_BLOCK - firstBlocks: {4, 4, 16, 4, unorm8, decodeETC2A8},
	vk.FORMAT_ETC2_R8G8B8A8_SRGB_BLOCK - firstBlocks:  {4, 4, 16, 4, srgb8, decodeETC2A8},
	vk.FORMAT_EAC_R11_UNORM_BLOCK - firstBlocks:       {4, 4, 8, 4, single1, decodeEAC},
	vk.FORMAT_EAC_R11_SNORM_BLOCK - firstBlocks:       {4, 4, 8, 4, single1, decodeEACSigned},
	vk.FORMAT_EAC_R11G11_UNORM_BLOCK - firstBlocks:    {4, 4, 16, 8, single2, decodeEAC2},
	vk.FORMAT_EAC_R11G11_SNORM_BLOCK - firstBlocks:    {4, 4, 16, 8, single2, decodeEAC2Signed},

	vk.FORMAT_ASTC_4x4_UNORM_BLOCK - firstBlocks:   {4, 4, 16, 8, half4, decodeASTC},
	vk.FORMAT_ASTC_4x4_SRGB_BLOCK - firstBlocks:    {4, 4, 16, 4, srgb8, decodeASTCSRGB},
	vk.FORMAT_ASTC_5x4_UNORM_BLOCK - firstBlocks:   {5, 4, 16, 8, half4, decodeASTC},
	vk.FORMAT_ASTC_5x4_SRGB_BLOCK - firstBlocks:    {5, 4, 16, 4, srgb8, decodeASTCSRGB},
	vk.FORMAT_ASTC_5x5_UNORM_BLOCK - firstBlocks:   {5, 5, 16, 8, half4, decodeASTC},
	vk.FORMAT_ASTC_5x5_SRGB_BLOCK - firstBlocks:    {5, 5, 16, 4, srgb8, decodeASTCSRGB},
	vk.FORMAT_ASTC_6x5_UNORM_BLOCK - firstBlocks:   {6, 5, 16, 8, half4, decodeASTC},
	vk.FORMAT_ASTC_6x5_SRGB_BLOCK - firstBlocks:    {6, 5, 16, 4, srgb8, decodeASTCSRGB},
	vk.FORMAT_ASTC_6x6_UNORM_BLOCK - firstBlocks:   {6, 6, 16, 8, half4, decodeASTC},
	vk.FORMAT_ASTC_6x6_SRGB_BLOCK - firstBlocks:    {6, 6, 16, 4, srgb8, decodeASTCSRGB},
	vk.FORMAT_ASTC_8x5_UNORM_BLOCK - firstBlocks:   {8, 5, 16, 8, half4, decodeASTC},
	vk.FORMAT_ASTC_8x5_SRGB_BLOCK - firstBlocks:    {8, 5, 16, 4, srgb8, decodeASTCSRGB},
	vk.FORMAT_ASTC_8x6_UNORM_BLOCK - firstBlocks:   {8, 6, 16, 8, half4, decodeASTC},
	vk.FORMAT_ASTC_8x6_SRGB_BLOCK - firstBlocks:    {8, 6, 16, 4, srgb8, decodeASTCSRGB},
	vk.FORMAT_ASTC_8x8_UNORM_BLOCK - firstBlocks:   {8, 8, 16, 8, half4, decodeASTC},
	vk.FORMAT_ASTC_8x8_SRGB_BLOCK - firstBlocks:    {8, 8, 16, 4, srgb8, decodeASTCSRGB},
	vk.FORMAT_ASTC_10x5_UNORM_BLOCK - firstBlocks:  {10, 5, 16, 8, half4, decodeASTC},
	vk.FORMAT_ASTC_10x5_SRGB_BLOCK - firstBlocks:   {10, 5, 16, 4, srgb8, decodeASTCSRGB},
	vk.FORMAT_ASTC_10x6_UNORM_BLOCK - firstBlocks:  {10, 6, 16, 8, half4, decodeASTC},
	vk.FORMAT_ASTC_10x6_SRGB_BLOCK - firstBlocks:   {10, 6, 16, 4, srgb8, decodeASTCSRGB},
	vk.FORMAT_ASTC_10x8_UNORM_BLOCK - firstBlocks:  {10, 8, 16, 8, half4, decodeASTC},
	vk.FORMAT_ASTC_10x8_SRGB_BLOCK - firstBlocks:   {10, 8, 16, 4, srgb8, decodeASTCSRGB},
	vk.FORMAT_ASTC_10x10_UNORM_BLOCK - firstBlocks: {10, 10, 16, 8, half4, decodeASTC},
	vk.FORMAT_ASTC_10x10_SRGB_BLOCK - firstBlocks:  {10, 10, 16, 4, srgb8, decodeASTCSRGB},
	vk.FORMAT_ASTC_12x10_UNORM_BLOCK - firstBlocks: {12, 10, 16, 8, half4, decodeASTC},
	vk.FORMAT_ASTC_12x10_SRGB_BLOCK - firstBlocks:  {12, 10, 16, 4, srgb8, decodeASTCSRGB},
	vk.FORMAT_ASTC_12x12_UNORM_BLOCK - firstBlocks: {12, 12, 16, 8, half4, decodeASTC},
	vk.FORMAT_ASTC_12x12_SRGB_BLOCK - firstBlocks:  {12, 12, 16, 4, srgb8, decodeASTCSRGB},
}

var hdrBlocks = [...]Blocks{
	vk.FORMAT_ASTC_4x4_SFLOAT_BLOCK - firstHDRBlocks:   {4, 4, 16, 8, half4, decodeASTCHDR},
	vk.FORMAT_ASTC_5x4_SFLOAT_BLOCK - firstHDRBlocks:   {5, 4, 16, 8, half4, decodeASTCHDR},
	vk.FORMAT_ASTC_5x5_SFLOAT_BLOCK - firstHDRBlocks:   {5, 5, 16, 8, half4, decodeASTCHDR},
	vk.FORMAT_ASTC_6x5_SFLOAT_BLOCK - firstHDRBlocks:   {6, 5, 16, 8, half4, decodeASTCHDR},
	vk.FORMAT_ASTC_6x6_SFLOAT_BLOCK - firstHDRBlocks:   {6, 6, 16, 8, half4, decodeASTCHDR},
	vk.FORMAT_ASTC_8x5_SFLOAT_BLOCK - firstHDRBlocks:   {8, 5, 16, 8, half4, decodeASTCHDR},
	vk.FORMAT_ASTC_8x6_SFLOAT_BLOCK - firstHDRBlocks:   {8, 6, 16, 8, half4, decodeASTCHDR},
	vk.FORMAT_ASTC_8x8_SFLOAT_BLOCK - firstHDRBlocks:   {8, 8, 16, 8, half4, decodeASTCHDR},
	vk.FORMAT_ASTC_10x5_SFLOAT_BLOCK - firstHDRBlocks:  {10, 5, 16, 8, half4, decodeASTCHDR},
	vk.FORMAT_ASTC_10x6_SFLOAT_BLOCK - firstHDRBlocks:  {10, 6, 16, 8, half4, decodeASTCHDR},
	vk.FORMAT_ASTC_10x8_SFLOAT_BLOCK - firstHDRBlocks:  {10, 8, 16, 8, half4, decodeASTCHDR},
	vk.FORMAT_ASTC_10x10_SFLOAT_BLOCK - firstHDRBlocks: {10, 10, 16, 8, half4, decodeASTCHDR},
	vk.FORMAT_ASTC_12x10_SFLOAT_BLOCK - firstHDRBlocks: {12, 10, 16, 8, half4, decodeASTCHDR},
	vk.FORMAT_ASTC_12x12_SFLOAT_BLOCK - firstHDRBlocks: {12, 12, 16, 8, half4, decodeASTCHDR},
}

// Extent returns the texels of a block along x and y.
func (b *Blocks) Extent() (width, height int) { return int(b.width), int(b.height) }

// Size returns the bytes of a block.
func (b *Blocks) Size() int { return int(b.size) }

// Unpacked returns the format of the decoded texels.
func (b *Blocks) Unpacked() vk.Format { return b.unpacked }

// UnpackedSize returns the bytes of a decoded block, MostBlockBytes at most.
func (b *Blocks) UnpackedSize() int { return int(b.texel) * int(b.width) * int(b.height) }

// Decode decodes a block into its texels, row by row. Every block decodes to something: what the specification has
// for errors, where it is none.
func (b *Blocks) Decode(dst []byte, block []byte) {
	b.decode(b, dst[:b.UnpackedSize()], block[:b.size])
}

// word128 is a block of 16 bytes, whose first byte has the lowest bits.
type word128 struct{ low, high uint64 }

func newWord128(block []byte) word128 {
	return word128{binary.LittleEndian.Uint64(block), binary.LittleEndian.Uint64(block[8:])}
}

// bits are n bits, 32 at most, from bit at on. Those above bit 127 are 0.
func (w word128) bits(at, n uint) int {
	v := w.high >> (at - 64)
	if at < 64 {
		v = w.low>>at | w.high<<(64-at)
	}
	return int(v & (1<<n - 1))
}
