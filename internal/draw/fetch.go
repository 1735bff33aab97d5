package draw

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"farside/compute"
	"farside/internal/texel"
	"farside/internal/vk"
)

// vertexFormat is how an attribute of a format is read.
type vertexFormat struct {
	codec *texel.Codec
	// words: the attribute is this many words that are its components as they are; 0: the codec decodes it.
	words  int
	scaled bool // integers that become floats: USCALED, SSCALED
	// table is what a byte becomes, of formats whose components are a byte each; nil of others. places says which byte is
	// a component; -1: none.
	table  *[256]uint32
	places [4]int8
}

// inBytes finds out about table and places.
func (v *vertexFormat) inBytes(words *[256]uint32) {
	v.places = [4]int8{-1, -1, -1, -1}
	channels := v.codec.Channels()
	for _, c := range channels {
		if c.Bits != 8 || c.First%8 != 0 || c.Kind != channels[0].Kind {
			return
		}
		v.places[c.Slot&3] = int8(c.First / 8)
	}
	v.table = words
}

// vertexFormats are all formats that attributes may have.
var vertexFormats = sync.OnceValue(func() map[vk.Format]vertexFormat {
	all, words := make(map[vk.Format]vertexFormat), byteWords()
	for _, f := range vk.AllFormats {
		info, ok := vk.FormatInfo(f)
		if !ok || info.Compressed != 0 || info.Chroma != 0 || len(info.Components()) == 0 {
			continue
		}
		numeric := info.Components()[0].Numeric
		of := f
		scaled := numeric == vk.NumericUSCALED || numeric == vk.NumericSSCALED
		if scaled {
			of = unscaled(info)
		}
		codec, ok := texel.CodecOf(of, vk.IMAGE_ASPECT_COLOR_BIT)
		if !ok {
			continue
		}
		v := vertexFormat{codec: codec, scaled: scaled}
		if c := info.Components(); c[0].Bits == 32 && c[0].Name == 'R' && info.Packed == 0 {
			v.words = len(c)
		}
		v.inBytes(words[numeric])
		all[f] = v
	}
	return all
})

// byteWords are what a byte becomes in the formats of each numeric kind.
func byteWords() map[vk.NumericFormat]*[256]uint32 {
	all := map[vk.NumericFormat]*[256]uint32{}
	var bytes [256]byte
	for i := range bytes {
		bytes[i] = byte(i)
	}
	for kind, f := range map[vk.NumericFormat]vk.Format{vk.NumericUNORM: vk.FORMAT_R8_UNORM,
		vk.NumericSNORM: vk.FORMAT_R8_SNORM} {
		var numbers [256][4]float64
		codec, _ := texel.CodecOf(f, vk.IMAGE_ASPECT_COLOR_BIT)
		codec.DecodeFloat(numbers[:], bytes[:])
		all[kind] = new([256]uint32)
		for i := range numbers {
			all[kind][i] = math.Float32bits(float32(numbers[i][0]))
		}
	}
	for _, kind := range []vk.NumericFormat{vk.NumericUINT, vk.NumericSINT, vk.NumericUSCALED, vk.NumericSSCALED} {
		all[kind] = new([256]uint32)
	}
	for i := range 256 {
		all[vk.NumericUINT][i], all[vk.NumericSINT][i] = uint32(i), uint32(int8(i))
		all[vk.NumericUSCALED][i] = math.Float32bits(float32(i))
		all[vk.NumericSSCALED][i] = math.Float32bits(float32(int8(i)))
	}
	return all
}

// unscaled finds the integer format whose texels have the same bits as those of a scaled one.
func unscaled(scaled *vk.FormatDescription) vk.Format {
	for _, f := range vk.AllFormats {
		info, ok := vk.FormatInfo(f)
		if !ok || info.Packed != scaled.Packed || info.BlockSize != scaled.BlockSize ||
			len(info.Components()) != len(scaled.Components()) {
			continue
		}
		same := true
		for i, c := range info.Components() {
			d := scaled.Components()[i]
			want := vk.NumericUINT
			if d.Numeric == vk.NumericSSCALED {
				want = vk.NumericSINT
			}
			same = same && c.Name == d.Name && c.Bits == d.Bits && c.Numeric == want
		}
		if same {
			return f
		}
	}
	return vk.FORMAT_UNDEFINED
}

