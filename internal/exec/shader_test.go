package exec

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"farside/compute"
	"farside/internal/command"
	"farside/internal/descriptor"
	"farside/internal/draw"
	"farside/internal/transfer"
	"farside/internal/vk"
)

const (
	vertexBit   = vk.ShaderStageFlagBits(vk.SHADER_STAGE_VERTEX_BIT)
	fragmentBit = vk.ShaderStageFlagBits(vk.SHADER_STAGE_FRAGMENT_BIT)
	computeBit  = vk.ShaderStageFlagBits(vk.SHADER_STAGE_COMPUTE_BIT)
)

// object adds a shader object to the world.
func (w *world) object(h vk.ShaderEXT, s *Shader) *Shader {
	if s.Stage == computeBit {
		s.Program = empty(1)
	} else {
		s.Drawn = &ported{}
	}
	s.Ready()
	if w.shaders == nil {
		w.shaders = map[vk.ShaderEXT]*Shader{}
	}
	w.shaders[h] = s
	return s
}

func bindOne(s *command.Stream, stage vk.ShaderStageFlagBits, h vk.ShaderEXT) error {
	return s.BindShaders([]command.StageShader{{Shader: h, Stage: uint64(stage)}})
}

// viewports sets what draws with shader objects can't do without.
func setUp(s *command.Stream) error {
	return errors.Join(s.SetViewportWithCount([]vk.Viewport{{Width: 1, Height: 1}}),
		s.SetScissorWithCount(make([]vk.Rect2D, 1)),
		s.SetState(vk.DYNAMIC_STATE_VERTEX_INPUT_EXT, 0, 0))
}

// TestJoinedShaders: a pair makes one pipeline however often it draws, and few are kept.
func TestJoinedShaders(t *testing.T) {
	w := newWorld(t)
	vertex := w.object(1, &Shader{Stage: vertexBit})
	fragments := make([]*Shader, mostJoined+1)
	for i := range fragments {
		fragments[i] = w.object(vk.ShaderEXT(i+2), &Shader{Stage: fragmentBit})
	}
	join := func(f *Shader) *Pipeline {
		p, err := vertex.join(f)
		must(t, err)
		return p
	}
	first, alone := join(fragments[0]), join(nil)
	if first == alone || join(fragments[0]) != first || join(nil) != alone {
		t.Error("pairs are mixed up, or are made anew")
	}
	if first.Graphics.State.Fragment != fragments[0].Drawn || alone.Graphics.State.Fragment != nil {
		t.Error("a pipeline has another fragment shader than the pair")
	}
	for _, f := range fragments[1 : mostJoined-1] {
		join(f)
	}
	if join(fragments[0]) != first {
		t.Error("a pipeline is not kept, though there is room")
	}
	for _, f := range fragments[mostJoined-1:] {
		join(f)
	}
	if again := join(fragments[0]); again == first || join(fragments[0]) != again {
		t.Error("the oldest pipeline is kept beyond the room, or its successor is not")
	}
}

// TestJoinedSets: a pipeline of two shaders has the sets of both, and for each what the shader has that uses it.
func TestJoinedSets(t *testing.T) {
	w := newWorld(t)
	a, b := layout(t), layout(t)
	vertex := w.object(1, &Shader{Stage: vertexBit, Sets: []*descriptor.Layout{a}, Uses: []uint32{0}})
	fragment := w.object(2, &Shader{Stage: fragmentBit, Sets: []*descriptor.Layout{b, nil, b}, Uses: []uint32{2, 0}})
	fragment.Atomics = true
	p, err := vertex.join(fragment)
	must(t, err)
	if !slices.Equal(p.Sets, []*descriptor.Layout{a, nil, b}) || !slices.Equal(p.Uses, []uint32{0, 2}) ||
		!p.Graphics.Atomics {
		t.Errorf("sets %v, of which %v are used; atomics %v", p.Sets, p.Uses, p.Graphics.Atomics)
	}
	if len(vertex.Sets) != 1 || len(vertex.Uses) != 1 {
		t.Error("the vertex shader has changed")
	}
}

// ported is a stage of an interface alone.
type ported struct{ in, out []compute.Variable }

func (p ported) Inputs() []compute.Variable  { return p.in }
func (p ported) Outputs() []compute.Variable { return p.out }
func (ported) Stage() *compute.StageModes    { return nil }
func (ported) NewBatch(uint64) compute.Batch { return nil }

