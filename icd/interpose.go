package icd

import (
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"farside/internal/vk"
)

// An observer is told of each call of a command: reports, faults on command and strictness are observers. It sees a
// call after the command's handles have been checked, so that each handle that it meets is live, and in the thread of
// the call. It is not told of a call that was refused for its handles, of commands that are recorded (vkCmd…), and of
// those with which the loader asks about instances before there is one.
//
// An observer's panic is reported and ends neither the command nor the process.
type observer interface {
	// before is called in front of the command. If it answers handled, the command does not run, and result is what
	// the application gets; that counts for commands that return a VkResult only (call.fallible). Handles that the
	// command would have returned are VK_NULL_HANDLE then. All observers are asked, and the first to answer counts.
	before(c *call) (result vk.Result, handled bool)

	// after is called when the command is over, with what the application gets: VK_SUCCESS from a command without a
	// VkResult, VK_ERROR_UNKNOWN from one that panicked. It is called for each call that before was called for.
	after(c *call, result vk.Result)
}

// call is one call of a command, as observers see it. It lasts until after returns.
type call struct {
	command  string // the command's name in the registry; of aliases, the name without a suffix
	fallible bool   // it returns a VkResult

	// instead is what the application gets for VK_SUCCESS, VK_SUCCESS for nothing else. An observer sets it before the
	// command.
	instead vk.Result

	// args are the arguments of the command's function in this package: *device, *deviceMemory and so on for handles
	// (nil for VK_NULL_HANDLE), and what C passed for the rest: *vk.MemoryAllocateInfo, uint32, ….
	args []any
}

// arg is the first argument of type T, or zero.
func arg[T any](c *call) (v T) {
	for _, a := range c.args {
		if v, ok := a.(T); ok {
			return v
		}
	}
	return v
}

// device is the device that the command is called on, or nil for commands of an instance or a physical device.
func (c *call) device() *device {
	if len(c.args) == 0 {
		return nil
	}
	switch o := c.args[0].(type) {
	case *device:
		return o
	case interface{ owner() *device }:
		return o.owner()
	}
	return nil
}

// instance is the instance that the command belongs to; nil for vkCreateInstance.
func (c *call) instance() *instance {
	if len(c.args) == 0 {
		return nil
	}
	switch o := c.args[0].(type) {
	case *instance:
		return o
	case *physicalDevice:
		return o.instance
	}
	if d := c.device(); d != nil {
		return d.physical.instance
	}
	return nil
}

var (
	observersMu sync.Mutex
	// observers is nil while there are none: that is all that an entry asks. The list never changes.
	observers atomic.Pointer[[]observer]
)

// interpose tells o of all calls from now on, until the function that it returns is called. Observers are asked in the
// order in which they came, and told of the end in the opposite order. Calls that are under way in other threads may
// end without o.
func interpose(o observer) (remove func()) {
	change := func(edit func([]observer) []observer) {
		observersMu.Lock()
		defer observersMu.Unlock()
		var list []observer
		if old := observers.Load(); old != nil {
			list = slices.Clone(*old)
		}
		if list = edit(list); len(list) == 0 {
			observers.Store(nil)
			return
		}
		observers.Store(&list)
	}
	entry := &registration{o}
	change(func(list []observer) []observer { return append(list, entry) })
	return func() {
		change(func(list []observer) []observer {
			return slices.DeleteFunc(list, func(other observer) bool { return other == observer(entry) })
		})
	}
}

// registration makes each interpose one of its own, also of one observer twice.
type registration struct{ observer }

// observe runs a command that returns a VkResult, with the observers around it.
func observe(command string, args []any, run func() vk.Result) vk.Result {
	return (&call{command: command, fallible: true, args: args}).pass(run)
}

// observeVoid is observe for a command without a result.
func observeVoid(command string, args []any, run func()) {
	(&call{command: command, args: args}).pass(func() vk.Result {
		run()
		return vk.SUCCESS
	})
}

// observeWord is observe for a command that returns an address, a size or a boolean.
func observeWord[T any](command string, args []any, run func() T) (word T) {
	observeVoid(command, args, func() { word = run() })
	return word
}

func (c *call) pass(run func() vk.Result) (result vk.Result) {
	var list []observer
	if p := observers.Load(); p != nil {
		list = *p
	}
	handled := false
	result = vk.ERROR_UNKNOWN // unless run returns
	defer func() {
		for _, o := range slices.Backward(list) {
			c.contain(func() { o.after(c, result) })
		}
	}()
	for _, o := range list {
		c.contain(func() {
			if r, ok := o.before(c); ok && c.fallible && !handled {
				result, handled = r, true
			}
		})
	}
	if handled {
		return result
	}
	if result = run(); result == vk.SUCCESS {
		result = c.instead
	}
	return result
}

// contain keeps an observer's panic from the command that it observes.
func (c *call) contain(observe func()) {
	defer func() {
		if v := recover(); v != nil {
			reportPanic("an observer of "+c.command, v, debug.Stack())
		}
	}()
	observe()
}
