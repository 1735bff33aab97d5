package exec

import (
	"errors"
	"fmt"

	"farside/compute"
	"farside/internal/command"
	"farside/internal/draw"
	"farside/internal/syncobj"
	"farside/internal/vk"
)

// drawError is what a command fails with for the error of a draw.
func (r *replay) drawError(err error) error {
	switch {
	case !errors.Is(err, compute.ErrStopped):
		return vk.Errorf(vk.ERROR_DEVICE_LOST, vk.NoVUID, "%w", err)
	case r.device.stopped():
		return fmt.Errorf("%w: %w", syncobj.ErrStopped, err)
	}
	return vk.Errorf(vk.ERROR_DEVICE_LOST, vk.NoVUID,
		"the draw takes longer than the watchdog allows, %v (FARSIDE_WATCHDOG): %w", r.device.Watchdog, err)
}

// executeDraw executes a draw; tests put another function here.
var executeDraw = (*draw.Series).Draw

// endDraws does what is left of the draws that wait, and counts what they did for the queries that are active. An error
// is that of the last of them.
func (r *replay) endDraws() error {
	g := &r.graphics
	if !g.drawing {
		return nil
	}
	g.drawing = false
	if err := g.series.End(); err != nil {
		r.index, r.op = g.last, g.lastOp
		return r.failed(r.drawError(err))
	}
	for i := range g.queries {
		g.queries[i].count(&g.statistics)
	}
	return nil
}

// environments are what the fragments of draws that wait find, so that commands can go on to change it.
type environments struct {
	list []*environment
	used int
}

// environment is a copy of what is bound.
type environment struct {
	compute.Environment
	sets      boundSets
	constants [MaxPushConstants]byte
}

// mostEnvironments is how many a series has at most.
const mostEnvironments = 1024

// findEnvironments gives the draw what its shaders find. Vertices don't wait: theirs is what is bound.
func (r *replay) findEnvironments() error {
	g := &r.graphics
	if g.environments.used == mostEnvironments {
		if err := r.endDraws(); err != nil {
			return err
		}
	}
	if !g.drawing {
		g.forget()
	}
	if stageOf(g.state.Vertex).Sets&g.turned != 0 {
		g.draw.Changed |= draw.ChangedBindings
	}
	m := stageOf(g.state.Fragment)
	fresh := g.environments.used == 0 && (m.Sets != 0 || m.Constants)
	if fresh || m.Sets&g.turned != 0 || m.Constants && g.pushedTo {
		g.draw.Fragment = g.freezeFor(&m)
	}
	g.turned, g.pushedTo = 0, false
	return nil
}

// stageOf is what a shader says of itself; nothing if there is none.
func stageOf(s draw.Shader) compute.StageModes {
	if s != nil {
		if m := s.Stage(); m != nil {
			return *m
		}
	}
	return compute.StageModes{}
}

// freezeFor copies what is bound, as far as a stage uses it.
func (g *graphics) freezeFor(m *compute.StageModes) *compute.Environment {
	all := &g.environments
	if all.used == len(all.list) {
		all.list = append(all.list, new(environment))
	}
	e := all.list[all.used]
	all.used++
	e.Environment = g.vertex
	if m.Constants {
		e.constants = g.replay.bound.constants
		e.PushConstants = e.constants[:]
	}
	if m.Sets != 0 {
		for i := range g.top {
			g.sets[i].frozen = g.sets[i].pushed
		}
		e.sets = boundSets{&g.bindings, append(e.sets.list[:0], g.sets[:g.top]...)}
		e.Bindings = &e.sets
	}
	return &e.Environment
}

// forget gives up the environments, which no draw has any more.
func (g *graphics) forget() {
	all := &g.environments
	if all.used == 0 {
		return
	}
	for _, e := range all.list[:all.used] {
		clear(e.sets.list)
	}
	all.used = 0
	for i := range g.top {
		g.sets[i].frozen = false
	}
	g.draw.Fragment = &g.vertex
}

// goesOn says whether draws may wait beyond a command for those to come. What it changes of the state that they share,
// the next draw finds out: it ends them then.
func goesOn(op command.Op) bool {
	switch op {
	case command.OpDraw, command.OpDrawIndexed, command.OpDrawIndirect, command.OpDrawIndexedIndirect,
		command.OpDrawIndirectCount, command.OpDrawIndexedIndirectCount, command.OpDrawMulti, command.OpBindVertexBuffers2,
		command.OpBindIndexBuffer, command.OpBindIndexBuffer2, command.OpSetState, command.OpSetViewport,
		command.OpSetScissor, command.OpSetViewportWithCount, command.OpSetScissorWithCount:
		return true
	}
	return setsState(op)
}

// before ends the draws that wait, and then does the clears that do, if the next command may not come before.
func (r *replay) before(op command.Op) error {
	if r.graphics.drawing && !goesOn(op) {
		if err := r.endDraws(); err != nil {
			return err
		}
	}
	if r.pass.Waits() && !blind(op) {
		r.pass.Clears.Settle()
	}
	return nil
}

// blind says whether a command neither looks at attachments nor lets others do so, or sees itself to the clears that
// wait.
func blind(op command.Op) bool {
	switch op {
	case command.OpBeginQuery, command.OpEndQuery, command.OpExecuteCommands, command.OpClearAttachments,
		command.OpNextSubpass, command.OpEndRenderPass, command.OpEndRendering:
		return true
	}
	return goesOn(op)
}
