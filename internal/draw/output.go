package draw

import (
	"encoding/binary"
	"math"
	"math/bits"

	"farside/compute"
	"farside/internal/texel"
	"farside/internal/vk"
)

const (
	mostTexel   = 32 // bytes
	groupTexels = 256
	groupStamps = 1024
)

// colorTarget is a colour attachment and what is done to it.
type colorTarget struct {
	surface
	*colorState
	source, dual *colorOutput
}

// colorState is how a colour attachment is written. It stays for draws to come that have the same key.
type colorState struct {
	key     colorKey
	blend   blending
	write   bool // some channel is written
	whole   bool // all of a texel's bits are
	reads   bool // what is there takes part
	logic   bool
	bytes4  bool // the channels are four bytes of kind UNORM
	srgb    bool // they are three of kind SRGB and one of kind UNORM
	shift   [4]uint8
	bitMask [mostTexel]byte
	planned bool // plan is there
	plan    colorPlan
	inRows  bool // rows is there
	rows    rowPlan
}

// colorKey is what the state of an attachment is made of.
type colorKey struct {
	codec                       *texel.Codec // nil: nothing is written
	samples                     int
	rowPitch, layerPitch        int
	blend                       Blend
	constants                   [4]uint32 // as bits: zeros have signs
	logic, smooth, vector, wide bool
}

// colorOutput is the words of an output location of the shader.
type colorOutput struct {
	location, index uint32
	component       [4][]uint32
	numeric         compute.Numeric
}

// outputStage writes colours.
type outputStage struct {
	outputs []colorOutput
	states  []*colorState // by attachment
	alpha   []uint32      // of location 0
	floats  [][4]float64
	second  [][4]float64
	uints   [][4]uint64
	sints   [][4]int64
	encoded []byte

	none, all []uint32 // words of 0 and 1
	blocks    [mostBlocks]block

	// A group is texels of which none occurs twice, so that they are read together, blended and written.
	group  [groupTexels]groupTexel
	n      int
	stamps [groupStamps]uint32
	stamp  uint32
	stored [groupTexels * mostTexel]byte
	dst    [groupTexels][4]float64
	src    [groupTexels][4]float64
}

// groupTexel is a sample of an attachment and the lane that it is written from.
type groupTexel struct{ at, lane int }

func (o *outputStage) release() {
	clear(o.outputs[:cap(o.outputs)])
	o.alpha = nil
	for _, c := range o.states {
		c.plan.bytes, c.plan.words = nil, [4]*uint32{}
		c.rows.bytes = nil
		clear(c.rows.rows[:planClamped])
	}
}

// prepare finds out which output goes to which attachment, and how.
func (o *outputStage) prepare(r *run, outputs []compute.Variable, f *fragmentStage) error {
	batch, lanes := f.batch, f.lanes
	o.outputs, o.alpha = o.outputs[:0], nil
	for i := range outputs {
		v := &outputs[i]
		if v.IsBuiltIn {
			continue
		}
		words := batch.Output(i)
		c := o.find(v.Location, v.Index)
		if c == nil {
			o.outputs = append(o.outputs, colorOutput{location: v.Location, index: v.Index})
			c = &o.outputs[len(o.outputs)-1]
		}
		c.component[v.Component&3], c.numeric = words, v.Numeric
		if v.Location == 0 && v.Index == 0 && v.Component == 3 && v.Numeric == compute.Float {
			o.alpha = words
		}
	}
	if cap(o.floats) < lanes {
		o.floats, o.second = make([][4]float64, lanes), make([][4]float64, lanes)
		o.uints, o.sints = make([][4]uint64, lanes), make([][4]int64, lanes)
		o.encoded = make([]byte, lanes*mostTexel)
	}
	for i := range r.colors {
		o.plan(r, i, f)
	}
	return nil
}

func (o *outputStage) find(location, index uint32) *colorOutput {
	for i := range o.outputs {
		if o.outputs[i].location == location && o.outputs[i].index == index {
			return &o.outputs[i]
		}
	}
	return nil
}

// plan decides how an attachment is written.
func (o *outputStage) plan(r *run, i int, f *fragmentStage) {
	c := &r.colors[i]
	location := r.pass.location(i)
	c.source, c.dual = o.find(location, 0), o.find(location, 1)
	for len(o.states) <= i {
		o.states = append(o.states, new(colorState))
	}
	c.colorState = o.states[i]
	var key colorKey
	if c.present() && c.source != nil && i < len(r.state.Blends) {
		key = colorKey{codec: c.codec, samples: c.samples, rowPitch: c.rowPitch, layerPitch: c.layerPitch,
			blend: r.state.Blends[i], logic: r.state.LogicOpEnable, smooth: r.raster.smooth, vector: f.vector, wide: f.wide}
		for k, v := range r.state.BlendConstants {
			key.constants[k] = math.Float32bits(v)
		}
	}
	if c.key == key {
		return
	}
	*c.colorState = colorState{key: key, plan: colorPlan{rows: c.plan.rows}, rows: c.rows.again()}
	if key.codec != nil {
		c.prepare(r, &r.state.Blends[i])
	}
}