// component is a word of an attribute and the input of the shader that it goes to.
type component struct {
	slot  int // 0 is red
	shift uint
	dst   []uint32
}

// attribute is where a vertex attribute comes from and where it goes.
type attribute struct {
	vertexFormat
	bytes      []byte
	binding    uint32
	offset     uint64
	stride     uint64
	instanced  bool
	divisor    uint32
	components []component
}

// element is which element of a buffer a vertex has.
func (a *attribute) element(r *run, vertex, instance uint32) uint64 {
	if !a.instanced {
		return uint64(vertex)
	}
	first := uint64(r.draw.Instance)
	if a.divisor == 0 {
		return first
	}
	return first + uint64(instance/a.divisor)
}

// fetcher reads the attributes of a batch.
type fetcher struct {
	wide       bool // by AVX-512, where there is a way
	attributes []attribute
	gathered   []byte
	floats     [][4]float64
	uints      [][4]uint64
	sints      [][4]int64
}

// prepare finds out what inputs of the shader come from which attributes.
func (f *fetcher) prepare(r *run, lanes int, inputs []compute.Variable, batch compute.Batch) error {
	f.attributes, f.wide = f.attributes[:0], !r.draw.InOrder && vectors() && wide()
	for i := range inputs {
		in := &inputs[i]
		dst := batch.Input(i)
		if in.IsBuiltIn || dst == nil {
			continue
		}
		a, slot, err := f.attributeOf(r, in, wideSlots(inputs, in.Location))
		if err != nil {
			return err
		}
		if a == nil { // no attribute has the location: VUID-VkGraphicsPipelineCreateInfo-Input-07904 forbids it
			clear(dst)
			continue
		}
		a.components = append(a.components, component{slot, 32 * uint(in.Half), dst})
	}
	if cap(f.floats) < lanes {
		f.floats, f.uints, f.sints = make([][4]float64, lanes), make([][4]uint64, lanes), make([][4]int64, lanes)
		f.gathered = make([]byte, lanes*32)
	}
	return nil
}

// wideSlots says whether the 64-bit components of a location are numbered one by one, as the attribute's are: then some
// begins at an odd number.
func wideSlots(inputs []compute.Variable, location uint32) bool {
	for i := range inputs {
		in := &inputs[i]
		if !in.IsBuiltIn && in.Location == location && in.Width == 64 && in.Half == 0 && in.Component&1 != 0 {
			return true
		}
	}
	return false
}

// attributeOf finds the attribute of an input, and which of its components it is. A vector of 64-bit components may go
// on in the next location.
func (f *fetcher) attributeOf(r *run, in *compute.Variable, single bool) (*attribute, int, error) {
	wide := in.Width == 64
	for back := range uint32(2) {
		if back == 1 && (!wide || in.Location == 0) {
			break
		}
		for i := range r.state.Attributes {
			va := &r.state.Attributes[i]
			if va.Location != in.Location-back {
				continue
			}
			slot := int(in.Component)
			if wide && !single { // a component is two words; two of them fill a location
				slot = int(in.Component/2 + 2*back)
			}
			a, err := f.make(r, va)
			return a, slot & 3, err
		}
	}
	return nil, 0, nil
}

// make adds what is read for an attribute, or finds it.
func (f *fetcher) make(r *run, va *VertexAttribute) (*attribute, error) {
	format, ok := vertexFormats()[va.Format]
	if !ok {
		return nil, fmt.Errorf("format %v of the attribute at location %d is none of vertices", va.Format, va.Location)
	}
	binding := r.state.Bindings[va.Binding]
	a := attribute{vertexFormat: format, binding: va.Binding, offset: uint64(va.Offset), stride: uint64(binding.Stride),
		instanced: binding.Instanced, divisor: binding.Divisor}
	a.bind(r.draw)
	n := len(f.attributes)
	if cap(f.attributes) > n { // its components' memory is used again
		f.attributes = f.attributes[:n+1]
		a.components = f.attributes[n].components[:0]
		f.attributes[n] = a
	} else {
		f.attributes = append(f.attributes, a)
	}
	return &f.attributes[n], nil
}

// bind takes in the buffer.
func (a *attribute) bind(d *Draw) {
	a.bytes = nil
	if uint64(a.binding) < uint64(len(d.Buffers)) {
		a.bytes = d.Buffers[a.binding].Bytes
	}
}

