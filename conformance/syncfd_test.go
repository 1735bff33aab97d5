package conformance

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// A handleKind is a primitive and the handle type by which it leaves its device.
type handleKind struct {
	group  string // of the CTS
	make   string // with NAME for the object; NUMBER counts its signals from 1
	handle string
	signal string
	wait   string // empty: the host waits for a fence and resets it
}

var (
	binaryOpaque = handleKind{"api.external.semaphore.opaque_fd.", "binary NAME opaque", "opaque", "signal=NAME",
		"wait=NAME"}
	timelineOpaque = handleKind{"api.external.semaphore.opaque_fd.timeline_", "timeline NAME 0 opaque", "opaque",
		"signal=NAME:NUMBER", "wait=NAME:NUMBER"}
	fenceOpaque = handleKind{"api.external.fence.opaque_fd.", "fence NAME opaque", "opaque", "fence=NAME", ""}
	binarySync  = handleKind{"api.external.semaphore.sync_fd.", "binary NAME sync", "sync", "signal=NAME", "wait=NAME"}
	fenceSync   = handleKind{"api.external.fence.sync_fd.", "fence NAME sync", "sync", "fence=NAME", ""}
)

func fillIn(order, name string, number int) string {
	return strings.NewReplacer("NAME", name, "NUMBER", strconv.Itoa(number)).Replace(order)
}

// signals submits the object's signal; waits waits for it on the device's queue, or on the host for a fence.
func (k handleKind) signals(c *Case, a actor, name string, number int) {
	c.ok(a, "submit 0 %s", fillIn(k.signal, name, number))
}

func (k handleKind) waits(c *Case, a actor, name string, number int) {
	fence := "done"
	if k.wait == "" {
		fence = name
	} else {
		c.ok(a, "submit 0 %s fence=done", fillIn(k.wait, name, number))
	}
	c.ok(a, "wait %s 0 20000", fence)
	c.ok(a, "reset %s", fence)
}

// again makes the exporter's x ready for the next signal: the reset of a fence that is a temporary import
// restores the fence's own payload, and leaves the exporter's as it is.
func (k handleKind) again(c *Case, near actor, permanence string) {
	if k == fenceOpaque && permanence == "temporary" {
		c.ok(near, "reset x")
	}
}

// through exports, turns the descriptor into another of the same payload, and imports that.
func (c *Case) through(from, to actor, name, kind, permanence string, turn func(c *Case, fd int) int) {
	c.ok(from, "export %s %s", name, kind)
	fd := from.given()
	other := turn(c, fd)
	if other != fd {
		unix.Close(fd)
	}
	to.hand(other)
	c.ok(to, "import %s %s %s", name, kind, permanence)
}

func duplicate(c *Case, fd int) int {
	n, err := unix.Dup(fd)
	return sysFd(c, "dup", n, err)
}

func overSocket(c *Case, fd int) int {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	sysFd(c, "socketpair", 0, err)
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	sysFd(c, "send", 0, sendFd(pair[0], fd))
	n, err := receiveFd(pair[1])
	return sysFd(c, "receive", n, err)
}

func dupOver(flags int) func(c *Case, fd int) int {
	return func(c *Case, fd int) int {
		n, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
		sysFd(c, "open", n, err)
		return sysFd(c, "dup3", n, unix.Dup3(fd, n, flags))
	}
}

// externalRow is a question about a kind, imported with one permanence: near exports x, far imports it as x.
type externalRow struct {
	name string
	run  func(c *Case, k handleKind, permanence string, near, far *stage)
}

// turned is a row in which the descriptor is turned into another between export and import.
func turned(name string, turn func(c *Case, fd int) int) externalRow {
	return externalRow{name, func(c *Case, k handleKind, permanence string, near, far *stage) {
		k.signals(c, near, "x", 1)
		c.through(near, far, "x", k.handle, permanence, turn)
		k.waits(c, far, "x", 1)
	}}
}