// prepare makes the state of what the key has.
func (c *colorTarget) prepare(r *run, b *Blend) {
	channels := c.codec.Channels()
	c.whole = true
	covered := 0
	for _, ch := range channels {
		if b.ColorWriteMask>>ch.Slot&1 == 0 {
			c.whole = false
			continue
		}
		c.write = true
		covered += ch.Bits
		for bit := ch.First; bit < ch.First+ch.Bits; bit++ {
			c.bitMask[bit/8] |= 1 << (bit % 8)
		}
	}
	if !c.codec.Separable() { // VUID-vkCmdDraw-None-09116 has all channels or none
		c.whole = true
		for k := range c.size {
			c.bitMask[k] = 0xff
		}
	} else if covered != 8*c.size { // bits that are no channel's stay as they are
		c.whole = false
	}
	c.bytes4, c.srgb = c.codec.IsUnorm8x4(), c.codec.IsSRGB8x4()
	if c.bytes4 || c.srgb {
		for _, ch := range channels {
			c.shift[ch.Slot] = uint8(ch.First)
		}
	}
	kind := channels[0].Kind
	c.logic = r.state.LogicOpEnable && kind != vk.NumericSFLOAT && kind != vk.NumericUFLOAT && kind != vk.NumericSRGB
	c.blend = newBlending(b, &r.state.BlendConstants, c.codec)
	if r.state.LogicOpEnable || c.codec.Class() != texel.Float {
		c.blend.enabled = false
	}
	c.reads = c.blend.enabled
	some := c.samples == 1 || c.samples == 4 || c.samples > 4 && c.key.wide || c.reads || !c.whole
	c.planned = c.key.vector && !c.key.smooth && some && c.plan.plan(c, c.key.wide)
	c.inRows = c.key.vector && !c.key.smooth && !c.planned && c.rows.plan(c)
}

// alphaCoverage is the samples that the alpha of a lane covers (chapter "Multisample Coverage").
func (o *outputStage) alphaCoverage(lane, samples int) uint16 {
	if o.alpha == nil {
		return math.MaxUint16
	}
	a := float64(math.Float32frombits(o.alpha[lane]))
	if !(a > 0) {
		return 0
	}
	return 1<<uint(min(a, 1)*float64(samples)+0.5) - 1
}

// write writes the colours of a batch that has been shaded.
func (o *outputStage) write(r *run, f *fragmentStage) {
	some := !f.ends // what the batch was made of was covered
	for i := 0; i < len(f.quads) && !some; i++ {
		some = f.quads[i].cover != [4]uint16{}
	}
	if !some {
		return
	}
	for i := range r.colors {
		c := &r.colors[i]
		if !c.write {
			continue
		}
		n := 4 * len(f.quads)
		if c.planned {
			o.writePlanned(r, f, c)
			continue
		}
		if c.inRows {
			o.writeRows(r, f, c)
			continue
		}
		if c.reads {
			o.numbers(o.floats[:n], c.source, r.state.AlphaToOne)
			o.smooth(r, f)
			c.blend.clampAll(o.floats[:n])
			if c.blend.dual {
				o.numbers(o.second[:n], c.dual, r.state.AlphaToOne)
				c.blend.clampAll(o.second[:n])
			}
			o.blendAll(r, f, c)
			continue
		}
		o.encode(r, f, c, n)
		o.scatter(r, f, c)
	}
}

// numbers reads an output as floats. Components that the shader doesn't write are 0, 0, 0, 1.
func (o *outputStage) numbers(dst [][4]float64, c *colorOutput, alphaOne bool) {
	for k := range 4 {
		missing := 0.0
		if k == 3 {
			missing = 1
		}
		if c == nil || c.component[k] == nil || k == 3 && alphaOne {
			for lane := range dst {
				dst[lane][k] = missing
			}
			continue
		}
		src := c.component[k][:len(dst)]
		for lane := range dst {
			dst[lane][k] = float64(math.Float32frombits(src[lane]))
		}
	}
}

// smooth multiplies alpha with how much of its pixel a smooth line covers.
func (o *outputStage) smooth(r *run, f *fragmentStage) {
	if !r.raster.smooth {
		return
	}
	for i := range f.quads {
		q := &f.quads[i]
		line := &f.prims[q.prim].smooth
		for k := range q.cover {
			if line.half > 0 && q.cover[k] != 0 {
				o.floats[4*i+k][3] *= line.coverage(q.x+int32(k&1), q.y+int32(k>>1))
			}
		}
	}
}

