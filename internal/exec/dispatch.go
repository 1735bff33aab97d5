package exec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"farside/compute"
	"farside/internal/command"
	"farside/internal/descriptor"
	"farside/internal/syncobj"
	"farside/internal/vk"
	"farside/memory"
)

// Limits of what a command buffer binds and dispatches; icd reports them.
const (
	MaxSets          = 32
	MaxPushConstants = 256 // bytes
	MaxGroupsX       = 1<<31 - 1
	MaxGroupsYZ      = 65535
)

// Pipeline is a pipeline as commands see it. It does not change, and lives for as long as a command needs it.
type Pipeline struct {
	Program  *compute.Program     // of a compute pipeline
	Graphics *Graphics            // of a graphics pipeline; nil of others
	Library  bool                 // a part of graphics pipelines, which can't be bound
	Sets     []*descriptor.Layout // of the pipeline's layout; nil where that has none
	Uses     []uint32             // the numbers of the sets that the shaders use
	Base     bool                 // made with VK_PIPELINE_CREATE_DISPATCH_BASE_BIT
}

// boundSet is a descriptor set that is bound, or that push descriptors make.
type boundSet struct {
	*descriptor.Set          // nil: none
	offsets         []uint32 // for its dynamic descriptors, in their order; in the stream
	pushed          bool
	frozen          bool // pushed, and a dispatch that was put off has it, or a draw that waits
}

// bindings are what a command buffer has bound, and what the dispatch under way finds there. What a layout that is not
// compatible disturbs is undefined from then on (chapter "Pipeline Layout Compatibility"); here it stays, and a
// dispatch looks whether what it uses is what its pipeline wants.
type bindings struct {
	boundSets // all of sets
	replay    *replay
	pipeline  *Pipeline
	sets      [MaxSets]boundSet
	top       int                    // sets from here on are empty
	turned    uint32                 // sets that have changed since the last draw: a bit each
	constants [MaxPushConstants]byte // those of compute count for all pipelines
	pushed    bool                   // constants has been written to

	mu     sync.Mutex              // of the replay's cache, while a dispatch is under way
	ranges atomic.Pointer[[]Range] // by address; never changed, but replaced

	dispatch compute.Dispatch
	watchdog watchdog
}

// Range is memory that shaders reach by device addresses.
type Range struct {
	Address uint64
	Bytes   []byte
	Payload *memory.Payload // holds Bytes; with a reference for the replay
}

// release forgets the ranges, whose references the cache has dropped, and what was bound: none of it may keep objects
// alive that the application destroys.
func (b *bindings) release() {
	if b.ranges.Load() != nil {
		b.ranges.Store(nil)
	}
	b.begin()
}

// begin makes the state that a command buffer begins with: nothing is bound, nothing inherited.
func (b *bindings) begin() {
	b.pipeline = nil
	if b.top > 0 {
		clear(b.sets[:b.top])
		b.top = 0
	}
	if b.pushed {
		clear(b.constants[:])
		b.pushed = false
	}
}

// belong makes the bindings a replay's.
func (b *bindings) belong(r *replay) {
	b.replay, b.boundSets = r, boundSets{b, b.sets[:]}
}

// ready makes what dispatches share, once.
func (b *bindings) ready(r *replay) {
	b.belong(r)
	b.dispatch.Bindings = b
	b.dispatch.PushConstants = b.constants[:]
	b.dispatch.Stop = func(ended uint64) bool {
		return r.device.stopped() || r.device.Watchdog > 0 &&
			b.watchdog.barks(r.device.Watchdog, ended, float64(ended)/workgroups(b.dispatch.Groups))
	}
	b.dispatch.Clock = Now
	b.dispatch.Print = r.device.Print
	b.dispatch.DeviceIndex = r.device.Index
}

func (r *replay) bindPipeline(c *command.BindPipeline) error {
	b := r.at(c.PipelineBindPoint)
	if b == nil {
		return invalid(vk.VUID_vkCmdBindPipeline_pipelineBindPoint_parameter, "the device has no pipelines for %v",
			c.PipelineBindPoint)
	}
	p, err := r.device.Resources.Pipeline(c.Pipeline)
	switch {
	case err != nil:
		return r.missing(vk.VUID_vkCmdBindPipeline_pipeline_parameter, err)
	case b == &r.bound && p.Program == nil:
		return invalid(vk.VUID_vkCmdBindPipeline_pipelineBindPoint_00779, "the pipeline is no compute pipeline")
	case b != &r.bound && p.Graphics == nil:
		return invalid(vk.VUID_vkCmdBindPipeline_pipelineBindPoint_00780, "the pipeline is no graphics pipeline")
	case p.Library:
		return invalid(vk.VUID_vkCmdBindPipeline_pipeline_03382, "the pipeline was created with "+
			"VK_PIPELINE_CREATE_LIBRARY_BIT_KHR")
	}
	if g := &r.graphics; b == &g.bindings && (b.pipeline != p || g.shaders != boundShaders{}) {
		g.shaders, g.changed = boundShaders{}, true
	}
	b.pipeline = p
	return nil
}