// The rows byReference are for opaque descriptors, byCopy for sync_fd, both for either.
var both = []externalRow{
	{"signal_export_import_wait", func(c *Case, k handleKind, permanence string, near, far *stage) {
		for n := 1; n <= 5; n++ {
			k.signals(c, near, "x", n)
			c.pass(near, far, "x", k.handle, permanence)
			k.waits(c, far, "x", n)
			k.again(c, near, permanence)
		}
	}},
	{"import_twice", func(c *Case, k handleKind, permanence string, near, far *stage) {
		// The second import replaces the first.
		other := fillIn(k.make, "other", 1)
		c.ok(near, "%s", other)
		k.signals(c, near, "other", 1)
		c.ok(near, "export other %s", k.handle)
		far.hand(near.given())
		c.ok(far, "import x %s %s", k.handle, permanence)
		k.signals(c, near, "x", 1)
		c.pass(near, far, "x", k.handle, permanence)
		k.waits(c, far, "x", 1)
	}},
	turned("dup", duplicate),
	turned("dup2", dupOver(0)),
	turned("dup3", dupOver(unix.O_CLOEXEC)),
	turned("send_over_socket", overSocket),
}

var byReference = []externalRow{
	{"export_signal_import_wait", func(c *Case, k handleKind, permanence string, near, far *stage) {
		c.ok(near, "export x opaque")
		fd := near.given()
		k.signals(c, near, "x", 1)
		far.hand(fd)
		c.ok(far, "import x opaque %s", permanence)
		k.waits(c, far, "x", 1)
	}},
	{"export_import_signal_wait", func(c *Case, k handleKind, permanence string, near, far *stage) {
		c.pass(near, far, "x", "opaque", permanence)
		k.signals(c, near, "x", 1)
		k.waits(c, far, "x", 1)
	}},
	{"import_signal_wait_back", func(c *Case, k handleKind, permanence string, near, far *stage) {
		// The importer signals, the exporter waits.
		c.pass(near, far, "x", "opaque", permanence)
		k.signals(c, far, "x", 1)
		k.waits(c, near, "x", 1)
	}},
	{"import_multiple_times", func(c *Case, k handleKind, permanence string, near, far *stage) {
		for n := 1; n <= 16; n++ {
			c.pass(near, far, "x", "opaque", permanence)
		}
		k.signals(c, near, "x", 1)
		k.waits(c, far, "x", 1)
	}},
	{"import_into_many", func(c *Case, k handleKind, permanence string, near, far *stage) {
		for n := 1; n <= 8; n++ {
			name := fmt.Sprint("x", n)
			c.ok(far, "%s", fillIn(k.make, name, n))
			c.ok(near, "export x opaque")
			far.hand(near.given())
			c.ok(far, "import %s opaque %s", name, permanence)
		}
		for n := 1; n <= 8; n++ {
			k.signals(c, near, "x", n)
			k.waits(c, far, fmt.Sprint("x", n), n)
			k.again(c, near, permanence)
		}
	}},
	{"export_multiple_times", func(c *Case, k handleKind, permanence string, near, far *stage) {
		seen := map[int]bool{}
		for range 32 {
			c.ok(near, "export x opaque")
			fd := near.given()
			if fd < 0 || seen[fd] {
				c.Fatalf("descriptor %d was given out twice or is none", fd)
			}
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
				c.Errorf("the descriptor's flags are %#x (%v), without close-on-exec", flags, err)
			}
			seen[fd] = true
		}
		for fd := range seen {
			unix.Close(fd)
		}
		k.signals(c, near, "x", 1)
		k.waits(c, near, "x", 1)
	}},
	{"outlives_exporter", func(c *Case, k handleKind, permanence string, near, far *stage) {
		k.signals(c, near, "x", 1)
		c.pass(near, far, "x", "opaque", permanence)
		c.ok(near, "idle")
		c.ok(near, "destroy x")
		k.waits(c, far, "x", 1)
	}},
	{"transference", func(c *Case, k handleKind, permanence string, near, far *stage) {
		// A temporary import lasts until the first wait or reset; then x is what it was before.
		c.pass(near, far, "x", "opaque", permanence)
		k.signals(c, near, "x", 1)
		k.waits(c, far, "x", 1)
		if permanence == "permanent" {
			k.signals(c, near, "x", 2)
			k.waits(c, far, "x", 2)
			k.signals(c, far, "x", 3)
			k.waits(c, near, "x", 3)
			return
		}
		k.again(c, near, permanence)
		k.signals(c, near, "x", 2)
		k.signals(c, far, "x", 2)
		k.waits(c, far, "x", 2)
		k.waits(c, near, "x", 2)
	}},
}

