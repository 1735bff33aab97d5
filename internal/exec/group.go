package exec

import (
	"math/bits"
	"slices"
	"sync"

	"farside/internal/command"
	"farside/internal/vk"
)

// A logical device of several physical devices executes a command buffer on those of a mask. The physical devices go in
// step: each command is executed by all that execute it before the next one begins. So a barrier orders what different
// physical devices do, whether it asks for that (VK_DEPENDENCY_DEVICE_GROUP_BIT) or not. What a command buffer has
// bound is each physical device's own, as are the resources that it finds.

// allDevices is the device mask with which a recording begins that doesn't say another.
const allDevices = ^uint32(0)

// Divide makes d the first of several physical devices; the others have these resources. All other fields are set.
func (d *Device) Divide(others ...Resources) {
	d.Group = []*Device{d}
	for i, r := range others {
		d.Group = append(d.Group, &Device{
			Resources: r, Index: uint32(i + 1), Stop: d.Stop, Lost: d.Lost, Told: d.Told, Print: d.Print, Watch: d.Watch,
			Around: d.Around, Order: d.Order, Owner: d.Owner, Transferred: d.Transferred,
			Delay: d.Delay, Watchdog: d.Watchdog, Graphics: d.Graphics, Fault: d.Fault, MaxGroups: d.MaxGroups, Pieces: d.Pieces,
		})
	}
}

// group is what the replay of a queue has for several physical devices. The replay of the first is the leader, which
// follows the stream; the others execute single commands.
type group struct {
	members   []*replay // by device index, the leader first; nil for one physical device
	submitted uint32    // the devices that execute the command buffer
	current   uint32    // the current device mask of the command buffer
}

// lead makes the replays of the other physical devices.
func (r *replay) lead() {
	for i, d := range r.device.Group {
		m := r
		if i > 0 {
			m = &replay{device: d, queue: r.queue}
			m.bound.ready(m)
			m.graphics.ready(m)
		}
		m.pieces.mu = d.Pieces
		r.members = append(r.members, m)
	}
}

// leaveMembers ends the execution of a command buffer on the other physical devices. It fails as cache.release does,
// and if the first one's did.
func (r *replay) leaveMembers(err error) error {
	for _, m := range r.members {
		if m != r {
			if e := m.release(); err == nil {
				err = e
			}
			m.bound.release()
			m.graphics.release()
			m.pass = nil
		}
	}
	return err
}

// begin makes the state that a command buffer begins with.
func (r *replay) begin() {
	r.bound.begin()
	r.graphics.begin()
	for _, m := range r.members {
		m.bound.begin()
		m.graphics.begin()
	}
}

// within says whether commands are those of a secondary command buffer.
func (r *replay) within(secondary bool) {
	r.graphics.secondary = secondary
	for _, m := range r.members {
		m.graphics.secondary = secondary
	}
}

// masks are both masks of a command buffer.
type masks struct{ submitted, current uint32 }

// inside narrows the devices to those that execute vkCmdExecuteCommands, for the command buffers that it names.
func (r *replay) inside() masks {
	outer := masks{r.submitted, r.current}
	r.submitted, r.current = r.submitted&r.current, allDevices
	return outer
}

// outside ends inside.
func (r *replay) outside(outer masks) { r.submitted, r.current = outer.submitted, outer.current }

// running is the replay of a physical device that executes commands.
func (r *replay) running() *replay {
	if run := r.submitted & (1<<len(r.members) - 1); run != 0 {
		m := r.members[bits.TrailingZeros32(run)]
		m.index, m.op, m.labels = r.index, r.op, r.labels
		return m
	}
	return r
}

// step executes a record on all physical devices that execute it.
func (r *replay) step(record *command.Record) error {
	if r.members == nil {
		return r.command(record)
	}
	run := r.submitted & r.current & (1<<len(r.members) - 1)
	switch record.Op {
	case command.OpDeviceMask:
		c := new(command.DeviceMask)
		if !record.DeviceMask(c) {
			return r.malformed()
		}
		r.current = c.Mask
		return nil
	case command.OpDebugLabel, command.OpBarrier:
		return r.command(record)
	case command.OpSetEvent, command.OpResetEvent, command.OpWaitEvents, command.OpWriteTimestamp,
		command.OpWriteTimestamp2, command.OpResetQueryPool:
		// Events and query pools have one state, whatever device the command is executed by.
		if err := r.alone(run); err != nil || run == 0 {
			return err
		}
		return r.command(record)
	}
	for ; run != 0; run &= run - 1 {
		m := r.members[bits.TrailingZeros32(run)]
		m.index, m.op, m.labels = r.index, r.op, r.labels
		if err := m.command(record); err != nil {
			return m.failed(err)
		}
	}
	return nil
}

// alone holds a command to the rules of those that one physical device alone may execute.
func (r *replay) alone(run uint32) error {
	set := r.current & (1<<len(r.members) - 1)
	var rule vk.VUID
	switch r.op {
	case command.OpSetEvent:
		rule = vk.VUID_vkCmdSetEvent_commandBuffer_01152
	case command.OpResetEvent:
		rule = vk.VUID_vkCmdResetEvent_commandBuffer_01157
	case command.OpWaitEvents:
		rule = vk.VUID_vkCmdWaitEvents_commandBuffer_01167
	case command.OpWriteTimestamp, command.OpWriteTimestamp2:
		// Chapter "Queries": each command that writes a query executes on a single physical device.
		if bits.OnesCount32(run) > 1 {
			return invalid(vk.NoVUID, "the device mask is %#b, and a query is written by a single physical device", run)
		}
		return nil
	default:
		return nil
	}
	if bits.OnesCount32(set) != 1 {
		return invalid(rule, "the device mask is %#b, and not a single physical device's", set)
	}
	return nil
}

// whole executes a command with the images in pieces that it may use in one piece.
func (r *replay) whole(record *command.Record) error {
	r.pieces.begin()
	defer r.pieces.end()
	return r.perform(record)
}

// Pieced is an image whose parts lie in the memory of different physical devices. Commands use a copy in one piece.
type Pieced interface {
	// Load makes the copy of what the memory holds.
	Load()
	// Store writes to the memory what has changed in the copy since Load.
	Store()
}

// pieces are the images in pieces that a replay has looked up. While a command runs that may use them, no other queue
// uses any: so what two commands write to one image is not lost.
type pieces struct {
	mu     *sync.Mutex
	locked bool
	list   []Pieced
}

// use adds an image that the command under way is the first to use. nil is none.
func (p *pieces) use(image Pieced) {
	if image == nil || slices.Contains(p.list, image) {
		return
	}
	if !p.locked {
		p.mu.Lock()
		p.locked = true
	}
	image.Load()
	p.list = append(p.list, image)
}

func (p *pieces) begin() {
	if len(p.list) == 0 {
		return
	}
	p.mu.Lock()
	p.locked = true
	for _, image := range p.list {
		image.Load()
	}
}

func (p *pieces) end() {
	if !p.locked {
		return
	}
	for _, image := range p.list {
		image.Store()
	}
	p.locked = false
	p.mu.Unlock()
}