func (r *replay) bindDescriptorSets(c *command.BindDescriptorSets) error {
	bound := r.at(c.PipelineBindPoint)
	if bound == nil {
		return invalid(vk.VUID_vkCmdBindDescriptorSets_pipelineBindPoint_parameter, "the device has no pipelines for %v",
			c.PipelineBindPoint)
	}
	if uint64(c.FirstSet)+uint64(len(c.DescriptorSets)) > MaxSets {
		return invalid(vk.VUID_vkCmdBindDescriptorSets_firstSet_00360,
			"%d sets from number %d on are more than maxBoundDescriptorSets, %d", len(c.DescriptorSets), c.FirstSet, MaxSets)
	}
	offsets := c.DynamicOffsets
	for i, h := range c.DescriptorSets {
		b := boundSet{}
		if h != 0 {
			s, err := r.device.Resources.DescriptorSet(h)
			if err != nil {
				return r.missing(vk.VUID_vkCmdBindDescriptorSets_pDescriptorSets_parameter, err)
			}
			n := int(s.Layout().DynamicCount())
			if n > len(offsets) {
				return invalid(vk.VUID_vkCmdBindDescriptorSets_dynamicOffsetCount_00359,
					"%d dynamic offsets are not enough for the sets", len(c.DynamicOffsets))
			}
			b = boundSet{Set: s, offsets: offsets[:n]}
			offsets = offsets[n:]
		}
		n := int(c.FirstSet) + i
		if old := &bound.sets[n]; old.Set != b.Set || old.pushed || !slices.Equal(old.offsets, b.offsets) {
			bound.set(n, b)
		}
	}
	if len(offsets) > 0 {
		return invalid(vk.VUID_vkCmdBindDescriptorSets_dynamicOffsetCount_00359,
			"%d of %d dynamic offsets are for no descriptor", len(offsets), len(c.DynamicOffsets))
	}
	return nil
}

// set binds a set to a number below MaxSets.
func (b *bindings) set(n int, s boundSet) {
	b.sets[n] = s
	b.top = max(b.top, n+1)
	b.turned |= 1 << n
}

// pushDescriptorSet updates what earlier ones have pushed; a layout that differs, or a set bound since, disturbs that.
func (r *replay) pushDescriptorSet(c *command.PushDescriptorSet) error {
	bound := r.at(c.PipelineBindPoint)
	switch {
	case bound == nil:
		return invalid(vk.VUID_vkCmdPushDescriptorSet_pipelineBindPoint_parameter, "the device has no pipelines for %v",
			c.PipelineBindPoint)
	case c.Set >= MaxSets:
		return invalid(vk.VUID_vkCmdPushDescriptorSet_set_00364, "set %d is not below maxBoundDescriptorSets, %d", c.Set,
			MaxSets)
	}
	if b := &bound.sets[c.Set]; !b.pushed || !b.Layout().Identical(c.Layout) {
		bound.set(int(c.Set), boundSet{Set: descriptor.NewSet(c.Layout, 0), pushed: true})
	} else if b.frozen {
		b.Set, b.frozen = b.Set.Clone(), false
	}
	bound.turned |= 1 << c.Set
	for w := range c.Writes() {
		if err := bound.sets[c.Set].Write(&w); err != nil {
			return err
		}
	}
	return nil
}

func (r *replay) pushConstants(c *command.PushConstants) error {
	switch {
	case uint64(c.Offset)+uint64(len(c.Values)) > MaxPushConstants:
		return invalid(vk.VUID_vkCmdPushConstants_size_00371,
			"%d bytes from offset %d are more than maxPushConstantsSize, %d", len(c.Values), c.Offset, MaxPushConstants)
	case c.Offset%4 != 0:
		return invalid(vk.VUID_vkCmdPushConstants_offset_00368, "offset %d is no multiple of 4", c.Offset)
	case len(c.Values)%4 != 0:
		return invalid(vk.VUID_vkCmdPushConstants_size_00369, "size %d is no multiple of 4", len(c.Values))
	}
	if at := r.bound.constants[c.Offset:][:len(c.Values)]; !bytes.Equal(at, c.Values) {
		copy(at, c.Values)
		r.bound.pushed, r.graphics.pushedTo = true, true
	}
	return nil
}

func (r *replay) dispatch(groups [3]uint32) error {
	most := &r.device.MaxGroups
	for i, rule := range [3]vk.VUID{vk.VUID_vkCmdDispatch_groupCountX_00386, vk.VUID_vkCmdDispatch_groupCountY_00387,
		vk.VUID_vkCmdDispatch_groupCountZ_00388} {
		if groups[i] > most[i] {
			return invalid(rule, "%d workgroups are more than maxComputeWorkGroupCount[%d], %d", groups[i], i, most[i])
		}
	}
	return r.execute([3]uint32{}, groups, dispatchRules{
		pipeline: vk.VUID_vkCmdDispatch_None_08606, sets: vk.VUID_vkCmdDispatch_None_08600,
	})
}

