package conformance

import (
	"fmt"
	"strconv"
	"strings"
)

// A place is where the two sides of a case stand to each other.
type place struct {
	name     string
	external bool // the sides share objects by descriptors
	open     func(c *Case) (near, far side, end func())
}

// A side is an actor and one of its queues.
type side struct {
	actor
	queue int
}

var places = []place{
	{"same_queue", false, func(c *Case) (side, side, func()) {
		s := c.stage()
		return side{s, 0}, side{s, 0}, s.close
	}},
	{"cross_queue", false, func(c *Case) (side, side, func()) {
		s := c.stage()
		if len(s.queues) == 1 {
			s.close()
			c.Unsupported("a second queue")
		}
		return side{s, 0}, side{s, len(s.queues) - 1}, s.close
	}},
	{"cross_device", true, func(c *Case) (side, side, func()) {
		a, b := c.stage(), c.stage()
		return side{a, 0}, side{b, 0}, func() { a.close(); b.close() }
	}},
	{"cross_instance", true, func(c *Case) (side, side, func()) {
		other := &Case{def: c.def, driver: c.driver, loader: c.loader}
		other.open(true)
		a, b := c.stage(), other.stage()
		return side{a, 0}, side{b, 0}, func() {
			a.close()
			b.close()
			other.close()
			c.failed = c.failed || other.failed
		}
	}},
	{"cross_process", true, func(c *Case) (side, side, func()) {
		a, b := c.stage(), c.farStage()
		return side{a, 0}, side{b, 0}, func() { b.end(); a.close() }
	}},
}

// A link is the primitive by which one side tells the other that it has written. NAME, TYPES and ROUND stand
// for the object, the handle types that it is exported by, and the round, which counts from 1.
type link struct {
	name   string
	make   string // the order that makes the object
	handle string // the handle type by which it goes to the other side
	each   bool   // it goes there after each signal, by copy
	signal string // what the writer's submit says
	wait   string // what the reader's submit says; where that is empty, the host waits first
	reset  bool   // the reader resets it
}

var links = []link{
	{name: "binary", make: "binary NAME TYPES", handle: "opaque", signal: "signal=NAME", wait: "wait=NAME"},
	{name: "timeline", make: "timeline NAME 0 TYPES", handle: "opaque", signal: "signal=NAME:ROUND",
		wait: "wait=NAME:ROUND"},
	{name: "timeline_on_host", make: "timeline NAME 0 TYPES", handle: "opaque", signal: "signal=NAME:ROUND"},
	{name: "fence", make: "fence NAME TYPES", handle: "opaque", signal: "fence=NAME", reset: true},
	{name: "binary_sync_fd", make: "binary NAME TYPES", handle: "sync", each: true, signal: "signal=NAME",
		wait: "wait=NAME"},
	{name: "fence_sync_fd", make: "fence NAME TYPES", handle: "sync", each: true, signal: "fence=NAME", reset: true},
}

// order fills in an order of a link.
func (p place) order(l link, order, name string, round int) string {
	types := "-"
	if p.external {
		types = l.handle
	}
	return strings.NewReplacer("NAME", name, "TYPES", types, "ROUND", strconv.Itoa(round)).Replace(order)
}

// A datum is how one side writes and the other reads.
type datum struct {
	name, memory string
	mapped       bool // the host writes, not the device
	toMap        bool // the host reads, not the device
}

var data = []datum{
	{"fill_to_copy", "device", false, false},
	{"rdma_fill_to_copy", "rdma", false, false},
	{"fill_to_map", "mapped", false, true},
	{"map_to_copy", "mapped", true, false},
	{"map_to_map", "mapped", true, true},
}

const crossingRounds = 4

// crossingCases mirror synchronization.op.{single_queue,multi_queue} and cross_instance: what one side writes
// before it signals is what the other reads after it waited, on every pair of places, both ways in turns.
func crossingCases() []definition {
	var all []definition
	for _, p := range places {
		for _, l := range links {
			if l.each && !p.external {
				continue
			}
			for _, d := range data {
				def := definition{name: fmt.Sprintf("synchronization.op.%s.%s.%s", p.name, l.name, d.name), features: syncFeatures,
					extensions: syncExtensions, queues: true, valid: true, run: func(c *Case) { c.cross(p, l, d) }}
				if p.external {
					def.extensions = externalExtensions
				}
				all = append(all, def)
			}
		}
	}
	return all
}

func (c *Case) cross(p place, l link, d datum) {
	near, far, end := p.open(c)
	defer end()
	c.ok(near, "memory m %s", d.memory)
	sides := []side{near}
	if p.external {
		sides = append(sides, far)
	}
	for _, s := range sides {
		c.ok(s, "memory out mapped")
		c.ok(s, "fence done -")
		// there is the object by which near tells far, back the one by which far tells near.
		c.ok(s, "%s", p.order(l, l.make, "there", 0))
		c.ok(s, "%s", p.order(l, l.make, "back", 0))
	}
	if p.external {
		c.share(near, far, "m", d.memory)
		if !l.each {
			c.pass(near, far, "there", l.handle, "permanent")
			c.pass(far, near, "back", l.handle, "permanent")
		}
	}
	for round := 1; round <= crossingRounds; round++ {
		c.tell(p, l, d, near, far, "there", round, 2*round)
		c.tell(p, l, d, far, near, "back", round, 2*round+1)
		if c.failed {
			return
		}
	}
}

// tell lets from write a value and to read it.
func (c *Case) tell(p place, l link, d datum, from, to side, name string, round, value int) {
	order := fmt.Sprintf("submit %d %s", from.queue, p.order(l, l.signal, name, round))
	if d.mapped {
		c.ok(from, "write m %d", value)
	} else {
		order += fmt.Sprintf(" fill=m:%d", value)
	}
	c.ok(from, "%s", order)
	if p.external && l.each {
		c.pass(from, to, name, l.handle, "temporary")
	}
	order = fmt.Sprintf("submit %d fence=done", to.queue)
	if l.wait != "" {
		order += " " + p.order(l, l.wait, name, round)
	} else {
		c.ok(to, "wait %s %d 20000", name, round)
	}
	if !d.toMap {
		order += " copy=out:m"
	}
	c.ok(to, "%s", order)
	c.ok(to, "wait done 0 20000")
	c.ok(to, "reset done")
	if d.toMap {
		c.ok(to, "check m %d", value)
	} else {
		c.ok(to, "check out %d", value)
	}
	// The reset of a shared payload is the writer's too; the copy's leaves alone what the export has reset.
	if l.reset {
		c.ok(to, "reset %s", name)
		c.ask(from, "VK_NOT_READY", "status %s", name)
	}
}
