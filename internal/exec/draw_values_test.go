package exec

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"farside/compute"
	"farside/internal/command"
	"farside/internal/transfer"
	"farside/internal/vk"
)

// TestDrawValues: a draw whose dynamic states lack values for attachments or inputs is told of once, and draws.
func TestDrawValues(t *testing.T) {
	enables := func(first uint32, values ...uint32) func(s *command.Stream) error {
		return func(s *command.Stream) error {
			return s.SetState(vk.DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT, append([]uint32{first}, values...)...)
		}
	}
	masks := func(first uint32, values ...uint32) func(s *command.Stream) error {
		return func(s *command.Stream) error {
			return s.SetState(vk.DYNAMIC_STATE_COLOR_WRITE_MASK_EXT, append([]uint32{first}, values...)...)
		}
	}
	writes := func(values ...uint32) func(s *command.Stream) error {
		return func(s *command.Stream) error {
			return s.SetState(vk.DYNAMIC_STATE_COLOR_WRITE_ENABLE_EXT, append([]uint32{0}, values...)...)
		}
	}
	// input sets attributes: pairs of a location and a format.
	input := func(pairs ...uint32) func(s *command.Stream) error {
		return func(s *command.Stream) error {
			values := []uint32{1, uint32(len(pairs) / 2), 0, 16, 0, 1}
			for i := 0; i < len(pairs); i += 2 {
				values = append(values, pairs[i], 0, pairs[i+1], 0)
			}
			return errors.Join(s.SetState(vk.DYNAMIC_STATE_VERTEX_INPUT_EXT, values...),
				s.BindVertexBuffers2(0, false, []command.VertexBuffer{{}}))
		}
	}
	float, unsigned := uint32(vk.FORMAT_R8_UNORM), uint32(vk.FORMAT_R8_UINT)
	discard := func(s *command.Stream) error {
		return errors.Join(s.SetState(vk.DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE, 1), enables(0, 1)(s))
	}
	again := func(s *command.Stream) error { return errors.Join(enables(0, 1, 1, 1)(s), enables(0, 1)(s)) }
	everything := DynamicStates(1<<len(stateRows) - 1)
	for _, test := range []struct {
		name  string
		needs DynamicStates
		set   func(s *command.Stream) error
		want  string
	}{
		{"all enables", dynamicBlendEnable, enables(0, 0, 1, 0), ""},
		{"enables of what is there", dynamicBlendEnable, enables(0, 1, 1), ""},
		{"all masks", dynamicWriteMask, masks(0, 15, 15), ""},
		{"all writes", dynamicWriteEnable, writes(1, 1), ""},
		{"all attributes", dynamicVertexInput, input(0, float, 2, unsigned), ""},
		{"more attributes", dynamicVertexInput, input(0, float, 1, float, 2, unsigned), ""},
		{"no rasterizer", dynamicBlendEnable, discard, ""},
		{"nobody asks", 0, enables(0, 1), ""},
		{"an enable is missing", dynamicBlendEnable, enables(0, 1), "firstAttachment-07476"},
		{"the first enable is missing", dynamicBlendEnable, enables(1, 1, 1), "firstAttachment-07476"},
		{"the last command counts", dynamicBlendEnable, again, "firstAttachment-07476"},
		{"a mask is missing", dynamicWriteMask, masks(0, 15), "firstAttachment-07478"},
		{"a write is missing", dynamicWriteEnable, writes(1), "attachmentCount-07750"},
		{"an attribute is missing", dynamicVertexInput, input(0, float), "Input-07939"},
		{"another kind of numbers", dynamicVertexInput, input(0, float, 2, float), "Input-08734"},
	} {
		d := newDrawTest(t)
		var told []string
		d.Told = func(err error) { told = append(told, vk.VUIDOf(err).String()) }
		for i := range 2 {
			d.pass.Colors[i].Image = new(transfer.Image)
		}
		vertex := ported{in: []compute.Variable{{Location: 0, Numeric: compute.Float}, {IsBuiltIn: true, Location: 9},
			{Location: 2, Numeric: compute.Uint}, {Location: 2, Component: 1, Numeric: compute.Uint}}}
		state := d.pipelines[2].Graphics.State
		state.Vertex, state.Fragment = vertex, ported{}
		d.pipelines[8] = &Pipeline{Graphics: &Graphics{State: state, Dynamic: everything, Needs: test.needs}}
		must(t, d.execute(t, func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(graphics1, 8), setUp(s), test.set(s), s.Draw(3, 1, 0, 0),
				s.SetState(vk.DYNAMIC_STATE_STENCIL_REFERENCE, 3, 1), s.Draw(3, 1, 0, 0))
		}))
		want := []string{"VUID-vkCmdDraw-" + test.want}
		if test.want == "" {
			want = nil
		}
		if !slices.Equal(told, want) || len(d.draws) != 2 {
			t.Errorf("%s: told of %q, want %q; %d draws", test.name, told, want, len(d.draws))
		}
	}
}

