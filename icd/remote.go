package icd

import (
	"farside/internal/command"
	"farside/internal/config"
	"farside/internal/exec"
	"farside/internal/finding"
	"farside/internal/vk"
	"farside/memory"
	"farside/rdmasim"
)

// Strictness "rdma", the device's side: what peers write becomes visible where the application submits work, waits or
// signals a semaphore, and where a command buffer begins. Package rdmasim keeps it until then, and knows what peers
// have under way.

// orderRemote makes visible what peers have written and know to have ended.
func (d *device) orderRemote() {
	if d.strict(config.StrictRDMA) {
		rdmasim.Synchronize()
	}
}

// watchRemote holds what a command is about to do against what peers have under way. Copies, fills and updates of
// buffers have exact ranges. Of others it is not known what they read, and what they write is not looked at.
func (d *device) watchRemote(a *exec.Access) {
	objects, parts := d.spans(a)
	for i := range parts {
		p := &parts[i]
		p.memory.mu.Lock()
		region := p.memory.region
		p.memory.mu.Unlock()
		if region != nil {
			d.watchRegion(a, p, objects, region)
		}
	}
}

// watchRegion is watchRemote for memory that peers have.
func (d *device) watchRegion(a *exec.Access, p *part, objects []object, region *rdmasim.Region) {
	m := p.memory
	exact := a.Type == vk.OBJECT_TYPE_BUFFER
	stale := finding.StaleRead
	switch a.Op {
	case command.OpDispatch, command.OpDispatchBase:
		exact = false
	case command.OpDispatchIndirect:
		exact = !a.Writes
	}
	if !exact {
		stale = finding.MaybeStaleRead
	}
	for _, s := range p.spans {
		if a.Reads {
			d.conflictsRemote(stale, a, m, objects, s, region.Conflict(s.Offset, s.Size, false),
				"reads bytes [%d, %d) of the memory, and does not see %s")
		}
		if a.Writes && exact {
			d.conflictsRemote(finding.DeviceWrote, a, m, objects, s, region.Conflict(s.Offset, s.Size, true),
				"writes bytes [%d, %d) of the memory, and nothing orders that with %s")
		}
	}
}

func (d *device) conflictsRemote(id finding.ID, a *exec.Access, m *deviceMemory, objects []object, s memory.Span,
	with, format string) {
	if with == "" {
		return
	}
	d.physical.instance.find(id, s.Offset, nil, append([]object{m.object()}, objects...), "%v, command %d, "+format, a.Op,
		a.Command, s.Offset, s.Offset+s.Size, with)
}
