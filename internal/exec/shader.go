package exec

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"farside/compute"
	"farside/internal/command"
	"farside/internal/descriptor"
	"farside/internal/draw"
	"farside/internal/vk"
)

// Shader objects. One of compute is bound as the pipeline that it makes. Those of graphics are joined to a pipeline,
// all of whose state is dynamic, when the first draw finds them bound together. The vertex shader keeps what it has
// been joined to, so that no later draw makes it again.

// Shader is a shader object as commands see it. It does not change, but for what it has been joined to.
type Shader struct {
	Stage   vk.ShaderStageFlagBits
	Next    vk.ShaderStageFlags  // stages that may follow it
	Program *compute.Program     // of compute
	Drawn   draw.Shader          // of graphics
	Atomics bool                 // it has atomic instructions
	Sets    []*descriptor.Layout // of its layout; nil where that has none
	Uses    []uint32             // the numbers of the sets that it uses
	Push    []vk.PushConstantRange
	Inputs  []uint32      // the InputAttachmentIndex of each input attachment that it reads
	Needs   DynamicStates // that draws ask for on the device
	Link    *Link         // nil: it is linked to none
	Base    bool          // made with VK_SHADER_CREATE_DISPATCH_BASE_BIT_EXT

	compute Pipeline // of a compute shader; made by Ready

	mu     sync.Mutex
	joined [mostJoined]*Pipeline // of a vertex shader
	next   int                   // of joined: the one that is replaced
}

// Link is what the shader objects share that were linked to each other.
type Link struct{ Stages vk.ShaderStageFlags }

// mostJoined bounds what a vertex shader keeps. Programs use it with a few fragment shaders at a time.
const mostJoined = 8

// objectStates are the dynamic states of draws with shader objects: all. How many viewports there are is dynamic, too.
var objectStates = (DynamicStates(1)<<len(stateRows) - 1) &^ (dynamicViewport | dynamicScissor | dynamicStride)

// Ready makes what commands need of the shader, once, before any of them sees it.
func (s *Shader) Ready() {
	if s.Stage == vk.SHADER_STAGE_COMPUTE_BIT {
		s.compute = Pipeline{Program: s.Program, Sets: s.Sets, Uses: s.Uses, Base: s.Base}
	}
}

// join returns the pipeline of a vertex shader with a fragment shader, which may be nil. It fails if the one can't read
// what the other writes.
func (s *Shader) join(fragment *Shader) (*Pipeline, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.joined {
		if p != nil && p.Graphics.objects.fragment == fragment {
			return p, nil
		}
	}
	p, err := joinShaders(s, fragment)
	if err != nil {
		return nil, err
	}
	s.joined[s.next] = p
	s.next = (s.next + 1) % mostJoined
	return p, nil
}

func joinShaders(vertex, fragment *Shader) (*Pipeline, error) {
	g := &Graphics{
		State: draw.State{Vertex: vertex.Drawn, LineWidth: 1, StippleFactor: 1, Samples: 1, SampleMask: ^uint32(0)},

		Dynamic: objectStates, Needs: vertex.Needs, Atomics: vertex.Atomics, ClipsUnclamped: true,
		objects: &shaderPair{vertex: vertex, fragment: fragment},
	}
	p := &Pipeline{Graphics: g, Sets: slices.Clone(vertex.Sets), Uses: slices.Clone(vertex.Uses)}
	if fragment == nil {
		return p, nil
	}
	g.State.Fragment = fragment.Drawn
	g.Atomics = g.Atomics || fragment.Atomics
	for _, n := range fragment.Uses {
		for int(n) >= len(p.Sets) {
			p.Sets = append(p.Sets, nil)
		}
		if !slices.Contains(p.Uses, n) {
			p.Uses = append(p.Uses, n)
			p.Sets[n] = fragment.Sets[n]
		}
	}
	err := CheckInterface(vertex.Drawn, fragment.Drawn, func(_ vk.VUID, text string) {
		g.objects.unread = append(g.objects.unread, text)
	})
	return p, err
}

// shaderPair is what two shader objects were before they were joined.
type shaderPair struct {
	vertex, fragment *Shader // fragment may be nil
	unread           []string
}

