package exec

import (
	"math/bits"

	"farside/compute"
	"farside/internal/draw"
	"farside/internal/vk"
)

// valueRules are the rules of a draw command about the values that dynamic states have: there is one for each
// attachment and for each input of the vertex shader.
type valueRules struct {
	enables, masks, decisions vk.VUID // of blending, of components, of colour writes
	attribute, numbers        vk.VUID // there is an attribute; it is the kind of numbers that the shader reads
	input                     vk.VUID // an attachment is the input attachment that a shader object reads
}

var (
	plainValues = valueRules{
		enables:   vk.VUID_vkCmdDraw_firstAttachment_07476,
		masks:     vk.VUID_vkCmdDraw_firstAttachment_07478,
		decisions: vk.VUID_vkCmdDraw_attachmentCount_07750,
		attribute: vk.VUID_vkCmdDraw_Input_07939,
		numbers:   vk.VUID_vkCmdDraw_Input_08734,
		input:     vk.VUID_vkCmdDraw_InputAttachmentIndex_09597,
	}
	indexedValues = valueRules{
		enables:   vk.VUID_vkCmdDrawIndexed_firstAttachment_07476,
		masks:     vk.VUID_vkCmdDrawIndexed_firstAttachment_07478,
		decisions: vk.VUID_vkCmdDrawIndexed_attachmentCount_07750,
		attribute: vk.VUID_vkCmdDrawIndexed_Input_07939,
		numbers:   vk.VUID_vkCmdDrawIndexed_Input_08734,
		input:     vk.VUID_vkCmdDrawIndexed_InputAttachmentIndex_09597,
	}
	indirectDrawsValues = valueRules{
		enables:   vk.VUID_vkCmdDrawIndirect_firstAttachment_07476,
		masks:     vk.VUID_vkCmdDrawIndirect_firstAttachment_07478,
		decisions: vk.VUID_vkCmdDrawIndirect_attachmentCount_07750,
		attribute: vk.VUID_vkCmdDrawIndirect_Input_07939,
		numbers:   vk.VUID_vkCmdDrawIndirect_Input_08734,
		input:     vk.VUID_vkCmdDrawIndirect_InputAttachmentIndex_09597,
	}
	indexedIndirectDrawsValues = valueRules{
		enables:   vk.VUID_vkCmdDrawIndexedIndirect_firstAttachment_07476,
		masks:     vk.VUID_vkCmdDrawIndexedIndirect_firstAttachment_07478,
		decisions: vk.VUID_vkCmdDrawIndexedIndirect_attachmentCount_07750,
		attribute: vk.VUID_vkCmdDrawIndexedIndirect_Input_07939,
		numbers:   vk.VUID_vkCmdDrawIndexedIndirect_Input_08734,
		input:     vk.VUID_vkCmdDrawIndexedIndirect_InputAttachmentIndex_09597,
	}
	countedValues = valueRules{
		enables:   vk.VUID_vkCmdDrawIndirectCount_firstAttachment_07476,
		masks:     vk.VUID_vkCmdDrawIndirectCount_firstAttachment_07478,
		decisions: vk.VUID_vkCmdDrawIndirectCount_attachmentCount_07750,
		attribute: vk.VUID_vkCmdDrawIndirectCount_Input_07939,
		numbers:   vk.VUID_vkCmdDrawIndirectCount_Input_08734,
		input:     vk.VUID_vkCmdDrawIndirectCount_InputAttachmentIndex_09597,
	}
	indexedCountedValues = valueRules{
		enables:   vk.VUID_vkCmdDrawIndexedIndirectCount_firstAttachment_07476,
		masks:     vk.VUID_vkCmdDrawIndexedIndirectCount_firstAttachment_07478,
		decisions: vk.VUID_vkCmdDrawIndexedIndirectCount_attachmentCount_07750,
		attribute: vk.VUID_vkCmdDrawIndexedIndirectCount_Input_07939,
		numbers:   vk.VUID_vkCmdDrawIndexedIndirectCount_Input_08734,
		input:     vk.VUID_vkCmdDrawIndexedIndirectCount_InputAttachmentIndex_09597,
	}
	multiValues = valueRules{
		enables:   vk.VUID_vkCmdDrawMultiEXT_firstAttachment_07476,
		masks:     vk.VUID_vkCmdDrawMultiEXT_firstAttachment_07478,
		decisions: vk.VUID_vkCmdDrawMultiEXT_attachmentCount_07750,
		attribute: vk.VUID_vkCmdDrawMultiEXT_Input_07939,
		numbers:   vk.VUID_vkCmdDrawMultiEXT_Input_08734,
		input:     vk.VUID_vkCmdDrawMultiEXT_InputAttachmentIndex_09597,
	}
	indexedMultiValues = valueRules{
		enables:   vk.VUID_vkCmdDrawMultiIndexedEXT_firstAttachment_07476,
		masks:     vk.VUID_vkCmdDrawMultiIndexedEXT_firstAttachment_07478,
		decisions: vk.VUID_vkCmdDrawMultiIndexedEXT_attachmentCount_07750,
		attribute: vk.VUID_vkCmdDrawMultiIndexedEXT_Input_07939,
		numbers:   vk.VUID_vkCmdDrawMultiIndexedEXT_Input_08734,
		input:     vk.VUID_vkCmdDrawMultiIndexedEXT_InputAttachmentIndex_09597,
	}
)

