package draw

import (
	"farside/compute"
	"farside/internal/texel"
	"farside/internal/vk"
)

// location is the output of the shader that goes to a colour attachment.
func (p *Pass) location(attachment int) uint32 {
	if at := p.ColorLocations; attachment < len(at) {
		return at[attachment]
	}
	return uint32(attachment)
}

// unread is which of the fragment shader's outputs nobody reads, a bit each: components that no attachment has, or that
// are masked, unless blending or coverage takes them.
func (r *run) unread(outputs []compute.Variable) (set uint64) {
	for i := range outputs[:min(len(outputs), 64)] {
		if !r.reads(&outputs[i]) {
			set |= 1 << i
		}
	}
	return set
}

// reads says whether somebody reads an output of the fragment shader.
func (r *run) reads(v *compute.Variable) bool {
	if v.IsBuiltIn || v.Width == 64 || r.state.AlphaToCoverage && v.Location|v.Index == 0 && v.Component == 3 {
		return true
	}
	for i := range r.colors {
		c := &r.colors[i]
		if r.pass.location(i) != v.Location || !c.present() || i >= len(r.state.Blends) {
			continue
		}
		if sourcesOf(&r.state.Blends[i], c.codec, r.state.LogicOpEnable)[v.Index&1]>>(v.Component&3)&1 != 0 {
			return true
		}
	}
	return false
}

// sourcesOf is which channels of both sources a colour attachment takes, a bit each. Of a blended channel that is its
// own even if the factor is zero, which makes of infinity no zero.
func sourcesOf(b *Blend, codec *texel.Codec, logic bool) (sources [2]uint8) {
	written := uint8(0)
	for _, ch := range codec.Channels() {
		written |= uint8(b.ColorWriteMask) >> ch.Slot & 1 << ch.Slot
	}
	if written != 0 && !codec.Separable() { // all channels are, see colorTarget.prepare
		written = 15
	}
	sources[0] = written
	if b.BlendEnable == 0 || logic || codec.Class() != texel.Float {
		return sources
	}
	for i := range 4 {
		if written>>i&1 == 0 {
			continue
		}
		factors := [2]vk.BlendFactor{b.SrcColorBlendFactor, b.DstColorBlendFactor}
		if i == 3 {
			factors = [2]vk.BlendFactor{b.SrcAlphaBlendFactor, b.DstAlphaBlendFactor}
		}
		for _, blendFactor := range factors {
			switch f := factorOf(blendFactor, i); f.row {
			case rowSource:
				sources[0] |= 1 << f.at
			case rowSaturate:
				sources[0] |= 1 << 3
			case rowDual:
				sources[1] |= 1 << f.at
			}
		}
	}
	return sources
}
