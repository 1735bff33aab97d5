package transfer

import (
	"encoding/binary"

	"farside/internal/texel"
	"farside/internal/vk"
)

// clearRules are the VUIDs that the two clear commands share in all but the number.
type clearRules struct{ bound, level, levels, layer, layers vk.VUID }

var (
	clearColorRules = clearRules{
		bound:  vk.VUID_vkCmdClearColorImage_image_00003,
		level:  vk.VUID_vkCmdClearColorImage_baseMipLevel_01470,
		levels: vk.VUID_vkCmdClearColorImage_pRanges_01692,
		layer:  vk.VUID_vkCmdClearColorImage_baseArrayLayer_01472,
		layers: vk.VUID_vkCmdClearColorImage_pRanges_01693,
	}
	clearDepthStencilRules = clearRules{
		bound:  vk.VUID_vkCmdClearDepthStencilImage_image_00010,
		level:  vk.VUID_vkCmdClearDepthStencilImage_baseMipLevel_01474,
		levels: vk.VUID_vkCmdClearDepthStencilImage_pRanges_01694,
		layer:  vk.VUID_vkCmdClearDepthStencilImage_baseArrayLayer_01476,
		layers: vk.VUID_vkCmdClearDepthStencilImage_pRanges_01695,
	}
)

// ClearColor is vkCmdClearColorImage. A number that the format cannot hold is clamped to what it can; numbers of 64
// bits are red and green in two words each (VkClearColorValue), and 0 for blue and alpha.
func ClearColor(dst *Image, value *vk.ClearColorValue, ranges []vk.ImageSubresourceRange) error {
	codec, ok := texel.CodecOf(dst.Format, vk.IMAGE_ASPECT_COLOR_BIT)
	switch {
	case dst.Layout.Format.Chroma:
		return invalid(vk.VUID_vkCmdClearColorImage_image_01545, "%v needs a Y'CbCr conversion", dst.Format)
	case !ok:
		return invalid(vk.VUID_vkCmdClearColorImage_image_00007, "%v is no uncompressed color format", dst.Format)
	}
	check := func(r *vk.ImageSubresourceRange) error {
		if r.AspectMask != vk.IMAGE_ASPECT_COLOR_BIT {
			return invalid(vk.VUID_vkCmdClearColorImage_aspectMask_02498, "%v of a color image", r.AspectMask)
		}
		return dst.checkRange(r, &clearColorRules)
	}
	for _, r := range ranges {
		if err := check(&r); err != nil {
			return err
		}
	}
	var pattern [maxTexel]byte
	colorTexel(&pattern, codec, value)
	for _, r := range ranges {
		if err := check(&r); err != nil { // the application may have changed it meanwhile
			return err
		}
		dst.clear(vk.IMAGE_ASPECT_COLOR_BIT, pattern[:codec.Size()], &r)
	}
	return nil
}

// colorTexel writes the texel that a colour is cleared to.
func colorTexel(pattern *[maxTexel]byte, codec *texel.Codec, value *vk.ClearColorValue) {
	switch class := codec.Class(); {
	case codec.Wide():
		// Two words are one number, so that there are red and green; nothing is said of the others.
		for i, word := range value.Uint32() {
			binary.LittleEndian.PutUint32(pattern[4*i:], word)
		}
	case class == texel.Float:
		var v [1][4]float64
		for i, c := range value.Float32() {
			v[0][i] = float64(c)
		}
		codec.EncodeFloat(pattern[:], v[:])
	case class == texel.Uint:
		var v [1][4]uint64
		for i, c := range value.Uint32() {
			v[0][i] = uint64(c)
		}
		codec.EncodeUint(pattern[:], v[:])
	case class == texel.Sint:
		var v [1][4]int64
		for i, c := range value.Int32() {
			v[0][i] = int64(c)
		}
		codec.EncodeSint(pattern[:], v[:])
	}
}

// ClearDepthStencil is vkCmdClearDepthStencilImage. Of the stencil value the low 8 bits count.
func ClearDepthStencil(dst *Image, value *vk.ClearDepthStencilValue, ranges []vk.ImageSubresourceRange) error {
	const both = vk.IMAGE_ASPECT_DEPTH_BIT | vk.IMAGE_ASPECT_STENCIL_BIT
	has := dst.Layout.Format.Aspects()
	if has&both == 0 {
		return invalid(vk.VUID_vkCmdClearDepthStencilImage_image_00014, "%v is no depth/stencil format", dst.Format)
	}
	depth := value.Depth
	if !(depth >= 0 && depth <= 1) {
		return invalid(vk.VUID_VkClearDepthStencilValue_depth_00022, "depth is %v", depth)
	}
	check := func(r *vk.ImageSubresourceRange) error {
		switch {
		case r.AspectMask == 0:
			return invalid(vk.VUID_VkImageSubresourceRange_aspectMask_requiredbitmask, "aspectMask is 0")
		case r.AspectMask&^both != 0:
			return invalid(vk.VUID_vkCmdClearDepthStencilImage_aspectMask_02824, "%v of a depth/stencil image", r.AspectMask)
		case r.AspectMask&^has == vk.IMAGE_ASPECT_STENCIL_BIT:
			return invalid(vk.VUID_vkCmdClearDepthStencilImage_image_02825, "the stencil aspect of %v", dst.Format)
		case r.AspectMask&^has == vk.IMAGE_ASPECT_DEPTH_BIT:
			return invalid(vk.VUID_vkCmdClearDepthStencilImage_image_02826, "the depth aspect of %v", dst.Format)
		}
		return dst.checkRange(r, &clearDepthStencilRules)
	}
	for _, r := range ranges {
		if err := check(&r); err != nil {
			return err
		}
	}
	var pattern [maxTexel]byte
	size := 0
	if codec, ok := texel.CodecOf(dst.Format, vk.IMAGE_ASPECT_DEPTH_BIT); ok {
		codec.EncodeFloat(pattern[:], [][4]float64{{float64(depth)}})
		size = codec.Size()
	}
	stencil := [1]byte{byte(value.Stencil)}
	for _, r := range ranges {
		if err := check(&r); err != nil {
			return err
		}
		if r.AspectMask&vk.IMAGE_ASPECT_DEPTH_BIT != 0 {
			dst.clear(vk.IMAGE_ASPECT_DEPTH_BIT, pattern[:size], &r)
		}
		if r.AspectMask&vk.IMAGE_ASPECT_STENCIL_BIT != 0 {
			dst.clear(vk.IMAGE_ASPECT_STENCIL_BIT, stencil[:], &r)
		}
	}
	return nil
}

