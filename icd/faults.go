package icd

import (
	"errors"
	"path"
	"strings"
	"sync"
	"time"

	"farside/internal/config"
	"farside/internal/exec"
	"farside/internal/fault"
	"farside/internal/journal"
	"farside/internal/vk"
)

// errInjected is what ends the execution of a queue whose device is lost on command.
var errInjected = errors.New("the device is lost on command")

// injected is the plan of the process, and what ends its observer.
var injected struct {
	mu     sync.Mutex
	plan   *fault.Plan
	remove func()
}

// installFaults lets commands fail as FARSIDE_FAULTS says from now on. Errors: config.ErrSetting.
func installFaults(settings *config.Settings) error {
	plan, err := fault.Load(settings)
	if err != nil {
		return err
	}
	injected.mu.Lock()
	defer injected.mu.Unlock()
	if plan == injected.plan {
		return nil
	}
	if injected.remove != nil {
		injected.remove()
	}
	injected.plan, injected.remove = plan, nil
	if plan != nil && plan.Has("vk") {
		injected.remove = interpose(faults{plan})
	}
	return nil
}

// faults is the observer that lets commands fail.
type faults struct{ plan *fault.Plan }

func (f faults) before(c *call) (vk.Result, bool) {
	i, ok := f.plan.At(c.command, func(condition fault.Condition) bool { return c.meets(condition) })
	if !ok {
		return 0, false
	}
	var objects []object
	if len(c.args) > 0 {
		if o, ok := objectOf(c.args[0]); ok {
			objects = append(objects, o)
		}
	}
	tellFault(c.instance(), c.command, i.Text, objects...)
	time.Sleep(i.Delay)
	if i.Result == 0 {
		return 0, false
	}
	if i.Result == vk.SUBOPTIMAL_KHR { // the command has been done all the same
		c.instead = i.Result
		return 0, false
	}
	c.consequences(i.Result)
	return i.Result, true
}

func (faults) after(c *call, r vk.Result) {
	if info := arg[*vk.PresentInfoKHR](c); info != nil && r == vk.SUBOPTIMAL_KHR && c.instead == r {
		results := vk.Slice(info.PResults, info.SwapchainCount)
		for i := range results {
			results[i] = r
		}
	}
}

// presented are the results with which a queue presents all the same: the semaphores are waited for, and the images are
// the presentation engine's (chapter "WSI Swapchain", vkQueuePresentKHR).
func presented(r vk.Result) bool {
	return r == vk.ERROR_OUT_OF_DATE_KHR || r == vk.ERROR_SURFACE_LOST_KHR ||
		r == vk.ERROR_FULL_SCREEN_EXCLUSIVE_MODE_LOST_EXT
}

// tellFault tells everybody of a fault: the journal, the log, and the messengers of the instance if there is one.
func tellFault(i *instance, where, text string, objects ...object) {
	text = "fault on command: " + text
	if journal.On() {
		e := journal.Event{Kind: journal.Fault, Command: where, ID: fault.ID, Text: text}
		if len(objects) > 0 && i != nil {
			e.Object = i.journaled(objects[0])
		}
		journal.Emit(e)
	}
	if i == nil {
		logger.Info(text, "id", fault.ID)
		return
	}
	i.report(vk.DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT, vk.DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT, fault.ID, text,
		objects...)
}