// tellValues tells of dynamic states that lack values for what is drawn. Each rule is told of once for a pipeline.
func (r *replay) tellValues(p *Graphics, rules *drawRules) {
	g := &r.graphics
	set := p.Needs & g.dynamics.set
	tell := func(bit uint, rule vk.VUID, format string, args ...any) {
		if told := uint64(1) << (len(stateNeeds) + int(bit)); p.toldStates.Or(told)&told == 0 {
			r.told(rule, "works, but "+format, args...)
		}
	}
	if set&dynamicVertexInput != 0 && p.State.Vertex != nil {
		attributes := g.state.Attributes
		_ = EachUnfit(p.State.Vertex.Inputs(), attributes, func(in *compute.Variable, a *draw.VertexAttribute) error {
			if a == nil {
				tell(0, rules.values.attribute, "the vertex shader reads location %d, for which vkCmdSetVertexInputEXT has set no "+
					"attribute", in.Location)
			} else {
				tell(1, rules.values.numbers, "attribute %d is %v, and the vertex shader reads another kind of numbers",
					in.Location, a.Format)
			}
			return nil
		})
	}
	if o := p.objects; o != nil && o.fragment != nil && r.passes.dynamic {
		count := len(r.pass.Colors)
		for _, input := range o.fragment.Inputs {
			is := false
			for n := range count + 2 {
				is = is || inputOf(r.passes.inputs, n, count) == input
			}
			if !is {
				tell(5, rules.values.input, "the fragment shader reads input attachment %d, and no attachment is that", input)
			}
		}
	}
	if set&(dynamicBlendEnable|dynamicWriteMask|dynamicWriteEnable) == 0 || !writesColors(&g.state, r.pass) {
		return
	}
	var active uint32
	for i := range r.pass.Colors {
		if r.pass.Colors[i].Image != nil {
			active |= 1 << i
		}
	}
	for i, of := range [...]struct {
		state DynamicStates
		has   uint32
		rule  vk.VUID
		what  string
	}{
		{dynamicBlendEnable, g.dynamics.enabled, rules.values.enables, "vkCmdSetColorBlendEnableEXT"},
		{dynamicWriteMask, g.dynamics.masked, rules.values.masks, "vkCmdSetColorWriteMaskEXT"},
		{dynamicWriteEnable, g.dynamics.decided, rules.values.decisions, "vkCmdSetColorWriteEnableEXT"},
	} {
		if lacks := active &^ of.has; set&of.state != 0 && lacks != 0 {
			tell(2+uint(i), of.rule, "the last %s has set no value for attachment %d", of.what, bits.TrailingZeros32(lacks))
		}
	}
}

// EachUnfit calls f for each input of a vertex shader that has no attribute, once for a location, and for each whose
// attribute is of another kind of numbers. It ends with the first error of f.
func EachUnfit(inputs []compute.Variable, attributes []draw.VertexAttribute,
	f func(in *compute.Variable, a *draw.VertexAttribute) error) error {
	at := func(location uint32) *draw.VertexAttribute {
		for i := range attributes {
			if attributes[i].Location == location {
				return &attributes[i]
			}
		}
		return nil
	}
	missing := uint64(0)
	for i := range inputs {
		in := &inputs[i]
		if in.IsBuiltIn || missing&(1<<in.Location) != 0 {
			continue
		}
		a := at(in.Location)
		if a == nil {
			missing |= 1 << in.Location
			if before := at(in.Location - 1); before != nil && wideAttribute(before.Format) {
				continue // the second half of an attribute of 64 bits
			}
		} else if attributeFits(a.Format, in.Numeric) {
			continue
		}
		if err := f(in, a); err != nil {
			return err
		}
	}
	return nil
}

// wideAttribute says whether a format has more than 16 bytes.
func wideAttribute(f vk.Format) bool {
	info, _ := vk.FormatInfo(f)
	return info.BlockSize > 16
}

// attributeFits says whether a shader may read a format as a kind of numbers.
func attributeFits(f vk.Format, kind compute.Numeric) bool {
	info, ok := vk.FormatInfo(f)
	if !ok || len(info.Components()) == 0 {
		return false
	}
	switch info.Components()[0].Numeric {
	case vk.NumericSINT:
		return kind == compute.Sint
	case vk.NumericUINT:
		return kind == compute.Uint
	}
	return kind == compute.Float
}
