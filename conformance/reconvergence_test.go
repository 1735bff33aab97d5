package conformance

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"farside/conformance/shaders"
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

const (
	reconvergeLocal = 128 // invocations of the workgroup
	reconvergeNotes = 256 // that an invocation writes at most
)

// reconvergenceCases mirror reconvergence: random programs note which invocations are together at each of their places,
// and the notes are compared with those of maximal reconvergence (SPV_KHR_maximal_reconvergence: invocations that a
// branch parts are together again behind its construct, and at the continue target of each round of a loop).
func reconvergenceCases() []definition {
	row := func(name, mode, extension, need string, uniform bool) definition {
		return definition{name: "reconvergence." + name, compute: true, needs: []string{need}, run: func(c *Case) {
			for seed := range uint64(40) {
				c.reconverge(seed, mode, extension, uniform)
			}
		}}
	}
	return []definition{
		row("maximal", "!6023", "SPV_KHR_maximal_reconvergence", "ShaderMaximalReconvergence", false),
		row("subgroup_uniform", "SubgroupUniformControlFlowKHR", "SPV_KHR_subgroup_uniform_control_flow",
			"ShaderSubgroupUniformControlFlow", true),
	}
}

// A when is a condition: (lane * Lane + round * Round) % Mod < Less, with the round of the innermost loop.
type when struct{ lane, round, mod, less uint32 }

func (w when) holds(lane, round uint32) bool { return (lane*w.lane+round*w.round)%w.mod < w.less }

type flowKind int

const (
	flowNote flowKind = iota // writes which invocations are here
	flowIf
	flowLoop // at most count rounds
	flowSwitch
	flowCall
	flowBreak // these three if the condition holds
	flowContinue
	flowReturn
)

// A flow is a statement of a random program.
type flow struct {
	kind  flowKind
	id    uint32 // of notes
	when  when
	count uint32
	parts [][]flow // of an if two, of a loop and a call one, of a switch one for each case
}

// flowMaker makes programs at random.
type flowMaker struct {
	*rand.Rand
	notes   uint32
	uniform bool // all invocations of a subgroup decide alike
}

func (m *flowMaker) when() when {
	w := when{lane: 1 + m.Uint32N(7), round: m.Uint32N(4), mod: 2 + m.Uint32N(6)}
	if m.uniform || m.IntN(6) == 0 {
		w.lane = 0
	}
	w.less = m.Uint32N(w.mod) + m.Uint32N(2)
	return w
}

// block makes the statements of a block at a depth, in so many loops and calls.
func (m *flowMaker) block(depth, loops, calls int) []flow {
	var list []flow
	for range 1 + m.IntN(3) {
		f := flow{kind: flowKind(m.IntN(int(flowReturn) + 1)), when: m.when()}
		inner := func() []flow { return m.block(depth+1, loops, calls) }
		switch {
		case f.kind == flowIf && depth < 4:
			f.parts = [][]flow{inner(), nil}
			if m.IntN(2) == 0 {
				f.parts[1] = inner()
			}
		case f.kind == flowLoop && depth < 3:
			f.count = 1 + m.Uint32N(4)
			f.parts = [][]flow{m.block(depth+1, loops+1, calls)}
		case f.kind == flowSwitch && depth < 3:
			for range 2 + m.IntN(2) {
				f.parts = append(f.parts, m.block(depth+1, 0, calls)) // no break of a loop out of a switch's case
			}
		case f.kind == flowCall && depth < 3:
			f.parts = [][]flow{m.block(depth+1, 0, calls+1)}
		case f.kind == flowBreak && loops > 0, f.kind == flowContinue && loops > 0, f.kind == flowReturn && calls > 0:
		default:
			f.kind = flowNote
		}
		list = append(list, f)
		m.notes++
		list = append(list, flow{kind: flowNote, id: m.notes})
	}
	return list
}

// flowRun does a program for a subgroup as the specification has it.
type flowRun struct {
	first uint32 // lane of the subgroup
	notes map[uint32][]uint32
	most  int
}

// lanes is a set of invocations of a subgroup of at most 128.
type lanes [4]uint32

func (s lanes) has(i uint32) bool { return s[i/32]>>(i%32)&1 != 0 }

func (s lanes) without(o lanes) lanes {
	return lanes{s[0] &^ o[0], s[1] &^ o[1], s[2] &^ o[2], s[3] &^ o[3]}
}

func (s lanes) with(o lanes) lanes { return lanes{s[0] | o[0], s[1] | o[1], s[2] | o[2], s[3] | o[3]} }

