package icd

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"farside/internal/fault"
	"farside/internal/gate"
	"farside/internal/vk"
)

// recorder is the observer that counts calls and what is left behind, for farside faults sweep.
type recorder struct {
	*fault.Record
	live [](func() int) // by the places of fault.Kinds

	mu  sync.Mutex
	fds map[int]file // that were exported
}

// file says which file a descriptor was.
type file struct{ device, inode uint64 }

var recordOnce sync.Once

// startRecord begins the record of the process in a directory.
func startRecord(dir string) error {
	record, err := fault.StartRecord(dir)
	if err != nil {
		return fmt.Errorf("FARSIDE_FAULTS_RECORD: a file in %s: %w", dir, err)
	}
	recordOnce.Do(func() {
		r := &recorder{Record: record, fds: map[int]file{}}
		tables := map[string]func() int{
			"VkInstance": instances.Len, "VkDevice": devices.Len, "VkDeviceMemory": deviceMemories.Len,
			"VkBuffer": buffers.Len, "VkBufferView": bufferViews.Len, "VkImage": images.Len, "VkImageView": imageViews.Len,
			"VkSampler": samplers.Len, "VkSamplerYcbcrConversion": ycbcrConversions.Len, "VkShaderModule": shaderModules.Len,
			"VkShaderEXT":      shaderObjects.Len,
			"VkPipelineLayout": pipelineLayouts.Len,
			"VkPipelineCache":  pipelineCaches.Len, "VkPipeline": pipelines.Len, "VkQueryPool": queryPools.Len,
			"VkFence": fences.Len, "VkSemaphore": semaphores.Len, "VkEvent": events.Len,
			"VkPrivateDataSlot": privateDataSlots.Len, "VkDebugUtilsMessengerEXT": messengers.Len,
			"VkCommandPool": commandPools.Len, "VkDescriptorPool": descriptorPools.Len,
			"VkDescriptorSetLayout":      descriptorSetLayouts.Len,
			"VkDescriptorUpdateTemplate": descriptorUpdateTemplates.Len, fault.KindFD: r.openFDs,
		}
		for _, kind := range fault.Kinds {
			r.live = append(r.live, tables[kind])
		}
		interpose(r)
		gate.AtExit(r.count)
	})
	return nil
}

// before counts what is left of a device or an instance: it goes with them.
func (r *recorder) before(c *call) (vk.Result, bool) {
	if c.fallible {
		r.Call(c.command)
	}
	switch c.command {
	case "vkDestroyDevice":
		r.leave(c.device())
	case "vkDestroyInstance":
		for _, d := range devices.All() {
			if d.physical.instance == c.instance() {
				r.Leave(slices.Index(fault.Kinds, "VkDevice"), 1)
				r.leave(d)
			}
		}
	}
	return 0, false
}

func (r *recorder) leave(d *device) {
	if d == nil {
		return
	}
	for o := range d.children() {
		if i := slices.Index(fault.Kinds, typeName(o.objectType())); i >= 0 {
			r.Leave(i, 1)
		}
	}
}

func (r *recorder) after(c *call, result vk.Result) {
	if fd := arg[*int32](c); fd != nil && result == vk.SUCCESS && strings.HasSuffix(c.command, "FdKHR") {
		var s unix.Stat_t
		if unix.Fstat(int(*fd), &s) == nil {
			r.mu.Lock()
			r.fds[int(*fd)] = file{s.Dev, s.Ino}
			r.mu.Unlock()
		}
	}
	for _, verb := range []string{"vkCreate", "vkAllocate", "vkDestroy", "vkFree"} {
		if strings.HasPrefix(c.command, verb) {
			r.count()
			return
		}
	}
}

// count writes down what there is now.
func (r *recorder) count() {
	for kind, live := range r.live {
		r.Live(kind, live())
	}
}

// openFDs is how many of the exported descriptors are still the same files.
func (r *recorder) openFDs() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	for fd, was := range r.fds {
		var s unix.Stat_t
		if unix.Fstat(fd, &s) != nil || (file{s.Dev, s.Ino}) != was {
			delete(r.fds, fd)
		}
	}
	return len(r.fds)
}
