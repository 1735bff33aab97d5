package conformance

import (
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/ebitengine/purego"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

const debugExtension = "VK_EXT_debug_utils"

// listen collects what the driver says to a debug messenger until end is called.
func (c *Case) listen() (end func() []string) {
	var mu sync.Mutex
	var heard []string
	info := vulkan.Struct[vk.DebugUtilsMessengerCreateInfoEXT](&c.a)
	info.MessageSeverity = vk.DebugUtilsMessageSeverityFlagsEXT(vk.DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT |
		vk.DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT)
	info.MessageType = vk.DebugUtilsMessageTypeFlagsEXT(vk.DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
		vk.DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT)
	info.PfnUserCallback = purego.NewCallback(
		func(severity, types uint32, d *vk.DebugUtilsMessengerCallbackDataEXT, _ uintptr) uintptr {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, vulkan.GoString(d.PMessage))
			return 0
		})
	out := vulkan.New[vk.DebugUtilsMessengerEXT](&c.a)
	c.must("vkCreateDebugUtilsMessengerEXT", vk.Result(c.inst.Call("vkCreateDebugUtilsMessengerEXT",
		uintptr(c.inst.Handle), ptr(info), 0, ptr(out))))
	return func() []string {
		c.inst.Call("vkDestroyDebugUtilsMessengerEXT", uintptr(c.inst.Handle), uintptr(*out), 0)
		mu.Lock()
		defer mu.Unlock()
		return heard
	}
}

var saysDeath = regexp.MustCompile(`(?i)never be signal|died|ended|killed|gone`)

// wantLost wants a wait that is under way to end with VK_ERROR_DEVICE_LOST long before its timeout.
func (c *Case) wantLost(answer func() string) {
	start := time.Now()
	if got := answer(); got != "VK_ERROR_DEVICE_LOST" {
		c.Errorf("a wait for what can never be signalled: %s", got)
	}
	if took := time.Since(start); took > patience {
		c.Errorf("it took %v to find out", took)
	}
}

// minute is the timeout, in an order, of waits that must not need it.
const minute = "60000"