// rebind takes in the buffers of the next draw.
func (f *fetcher) rebind(d *Draw) {
	for i := range f.attributes {
		f.attributes[i].bind(d)
	}
}

// release forgets the buffers.
func (f *fetcher) release() {
	for i := range f.attributes {
		a := &f.attributes[i]
		a.bytes = nil
		clear(a.components)
	}
}

// fetch reads the attributes of the lanes, of which there are as many as vertices.
func (f *fetcher) fetch(r *run, vertices, instances []uint32) {
	for i := range f.attributes {
		a := &f.attributes[i]
		if f.wide && !a.instanced && (a.words > 0 || a.table != nil && a.codec.Size() == 4) {
			a.gather(vertices)
			continue
		}
		if a.words > 0 {
			a.fetchWords(r, vertices, instances)
			continue
		}
		if a.table != nil {
			a.fetchBytes(r, vertices, instances)
			continue
		}
		size := a.codec.Size()
		for lane, v := range vertices {
			to := f.gathered[lane*size:][:size]
			if from := a.texel(r, v, instances[lane], size); from != nil {
				copy(to, from)
			} else {
				clear(to)
			}
		}
		n := len(vertices)
		switch {
		case a.codec.Class() == texel.Float:
			a.codec.DecodeFloat(f.floats[:n], f.gathered)
			f.spreadFloats(a, n)
		case a.codec.Class() == texel.Uint:
			a.codec.DecodeUint(f.uints[:n], f.gathered)
			for _, c := range a.components {
				for lane := range n {
					v := f.uints[lane][c.slot]
					if a.scaled {
						v = uint64(math.Float32bits(float32(v)))
					}
					c.dst[lane] = uint32(v >> c.shift)
				}
			}
		default:
			a.codec.DecodeSint(f.sints[:n], f.gathered)
			for _, c := range a.components {
				for lane := range n {
					v := uint64(f.sints[lane][c.slot])
					if a.scaled {
						v = uint64(math.Float32bits(float32(int64(v))))
					}
					c.dst[lane] = uint32(v >> c.shift)
				}
			}
		}
	}
}

// texel is the attribute of a vertex; nil beyond the end of its buffer, where it reads as zero (robustBufferAccess2).
func (a *attribute) texel(r *run, vertex, instance uint32, size int) []byte {
	at := a.element(r, vertex, instance)*a.stride + a.offset
	if at > uint64(len(a.bytes)) || uint64(len(a.bytes))-at < uint64(size) {
		return nil
	}
	return a.bytes[at:][:size]
}

// missing is a component that the format lacks: 0, and alpha 1.
func (a *attribute) missing(slot int) uint32 {
	switch {
	case slot != 3:
		return 0
	case a.scaled || a.codec.Class() == texel.Float:
		return math.Float32bits(1)
	}
	return 1
}

// fetchWords is for components of 32 bits.
func (a *attribute) fetchWords(r *run, vertices, instances []uint32) {
	for lane, v := range vertices {
		from := a.texel(r, v, instances[lane], 4*a.words)
		for i := range a.components {
			switch c := &a.components[i]; {
			case c.slot >= a.words:
				c.dst[lane] = a.missing(c.slot)
			case from == nil:
				c.dst[lane] = 0
			default:
				c.dst[lane] = binary.LittleEndian.Uint32(from[4*c.slot:])
			}
		}
	}
}

// fetchBytes is for components of a byte each.
func (a *attribute) fetchBytes(r *run, vertices, instances []uint32) {
	size := a.codec.Size()
	for lane, v := range vertices {
		from := a.texel(r, v, instances[lane], size)
		for i := range a.components {
			c := &a.components[i]
			switch at := a.places[c.slot&3]; {
			case at < 0:
				c.dst[lane] = a.missing(c.slot)
			case from == nil:
				c.dst[lane] = 0
			default:
				c.dst[lane] = a.table[from[at]]
			}
		}
	}
}

// spreadFloats is for what the codec has decoded to numbers; 64-bit ones stay so, in halves.
func (f *fetcher) spreadFloats(a *attribute, n int) {
	for _, c := range a.components {
		if a.codec.Wide() {
			for lane := range n {
				c.dst[lane] = uint32(math.Float64bits(f.floats[lane][c.slot]) >> c.shift)
			}
			continue
		}
		for lane := range n {
			c.dst[lane] = math.Float32bits(float32(f.floats[lane][c.slot]))
		}
	}
}
