package sampling

import (
	"fmt"
	"math"

	"farside/internal/lanes"
	"farside/internal/texel"
	"farside/internal/vk"
)

// Conversion is a VkSamplerYcbcrConversion. It does not change once it is made.
type Conversion struct {
	sources  []source
	from     [4]place // of red (Cr), green (Y), blue (Cb) and alpha
	swizzle  [4]uint8
	explicit bool
	linear   bool    // filter of the chroma
	offset   [2]bool // a sample of chroma lies where one of luma does, not between two

	expand, shift [3]float32    // a component times expand, plus shift, is what the model is about
	matrix        [3][3]float32 // from Cr, Y and Cb to red, green and blue
	converts      bool          // expand, shift and matrix say something
}

// source is what a conversion reads as an image of its own: a plane, or texels of one kind of a packed format.
type source struct {
	plane   int // index; 0 in packed formats
	format  vk.Format
	reduced [2]bool // half as many along x or y as the image has texels
	every   int     // packed luma: so many texels of format lie between two
	first   int     // packed luma: the first one's number
}

// place says where a component is: in a slot of a source; a constant if source is negative.
type place struct{ source, slot int }

// ConversionInfo is what NewConversion makes a Conversion of: VkSamplerYcbcrConversionCreateInfo.
type ConversionInfo struct {
	Format           vk.Format
	Model            vk.SamplerYcbcrModelConversion
	Range            vk.SamplerYcbcrRange
	Components       vk.ComponentMapping
	XOffset, YOffset vk.ChromaLocation
	ChromaFilter     vk.Filter
	Explicit         bool // forceExplicitReconstruction
}

// NewConversion makes a conversion. It fails for formats that need none.
func NewConversion(info *ConversionInfo) (*Conversion, error) {
	format, ok := texel.FormatOf(info.Format)
	if !ok || !format.Chroma {
		return nil, fmt.Errorf("format %v has no Y'CbCr conversion", info.Format)
	}
	c := &Conversion{
		explicit: info.Explicit, linear: info.ChromaFilter == vk.FILTER_LINEAR,
		offset: [2]bool{info.XOffset == vk.CHROMA_LOCATION_COSITED_EVEN, info.YOffset == vk.CHROMA_LOCATION_COSITED_EVEN},
	}
	c.swizzle, _ = swizzleOf(info.Components)
	c.locate(info.Format, &format)
	c.setRange(info)
	c.setModel(info.Model)
	return c, nil
}

// locate finds the sources of the components.
func (c *Conversion) locate(f vk.Format, format *texel.Format) {
	info, _ := vk.FormatInfo(f)
	slots := map[byte]int{'R': 0, 'G': 1, 'B': 2, 'A': 3}
	c.from[3].source = -1
	packed := format.Block[0] == 2
	switch {
	case format.MultiPlanar():
		for i, p := range format.Planes[:format.PlaneCount] {
			c.sources = append(c.sources, source{plane: i, format: p.Format,
				reduced: [2]bool{p.Divisor[0] == 2, p.Divisor[1] == 2}})
		}
	case packed:
		one, four := packedFormats(info.Components()[0].Bits)
		luma := source{format: one, every: 2}
		if info.Components()[0].Name != 'G' {
			luma.first = 1
		}
		c.sources = []source{luma, {format: four, reduced: [2]bool{true, false}}}
	default:
		c.sources = []source{{format: f}}
	}
	var next [3]int // component of each plane
	for _, component := range info.Components() {
		at := place{int(component.Plane), next[component.Plane]}
		next[component.Plane]++
		if packed {
			if component.Name == 'G' {
				at = place{0, 0}
			} else {
				at.source = 1
			}
		}
		c.from[slots[component.Name]] = at
	}
}

// packedFormats are the formats of one and of four words as components of so many bits are stored in.
func packedFormats(bits uint8) (one, four vk.Format) {
	switch bits {
	case 8:
		return vk.FORMAT_R8_UNORM, vk.FORMAT_R8G8B8A8_UNORM
	case 10:
		return vk.FORMAT_R10X6_UNORM_PACK16, vk.FORMAT_R10X6G10X6B10X6A10X6_UNORM_4PACK16
	case 12:
		return vk.FORMAT_R12X4_UNORM_PACK16, vk.FORMAT_R12X4G12X4B12X4A12X4_UNORM_4PACK16
	}
	return vk.FORMAT_R16_UNORM, vk.FORMAT_R16G16B16A16_UNORM
}