func TestInterface(t *testing.T) {
	at := func(location uint32, kind compute.Numeric) []compute.Variable {
		return []compute.Variable{{Location: location, Numeric: kind, Width: 32}}
	}
	for _, test := range []struct {
		name    string
		out, in []compute.Variable
		told    vk.VUID
		err     vk.VUID
	}{
		{"the same", at(1, compute.Float), at(1, compute.Float), vk.NoVUID, vk.NoVUID},
		{"nothing read", at(1, compute.Float), nil, vk.NoVUID, vk.NoVUID},
		{"another location", at(1, compute.Float), at(2, compute.Float), vk.VUID_RuntimeSpirv_OpEntryPoint_08743, vk.NoVUID},
		{"another type", at(1, compute.Float), at(1, compute.Sint), vk.NoVUID, vk.VUID_RuntimeSpirv_OpEntryPoint_07754},
		{"a builtin", nil, []compute.Variable{{IsBuiltIn: true}}, vk.NoVUID, vk.NoVUID},
	} {
		told := vk.NoVUID
		err := CheckInterface(ported{out: test.out}, ported{in: test.in}, func(rule vk.VUID, _ string) { told = rule })
		if told != test.told || vk.VUIDOf(err) != test.err {
			t.Errorf("%s: told %v, error %v", test.name, told, err)
		}
	}
}

// TestShaderObjectRules binds and draws what breaks a rule, or none.
func TestShaderObjectRules(t *testing.T) {
	d := newDrawTest(t)
	d.object(1, &Shader{Stage: vertexBit, Next: vk.ShaderStageFlags(vk.SHADER_STAGE_FRAGMENT_BIT)})
	d.object(2, &Shader{Stage: fragmentBit})
	d.object(3, &Shader{Stage: computeBit})
	d.object(4, &Shader{Stage: vertexBit, Sets: []*descriptor.Layout{layout(t)}, Uses: []uint32{0}})
	d.pipelines[6] = &Pipeline{Program: empty(1)}
	d.secondary[1] = d.record(t, func(s *command.Stream) { must(t, s.Draw(3, 1, 0, 0)) }).stream
	both := func(s *command.Stream) error {
		return errors.Join(bindOne(s, vertexBit, 1), bindOne(s, fragmentBit, 2))
	}
	for _, test := range []struct {
		name  string
		add   func(s *command.Stream) error
		draws int
		want  string
	}{
		{"both", func(s *command.Stream) error { return errors.Join(setUp(s), both(s), s.Draw(3, 1, 0, 0)) }, 1, ""},
		{"no fragment shader", func(s *command.Stream) error {
			return errors.Join(setUp(s), both(s), bindOne(s, fragmentBit, 0), s.Draw(3, 1, 0, 0))
		}, 1, ""},
		{"no vertex shader", func(s *command.Stream) error {
			return errors.Join(setUp(s), both(s), bindOne(s, vertexBit, 0), s.Draw(3, 1, 0, 0))
		}, 0, "VUID-vkCmdDraw-None-08606"},
		{"a pipeline is unbound", func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(graphics1, 1), bindOne(s, vk.SHADER_STAGE_GEOMETRY_BIT, 0), s.Draw(3, 1, 0, 0))
		}, 0, "VUID-vkCmdDraw-None-08606"},
		{"shaders are unbound", func(s *command.Stream) error {
			return errors.Join(setUp(s), both(s), s.BindPipeline(graphics1, 1), bindOne(s, fragmentBit, 2), s.Draw(3, 1, 0, 0))
		}, 0, "VUID-vkCmdDraw-None-08606"},
		{"compute leaves them bound", func(s *command.Stream) error {
			return errors.Join(setUp(s), both(s), s.BindPipeline(compute1, 6), bindOne(s, computeBit, 3), s.Draw(3, 1, 0, 0))
		}, 1, ""},
		{"a secondary inherits none", func(s *command.Stream) error {
			return errors.Join(setUp(s), both(s), s.ExecuteCommands([]vk.CommandBuffer{1}))
		}, 0, "VUID-vkCmdDraw-None-08606"},
		{"another stage", func(s *command.Stream) error { return bindOne(s, fragmentBit, 1) }, 0,
			"VUID-vkCmdBindShadersEXT-pShaders-08469"},
		{"no such shader", func(s *command.Stream) error { return bindOne(s, vertexBit, 9) }, 0,
			"VUID-vkCmdBindShadersEXT-pShaders-parameter"},
		{"no such stage", func(s *command.Stream) error { return bindOne(s, vk.SHADER_STAGE_RAYGEN_BIT_KHR, 0) }, 0,
			"VUID-vkCmdBindShadersEXT-pStages-parameter"},
		{"no set", func(s *command.Stream) error {
			return errors.Join(setUp(s), bindOne(s, vertexBit, 4), s.Draw(3, 1, 0, 0))
		}, 0, "VUID-vkCmdDraw-None-08600"},
		{"no viewports", func(s *command.Stream) error { return errors.Join(both(s), s.Draw(3, 1, 0, 0)) }, 0,
			"VUID-vkCmdDraw-viewportCount-03417"},
		{"no vertex input", func(s *command.Stream) error {
			return errors.Join(s.SetViewportWithCount([]vk.Viewport{{Width: 1, Height: 1}}),
				s.SetScissorWithCount(make([]vk.Rect2D, 1)), both(s), s.Draw(3, 1, 0, 0))
		}, 0, "VUID-vkCmdDraw-None-04914"},
		{"a dispatch", func(s *command.Stream) error { return errors.Join(bindOne(s, computeBit, 3), s.Dispatch(1, 1, 1)) },
			0, ""},
		{"nothing to dispatch", func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(compute1, 6), bindOne(s, computeBit, 0), s.Dispatch(1, 1, 1))
		}, 0, "VUID-vkCmdDispatch-None-08606"},
	} {
		err := d.execute(t, test.add)
		if got := vk.VUIDOf(err).String(); got != test.want || len(d.draws) != test.draws {
			t.Errorf("%s: %v, want %q; %d draws, want %d", test.name, err, test.want, len(d.draws), test.draws)
		}
	}
	d.Graphics = false
	if err := d.execute(t, both); vk.VUIDOf(err).String() != "VUID-vkCmdBindShadersEXT-pStages-parameter" {
		t.Errorf("without graphics: %v", err)
	}
}