var byCopy = []externalRow{
	{"import_signaled", func(c *Case, k handleKind, permanence string, _, far *stage) {
		for n := 1; n <= 3; n++ {
			far.hand(-1)
			c.ok(far, "import x sync %s", permanence)
			k.waits(c, far, "x", n)
		}
	}},
	{"exported_is_reset", func(c *Case, k handleKind, permanence string, near, far *stage) {
		// An export by copy leaves what a wait or a reset leaves, so that x can be signalled again.
		for n := 1; n <= 5; n++ {
			k.signals(c, near, "x", n)
			c.ok(near, "export x sync")
			if fd := near.given(); fd >= 0 {
				unix.Close(fd)
			}
		}
		k.signals(c, near, "x", 6)
		k.waits(c, near, "x", 6)
	}},
	{"export_signaled", func(c *Case, k handleKind, permanence string, near, far *stage) {
		k.signals(c, near, "x", 1)
		c.ok(near, "idle")
		c.ok(near, "export x sync")
		fd := near.given()
		if fd >= 0 {
			if got := poll(c, fd, 20000); got&unix.POLLIN == 0 {
				c.Errorf("poll of the sync_fd of a signalled payload: %#x", got)
			}
		}
		far.hand(fd)
		c.ok(far, "import x sync %s", permanence)
		k.waits(c, far, "x", 1)
	}},
	{"abandoned", func(c *Case, k handleKind, permanence string, near, far *stage) {
		// Imports that nobody waits for, and exports that nobody imports, leave nothing behind.
		c.ok(near, "timeline gate 0 -")
		for n := 1; n <= 50; n++ {
			c.ok(near, "submit 0 wait=gate:%d %s", n, fillIn(k.signal, "x", n))
			c.ok(near, "export x sync")
			if fd := near.given(); n%2 == 0 {
				unix.Close(fd)
			} else {
				c.ok(far, "%s", fillIn(k.make, "y", n))
				far.hand(fd)
				c.ok(far, "import y sync %s", permanence)
				c.ok(far, "destroy y")
			}
			c.ok(near, "signal gate %d", n)
			c.ok(near, "idle")
		}
		k.signals(c, near, "x", 51)
		k.waits(c, near, "x", 51)
	}},
	{"copies_are_their_own", func(c *Case, k handleKind, permanence string, near, far *stage) {
		// What has been copied doesn't change when the source is signalled, or not signalled, again.
		k.signals(c, near, "x", 1)
		c.ok(near, "export x sync")
		first := near.given()
		k.signals(c, near, "x", 2)
		c.ok(near, "export x sync")
		far.hand(near.given())
		c.ok(far, "import x sync %s", permanence)
		k.waits(c, far, "x", 1)
		far.hand(first)
		c.ok(far, "import x sync %s", permanence)
		k.waits(c, far, "x", 1)
	}},
	{"pollable", func(c *Case, k handleKind, permanence string, near, far *stage) {
		c.ok(near, "timeline gate 0 -")
		c.ok(near, "submit 0 wait=gate:1 %s", fillIn(k.signal, "x", 1))
		c.ok(near, "export x sync")
		fd := near.given()
		if got := poll(c, fd, 30); got != 0 {
			c.Errorf("poll of an unsignalled sync_fd: %#x", got)
		}
		c.ok(near, "signal gate 1")
		if got := poll(c, fd, 20000); got&unix.POLLIN == 0 {
			c.Errorf("poll of a signalled sync_fd: %#x", got)
		}
		far.hand(fd)
		c.ok(far, "import x sync %s", permanence)
		k.waits(c, far, "x", 1)
	}},
	{"pollable_without_vulkan", func(c *Case, k handleKind, permanence string, near, _ *stage) {
		c.ok(near, "timeline gate 0 -")
		c.ok(near, "submit 0 wait=gate:1 %s", fillIn(k.signal, "x", 1))
		c.ok(near, "export x sync")
		p := c.start("poller")
		fd := near.given()
		c.system("send", sendFd(p.socket, fd))
		unix.Close(fd)
		p.ask("0", "30")
		p.tell("20000")
		later(func() { c.ok(near, "signal gate 1") })()
		if got := p.hear(); got != strconv.Itoa(unix.POLLIN) && got != strconv.Itoa(unix.POLLIN|unix.POLLHUP) {
			c.Errorf("another process's poll of a signalled sync_fd: %s", got)
		}
		p.end()
	}},
	{"import_before_signal", func(c *Case, k handleKind, permanence string, near, far *stage) {
		c.ok(near, "timeline gate 0 -")
		c.ok(near, "submit 0 wait=gate:1 %s", fillIn(k.signal, "x", 1))
		c.pass(near, far, "x", "sync", permanence)
		done := later(func() { c.ok(near, "signal gate 1") })
		k.waits(c, far, "x", 1)
		done()
	}},
}