// CheckInterface looks whether a fragment shader gets what it reads (chapter "Interface Matching"). What is missing
// reads as anything: tell is told of it. What has another type is an error.
func CheckInterface(vertex, fragment draw.Shader, tell func(rule vk.VUID, text string)) error {
	outputs := vertex.Outputs()
	for _, in := range fragment.Inputs() {
		if in.IsBuiltIn {
			continue
		}
		i := slices.IndexFunc(outputs, func(out compute.Variable) bool {
			return !out.IsBuiltIn && out.Location == in.Location && out.Component == in.Component
		})
		switch {
		case i < 0:
			tell(vk.VUID_RuntimeSpirv_OpEntryPoint_08743,
				fmt.Sprintf("the fragment shader reads component %d of location %d, which the vertex shader does not write",
					in.Component, in.Location))
		case outputs[i].Numeric != in.Numeric || outputs[i].Width != in.Width:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_RuntimeSpirv_OpEntryPoint_07754,
				"component %d of location %d has one type in the vertex shader, and another in the fragment shader", in.Component,
				in.Location)
		}
	}
	return nil
}

// boundShaders are the shader objects that are bound for draws.
type boundShaders struct {
	vertex, fragment *Shader
	stages           vk.ShaderStageFlags // with a shader or VK_NULL_HANDLE bound; 0: a pipeline counts
}

// graphicsStages are the stages of draws. The device has no shaders for most of them: to these nothing but
// VK_NULL_HANDLE can be bound.
const graphicsStages = vk.SHADER_STAGE_ALL_GRAPHICS | vk.SHADER_STAGE_TASK_BIT_EXT | vk.SHADER_STAGE_MESH_BIT_EXT

func (r *replay) bindShaders(c *command.BindShaders) error {
	g := &r.graphics
	for _, b := range c.Shaders {
		stage := vk.ShaderStageFlagBits(b.Stage)
		var s *Shader
		if b.Shader != 0 {
			var err error
			if s, err = r.device.Resources.Shader(b.Shader); err != nil {
				return r.missing(vk.VUID_vkCmdBindShadersEXT_pShaders_parameter, err)
			}
			if s.Stage != stage {
				return invalid(vk.VUID_vkCmdBindShadersEXT_pShaders_08469, "a shader of stage %v is bound to %v", s.Stage, stage)
			}
		}
		switch {
		case stage == vk.SHADER_STAGE_COMPUTE_BIT:
			if r.bound.pipeline = nil; s != nil {
				r.bound.pipeline = &s.compute
			}
			continue
		case !r.device.Graphics || vk.ShaderStageFlags(stage)&graphicsStages == 0:
			return invalid(vk.VUID_vkCmdBindShadersEXT_pStages_parameter, "the device has no shaders for %v", stage)
		case g.binds(stage, s):
			continue
		case stage == vk.SHADER_STAGE_VERTEX_BIT:
			g.shaders.vertex = s
		case stage == vk.SHADER_STAGE_FRAGMENT_BIT:
			g.shaders.fragment = s
		}
		g.shaders.stages |= vk.ShaderStageFlags(stage)
		g.pipeline, g.changed = nil, true
	}
	return nil
}

// binds says whether a shader is bound to a stage of draws already.
func (g *graphics) binds(stage vk.ShaderStageFlagBits, s *Shader) bool {
	if g.shaders.stages&vk.ShaderStageFlags(stage) == 0 {
		return false
	}
	switch stage {
	case vk.SHADER_STAGE_VERTEX_BIT:
		return g.shaders.vertex == s
	case vk.SHADER_STAGE_FRAGMENT_BIT:
		return g.shaders.fragment == s
	}
	return true
}

// objectRules are the rules of a draw command about shader objects.
type objectRules struct {
	vertexStage, fragmentStage, dynamic, views, next, together, push, sets, equation vk.VUID
}