// consequences are what a result means beside its number.
func (c *call) consequences(r vk.Result) {
	d := c.device()
	switch {
	case r == vk.ERROR_DEVICE_LOST && d != nil:
		d.lose()
	case c.command == "vkQueuePresentKHR":
		info := arg[*vk.PresentInfoKHR](c)
		if presented(r) {
			arg[*queue](c).present(info, r)
		}
		results := vk.Slice(info.PResults, info.SwapchainCount)
		for i := range results {
			results[i] = r
		}
	case r == vk.INCOMPLETE:
		c.noElements()
	case r < 0 && c.command == "vkEndCommandBuffer":
		// "the command buffer will be moved to the invalid state" (chapter "Command Buffer Lifecycle").
		b := arg[*commandBuffer](c)
		b.life.spoil()
		b.life.finish()
	case r < 0 && c.command == "vkAllocateMemory":
		info := arg[*vk.MemoryAllocateInfo](c)
		var heap uint32
		if types := d.physical.profile.Types; info.MemoryTypeIndex < uint32(len(types)) {
			heap = types[info.MemoryTypeIndex].Heap
		}
		d.reportMemory(vk.DEVICE_MEMORY_REPORT_EVENT_TYPE_ALLOCATION_FAILED_EXT, 0, info.AllocationSize,
			vk.OBJECT_TYPE_DEVICE_MEMORY, 0, heap)
	}
}

// meets says whether a call has what a rule asks for.
func (c *call) meets(condition fault.Condition) bool {
	switch condition.Key {
	case fault.Array:
		return c.wantsElements()
	case "name":
		i := c.instance()
		if i == nil {
			return false
		}
		for o := range c.objects() {
			if ok, _ := path.Match(condition.Text, i.nameOf(o)); ok {
				return true
			}
		}
	case "heap", "type":
		for heap, index := range c.memories() {
			if condition.Key == "heap" && heap == condition.Number || condition.Key == "type" && index == condition.Number {
				return true
			}
		}
	case "handle":
		for types := range c.handleTypes() {
			for name := range strings.SplitSeq(types, "|") {
				if fault.ShortHandle(strings.TrimSpace(name)) == condition.Text {
					return true
				}
			}
		}
	}
	return false
}

// memories are heap and type of each memory that a call names or allocates.
func (c *call) memories() func(yield func(heap, index uint32) bool) {
	return func(yield func(heap, index uint32) bool) {
		d := c.device()
		if d == nil {
			return
		}
		if info := arg[*vk.MemoryAllocateInfo](c); info != nil {
			if types := d.physical.profile.Types; info.MemoryTypeIndex < uint32(len(types)) {
				yield(types[info.MemoryTypeIndex].Heap, info.MemoryTypeIndex)
			}
			return
		}
		for o := range c.objects() {
			if o.Type != vk.OBJECT_TYPE_DEVICE_MEMORY {
				continue
			}
			if m := deviceMemories.Get(o.Handle); m != nil && !yield(m.kind().Heap, m.typeIndex) {
				return
			}
		}
	}
}

// queueFaults is what the queues of a device ask for faults, nil where there are none for queues.
func (d *device) queueFaults() func(q *exec.Queue, point string) error {
	injected.mu.Lock()
	plan := injected.plan
	injected.mu.Unlock()
	if plan == nil || !plan.Has("queue") {
		return nil
	}
	return func(running *exec.Queue, point string) error {
		objects := []object{{vk.OBJECT_TYPE_DEVICE, uint64(d.handle)}}
		for _, q := range d.queues {
			if q.exec == running {
				objects = []object{{vk.OBJECT_TYPE_QUEUE, uint64(q.handle)}}
			}
		}
		i, ok := plan.At("queue."+point, func(c fault.Condition) bool {
			match, _ := path.Match(c.Text, d.physical.instance.nameOf(objects[0]))
			return match
		})
		if !ok {
			return nil
		}
		tellFault(d.physical.instance, "queue."+point, i.Text, objects...)
		// In pieces, so that the end of the device needn't wait for all of it.
		const piece = 10 * time.Millisecond
		for end := time.Now().Add(i.Delay); time.Now().Before(end) && d.stop.Value() == 0; {
			time.Sleep(min(piece, time.Until(end)))
		}
		if i.Lost {
			return vk.Errorf(vk.ERROR_DEVICE_LOST, vk.NoVUID, "%w", errInjected)
		}
		return nil
	}
}