// TestShaderInputs: a shader object that reads an input attachment which no attachment is is told of.
func TestShaderInputs(t *testing.T) {
	for _, test := range []struct {
		name   string
		inputs []uint32 // of the shader
		set    []uint32
		want   string
	}{
		{"none", nil, nil, ""},
		{"a colour", []uint32{1}, nil, ""},
		{"by number", []uint32{5, 6}, []uint32{6, vk.ATTACHMENT_UNUSED, 5, command.InputWithout}, ""},
		{"beyond the colours", []uint32{2}, nil, "VUID-vkCmdDraw-InputAttachmentIndex-09597"},
		{"another number", []uint32{0, 1, 2}, []uint32{0, 3, 4, 5}, "VUID-vkCmdDraw-InputAttachmentIndex-09597"},
	} {
		h, told := outputWorld(t)
		h.object(1, &Shader{Stage: vertexBit, Next: vk.ShaderStageFlags(vk.SHADER_STAGE_FRAGMENT_BIT)})
		h.object(2, &Shader{Stage: fragmentBit, Inputs: test.inputs})
		h.run(t, func(s *command.Stream) error {
			must(t, errors.Join(renderedTo(s, 0), setUp(s), bindOne(s, vertexBit, 1), bindOne(s, fragmentBit, 2)))
			if test.set != nil {
				must(t, s.SetInputs(test.set))
			}
			return errors.Join(s.Draw(3, 1, 0, 0), s.EndRendering())
		})
		rules := ""
		for _, err := range *told {
			rules += vk.VUIDOf(err).String()
		}
		if rules != test.want {
			t.Errorf("%s: told of %q (%v), want %q", test.name, rules, *told, test.want)
		}
	}
}

// TestInputNumbers: numbers of input attachments that don't go with a rendering are told of and ignored.
func TestInputNumbers(t *testing.T) {
	numbers := []uint32{0, 1, command.InputWithout, command.InputWithout}
	for _, test := range []struct {
		name string
		add  func(s *command.Stream) error
		want vk.VUID
	}{
		{"outside", func(s *command.Stream) error { return s.SetInputs(numbers) },
			vk.VUID_vkCmdSetRenderingInputAttachmentIndices_renderpass},
		{"too many", func(s *command.Stream) error { return errors.Join(renderedTo(s, 0), s.SetInputs(append(numbers, 7))) },
			vk.VUID_vkCmdSetRenderingInputAttachmentIndices_pInputAttachmentIndexInfo_09517},
		{"as many", func(s *command.Stream) error { return errors.Join(renderedTo(s, 0), s.SetInputs(numbers)) }, vk.NoVUID},
	} {
		h, told := outputWorld(t)
		h.run(t, test.add)
		if len(*told) > 1 || vk.VUIDOf(errors.Join(*told...)) != test.want {
			t.Errorf("%s: told of %v, want %v", test.name, *told, test.want)
		}
	}
}

// TestValueRules: each command of draws has rules of its own, of the same numbers.
func TestValueRules(t *testing.T) {
	plain := reflect.ValueOf(plainValues)
	for _, rules := range []*drawRules{&plainRules, &indexedRules, &indirectRulesOfDraws, &indexedIndirectRules,
		&countedRules, &indexedCountedRules, &multiRules, &indexedMultiRules} {
		name := strings.TrimSuffix(rules.pass.String(), "renderpass")
		own := reflect.ValueOf(*rules.values)
		for i := range own.NumField() {
			want := name + strings.TrimPrefix(vk.VUID(plain.Field(i).Uint()).String(), "VUID-vkCmdDraw-")
			if got := vk.VUID(own.Field(i).Uint()).String(); got != want {
				t.Errorf("%s, %s: %s, want %s", name, own.Type().Field(i).Name, got, want)
			}
		}
	}
}
