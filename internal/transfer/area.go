package transfer

import (
	"encoding/binary"
	"math"

	"farside/internal/texel"
	"farside/internal/vk"
)

// Area is a rectangle of one layer of an aspect of an image, seen in a format: what render passes clear and resolve.
type Area struct {
	Image  *Image
	Format vk.Format // of the view
	Aspect vk.ImageAspectFlags
	Level  uint32
	Layer  uint32 // of a 3D image the slice
	Rect   vk.Rect2D
}

// AreaExtent returns how many texels of the format a mip level of an image has. Those of a compressed image are its
// blocks, where its format is not the view's.
func AreaExtent(img *Image, format vk.Format, level uint32) vk.Extent2D {
	size := func(axis int) uint32 {
		n := levelSize(img, level, axis)
		if format != img.Format {
			return uint32(img.blocks(n, axis))
		}
		return n
	}
	return vk.Extent2D{Width: size(0), Height: size(1)}
}

// rows are the rows of an area.
type rows struct {
	bytes  []byte // from the first texel on
	pitch  int
	width  int // bytes of a row
	count  int
	length int // texels of a row
	codec  *texel.Codec
}

// rows finds the area's memory. It fails for an area that is not all within the image.
func (a *Area) rows() (r rows, err error) {
	codec, ok := texel.CodecOf(a.Format, a.Aspect)
	layer, slice := a.Layer, uint32(0)
	if a.Image.Type == vk.IMAGE_TYPE_3D {
		layer, slice = 0, a.Layer
	}
	s, found := a.Image.Layout.Subresource(a.Aspect, a.Level, layer)
	if !ok || !found || uint64(slice) >= s.Slices || uint64(len(a.Image.Bytes)) < a.Image.Layout.Size {
		return r, invalid(vk.NoVUID, "no %v of %v in level %d and layer %d of an image of format %v", a.Aspect, a.Format,
			a.Level, a.Layer, a.Image.Format)
	}
	samples, extent := int(a.Image.Layout.Samples), AreaExtent(a.Image, a.Format, a.Level)
	x, y := uint64(uint32(a.Rect.Offset.X)), uint64(uint32(a.Rect.Offset.Y)) // negative ones are beyond every edge
	size := codec.Size() * samples
	if x+uint64(a.Rect.Extent.Width) > uint64(extent.Width) || y+uint64(a.Rect.Extent.Height) > uint64(extent.Height) ||
		uint64(size)*uint64(extent.Width) != s.RowBytes {
		return r, invalid(vk.NoVUID, "%v are not within %d x %d texels of format %v", a.Rect, extent.Width, extent.Height,
			a.Format)
	}
	if a.Rect.Extent.Width == 0 || a.Rect.Extent.Height == 0 {
		return rows{codec: codec}, nil
	}
	at := s.Offset + uint64(slice)*s.DepthPitch + y*s.RowPitch + x*uint64(size)
	r = rows{pitch: int(s.RowPitch), width: size * int(a.Rect.Extent.Width), count: int(a.Rect.Extent.Height),
		length: int(a.Rect.Extent.Width), codec: codec}
	r.bytes = a.Image.Bytes[at:][:(r.count-1)*r.pitch+r.width]
	return r, nil
}

func (r *rows) row(i int) []byte { return r.bytes[i*r.pitch:][:r.width] }

// Clear writes a value all over the area. Its errors are those of Clearing.
func (a *Area) Clear(value *vk.ClearValue) error {
	c, err := a.Clearing(value)
	if err == nil {
		c.All()
	}
	return err
}

// Clearing is a clear of an area that has been checked: it is done at once, or part by part.
type Clearing struct {
	rows  rows
	texel [maxTexel]byte
}

// Clearing checks a clear. It fails for an area that is not within the image, and for a depth that is none.
func (a *Area) Clearing(value *vk.ClearValue) (c Clearing, err error) {
	if c.rows, err = a.rows(); err != nil {
		return c, err
	}
	switch depth := value.DepthStencil().Depth; {
	case a.Aspect == vk.IMAGE_ASPECT_STENCIL_BIT:
		c.texel[0] = byte(value.DepthStencil().Stencil)
	case a.Aspect != vk.IMAGE_ASPECT_DEPTH_BIT:
		colorTexel(&c.texel, c.rows.codec, value.Color())
	case !(depth >= 0 && depth <= 1):
		return c, invalid(vk.VUID_VkClearDepthStencilValue_depth_00022, "depth is %v", depth)
	default:
		c.rows.codec.EncodeFloat(c.texel[:], [][4]float64{{float64(depth)}})
	}
	return c, nil
}

// All clears the area, on all cores if it is large.
func (c *Clearing) All() { c.rows.clear(c.texel[:c.rows.codec.Size()]) }

// Part clears a rectangle of so many texels, at x and y of the area, which it must be within.
func (c *Clearing) Part(x, y, width, height int) {
	r := &c.rows
	size := r.width / r.length
	first := y*r.pitch + x*size
	clearRows(r.bytes[first:][:(height-1)*r.pitch+width*size], width*size, r.pitch, c.texel[:r.codec.Size()], 0, height)
}

