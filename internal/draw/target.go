package draw

import (
	"errors"
	"fmt"
	"math"

	"farside/internal/texel"
	"farside/internal/vk"
)

// errTarget is what is wrong with an attachment that draws can't go to.
var errTarget = errors.New("an attachment can't be drawn to")

// surface is an attachment's memory as draws address it: texel (x, y) of a layer and a sample is size bytes at
// base + layer*layerPitch + y*rowPitch + (x*samples + sample)*size.
type surface struct {
	bytes         []byte // nil: there is no attachment
	codec         *texel.Codec
	size          int
	samples       int
	base          int
	rowPitch      int
	layerPitch    int
	width, height int32
	layers        uint32
}

// newSurface finds the memory of an attachment, all of which must be there: nothing is checked behind it but
// coordinates.
func newSurface(t *Target, aspect vk.ImageAspectFlags) (s surface, err error) {
	if t.Image == nil {
		return surface{}, nil
	}
	img := t.Image
	if len(img.Planes) > 0 { // a plane of a multi-planar image is an image of its own
		i := img.Layout.Format.PlaneOf(t.Aspect)
		if i < 0 || i >= len(img.Planes) {
			return s, fmt.Errorf("%w: aspect %v of %v", errTarget, t.Aspect, img.Format)
		}
		img = &img.Planes[i]
	}
	codec, ok := texel.CodecOf(t.Format, aspect)
	if !ok {
		return s, fmt.Errorf("%w: aspect %v of %v", errTarget, aspect, t.Format)
	}
	volume := img.Type == vk.IMAGE_TYPE_3D
	layer := t.Layer
	if volume {
		layer = 0
	}
	sub, ok := img.Layout.Subresource(aspect, t.Level, layer)
	if !ok {
		return s, fmt.Errorf("%w: no level %d of layer %d with %v", errTarget, t.Level, t.Layer, aspect)
	}
	s = surface{codec: codec, size: codec.Size(), samples: int(max(img.Layout.Samples, 1)), layers: t.Layers}
	if uint64(s.size) != uint64(img.Layout.Format.Planes[max(img.Layout.Format.PlaneOf(aspect), 0)].BlockSize) {
		return s, fmt.Errorf("%w: %v seen as %v", errTarget, img.Format, t.Format)
	}
	offset, pitch, end := sub.Offset, img.Layout.LayerPitch, uint64(img.Layout.Layers)
	first := uint64(t.Layer)
	if volume {
		offset, pitch, end = offset+first*sub.DepthPitch, sub.DepthPitch, sub.Slices
	}
	if first >= end {
		return s, fmt.Errorf("%w: layer %d of %d", errTarget, t.Layer, end)
	}
	s.layers = uint32(min(uint64(s.layers), end-first))
	last := offset + uint64(max(s.layers, 1)-1)*pitch + (sub.Rows-1)*sub.RowPitch + sub.RowBytes
	if last > uint64(len(img.Bytes)) || last > math.MaxInt64 {
		return s, fmt.Errorf("%w: %d bytes of an image that is bound to %d", errTarget, last, len(img.Bytes))
	}
	s.bytes = img.Bytes
	s.base, s.rowPitch, s.layerPitch = int(offset), int(sub.RowPitch), int(pitch)
	s.width, s.height = int32(sub.RowBytes/uint64(s.size*s.samples)), int32(sub.Rows)
	return s, nil
}

// present says whether there is an attachment.
func (s *surface) present() bool { return s.bytes != nil }

// at is where the first sample of a texel lies.
func (s *surface) at(x, y int32, layer uint32) int {
	return s.base + int(layer)*s.layerPitch + int(y)*s.rowPitch + int(x)*s.samples*s.size
}

// attachments are the surfaces of a pass.
type attachments struct {
	colors         []colorTarget
	depth, stencil surface
}

// resolveTargets finds all attachments, and how many pixels and layers they have in common.
func (r *run) resolveTargets() error {
	p := r.pass
	r.width, r.height, r.layers = math.MaxInt32, math.MaxInt32, p.Layers
	if p.ViewMask != 0 {
		r.layers = 32
	}
	limit := func(s *surface) {
		if s.present() {
			r.width, r.height, r.layers = min(r.width, s.width), min(r.height, s.height), min(r.layers, s.layers)
		}
	}
	var err error
	if r.depth, err = newSurface(&p.Depth, vk.IMAGE_ASPECT_DEPTH_BIT); err != nil {
		return err
	}
	if r.stencil, err = newSurface(&p.Stencil, vk.IMAGE_ASPECT_STENCIL_BIT); err != nil {
		return err
	}
	limit(&r.depth)
	limit(&r.stencil)
	r.colors = r.colors[:0]
	for i := range p.Colors {
		s, err := newSurface(&p.Colors[i], vk.IMAGE_ASPECT_COLOR_BIT)
		if err != nil {
			return err
		}
		limit(&s)
		r.colors = append(r.colors, colorTarget{surface: s})
	}
	return nil
}