var (
	plainObjects = objectRules{
		vertexStage:   vk.VUID_vkCmdDraw_None_08684,
		fragmentStage: vk.VUID_vkCmdDraw_None_08688,
		dynamic:       vk.VUID_vkCmdDraw_None_08876,
		views:         vk.VUID_vkCmdDraw_None_10772,
		next:          vk.VUID_vkCmdDraw_nextStage_10745,
		together:      vk.VUID_vkCmdDraw_None_08698,
		push:          vk.VUID_vkCmdDraw_None_08878,
		sets:          vk.VUID_vkCmdDraw_None_08879,
		equation:      vk.VUID_vkCmdDraw_None_10864,
	}
	indexedObjects = objectRules{
		vertexStage:   vk.VUID_vkCmdDrawIndexed_None_08684,
		fragmentStage: vk.VUID_vkCmdDrawIndexed_None_08688,
		dynamic:       vk.VUID_vkCmdDrawIndexed_None_08876,
		views:         vk.VUID_vkCmdDrawIndexed_None_10772,
		next:          vk.VUID_vkCmdDrawIndexed_nextStage_10745,
		together:      vk.VUID_vkCmdDrawIndexed_None_08698,
		push:          vk.VUID_vkCmdDrawIndexed_None_08878,
		sets:          vk.VUID_vkCmdDrawIndexed_None_08879,
		equation:      vk.VUID_vkCmdDrawIndexed_None_10864,
	}
	indirectDrawsObjects = objectRules{
		vertexStage:   vk.VUID_vkCmdDrawIndirect_None_08684,
		fragmentStage: vk.VUID_vkCmdDrawIndirect_None_08688,
		dynamic:       vk.VUID_vkCmdDrawIndirect_None_08876,
		views:         vk.VUID_vkCmdDrawIndirect_None_10772,
		next:          vk.VUID_vkCmdDrawIndirect_nextStage_10745,
		together:      vk.VUID_vkCmdDrawIndirect_None_08698,
		push:          vk.VUID_vkCmdDrawIndirect_None_08878,
		sets:          vk.VUID_vkCmdDrawIndirect_None_08879,
		equation:      vk.VUID_vkCmdDrawIndirect_None_10864,
	}
	indexedIndirectDrawsObjects = objectRules{
		vertexStage:   vk.VUID_vkCmdDrawIndexedIndirect_None_08684,
		fragmentStage: vk.VUID_vkCmdDrawIndexedIndirect_None_08688,
		dynamic:       vk.VUID_vkCmdDrawIndexedIndirect_None_08876,
		views:         vk.VUID_vkCmdDrawIndexedIndirect_None_10772,
		next:          vk.VUID_vkCmdDrawIndexedIndirect_nextStage_10745,
		together:      vk.VUID_vkCmdDrawIndexedIndirect_None_08698,
		push:          vk.VUID_vkCmdDrawIndexedIndirect_None_08878,
		sets:          vk.VUID_vkCmdDrawIndexedIndirect_None_08879,
		equation:      vk.VUID_vkCmdDrawIndexedIndirect_None_10864,
	}
	countedObjects = objectRules{
		vertexStage:   vk.VUID_vkCmdDrawIndirectCount_None_08684,
		fragmentStage: vk.VUID_vkCmdDrawIndirectCount_None_08688,
		dynamic:       vk.VUID_vkCmdDrawIndirectCount_None_08876,
		views:         vk.VUID_vkCmdDrawIndirectCount_None_10772,
		next:          vk.VUID_vkCmdDrawIndirectCount_nextStage_10745,
		together:      vk.VUID_vkCmdDrawIndirectCount_None_08698,
		push:          vk.VUID_vkCmdDrawIndirectCount_None_08878,
		sets:          vk.VUID_vkCmdDrawIndirectCount_None_08879,
		equation:      vk.VUID_vkCmdDrawIndirectCount_None_10864,
	}
	indexedCountedObjects = objectRules{
		vertexStage:   vk.VUID_vkCmdDrawIndexedIndirectCount_None_08684,
		fragmentStage: vk.VUID_vkCmdDrawIndexedIndirectCount_None_08688,
		dynamic:       vk.VUID_vkCmdDrawIndexedIndirectCount_None_08876,
		views:         vk.VUID_vkCmdDrawIndexedIndirectCount_None_10772,
		next:          vk.VUID_vkCmdDrawIndexedIndirectCount_nextStage_10745,
		together:      vk.VUID_vkCmdDrawIndexedIndirectCount_None_08698,
		push:          vk.VUID_vkCmdDrawIndexedIndirectCount_None_08878,
		sets:          vk.VUID_vkCmdDrawIndexedIndirectCount_None_08879,
		equation:      vk.VUID_vkCmdDrawIndexedIndirectCount_None_10864,
	}
	multiObjects = objectRules{
		vertexStage:   vk.VUID_vkCmdDrawMultiEXT_None_08684,
		fragmentStage: vk.VUID_vkCmdDrawMultiEXT_None_08688,
		dynamic:       vk.VUID_vkCmdDrawMultiEXT_None_08876,
		views:         vk.VUID_vkCmdDrawMultiEXT_None_10772,
		next:          vk.VUID_vkCmdDrawMultiEXT_nextStage_10745,
		together:      vk.VUID_vkCmdDrawMultiEXT_None_08698,
		push:          vk.VUID_vkCmdDrawMultiEXT_None_08878,
		sets:          vk.VUID_vkCmdDrawMultiEXT_None_08879,
		equation:      vk.VUID_vkCmdDrawMultiEXT_None_10864,
	}
	indexedMultiObjects = objectRules{
		vertexStage:   vk.VUID_vkCmdDrawMultiIndexedEXT_None_08684,
		fragmentStage: vk.VUID_vkCmdDrawMultiIndexedEXT_None_08688,
		dynamic:       vk.VUID_vkCmdDrawMultiIndexedEXT_None_08876,
		views:         vk.VUID_vkCmdDrawMultiIndexedEXT_None_10772,
		next:          vk.VUID_vkCmdDrawMultiIndexedEXT_nextStage_10745,
		together:      vk.VUID_vkCmdDrawMultiIndexedEXT_None_08698,
		push:          vk.VUID_vkCmdDrawMultiIndexedEXT_None_08878,
		sets:          vk.VUID_vkCmdDrawMultiIndexedEXT_None_08879,
		equation:      vk.VUID_vkCmdDrawMultiIndexedEXT_None_10864,
	}
)