// poll asks poll(2) for input, for at most so many milliseconds.
func poll(c *Case, fd, timeout int) int {
	list := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(list, timeout)
		if err == nil {
			return int(list[0].Revents)
		}
		if err != unix.EINTR {
			c.Fatalf("poll: %v", err)
		}
	}
}

// playPoller polls the descriptor that it was sent for as many milliseconds as it is told.
func playPoller(c *Case) {
	fd, err := receiveFd(3)
	c.system("receive", err)
	for {
		var timeout int
		if _, err := fmt.Scan(&timeout); err != nil {
			return
		}
		say("%d", poll(c, fd, timeout))
	}
}

// semaphoreFeatures is what the driver can do with binary or timeline semaphores of the type.
func (c *Case) semaphoreFeatures(ht vk.ExternalSemaphoreHandleTypeFlagBits,
	timeline bool) vk.ExternalSemaphoreFeatureFlags {
	in := vulkan.Struct[vk.PhysicalDeviceExternalSemaphoreInfo](&c.a)
	in.HandleType = ht
	if timeline {
		in.PNext = vulkan.SemaphoreTypeInfo(&c.a, 0, nil)
	}
	out := vulkan.Struct[vk.ExternalSemaphoreProperties](&c.a)
	c.inst.Call("vkGetPhysicalDeviceExternalSemaphoreProperties", uintptr(c.pd), ptr(in), ptr(out))
	if out.ExternalSemaphoreFeatures != 0 && (out.CompatibleHandleTypes&ht == 0 ||
		out.ExportFromImportedHandleTypes == 0) {
		c.Errorf("%v: %+v", ht, *out)
	}
	return out.ExternalSemaphoreFeatures
}

// fenceFeatures is what the driver can do with fences of the type.
func (c *Case) fenceFeatures(ht vk.ExternalFenceHandleTypeFlagBits) vk.ExternalFenceFeatureFlags {
	in := vulkan.Struct[vk.PhysicalDeviceExternalFenceInfo](&c.a)
	in.HandleType = ht
	out := vulkan.Struct[vk.ExternalFenceProperties](&c.a)
	c.inst.Call("vkGetPhysicalDeviceExternalFenceProperties", uintptr(c.pd), ptr(in), ptr(out))
	return out.ExternalFenceFeatures
}