func (r *rows) clear(pattern []byte) {
	switch {
	case r.count == 0:
	case r.width == r.pitch && len(r.bytes)%4 == 0 && 4%len(pattern) == 0:
		var word [4]byte
		repeat(word[:], pattern)
		Fill(r.bytes, binary.LittleEndian.Uint32(word[:]))
	case len(r.bytes) < parallelBytes:
		clearRows(r.bytes, r.width, r.pitch, pattern, 0, r.count)
	default:
		split(r.count, 1+partBytes/r.width, func(from, to int) {
			clearRows(r.bytes, r.width, r.pitch, pattern, from, to)
		})
	}
}

// Resolve makes one sample of each texel's samples in src (chapter "Render Pass Multisample Resolve Operations"). Both
// areas have the same extent. Integers have no average: sample 0 counts there.
func (a *Area) Resolve(src *Area, mode vk.ResolveModeFlagBits) error {
	to, err := a.rows()
	if err != nil {
		return err
	}
	from, err := src.rows()
	if err != nil {
		return err
	}
	samples := int(src.Image.Layout.Samples)
	if a.Image.Layout.Samples != 1 || to.length != from.length || to.count != from.count ||
		to.codec.Class() != from.codec.Class() {
		return invalid(vk.NoVUID, "%v of format %v with %d samples is no resolve of %v with format %v", a.Rect, a.Format,
			a.Image.Layout.Samples, src.Rect, src.Format)
	}
	r := areaResolve{to: to, from: from, same: a.Format == src.Format}
	if mode == vk.RESOLVE_MODE_AVERAGE_BIT && to.codec.Class() != texel.Float {
		mode = vk.RESOLVE_MODE_SAMPLE_ZERO_BIT
	}
	if mode == vk.RESOLVE_MODE_AVERAGE_BIT {
		r.average = newAverage(a.Format, a.Aspect, src.Format, src.Aspect, samples)
	}
	switch r.mode, r.samples = mode, samples; mode {
	case vk.RESOLVE_MODE_SAMPLE_ZERO_BIT, vk.RESOLVE_MODE_AVERAGE_BIT, vk.RESOLVE_MODE_MIN_BIT, vk.RESOLVE_MODE_MAX_BIT:
	default:
		return invalid(vk.NoVUID, "there is no resolve by %v", mode)
	}
	if to.count*to.length*samples < parallelTexels {
		r.rows(0, to.count)
		return nil
	}
	split(to.count, 1+parallelTexels/max(to.length*samples, 1), r.rows)
	return nil
}

// areaResolve is a checked resolve of an area.
type areaResolve struct {
	to, from rows
	samples  int
	same     bool // both have the same format
	mode     vk.ResolveModeFlagBits
	average  average // of this mode
}

func (r areaResolve) rows(from, to int) {
	for y := from; y < to; y++ {
		dst, src := r.to.row(y), r.from.row(y)
		size := r.from.codec.Size()
		switch class := r.to.codec.Class(); {
		case r.mode == vk.RESOLVE_MODE_SAMPLE_ZERO_BIT && r.same:
			for ; len(dst) > 0; dst, src = dst[size:], src[size*r.samples:] {
				copy(dst[:size], src)
			}
		case r.mode == vk.RESOLVE_MODE_AVERAGE_BIT:
			r.average.row(dst, src)
		case class == texel.Float:
			resolveRow(&r, dst, src, (*texel.Codec).DecodeFloat, (*texel.Codec).EncodeFloat)
		case class == texel.Uint:
			resolveRow(&r, dst, src, (*texel.Codec).DecodeUint, (*texel.Codec).EncodeUint)
		default:
			resolveRow(&r, dst, src, (*texel.Codec).DecodeSint, (*texel.Codec).EncodeSint)
		}
	}
}

// resolveRow resolves a row by numbers.
func resolveRow[N float64 | uint64 | int64](r *areaResolve, dst, src []byte, decode func(*texel.Codec, [][4]N, []byte),
	encode func(*texel.Codec, []byte, [][4]N)) {
	var numbers [convertChunk][4]N
	to, from := r.to.codec, r.from.codec
	for len(dst) > 0 {
		n := min(len(dst)/to.Size(), convertChunk/r.samples)
		decode(from, numbers[:n*r.samples], src)
		for i := range n {
			numbers[i] = resolved(numbers[i*r.samples:][:r.samples], r.mode)
		}
		encode(to, dst, numbers[:n])
		dst, src = dst[n*to.Size():], src[n*r.samples*from.Size():]
	}
}

// resolved makes the least or the most of several samples, or the first one. What is no number counts neither as the
// least nor as the most, unless all are.
func resolved[N float64 | uint64 | int64](samples [][4]N, mode vk.ResolveModeFlagBits) [4]N {
	out := samples[0]
	for _, s := range samples[1:] {
		for c := range out {
			if mode == vk.RESOLVE_MODE_MIN_BIT && (s[c] < out[c] || math.IsNaN(float64(out[c]))) ||
				mode == vk.RESOLVE_MODE_MAX_BIT && (s[c] > out[c] || math.IsNaN(float64(out[c]))) {
				out[c] = s[c]
			}
		}
	}
	return out
}