func (s lanes) those(f func(i uint32) bool) (t lanes) {
	for i := range uint32(128) {
		if s.has(i) && f(i) {
			t[i/32] |= 1 << (i % 32)
		}
	}
	return t
}

// left are the invocations that have left a block by each of the three ways.
type left struct{ broke, continued, returned lanes }

func noteOf(id uint32, s lanes) uint32 {
	h := id * 0x9e3779b9
	for _, w := range s {
		h = (h ^ w) * 0x85ebca6b
	}
	return h
}

// block does the statements for a set of invocations and gives those that come to its end.
func (r *flowRun) block(list []flow, s lanes, round uint32, out *left) lanes {
	for i := range list {
		f := &list[i]
		if s == (lanes{}) {
			return s
		}
		taken := s.those(func(i uint32) bool { return f.when.mod != 0 && f.when.holds(r.first+i, round) })
		switch f.kind {
		case flowNote:
			s.those(func(i uint32) bool {
				lane := r.first + i
				r.notes[lane] = append(r.notes[lane], noteOf(f.id, s))
				r.most = max(r.most, len(r.notes[lane]))
				return false
			})
		case flowIf:
			s = r.block(f.parts[0], taken, round, out).with(r.block(f.parts[1], s.without(taken), round, out))
		case flowSwitch:
			var end lanes
			for n, part := range f.parts {
				mine := s.those(func(i uint32) bool { return f.when.choice(r.first+i, round, len(f.parts)) == n })
				end = end.with(r.block(part, mine, round, out))
			}
			s = end
		case flowLoop:
			end, inner := lanes{}, left{returned: out.returned}
			for n := uint32(0); n < f.count && s != (lanes{}); n++ {
				inner.broke, inner.continued = lanes{}, lanes{}
				s = r.block(f.parts[0], s, n, &inner).with(inner.continued)
				end = end.with(inner.broke)
			}
			out.returned = inner.returned
			s = s.with(end)
		case flowCall:
			var inner left
			s = r.block(f.parts[0], s, round, &inner).with(inner.returned)
		case flowBreak:
			out.broke, s = out.broke.with(taken), s.without(taken)
		case flowContinue:
			out.continued, s = out.continued.with(taken), s.without(taken)
		case flowReturn:
			out.returned, s = out.returned.with(taken), s.without(taken)
		}
	}
	return s
}

// choice is the case of a switch; the last one is the default.
func (w when) choice(lane, round uint32, cases int) int {
	return int(min((lane*w.lane+round*w.round)%w.mod, uint32(cases)-1))
}

// reconverge runs a random program and compares its notes.
func (c *Case) reconverge(seed uint64, mode, extension string, uniform bool) {
	p := vulkan.Struct[vk.PhysicalDeviceSubgroupProperties](&c.a)
	c.inst.Properties2(c.pd, vulkan.Pointer(p))
	size := p.SubgroupSize
	var body []flow
	var notes map[uint32][]uint32
	for try := uint64(0); notes == nil; try++ {
		m := &flowMaker{Rand: rand.New(rand.NewPCG(seed, try)), uniform: uniform}
		body = m.block(0, 0, 0)
		notes = map[uint32][]uint32{}
		for first := uint32(0); first < reconvergeLocal && notes != nil; first += size {
			r := flowRun{first: first, notes: notes}
			r.block(body, lanes{^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0)}.those(func(i uint32) bool { return i < size }),
				0, &left{})
			if r.most > reconvergeNotes || m.notes < 4 {
				notes = nil
			}
		}
	}
	text := flowModule(body)
	name := fmt.Sprintf("flow%d.spvasm", seed)
	// For spirv-val, which may not know the mode.
	c.compile(shaders.Source{Name: name, Text: text("", ""), Target: "vulkan1.1"})
	got := make([]uint32, reconvergeLocal*reconvergeNotes)
	c.dispatch(dispatch{buffers: []any{got}, shader: shaders.Source{Name: name, Invalid: true, Target: "vulkan1.1",
		Text: text(fmt.Sprintf("OpExtension %q", extension), "OpExecutionMode %main "+mode)}})
	want := make([]uint32, len(got))
	for lane, list := range notes {
		copy(want[lane*reconvergeNotes:], list)
	}
	wantSlice(c, fmt.Sprintf("program %d", seed), got, want)
}

// flowWriter writes a program as SPIR-V text.
type flowWriter struct {
	strings.Builder
	lane      string // the name of the invocation's number
	ids       int
	functions []string
}