// setRange sets expand and shift (chapter "Sampler Y'CbCr Range Expansion").
func (c *Conversion) setRange(info *ConversionInfo) {
	c.expand = [3]float32{1, 1, 1}
	if info.Model == vk.SAMPLER_YCBCR_MODEL_CONVERSION_RGB_IDENTITY {
		return
	}
	c.converts = true
	format, _ := vk.FormatInfo(info.Format)
	n := format.Components()[0].Bits
	most, unit := float64(uint(1)<<n-1), float64(uint(1)<<(n-8))
	chroma := [2]float64{1, -128 * unit / most}
	if info.Range == vk.SAMPLER_YCBCR_RANGE_ITU_NARROW {
		c.expand[1], c.shift[1] = float32(most/(219*unit)), -16./219
		chroma = [2]float64{most / (224 * unit), -128. / 224}
	}
	for _, i := range [2]int{0, 2} {
		c.expand[i], c.shift[i] = float32(chroma[0]), float32(chroma[1])
	}
}

// setModel sets the matrix (chapter "Sampler Y'CbCr Model Conversion"). The models say what part of luma red and blue
// are.
func (c *Conversion) setModel(model vk.SamplerYcbcrModelConversion) {
	c.matrix = [3][3]float32{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
	var red, blue float64
	switch model {
	case vk.SAMPLER_YCBCR_MODEL_CONVERSION_YCBCR_709:
		red, blue = 0.2126, 0.0722
	case vk.SAMPLER_YCBCR_MODEL_CONVERSION_YCBCR_601:
		red, blue = 0.299, 0.114
	case vk.SAMPLER_YCBCR_MODEL_CONVERSION_YCBCR_2020:
		red, blue = 0.2627, 0.0593
	default:
		return
	}
	green := 1 - red - blue
	c.matrix = [3][3]float32{
		{float32(2 * (1 - red)), 1, 0},
		{float32(-2 * red * (1 - red) / green), 1, float32(-2 * blue * (1 - blue) / green)},
		{0, 1, float32(2 * (1 - blue))},
	}
}

// ImagePlane is a plane of a multi-planar image, laid out as an image of its own format (texel.Layout.Plane), and the
// bytes that the layout's offsets count in.
type ImagePlane struct {
	Data   []byte
	Layout texel.Layout
}

// converted is the part of a View that has a conversion.
type converted struct {
	*Conversion
	views []*View // of the sources
	// What an offset adds to a normalized coordinate: half a texel of the image.
	half [2]float64
}

// NewConvertedView makes a view of the colours of an image whose format needs a conversion. planes are those of a
// multi-planar image; any other is in from.Data. from.Swizzle does not count: the conversion has one.
func NewConvertedView(from *ImageView, planes []ImagePlane, c *Conversion) (*View, error) {
	y := &converted{Conversion: c, views: make([]*View, len(c.sources))}
	var err error
	for i := range c.sources {
		if y.views[i], err = c.sources[i].view(from, planes); err != nil {
			return nil, err
		}
	}
	v, err := c.sources[c.from[1].source].view(from, planes)
	if err != nil {
		return nil, err
	}
	y.half = [2]float64{0.5 / v.levels[0].texels[0], 0.5 / v.levels[0].texels[1]}
	v.ycbcr = y
	return v, nil
}

// view makes the view of a source.
func (s *source) view(from *ImageView, planes []ImagePlane) (*View, error) {
	of := *from
	of.Format, of.Swizzle, of.Range.AspectMask = s.format, vk.ComponentMapping{}, vk.IMAGE_ASPECT_COLOR_BIT
	if len(planes) > 0 {
		if s.plane >= len(planes) {
			return nil, fmt.Errorf("the image has %d planes, the conversion is for one with more", len(planes))
		}
		of.Data, of.Layout = planes[s.plane].Data, &planes[s.plane].Layout
	}
	v, err := NewImageView(&of)
	if err != nil {
		return nil, err
	}
	if v.cube {
		return nil, fmt.Errorf("a cube of format %v", from.Format)
	}
	s.spread(v.levels)
	return v, nil
}

// spread makes a view of all words of a packed format one of every second.
func (s *source) spread(levels []level) {
	if s.every == 0 {
		return
	}
	for i := range levels {
		l := &levels[i]
		a := &l.Axes[0]
		for lane := range l.Start {
			l.Start[lane] += s.first * a.Step[lane]
		}
		l.size[0] /= uint32(s.every)
		l.texels[0] = float64(l.size[0])
		a.Fill(l.size[0], a.Step[0]*s.every, a.Vectors)
		l.Vectors = l.Vectors && a.Vectors
	}
}

// routines are those of the sources, for normalized coordinates where reconstruction is explicit: it finds these from
// whatever the shader's are.
func (y *converted) routines(s *Sampler, want instruction) []*Routine {
	if y.explicit {
		normalized := *s
		normalized.unnormalized = false
		s = &normalized
	}
	list := make([]*Routine, len(y.views))
	for i, v := range y.views {
		list[i] = v.newRoutine(s, want)
	}
	return list
}

// sample filters luma and chroma by themselves, and converts what comes of it, which is the same as to convert each
// texel first, since conversions are linear (chapters "Chroma Reconstruction" and "Sampler Y'CbCr Conversion"). The
// images have one level; a level of detail says no more than which filter luma has.
func (y *converted) sample(dst *Texels, p *work) {
	r := p.r
	linear := Mask(0)
	if r.mag {
		linear = All
	}
	if r.mag != r.min {
		linear = 0
		p.levelOfDetail()
		for i, lambda := range p.lambda {
			if lambda <= 0 && r.mag || lambda > 0 && r.min {
				linear |= 1 << i
			}
		}
	}
	p.wide = true
	for axis := range r.view.axes {
		for i, c := range &p.q.Coordinates[axis] {
			p.u[axis][i] = float64(float(c))
		}
	}
	if y.explicit {
		y.reconstruct(dst, p, linear)
	} else {
		y.sources4(dst, p, linear)
	}
	p.r = r
	y.convert(dst)
}

// sources4 reads all components at coordinates that lie anywhere: implicit reconstruction.
func (y *converted) sources4(dst *Texels, p *work, linear Mask) {
	var level [Width]int32
	var of [3]Texels
	at, whole := p.u, p.r
	for i, routine := range whole.sources {
		filter := linear
		p.u = at
		if s := &y.sources[i]; s.reduced[0] || s.reduced[1] {
			filter = 0
			if y.linear {
				filter = All
			}
			for axis, reduced := range s.reduced {
				// The nearest sample is that which luma shares where reconstruction is explicit.
				if reduced && y.offset[axis] && (y.linear || !y.explicit) {
					for lane := range p.u[axis] {
						p.u[axis][lane] += y.half[axis]
					}
				}
			}
		}
		p.r = routine
		p.sampleLevel(&of[i], &level, filter)
	}
	p.u, p.r = at, whole
	one := bits(1)
	for c, from := range y.from {
		if from.source < 0 {
			for i := range dst[c] {
				dst[c][i] = one
			}
			continue
		}
		dst[c] = of[from.source][from.slot]
	}
}

// reconstruct is explicit reconstruction: chroma is found for each texel of luma that the filter takes.
func (y *converted) reconstruct(dst *Texels, p *work, linear Mask) {
	p.level = &p.r.view.levels[0].Level
	axes := min(p.r.view.axes, 2)
	var corner [2][2]lanes.Places // by axis: coordinates of the first and the second texel
	var weights [2]Lanes
	for axis := range axes {
		a, scale := &p.level.Axes[axis], p.units(axis)
		for i := range Width {
			u := lanes.Place(p.u[axis][i] * scale[i])
			if linear.Has(i) {
				u -= 0.5
			}
			floor := math.Floor(u)
			if linear.Has(i) {
				weights[axis][i] = bits(float32(u - floor))
			}
			for second := range int32(2) {
				corner[axis][second][i] = (float64(a.Wrap(p.r.modes[axis], i, int32(floor)+second)) + 0.5) / a.Texels[i]
			}
		}
	}
	var rows [2]Texels
	for row := range rows {
		var pair [2]Texels
		for column := range pair {
			p.u[0], p.u[1] = corner[0][column], corner[1][row]
			y.sources4(&pair[column], p, 0)
		}
		y.mix(&pair[0], &pair[1], &weights[0])
		rows[row] = pair[0]
	}
	*dst = rows[0]
	y.mix(dst, &rows[1], &weights[1])
}

// mix is a weighted average of all components.
func (y *converted) mix(dst, other *Texels, weight *Lanes) {
	for c := range dst {
		for i, w := range weight {
			x := float(dst[c][i])
			dst[c][i] = bits(x + (float(other[c][i])-x)*float(w))
		}
	}
}

// convert exchanges components, expands their range and applies the model.
func (y *converted) convert(dst *Texels) {
	from := *dst
	for c, s := range y.swizzle {
		switch s {
		case swizzleZero:
			dst[c] = Lanes{}
		case swizzleOne:
			for i := range dst[c] {
				dst[c][i] = bits(1)
			}
		default:
			dst[c] = from[s&3]
		}
	}
	if !y.converts {
		return
	}
	for i := range Width {
		var in [3]float32
		for c := range in {
			in[c] = float(dst[c][i])*y.expand[c] + y.shift[c]
		}
		for c, row := range y.matrix {
			dst[c][i] = bits(row[0]*in[0] + row[1]*in[1] + row[2]*in[2])
		}
	}
}
