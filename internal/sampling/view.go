package sampling

import (
	"fmt"
	"math"

	"farside/internal/lanes"
	"farside/internal/texel"
	"farside/internal/vk"
)

// View is a VkImageView or a VkBufferView as a shader sees it: texels in x, y and z. What z counts are the slices of a
// volume, the layers of an array or the faces of cubes. It does not change once it is made. The methods of a nil
// *View, which a descriptor without a view gives, read zeros and write nothing.
type View struct {
	data   []byte
	format *lanes.Format
	levels []level

	routines routines

	samples  int  // of a texel, format.Size bytes from one to the next
	axes     int  // coordinates besides the layer: 1, 2, or 3 of volumes
	arrayed  bool // the coordinates have a layer
	cube     bool
	identity bool     // no component is exchanged
	swizzle  [4]uint8 // where each component comes from; swizzleZero and swizzleOne are constants

	ycbcr *converted // of a view with a conversion, which is otherwise one of the luma
}

const (
	swizzleZero = 4
	swizzleOne  = 5
)

// level is one level of detail: where its texels lie, and how many there are along x, y and z.
type level struct {
	lanes.Level
	size   [3]uint32
	texels [3]float64
}

// extent is what a level is made of.
type extent struct {
	size  [3]uint32 // texels along x, y and z
	start int       // bytes from the beginning of the image
	step  [3]int    // bytes from one x, y or z to the next; in a compressed format from block to block
}

// ImageView is what NewImageView makes a View of.
type ImageView struct {
	Data   []byte // of the image, which Layout describes
	Layout *texel.Layout
	Volume bool // the image is three-dimensional
	Type   vk.ImageViewType
	Format vk.Format
	// Range names one aspect; its counts are resolved, and it lies within the image. Layers of a view of a volume that is
	// no volume itself are slices.
	Range   vk.ImageSubresourceRange
	Swizzle vk.ComponentMapping
}

// NewImageView makes a view of an image. It fails for formats that shaders cannot access.
func NewImageView(from *ImageView) (*View, error) { return newImageView(from, lanes.Vectors()) }

// newImageView is NewImageView with or without assembly.
func newImageView(from *ImageView, vectors bool) (*View, error) {
	f, ok := lanes.FormatOf(from.Format, from.Range.AspectMask, vectors)
	if !ok {
		return nil, fmt.Errorf("aspect %v of format %v cannot be accessed by shaders", from.Range.AspectMask, from.Format)
	}
	v := &View{data: from.Data, format: f, samples: int(from.Layout.Samples), axes: 2}
	switch from.Type {
	case vk.IMAGE_VIEW_TYPE_1D:
		v.axes = 1
	case vk.IMAGE_VIEW_TYPE_1D_ARRAY:
		v.axes, v.arrayed = 1, true
	case vk.IMAGE_VIEW_TYPE_2D:
	case vk.IMAGE_VIEW_TYPE_2D_ARRAY:
		v.arrayed = true
	case vk.IMAGE_VIEW_TYPE_3D:
		v.axes = 3
	case vk.IMAGE_VIEW_TYPE_CUBE:
		v.cube = true
	case vk.IMAGE_VIEW_TYPE_CUBE_ARRAY:
		v.cube, v.arrayed = true, true
	default:
		return nil, fmt.Errorf("view type %v", from.Type)
	}
	v.setSwizzle(from.Swizzle)
	r, l := &from.Range, from.Layout
	for n := range r.LevelCount {
		first, layer := n+r.BaseMipLevel, r.BaseArrayLayer
		if from.Volume {
			layer = 0
		}
		s, ok := l.Subresource(r.AspectMask, first, layer)
		if !ok {
			return nil, fmt.Errorf("aspect %v of level %d of layer %d is not in the image", r.AspectMask, first, layer)
		}
		width := f.Size * v.samples
		// Of a compressed image that is viewed with a format that is not, the blocks are the texels.
		lv := extent{start: int(s.Offset), step: [3]int{width, int(s.RowPitch), int(l.LayerPitch)}}
		lv.size = [3]uint32{uint32(s.RowBytes / uint64(width)), uint32(s.Rows), r.LayerCount}
		switch {
		case v.axes == 3:
			lv.step[2], lv.size[2] = int(s.DepthPitch), uint32(s.Slices)
		case from.Volume:
			lv.step[2] = int(s.DepthPitch)
			lv.start += int(r.BaseArrayLayer) * lv.step[2]
			lv.size[2] = min(r.LayerCount, uint32(s.Slices)-min(r.BaseArrayLayer, uint32(s.Slices)))
		}
		if !lv.fits(len(from.Data)) {
			return nil, fmt.Errorf("level %d reaches beyond the %d bytes of the image", first, len(from.Data))
		}
		if f.Blocks != nil {
			lv.size[0], lv.size[1] = max(l.Extent[0]>>first, 1), max(l.Extent[1]>>first, 1)
		}
		if v.cube && (lv.size[0] != lv.size[1] || lv.size[2]%6 != 0) {
			return nil, fmt.Errorf("%d faces of %d x %d texels are no cubes", lv.size[2], lv.size[0], lv.size[1])
		}
		v.addLevel(&lv, vectors)
	}
	return v, nil
}