func (w *flowWriter) id() int { w.ids++; return w.ids }

func (w *flowWriter) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// number writes what a condition compares, and gives its name.
func (w *flowWriter) number(c when, round string) string {
	n := w.id()
	w.line("%%a%d = OpIMul %%uint %s %%c%d", n, w.lane, c.lane)
	w.line("%%b%d = OpIMul %%uint %s %%c%d", n, round, c.round)
	w.line("%%d%d = OpIAdd %%uint %%a%d %%b%d", n, n, n)
	w.line("%%n%d = OpUMod %%uint %%d%d %%c%d", n, n, c.mod)
	return fmt.Sprintf("%%n%d", n)
}

func (w *flowWriter) condition(c when, round string) string {
	number := w.number(c, round)
	n := w.id()
	w.line("%%t%d = OpULessThan %%bool %s %%c%d", n, number, c.less)
	return fmt.Sprintf("%%t%d", n)
}

// block writes statements. round names the number of the innermost loop's round, the others are labels.
func (w *flowWriter) block(list []flow, round, breaks, continues string) {
	for _, f := range list {
		n := w.id()
		leave := func(to string) {
			w.line("OpSelectionMerge %%m%d None\nOpBranchConditional %s %%x%d %%m%d", n, w.condition(f.when, round), n, n)
			w.line("%%x%d = OpLabel\n%s\n%%m%d = OpLabel", n, to, n)
		}
		switch f.kind {
		case flowNote:
			w.line("%%call%d = OpFunctionCall %%void %%note %%c%d %s", n, f.id, w.lane)
		case flowIf:
			w.line("OpSelectionMerge %%m%d None\nOpBranchConditional %s %%x%d %%y%d", n, w.condition(f.when, round), n, n)
			for k, name := range []string{"x", "y"} {
				w.line("%%%s%d = OpLabel", name, n)
				w.block(f.parts[k], round, breaks, continues)
				w.line("OpBranch %%m%d", n)
			}
			w.line("%%m%d = OpLabel", n)
		case flowSwitch:
			w.choose(f, n, round)
		case flowLoop:
			w.loop(f, n)
		case flowCall:
			w.function(f, n)
			w.line("%%call%d = OpFunctionCall %%void %%f%d %s %s", n, n, w.lane, round)
		case flowBreak:
			leave("OpBranch " + breaks)
		case flowContinue:
			leave("OpBranch " + continues)
		case flowReturn:
			leave("OpReturn")
		}
	}
}

// function writes a call's statements as a function of their own.
func (w *flowWriter) function(f flow, n int) {
	inner := &flowWriter{ids: w.ids, lane: fmt.Sprintf("%%lane%d", n)}
	inner.line("%%f%d = OpFunction %%void None %%two\n%s = OpFunctionParameter %%uint", n, inner.lane)
	inner.line("%%round%d = OpFunctionParameter %%uint\n%%e%d = OpLabel", n, n)
	inner.block(f.parts[0], fmt.Sprintf("%%round%d", n), "", "")
	inner.line("OpReturn\nOpFunctionEnd")
	w.ids = inner.ids
	w.functions = append(append(w.functions, inner.functions...), inner.String())
}

func (w *flowWriter) choose(f flow, n int, round string) {
	number := w.number(f.when, round)
	last := len(f.parts) - 1
	w.line("OpSelectionMerge %%m%d None", n)
	fmt.Fprintf(w, "OpSwitch %s %%s%d_%d", number, n, last)
	for k := range last {
		fmt.Fprintf(w, " %d %%s%d_%d", k, n, k)
	}
	w.line("")
	for k, part := range f.parts {
		w.line("%%s%d_%d = OpLabel", n, k)
		w.block(part, round, "", "")
		w.line("OpBranch %%m%d", n)
	}
	w.line("%%m%d = OpLabel", n)
}

func (w *flowWriter) loop(f flow, n int) {
	w.line("OpBranch %%p%d\n%%p%d = OpLabel\nOpBranch %%h%d\n%%h%d = OpLabel", n, n, n, n)
	w.line("%%r%d = OpPhi %%uint %%c0 %%p%d %%k%d %%n%d", n, n, n, n)
	w.line("OpLoopMerge %%m%d %%n%d None\nOpBranch %%x%d\n%%x%d = OpLabel", n, n, n, n)
	w.line("%%l%d = OpULessThan %%bool %%r%d %%c%d\nOpBranchConditional %%l%d %%y%d %%m%d\n%%y%d = OpLabel", n, n, f.count,
		n, n, n, n)
	w.block(f.parts[0], fmt.Sprintf("%%r%d", n), fmt.Sprintf("%%m%d", n), fmt.Sprintf("%%n%d", n))
	w.line("OpBranch %%n%d\n%%n%d = OpLabel\n%%k%d = OpIAdd %%uint %%r%d %%c1\nOpBranch %%h%d\n%%m%d = OpLabel", n, n, n,
		n, n, n)
}