// killedCases: a process dies by SIGKILL while another waits for it. far is the one that dies.
func killedCases() []definition {
	var all []definition
	row := func(name string, run func(c *Case, near *stage, far *farStage)) {
		all = append(all, definition{name: "synchronization.killed." + name, extensions: externalExtensions,
			features: syncFeatures,
			queues:   true, instanceExtensions: []string{debugExtension}, run: func(c *Case) {
				near, far := c.stage(), c.farStage()
				defer near.close()
				defer far.end()
				for _, a := range []actor{near, far} {
					c.ok(a, "timeline gate 0 -")
					c.ok(a, "fence done -")
				}
				run(c, near, far)
			}})
	}
	// Each primitive, with the signal pending in a process that then dies.
	for _, k := range []struct {
		name string
		handleKind
	}{{"binary_opaque", binaryOpaque}, {"timeline", timelineOpaque}, {"fence_opaque", fenceOpaque},
		{"binary_sync", binarySync}, {"fence_sync", fenceSync}} {
		permanence := "permanent"
		if k.handle == "sync" {
			permanence = "temporary"
		}
		row("pending."+k.name, func(c *Case, near *stage, far *farStage) {
			end := c.listen()
			c.ok(near, "%s", fillIn(k.make, "x", 1))
			c.ok(far, "%s", fillIn(k.make, "x", 1))
			c.ok(far, "submit 0 wait=gate:1 %s", fillIn(k.signal, "x", 1))
			c.pass(far, near, "x", k.handle, permanence)
			waiting := "x"
			if k.wait != "" {
				c.ok(near, "submit 0 %s fence=done", fillIn(k.wait, "x", 1))
				waiting = "done"
			}
			c.ask(near, "VK_TIMEOUT", "wait %s 0 100", waiting)
			answer := near.begin("wait " + waiting + " 0 " + minute)
			far.kill()
			c.wantLost(answer)
			heard := end()
			if !saysDeath.MatchString(strings.Join(heard, "\n")) {
				c.Errorf("no message says that the other process is dead: %q", heard)
			}
			// The device is lost, with all that it can still be asked.
			c.ask(near, "VK_ERROR_DEVICE_LOST", "submit 0")
			c.ask(near, "VK_ERROR_DEVICE_LOST", "idle")
			c.ask(near, "VK_ERROR_DEVICE_LOST", "wait done 0 "+minute)
			// Another device of this process works.
			fresh := c.stage()
			c.ok(fresh, "fence done -")
			c.ok(fresh, "submit 0 fence=done")
			c.ok(fresh, "wait done 0 20000")
			fresh.close()
		})
	}
	row("timeline_on_host", func(c *Case, near *stage, far *farStage) {
		c.ok(near, "timeline x 0 -")
		c.ok(far, "timeline x 3 opaque")
		c.pass(far, near, "x", "opaque", "permanent")
		c.ask(near, "VK_TIMEOUT", "wait x 4 100")
		answer := near.begin("wait x 4 " + minute)
		far.kill()
		c.wantLost(answer)
	})
	row("timeout_comes_first", func(c *Case, near *stage, far *farStage) {
		c.ok(near, "timeline x 0 -")
		c.ok(far, "timeline x 0 opaque")
		c.pass(far, near, "x", "opaque", "permanent")
		far.kill()
		start := time.Now()
		if got := near.do("wait x 1 1"); got != "VK_TIMEOUT" && got != "VK_ERROR_DEVICE_LOST" {
			c.Errorf("a wait of a millisecond: %s", got)
		}
		if took := time.Since(start); took > patience {
			c.Errorf("a wait of a millisecond took %v", took)
		}
	})
	row("signalled_before", func(c *Case, near *stage, far *farStage) {
		for _, k := range []handleKind{binaryOpaque, timelineOpaque, fenceOpaque} {
			name := strings.Fields(k.make)[0]
			c.ok(near, "%s", fillIn(k.make, name, 1))
			c.ok(far, "%s", fillIn(k.make, name, 1))
			k.signals(c, far, name, 1)
			c.pass(far, near, name, "opaque", "permanent")
		}
		c.ok(far, "idle")
		far.kill()
		for _, k := range []handleKind{binaryOpaque, timelineOpaque, fenceOpaque} {
			k.waits(c, near, strings.Fields(k.make)[0], 1)
		}
		c.ask(near, "1", "value timeline")
	})
	row("third_process_signals", func(c *Case, near *stage, far *farStage) {
		third := c.farStage()
		defer third.end()
		c.ok(near, "timeline x 0 opaque")
		for _, a := range []actor{far, third} {
			c.ok(a, "timeline x 0 -")
			c.pass(near, a, "x", "opaque", "permanent")
		}
		answer := near.begin("wait x 1 " + minute)
		far.kill()
		time.Sleep(300 * time.Millisecond) // for whoever looks for the dead
		c.ok(third, "submit 0 signal=x:1")
		if got := answer(); got != "VK_SUCCESS" {
			c.Errorf("a wait for what a living process signals: %s", got)
		}
	})
	row("own_pending_signal", func(c *Case, near *stage, far *farStage) {
		c.ok(near, "timeline x 0 opaque")
		c.ok(far, "timeline x 0 -")
		c.pass(near, far, "x", "opaque", "permanent")
		c.ok(near, "submit 0 wait=gate:1 signal=x:1")
		answer := near.begin("wait x 1 " + minute)
		far.kill()
		time.Sleep(300 * time.Millisecond)
		c.ok(near, "signal gate 1")
		if got := answer(); got != "VK_SUCCESS" {
			c.Errorf("a wait for what this process' queue signals: %s", got)
		}
	})
	row("waiter", func(c *Case, near *stage, far *farStage) {
		// The death of who waits is nothing to who signals.
		c.ok(near, "timeline x 0 opaque")
		c.ok(far, "timeline x 0 -")
		c.pass(near, far, "x", "opaque", "permanent")
		c.ok(far, "submit 0 wait=x:1 fence=done")
		far.tell("wait done 0 %s", minute)
		time.Sleep(50 * time.Millisecond)
		far.kill()
		c.ok(near, "submit 0 signal=x:1 fence=done")
		c.ok(near, "wait done 0 20000")
		c.ok(near, "wait x 1 20000")
	})
	row("importer_again", func(c *Case, near *stage, far *farStage) {
		// A new process takes the dead one's place at the same payload.
		c.ok(near, "timeline x 0 opaque")
		c.ok(far, "timeline x 0 -")
		c.pass(near, far, "x", "opaque", "permanent")
		c.ok(far, "submit 0 signal=x:1")
		c.ok(near, "wait x 1 20000")
		far.kill()
		second := c.farStage()
		defer second.end()
		c.ok(second, "timeline x 0 -")
		c.pass(near, second, "x", "opaque", "permanent")
		answer := near.begin("wait x 2 " + minute)
		time.Sleep(300 * time.Millisecond)
		c.ok(second, "submit 0 signal=x:2")
		if got := answer(); got != "VK_SUCCESS" {
			c.Errorf("a wait for the new process: %s", got)
		}
	})
	row("sync_fd_hangs_up", func(c *Case, near *stage, far *farStage) {
		c.ok(far, "binary x sync")
		c.ok(far, "submit 0 wait=gate:1 signal=x")
		c.ok(far, "export x sync")
		fd := far.given()
		if got := poll(c, fd, 30); got != 0 {
			c.Errorf("poll of an unsignalled sync_fd: %#x", got)
		}
		far.kill()
		if got := poll(c, fd, 20000); got == 0 {
			c.Errorf("poll of a dead process's sync_fd times out")
		}
		near.hand(fd)
		c.ok(near, "binary x -")
		c.ok(near, "import x sync temporary")
		c.ok(near, "submit 0 wait=x fence=done")
		c.wantLost(near.begin("wait done 0 " + minute))
	})
	return all
}