// joinBound makes the pipeline of the shader objects that are bound. Where there are none, or none for vertices, there
// is no pipeline.
func (r *replay) joinBound(rules *drawRules) error {
	b := &r.graphics.shaders
	if b.vertex == nil {
		return nil
	}
	p, err := b.vertex.join(b.fragment)
	if err != nil {
		return invalid(vk.VUIDOf(err), "%w", err)
	}
	r.graphics.pipeline = p
	r.tellShaders(p.Graphics, b, rules)
	return nil
}

// tellShaders tells of shader objects that break a rule together. Each rule is told of once for two shaders.
func (r *replay) tellShaders(g *Graphics, b *boundShaders, rules *drawRules) {
	vertex, fragment := b.vertex, b.fragment
	tell := func(bit uint32, broken bool, rule vk.VUID, format string, args ...any) {
		if broken && first(&g.toldShaders, 1<<bit) {
			r.told(rule, "works, but "+format, args...)
		}
	}
	o := rules.objects
	tell(0, b.stages&vk.SHADER_STAGE_VERTEX_BIT == 0, o.vertexStage, "nothing was bound to %v",
		vk.SHADER_STAGE_VERTEX_BIT)
	tell(1, b.stages&vk.SHADER_STAGE_FRAGMENT_BIT == 0, o.fragmentStage, "nothing was bound to %v",
		vk.SHADER_STAGE_FRAGMENT_BIT)
	tell(2, !r.passes.dynamic, o.dynamic,
		"shader objects draw in a render pass that was not begun with vkCmdBeginRendering")
	tell(3, r.pass.ViewMask != 0, o.views, "shader objects draw several views")
	linked := func(s *Shader, other *Shader) bool {
		var link *Link
		if other != nil {
			link = other.Link
		}
		return s == nil || s.Link == nil || s.Link.Stages&^vk.ShaderStageFlags(s.Stage) == 0 || link == s.Link
	}
	tell(4, !linked(vertex, fragment) || !linked(fragment, vertex), o.together,
		"a shader is not bound that another one is linked to")
	if fragment == nil {
		return
	}
	tell(5, vertex.Next&vk.SHADER_STAGE_FRAGMENT_BIT == 0, o.next, "the vertex shader's nextStage is %v", vertex.Next)
	tell(6, !slices.Equal(vertex.Push, fragment.Push), o.push, "the shaders have different ranges of push constants")
	tell(7, !slices.EqualFunc(vertex.Sets, fragment.Sets, (*descriptor.Layout).Identical), o.sets,
		"the shaders have different set layouts")
	tell(8, len(g.objects.unread) > 0, vk.VUID_RuntimeSpirv_OpEntryPoint_08743, "%s", strings.Join(g.objects.unread, "; "))
}