func syncFdCases() []definition {
	var all []definition
	row := func(name string, run func(c *Case)) {
		all = append(all, definition{name: name, extensions: externalExtensions, features: syncFeatures, queues: true,
			valid: !slices.ContainsFunc(layerLoses, func(suffix string) bool { return strings.HasSuffix(name, "."+suffix) }),
			run:   run})
	}
	for _, k := range []handleKind{binaryOpaque, timelineOpaque, fenceOpaque, binarySync, fenceSync} {
		rows, permanences := append(both[:len(both):len(both)], byReference...), []string{"permanent", "temporary"}
		switch {
		case k == timelineOpaque:
			permanences = permanences[:1] // VUID-VkImportSemaphoreFdInfoKHR-flags-03323
		case k.handle == "sync":
			rows, permanences = append(both[:len(both):len(both)], byCopy...), permanences[1:]
		}
		for _, permanence := range permanences {
			for _, r := range rows {
				row(k.group+r.name+"_"+permanence, func(c *Case) {
					near, far := c.stage(), c.stage()
					defer near.close()
					defer far.close()
					for _, s := range []*stage{near, far} {
						c.ok(s, "fence done -")
						c.ok(s, "%s", fillIn(k.make, "x", 1))
					}
					r.run(c, k, permanence, near, far)
				})
			}
		}
	}
	pair := func(name string, run func(c *Case, near, far *stage)) {
		row(name, func(c *Case) {
			near, far := c.stage(), c.stage()
			defer near.close()
			defer far.close()
			c.ok(far, "fence done -")
			run(c, near, far)
		})
	}
	pair("api.external.fence.opaque_fd.signaled_at_creation", func(c *Case, near, far *stage) {
		c.ok(near, "fence x opaque signalled")
		c.ok(far, "fence x -")
		c.pass(near, far, "x", "opaque", "temporary")
		c.ok(far, "status x")
		c.ok(far, "reset x")
		c.ask(far, "VK_NOT_READY", "status x")
		c.ok(near, "status x")
		c.pass(near, far, "x", "opaque", "permanent")
		c.ok(far, "wait x 0 0")
		c.ok(far, "reset x")
		c.ask(near, "VK_NOT_READY", "status x")
	})
	pair("api.external.semaphore.opaque_fd.timeline_value_is_shared", func(c *Case, near, far *stage) {
		c.ok(near, "timeline x 77 opaque")
		c.ok(far, "timeline x 5 -")
		c.pass(near, far, "x", "opaque", "permanent")
		c.ask(far, "77", "value x")
		c.ok(far, "signal x 80")
		c.ask(near, "80", "value x")
		c.ok(near, "submit 0 signal=x:18446744073709551615")
		c.ok(far, "wait x 18446744073709551615 20000")
		c.ask(far, "18446744073709551615", "value x")
	})
	for _, k := range []handleKind{binaryOpaque, binarySync} {
		pair(k.group+"temporary_hides_permanent", func(c *Case, near, far *stage) {
			// far's own signal is there again when the temporary import's has been waited for.
			for _, a := range []actor{near, far} {
				c.ok(a, "%s", fillIn(k.make, "x", 1))
			}
			c.ok(far, "submit 0 signal=x")
			c.ok(far, "idle")
			k.signals(c, near, "x", 1)
			c.pass(near, far, "x", k.handle, "temporary")
			k.waits(c, far, "x", 1)
			k.waits(c, far, "x", 1)
		})
	}
	row("api.external.semaphore.info", func(c *Case) {
		const full = vk.EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT | vk.EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT
		for _, q := range []struct {
			ht       vk.ExternalSemaphoreHandleTypeFlagBits
			timeline bool
			want     vk.ExternalSemaphoreFeatureFlags
		}{{opaqueSemaphore, false, full}, {opaqueSemaphore, true, full}, {syncSemaphore, false, full},
			{syncSemaphore, true, 0},
			{vk.EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_BIT, false, 0},
			{vk.EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE_BIT, true, 0}} {
			got := c.semaphoreFeatures(q.ht, q.timeline)
			if got == 0 && q.ht == syncSemaphore && c.driver != "farside" {
				continue // it's optional
			}
			if got != q.want {
				c.Errorf("%v, timeline %v: %v, want %v", q.ht, q.timeline, got, q.want)
			}
		}
	})
	row("api.external.fence.info", func(c *Case) {
		for ht, want := range map[vk.ExternalFenceHandleTypeFlagBits]vk.ExternalFenceFeatureFlags{
			opaqueFence: vk.EXTERNAL_FENCE_FEATURE_EXPORTABLE_BIT | vk.EXTERNAL_FENCE_FEATURE_IMPORTABLE_BIT,
			syncFence:   vk.EXTERNAL_FENCE_FEATURE_EXPORTABLE_BIT | vk.EXTERNAL_FENCE_FEATURE_IMPORTABLE_BIT,
			vk.EXTERNAL_FENCE_HANDLE_TYPE_OPAQUE_WIN32_BIT: 0,
		} {
			got := c.fenceFeatures(ht)
			if got == 0 && ht == syncFence && c.driver != "farside" {
				continue // it's optional
			}
			if got != want {
				c.Errorf("%v: %v, want %v", ht, got, want)
			}
		}
	})
	return all
}