// TestToldShaders: what shaders have against each other is told of once for the two, with the rule of the draw.
func TestToldShaders(t *testing.T) {
	d := newDrawTest(t)
	var told []string
	d.Told = func(err error) { told = append(told, vk.VUIDOf(err).String()) }
	const fragmentStage = vk.ShaderStageFlags(vk.SHADER_STAGE_FRAGMENT_BIT)
	link := &Link{Stages: vk.ShaderStageFlags(vertexBit) | fragmentStage}
	d.object(1, &Shader{Stage: vertexBit, Link: link})
	d.object(2, &Shader{Stage: fragmentBit, Sets: []*descriptor.Layout{layout(t)},
		Push: []vk.PushConstantRange{{StageFlags: fragmentStage, Size: 4}}})
	d.pass.ViewMask = 1
	for _, draw := range []func(s *command.Stream) error{
		func(s *command.Stream) error { return errors.Join(s.Draw(3, 1, 0, 0), s.Draw(3, 1, 0, 0)) },
		func(s *command.Stream) error { return s.DrawMulti(false, 1, 0, []command.Multi{{Count: 3}}) },
	} {
		must(t, d.execute(t, func(s *command.Stream) error {
			return errors.Join(setUp(s), bindOne(s, vertexBit, 1), bindOne(s, fragmentBit, 2), draw(s))
		}))
	}
	want := []string{"None-08876", "None-10772", "None-08698", "nextStage-10745", "None-08878", "None-08879"}
	for i := range want {
		want[i] = "VUID-vkCmdDraw-" + want[i]
	}
	if !slices.Equal(told, want) {
		t.Errorf("told of %q, want %q", told, want)
	}
	told = nil
	must(t, d.execute(t, func(s *command.Stream) error {
		return errors.Join(setUp(s), bindOne(s, vertexBit, 1), s.DrawMulti(false, 1, 0, []command.Multi{{Count: 3}}))
	}))
	want = []string{"None-08688", "None-08876", "None-10772", "None-08698"}
	for i := range want {
		want[i] = "VUID-vkCmdDrawMultiEXT-" + want[i]
	}
	if !slices.Equal(told, want) {
		t.Errorf("told of %q, want %q", told, want)
	}
}