// encode makes texels of the outputs of n lanes.
func (o *outputStage) encode(r *run, f *fragmentStage, c *colorTarget, n int) {
	switch class := c.codec.Class(); {
	case c.bytes4 && !r.raster.smooth:
		o.encodeBytes(c, n, r.state.AlphaToOne, f.vector)
	case class == texel.Float:
		o.numbers(o.floats[:n], c.source, r.state.AlphaToOne)
		o.smooth(r, f)
		c.codec.EncodeFloat(o.encoded, o.floats[:n])
	case class == texel.Uint:
		for k := range 4 {
			src := c.source.component[k]
			for lane := range n {
				o.uints[lane][k] = 0
				if src != nil {
					o.uints[lane][k] = uint64(src[lane])
				}
			}
		}
		c.codec.EncodeUint(o.encoded, o.uints[:n])
	default:
		for k := range 4 {
			src := c.source.component[k]
			for lane := range n {
				o.sints[lane][k] = 0
				if src != nil {
					o.sints[lane][k] = int64(int32(src[lane]))
				}
			}
		}
		c.codec.EncodeSint(o.encoded, o.sints[:n])
	}
}

// unorm8 is the byte of a number, as texel.Codec has it.
func unorm8(v float64) uint32 {
	const above = 1 << 16
	switch {
	case v >= 1:
		return 255
	case !(v > 0):
		return 0
	}
	return uint32(int64(v*255+(above+0.5)) - above)
}

// fromUnorm8 is the number of a byte, as float32 has it.
var fromUnorm8 = func() (all [256]float64) {
	for i := range all {
		all[i] = float64(float32(float64(i) / 255))
	}
	return all
}()

// encodeBytes is encode for texels of four bytes.
func (o *outputStage) encodeBytes(c *colorTarget, n int, alphaOne, vector bool) {
	clear(o.encoded[:4*n])
	for k := range 4 {
		at := int(c.shift[k]) / 8
		src := c.source.component[k]
		if src == nil || k == 3 && alphaOne {
			for lane := range n {
				if k == 3 {
					o.encoded[4*lane+at] = 255
				}
			}
			continue
		}
		if vector {
			unormAVX2(&o.encoded[0], &src[0], n/4, uint64(c.shift[k]))
			continue
		}
		dst := o.encoded[at:]
		for lane, v := range src[:n] {
			dst[4*lane] = uint8(unorm8(float64(math.Float32frombits(v))))
		}
	}
}

// scatterWords is scatter for whole texels of four bytes.
func (o *outputStage) scatterWords(f *fragmentStage, c *colorTarget) {
	for i := range f.quads {
		q := &f.quads[i]
		if q.cover[0]|q.cover[1]|q.cover[2]|q.cover[3] == 0 {
			continue
		}
		at := c.at(q.x, q.y, f.prims[q.prim].layer)
		if c.samples == 1 && q.cover == [4]uint16{1, 1, 1, 1} {
			src := o.encoded[16*i:][:16]
			binary.LittleEndian.PutUint64(c.bytes[at:], binary.LittleEndian.Uint64(src))
			binary.LittleEndian.PutUint64(c.bytes[at+c.rowPitch:], binary.LittleEndian.Uint64(src[8:]))
			continue
		}
		for k, cover := range q.cover {
			src := binary.LittleEndian.Uint32(o.encoded[4*(4*i+k):])
			pixel := at + k>>1*c.rowPitch + k&1*4*c.samples
			for ; cover != 0; cover &= cover - 1 {
				if s := bits.TrailingZeros16(cover); s < c.samples {
					binary.LittleEndian.PutUint32(c.bytes[pixel+4*s:], src)
				}
			}
		}
	}
}

// scatter writes the encoded texels of the lanes to their samples, in the order of the primitives.
func (o *outputStage) scatter(r *run, f *fragmentStage, c *colorTarget) {
	size := c.size
	if size == 4 && c.whole && !c.logic {
		o.scatterWords(f, c)
		return
	}
	for i := range f.quads {
		q := &f.quads[i]
		layer := f.prims[q.prim].layer
		for k, cover := range q.cover {
			if cover == 0 {
				continue
			}
			src := o.encoded[(4*i+k)*size:][:size]
			pixel := c.bytes[c.at(q.x+int32(k&1), q.y+int32(k>>1), layer):][:size*c.samples]
			for ; cover != 0; cover &= cover - 1 {
				s := bits.TrailingZeros16(cover)
				if s >= c.samples {
					break
				}
				to := pixel[s*size:][:size]
				switch {
				case c.logic:
					logicOp(r.state.LogicOp, to, src, c.bitMask[:size])
				case c.whole:
					copy(to, src)
				default:
					merge(to, src, c.bitMask[:size])
				}
			}
		}
	}
}