// maxTexel is the size in bytes of the largest texel, R64G64B64A64's.
const maxTexel = 32

// checkRange checks the levels and layers of a range, and that the image's bytes hold them.
func (m *Image) checkRange(r *vk.ImageSubresourceRange, rules *clearRules) error {
	l := m.Layout
	switch {
	case r.BaseMipLevel >= l.Levels:
		return invalid(rules.level, "level %d of %d", r.BaseMipLevel, l.Levels)
	case r.LevelCount == 0:
		return invalid(vk.VUID_VkImageSubresourceRange_levelCount_01720, "levelCount is 0")
	case r.LevelCount != vk.REMAINING_MIP_LEVELS && r.LevelCount > l.Levels-r.BaseMipLevel:
		return invalid(rules.levels, "%d levels from %d of %d", r.LevelCount, r.BaseMipLevel, l.Levels)
	case r.BaseArrayLayer >= l.Layers:
		return invalid(rules.layer, "layer %d of %d", r.BaseArrayLayer, l.Layers)
	case r.LayerCount == 0:
		return invalid(vk.VUID_VkImageSubresourceRange_layerCount_01721, "layerCount is 0")
	case r.LayerCount != vk.REMAINING_ARRAY_LAYERS && r.LayerCount > l.Layers-r.BaseArrayLayer:
		return invalid(rules.layers, "%d layers from %d of %d", r.LayerCount, r.BaseArrayLayer, l.Layers)
	case l.Size > uint64(len(m.Bytes)):
		return invalid(rules.bound, "an image of %d bytes is bound to %d", l.Size, len(m.Bytes))
	}
	return nil
}

// clear writes a texel all over one aspect of a range that checkRange has accepted.
func (m *Image) clear(aspect vk.ImageAspectFlags, pattern []byte, r *vk.ImageSubresourceRange) {
	levels, layers := r.LevelCount, r.LayerCount
	if levels == vk.REMAINING_MIP_LEVELS {
		levels = m.Layout.Levels - r.BaseMipLevel
	}
	if layers == vk.REMAINING_ARRAY_LAYERS {
		layers = m.Layout.Layers - r.BaseArrayLayer
	}
	for layer := range layers {
		for level := range levels {
			s, ok := m.Layout.Subresource(aspect, r.BaseMipLevel+level, r.BaseArrayLayer+layer)
			if !ok {
				panic("transfer: a checked subresource does not exist")
			}
			clearSubresource(m.Bytes[s.Offset:][:s.Size], &s, pattern)
		}
	}
}

// clearSubresource writes a texel all over a subresource, on all cores if it is large.
func clearSubresource(dst []byte, s *texel.Subresource, pattern []byte) {
	width, pitch, rows := int(s.RowBytes), int(s.RowPitch), int(s.Rows*s.Slices)
	if width == pitch && width%4 == 0 && 4%len(pattern) == 0 {
		var word [4]byte
		repeat(word[:], pattern)
		Fill(dst, binary.LittleEndian.Uint32(word[:]))
		return
	}
	if width*rows < parallelBytes {
		clearRows(dst, width, pitch, pattern, 0, rows)
		return
	}
	split(rows, 1+partBytes/width, func(from, to int) { clearRows(dst, width, pitch, pattern, from, to) })
}

// clearRows leaves alone what lies between the rows: it need not be the image's.
func clearRows(dst []byte, width, pitch int, pattern []byte, from, to int) {
	first := dst[from*pitch:][:width]
	repeat(first, pattern)
	for y := from + 1; y < to; y++ {
		copy(dst[y*pitch:][:width], first)
	}
}

// repeatBytes is about how much is copied at once: little enough to stay in the first-level cache.
const repeatBytes = 8192

// repeat fills dst with copies of pattern.
func repeat(dst, pattern []byte) {
	block := repeatBytes / len(pattern) * len(pattern)
	for done := copy(dst, pattern); done < len(dst); {
		done += copy(dst[done:], dst[:min(done, block)])
	}
}