// NewBufferView makes a view of texels one after the other. It fails for formats that shaders cannot access.
func NewBufferView(data []byte, f vk.Format) (*View, error) {
	vectors := lanes.Vectors()
	texels, ok := lanes.FormatOf(f, vk.IMAGE_ASPECT_COLOR_BIT, vectors)
	if !ok || texels.Blocks != nil {
		return nil, fmt.Errorf("format %v cannot be accessed by shaders", f)
	}
	v := &View{data: data, format: texels, samples: 1, axes: 1}
	v.setSwizzle(vk.ComponentMapping{})
	count := uint32(min(len(data)/texels.Size, math.MaxInt32))
	v.addLevel(&extent{size: [3]uint32{count, 1, 1}, step: [3]int{texels.Size, 0, 0}}, vectors)
	return v, nil
}

// addLevel appends a level. In a compressed format, start and steps count texels of blocks, too.
func (v *View) addLevel(e *extent, vectors bool) {
	l := level{size: e.size}
	if blocks := v.format.Blocks; blocks != nil {
		width, height := blocks.Extent()
		l.Axes[0].Block, l.Axes[0].Within = int32(width), 1
		l.Axes[1].Block, l.Axes[1].Within = int32(height), int32(width)
		e.start <<= lanes.BlockBits
		for axis := range e.step {
			e.step[axis] <<= lanes.BlockBits
		}
	}
	for i := range l.Start {
		l.Start[i] = e.start
	}
	l.Vectors = true
	for axis := range l.Axes {
		a := &l.Axes[axis]
		a.Fill(e.size[axis], e.step[axis], vectors)
		l.texels[axis], l.Vectors = float64(e.size[axis]), l.Vectors && a.Vectors
	}
	v.levels = append(v.levels, l)
}

// fits says whether all texels of the level lie in so many bytes.
func (l *extent) fits(bytes int) bool {
	if l.size[0] == 0 || l.size[1] == 0 || l.size[2] == 0 {
		return false
	}
	end := l.start + int(l.size[2]-1)*l.step[2] + int(l.size[1]-1)*l.step[1] + int(l.size[0])*l.step[0]
	return end <= bytes
}

func (v *View) setSwizzle(m vk.ComponentMapping) { v.swizzle, v.identity = swizzleOf(m) }

// swizzleOf says where each component comes from, and whether none is exchanged.
func swizzleOf(m vk.ComponentMapping) (swizzle [4]uint8, identity bool) {
	identity = true
	for i, s := range [4]vk.ComponentSwizzle{m.R, m.G, m.B, m.A} {
		swizzle[i] = uint8(i)
		switch s {
		case vk.COMPONENT_SWIZZLE_ZERO:
			swizzle[i] = swizzleZero
		case vk.COMPONENT_SWIZZLE_ONE:
			swizzle[i] = swizzleOne
		case vk.COMPONENT_SWIZZLE_R, vk.COMPONENT_SWIZZLE_G, vk.COMPONENT_SWIZZLE_B, vk.COMPONENT_SWIZZLE_A:
			swizzle[i] = uint8(s - vk.COMPONENT_SWIZZLE_R)
		}
		identity = identity && swizzle[i] == uint8(i)
	}
	return swizzle, identity
}

// one is the number 1 in the view's class.
func (v *View) one() uint32 {
	if v.format.Class == texel.Float {
		return bits(1)
	}
	return 1
}

// exchange applies the swizzle.
func (v *View) exchange(dst *Texels) {
	if v.identity {
		return
	}
	from := *dst
	for c, s := range v.swizzle {
		switch s {
		case swizzleZero:
			dst[c] = Lanes{}
		case swizzleOne:
			one := v.one()
			for i := range dst[c] {
				dst[c][i] = one
			}
		default:
			dst[c] = from[s&3]
		}
	}
}

// Wide says whether a texel is one integer of 64 bits. Texels then hold its low word in the first component and the
// high one in the second.
func (v *View) Wide() bool { return v != nil && v.format.Wide }

// Levels returns how many levels of detail the view has: what OpImageQueryLevels gives.
func (v *View) Levels() uint32 {
	if v == nil {
		return 0
	}
	return uint32(len(v.levels))
}

// Samples returns what OpImageQuerySamples gives.
func (v *View) Samples() uint32 {
	if v == nil {
		return 0
	}
	return uint32(v.samples)
}

// Size returns what OpImageQuerySizeLod gives: texels along the axes, then layers (cubes count once). Levels that do
// not exist have no size.
func (v *View) Size(lod uint32) (size [3]uint32) {
	if v == nil || lod >= uint32(len(v.levels)) {
		return size
	}
	l := &v.levels[lod]
	copy(size[:], l.size[:v.axes])
	if v.arrayed {
		size[v.axes] = l.size[2]
		if v.cube {
			size[v.axes] /= 6
		}
	}
	return size
}