// flowModule gives a module's text for an extension and an execution mode.
func flowModule(body []flow) func(extension, mode string) string {
	w := &flowWriter{lane: "%lane"}
	w.block(body, "%c0", "", "")
	var constants strings.Builder
	for n := range 300 {
		fmt.Fprintf(&constants, "%%c%d = OpConstant %%uint %d\n", n, n)
	}
	return func(extension, mode string) string {
		return strings.NewReplacer("@EXTENSION@", extension, "@MODE@", mode, "@CONSTANTS@", constants.String(), "@NOTES@",
			fmt.Sprint(reconvergeNotes), "@LOCAL@", fmt.Sprint(reconvergeLocal), "@BODY@", w.String(), "@FUNCTIONS@",
			strings.Join(w.functions, "")).Replace(flowText)
	}
}

const flowText = `OpCapability Shader
OpCapability GroupNonUniform
OpCapability GroupNonUniformBallot
@EXTENSION@
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %group %size %mine
OpExecutionMode %main LocalSize @LOCAL@ 1 1
@MODE@
OpDecorate %group BuiltIn SubgroupId
OpDecorate %size BuiltIn SubgroupSize
OpDecorate %mine BuiltIn SubgroupLocalInvocationId
OpDecorate %words ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 0
%void = OpTypeVoid
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%uvec4 = OpTypeVector %uint 4
%words = OpTypeRuntimeArray %uint
%block = OpTypeStruct %words
%p_block = OpTypePointer StorageBuffer %block
%p_word = OpTypePointer StorageBuffer %uint
%p_in = OpTypePointer Input %uint
%p_private = OpTypePointer Private %uint
%true = OpConstantTrue %bool
@CONSTANTS@
%most = OpConstant %uint @NOTES@
%note_k1 = OpConstant %uint 0x9e3779b9
%note_k2 = OpConstant %uint 0x85ebca6b
%group = OpVariable %p_in Input
%size = OpVariable %p_in Input
%mine = OpVariable %p_in Input
%out = OpVariable %p_block StorageBuffer
%count = OpVariable %p_private Private %c0
%none = OpTypeFunction %void
%two = OpTypeFunction %void %uint %uint
%main = OpFunction %void None %none
%entry = OpLabel
%group_ = OpLoad %uint %group
%size_ = OpLoad %uint %size
%mine_ = OpLoad %uint %mine
%first = OpIMul %uint %group_ %size_
%lane = OpIAdd %uint %first %mine_
@BODY@
OpReturn
OpFunctionEnd
@FUNCTIONS@
%note = OpFunction %void None %two
%note_id = OpFunctionParameter %uint
%note_lane = OpFunctionParameter %uint
%note_entry = OpLabel
%who = OpGroupNonUniformBallot %uvec4 %c3 %true
%note_h0 = OpIMul %uint %note_id %note_k1
%note_w0 = OpCompositeExtract %uint %who 0
%note_w1 = OpCompositeExtract %uint %who 1
%note_w2 = OpCompositeExtract %uint %who 2
%note_w3 = OpCompositeExtract %uint %who 3
%note_x0 = OpBitwiseXor %uint %note_h0 %note_w0
%note_y0 = OpIMul %uint %note_x0 %note_k2
%note_x1 = OpBitwiseXor %uint %note_y0 %note_w1
%note_y1 = OpIMul %uint %note_x1 %note_k2
%note_x2 = OpBitwiseXor %uint %note_y1 %note_w2
%note_y2 = OpIMul %uint %note_x2 %note_k2
%note_x3 = OpBitwiseXor %uint %note_y2 %note_w3
%note_y3 = OpIMul %uint %note_x3 %note_k2
%at = OpLoad %uint %count
%row = OpIMul %uint %note_lane %most
%place = OpIAdd %uint %row %at
%word = OpAccessChain %p_word %out %c0 %place
OpStore %word %note_y3
%more = OpIAdd %uint %at %c1
OpStore %count %more
OpReturn
OpFunctionEnd
`