// merge writes the bits of a mask.
func merge(dst, src, mask []byte) {
	for i, m := range mask {
		dst[i] = dst[i]&^m | src[i]&m
	}
}

// logicOp is VkLogicOp on the bits of a texel.
func logicOp(op vk.LogicOp, dst, src, mask []byte) {
	for i, m := range mask {
		s, d := src[i], dst[i]
		var v byte
		// The operation's number is its truth table, from s and d both set in the lowest bit to neither in the highest.
		if op&1 != 0 {
			v |= s & d
		}
		if op&2 != 0 {
			v |= s &^ d
		}
		if op&4 != 0 {
			v |= d &^ s
		}
		if op&8 != 0 {
			v |= ^(s | d)
		}
		dst[i] = d&^m | v&m
	}
}

// blendAll blends the samples of a batch with what is there, in the order of the primitives.
func (o *outputStage) blendAll(r *run, f *fragmentStage, c *colorTarget) {
	o.newGroup()
	for i := range f.quads {
		q := &f.quads[i]
		if q.cover[0]|q.cover[1]|q.cover[2]|q.cover[3] == 0 {
			continue
		}
		layer := f.prims[q.prim].layer
		stamp := o.stampOf(q, layer)
		if *stamp == o.stamp || o.n+4*c.samples > groupTexels {
			o.blendGroup(c)
			o.newGroup()
		}
		*stamp = o.stamp
		for k, cover := range q.cover {
			at := c.at(q.x+int32(k&1), q.y+int32(k>>1), layer)
			for ; cover != 0; cover &= cover - 1 {
				s := bits.TrailingZeros16(cover)
				if s >= c.samples {
					break
				}
				o.group[o.n] = groupTexel{at + s*c.size, 4*i + k}
				o.n++
			}
		}
	}
	o.blendGroup(c)
}

// stampOf is what quads of the same pixels and sample, and some others, have in common.
func (o *outputStage) stampOf(q *quad, layer uint32) *uint32 {
	key := uint32(q.x)>>1*31 + uint32(q.y)>>1*1013 + layer*7 + uint32(q.sample)*5
	return &o.stamps[key%groupStamps]
}

func (o *outputStage) newGroup() {
	o.n = 0
	if o.stamp++; o.stamp == 0 {
		clear(o.stamps[:])
		o.stamp = 1
	}
}

// blendGroup reads, blends and writes the texels of the group.
func (o *outputStage) blendGroup(c *colorTarget) {
	n, size := o.n, c.size
	if n == 0 {
		return
	}
	if c.bytes4 {
		o.blendBytes(c)
		return
	}
	for i := range o.group[:n] {
		copy(o.stored[i*size:][:size], c.bytes[o.group[i].at:][:size])
	}
	c.codec.DecodeFloat(o.dst[:n], o.stored[:])
	for i := range o.group[:n] {
		lane := o.group[i].lane
		for k, v := range o.dst[i] {
			o.dst[i][k] = c.blend.round(v)
		}
		c.blend.apply(&o.src[i], &o.floats[lane], &o.second[lane], &o.dst[i])
	}
	c.codec.EncodeFloat(o.stored[:], o.src[:n])
	for i := range o.group[:n] {
		to := c.bytes[o.group[i].at:][:size]
		if c.whole {
			copy(to, o.stored[i*size:])
		} else {
			merge(to, o.stored[i*size:], c.bitMask[:size])
		}
	}
}

// blendBytes is blendGroup for texels of four bytes.
func (o *outputStage) blendBytes(c *colorTarget) {
	mask := binary.LittleEndian.Uint32(c.bitMask[:])
	r, g, b, a := c.shift[0]&31, c.shift[1]&31, c.shift[2]&31, c.shift[3]&31
	for _, t := range o.group[:o.n] {
		at := c.bytes[t.at:][:4]
		word := binary.LittleEndian.Uint32(at)
		there := [4]float64{fromUnorm8[uint8(word>>r)], fromUnorm8[uint8(word>>g)], fromUnorm8[uint8(word>>b)],
			fromUnorm8[uint8(word>>a)]}
		var v [4]float64
		c.blend.apply(&v, &o.floats[t.lane], &o.second[t.lane], &there)
		made := unorm8(v[0])<<r | unorm8(v[1])<<g | unorm8(v[2])<<b | unorm8(v[3])<<a
		binary.LittleEndian.PutUint32(at, word&^mask|made&mask)
	}
}