// TestUnsetStates: a state that nothing has set is told of if the draw takes it, once for a pipeline.
func TestUnsetStates(t *testing.T) {
	d := newDrawTest(t)
	told := map[string]int{}
	d.Told = func(err error) { told[err.Error()]++ }
	d.pass.Colors[0].Image = new(transfer.Image)
	everything := draw.State{Samples: 1, Fragment: ported{}, Topology: vk.PRIMITIVE_TOPOLOGY_LINE_LIST, DepthClamp: true,
		DepthTest: true, DepthBounds: true, StencilTest: true, LogicOpEnable: true, StippleLines: true,
		DepthBias: draw.DepthBias{Enable: true}, Blends: []draw.Blend{{BlendEnable: 1,
			DstAlphaBlendFactor: vk.BLEND_FACTOR_CONSTANT_ALPHA}}}
	for i := range stateNeeds {
		n := &stateNeeds[i]
		if !n.need(&everything, &d.pass) {
			t.Errorf("a draw with everything does not take %v", n.state)
		}
		nothing := draw.State{NoRasterizer: true}
		always := n.state == vk.DYNAMIC_STATE_PRIMITIVE_TOPOLOGY || n.state == vk.DYNAMIC_STATE_PRIMITIVE_RESTART_ENABLE ||
			n.state == vk.DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE || n.state == vk.DYNAMIC_STATE_DEPTH_CLIP_ENABLE_EXT ||
			n.state == vk.DYNAMIC_STATE_DEPTH_CLIP_NEGATIVE_ONE_TO_ONE_EXT
		if n.need(&nothing, &d.pass) != always {
			t.Errorf("a draw without a rasterizer takes %v, or it doesn't: %v", n.state, !always)
		}
		if needBits[i] == 0 {
			t.Errorf("draws don't know %v", n.state)
		}
	}
	for i := range stateRows { // draws fail without the others
		state := stateRows[i].state
		needed := stateRows[i].set == nil || state == vk.DYNAMIC_STATE_VERTEX_INPUT_EXT
		if told := slices.Contains(needBits[:], DynamicState(state)); told == needed {
			t.Errorf("%v is told of: %v", state, told)
		}
	}
	p := &Graphics{State: draw.State{Samples: 1, Viewports: make([]vk.Viewport, 1), Scissors: make([]vk.Rect2D, 1)},
		Dynamic: dynamicDepthClip | DynamicState(vk.DYNAMIC_STATE_CULL_MODE)}
	p.Needs = p.Dynamic
	d.pipelines[8] = &Pipeline{Graphics: p}
	must(t, d.execute(t, func(s *command.Stream) error {
		return errors.Join(s.BindPipeline(graphics1, 8), s.SetState(vk.DYNAMIC_STATE_DEPTH_CLIP_ENABLE_EXT, 1),
			s.Draw(3, 1, 0, 0), s.SetState(vk.DYNAMIC_STATE_DEPTH_CLIP_ENABLE_EXT, 0), s.Draw(3, 1, 0, 0))
	}))
	if len(told) != 1 {
		t.Errorf("told of %v, want the cull mode once", told)
	}
	for text, n := range told {
		if n != 1 || !strings.Contains(text, "VK_DYNAMIC_STATE_CULL_MODE") {
			t.Errorf("told of %q %d times", text, n)
		}
	}
}

// TestStateRules: the rules of each draw command are about the same states, and about that command.
func TestStateRules(t *testing.T) {
	for name, rules := range map[string]*drawRules{"vkCmdDraw": &plainRules, "vkCmdDrawIndexed": &indexedRules,
		"vkCmdDrawIndirect": &indirectRulesOfDraws, "vkCmdDrawIndexedIndirect": &indexedIndirectRules,
		"vkCmdDrawIndirectCount": &countedRules, "vkCmdDrawIndexedIndirectCount": &indexedCountedRules,
		"vkCmdDrawMultiEXT": &multiRules, "vkCmdDrawMultiIndexedEXT": &indexedMultiRules} {
		for i, rule := range rules.states {
			if got, want := rule.String(), strings.Replace(plainStates[i].String(), "vkCmdDraw-", name+"-", 1); got != want {
				t.Errorf("%v: %s, want %s", stateNeeds[i].state, got, want)
			}
		}
		objects, plain := reflect.ValueOf(*rules.objects), reflect.ValueOf(plainObjects)
		for i := range objects.NumField() {
			got := vk.VUID(objects.Field(i).Uint()).String()
			want := strings.Replace(vk.VUID(plain.Field(i).Uint()).String(), "vkCmdDraw-", name+"-", 1)
			if got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
	}
}