func (r *replay) dispatchBase(base, groups [3]uint32) error {
	most := &r.device.MaxGroups
	first := [3]vk.VUID{vk.VUID_vkCmdDispatchBase_baseGroupX_00421, vk.VUID_vkCmdDispatchBase_baseGroupX_00422,
		vk.VUID_vkCmdDispatchBase_baseGroupZ_00423}
	count := [3]vk.VUID{vk.VUID_vkCmdDispatchBase_groupCountX_00424, vk.VUID_vkCmdDispatchBase_groupCountY_00425,
		vk.VUID_vkCmdDispatchBase_groupCountZ_00426}
	for i := range 3 {
		switch {
		case base[i] >= most[i]:
			return invalid(first[i], "workgroup %d is not below maxComputeWorkGroupCount[%d], %d", base[i], i, most[i])
		case groups[i] > most[i]-base[i]:
			return invalid(count[i], "%d workgroups from %d on are more than maxComputeWorkGroupCount[%d], %d", groups[i],
				base[i], i, most[i])
		}
	}
	if p := r.bound.pipeline; base != [3]uint32{} && p != nil && !p.Base {
		r.told(vk.VUID_vkCmdDispatchBase_baseGroupX_00427,
			"the pipeline was created without VK_PIPELINE_CREATE_DISPATCH_BASE_BIT, and the base is %v", base)
	}
	return r.execute(base, groups, dispatchRules{
		pipeline: vk.VUID_vkCmdDispatchBase_None_08606, sets: vk.VUID_vkCmdDispatchBase_None_08600,
	})
}

func (r *replay) dispatchIndirect(c *command.DispatchIndirect) error {
	const size = 12 // VkDispatchIndirectCommand: three words
	b, err := r.bytes(c.Buffer, vk.VUID_vkCmdDispatchIndirect_buffer_parameter, vk.BUFFER_USAGE_INDIRECT_BUFFER_BIT,
		vk.VUID_vkCmdDispatchIndirect_buffer_02709)
	if err != nil {
		return err
	}
	length := uint64(len(b))
	switch {
	case length < size || c.Offset > length-size:
		return invalid(vk.VUID_vkCmdDispatchIndirect_offset_00407,
			"%d bytes from offset %d reach beyond the buffer of %d bytes", size, c.Offset, length)
	case c.Offset%4 != 0:
		return invalid(vk.VUID_vkCmdDispatchIndirect_offset_02710, "offset %d is no multiple of 4", c.Offset)
	}
	r.accessed(c.Buffer, c.Offset, size, true, false)
	var groups [3]uint32
	for i, rule := range [3]vk.VUID{vk.VUID_VkDispatchIndirectCommand_x_00417, vk.VUID_VkDispatchIndirectCommand_y_00418,
		vk.VUID_VkDispatchIndirectCommand_z_00419} {
		groups[i] = binary.LittleEndian.Uint32(b[c.Offset+uint64(i)*4:])
		if most := &r.device.MaxGroups; groups[i] > most[i] {
			return invalid(rule, "%d workgroups are more than maxComputeWorkGroupCount[%d], %d", groups[i], i,
				r.device.MaxGroups[i])
		}
	}
	return r.execute([3]uint32{}, groups, dispatchRules{
		pipeline: vk.VUID_vkCmdDispatchIndirect_None_08606, sets: vk.VUID_vkCmdDispatchIndirect_None_08600,
	})
}

// dispatchRules are the rules of a dispatch command about what is bound.
type dispatchRules struct {
	pipeline vk.VUID // there is a pipeline
	sets     vk.VUID // there is each set that the shader uses, with the pipeline's layout
}

// execute runs a dispatch with what is bound.
func (r *replay) execute(base, groups [3]uint32, rules dispatchRules) error {
	b := &r.bound
	p := b.pipeline
	if p == nil {
		return invalid(rules.pipeline, "no compute pipeline is bound, and no compute shader")
	}
	for _, n := range p.Uses {
		switch {
		case b.sets[n].Set == nil:
			return invalid(rules.sets, "the shader uses descriptor set %d, and none is bound", n)
		case !b.sets[n].Layout().Identical(p.Sets[n]):
			return invalid(rules.sets, "descriptor set %d has another layout than the pipeline has for it", n)
		}
	}
	if groups[0] == 0 || groups[1] == 0 || groups[2] == 0 {
		return nil
	}
	if r.device.Watchdog > 0 {
		b.watchdog.begin()
	}
	b.dispatch.Base, b.dispatch.Groups = base, groups
	switch err := p.Program.Run(&b.dispatch); {
	case err == nil:
		r.graphics.dispatched(groups, p.Program.LocalSize)
		return nil
	case !errors.Is(err, compute.ErrStopped):
		return vk.Errorf(vk.ERROR_DEVICE_LOST, vk.NoVUID, "%w", err)
	case r.device.stopped():
		return fmt.Errorf("%w: %w", syncobj.ErrStopped, err)
	default:
		return vk.Errorf(vk.ERROR_DEVICE_LOST, vk.NoVUID,
			"the dispatch takes longer than the watchdog allows, %v (FARSIDE_WATCHDOG): %w", r.device.Watchdog, err)
	}
}
