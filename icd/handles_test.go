package icd

import (
	"fmt"
	"slices"
	"testing"

	"farside/internal/config"
	"farside/internal/descriptor"
	"farside/internal/present"
	"farside/internal/syncobj"
	"farside/internal/vk"
)

// handleTest is a row of the generated table: a command, the places of its arguments where handles stand, and a call
// that has live handles everywhere but at one place.
type handleTest struct {
	command string
	places  []handlePlace
	call    func(*handleArgs) vk.Result
}

type handlePlace struct {
	where          string
	kind           vk.ObjectType
	optional       bool // VK_NULL_HANDLE may stand there
	exists         bool // there are objects of the kind
	stale, foreign vk.VUID
}

// handleArgs are the handles of one call.
type handleArgs struct {
	own map[vk.ObjectType]uint64 // live, of the device that the command is called on
	at  int                      // the place to try
	try uint64                   // what stands there
}

func (a *handleArgs) pick(at int, kind vk.ObjectType) uint64 {
	if at == a.at {
		return a.try
	}
	return a.own[kind]
}

// handleFamily makes one live object of each kind, of a device of their own.
func handleFamily(t *testing.T, i *instance) map[vk.ObjectType]uint64 {
	t.Helper()
	d := propertiesDevice(t, i, nil)
	commandPool := &commandPool{child: child{device: d}, buffers: map[vk.CommandBuffer]*commandBuffer{}}
	commands := make([]vk.CommandBuffer, 1)
	if err := commandPool.allocate(commands, vk.COMMAND_BUFFER_LEVEL_PRIMARY); err != nil {
		t.Fatal(err)
	}
	setPool := &descriptorPool{child: child{device: d}, sets: map[vk.DescriptorSet]*descriptorSet{},
		pool: new(descriptor.Pool)}
	set := &descriptorSet{pool: setPool}
	set.handle = vk.DescriptorSet(descriptorSets.Insert(set))
	setPool.sets[set.handle] = set
	payload := func() held { return held{Payload: syncobj.New(syncobj.Fence, 0)} }
	memory, err := d.newMemory(&vk.MemoryAllocateInfo{AllocationSize: 4096})
	if err != nil {
		t.Fatal(err)
	}
	family := map[vk.ObjectType]uint64{
		vk.OBJECT_TYPE_INSTANCE:                  uint64(i.handle),
		vk.OBJECT_TYPE_PHYSICAL_DEVICE:           uint64(i.devices[0].handle),
		vk.OBJECT_TYPE_DEVICE:                    uint64(d.handle),
		vk.OBJECT_TYPE_QUEUE:                     uint64(d.queues[0].handle),
		vk.OBJECT_TYPE_COMMAND_BUFFER:            uint64(commands[0]),
		vk.OBJECT_TYPE_DESCRIPTOR_SET:            uint64(set.handle),
		vk.OBJECT_TYPE_DEBUG_UTILS_MESSENGER_EXT: uint64(testMessenger(t, i, 0, 0, 0)),
		vk.OBJECT_TYPE_SURFACE_KHR:               testSurface(t, i).handle,
	}
	for _, o := range []resident{
		commandPool, setPool, memory, new(buffer), new(bufferView), new(image), new(imageView), new(sampler),
		new(ycbcrConversion), new(shaderModule), new(pipelineLayout), new(pipelineCache), new(pipeline), new(queryPool),
		new(shaderObject),
		new(renderPass), new(framebuffer),
		new(privateDataSlot), new(descriptorSetLayout), new(descriptorUpdateTemplate), &event{payload: payload().Payload},
		&swapchain{surface: new(surface), chain: present.New(0)},
		&fence{carrier: carrier{permanent: payload()}}, &semaphore{carrier: carrier{permanent: payload()}},
	} {
		o.base().device = d
		family[o.objectType()] = d.add(o)
	}
	return family
}

// liveObjects counts the live handles of each kind.
func liveObjects() string {
	return fmt.Sprint(instances.Len(), devices.Len(), queues.Len(), commandBuffers.Len(), deviceMemories.Len(),
		buffers.Len(),
		bufferViews.Len(), images.Len(), samplers.Len(), ycbcrConversions.Len(), imageViews.Len(), shaderModules.Len(),
		pipelineLayouts.Len(),
		pipelineCaches.Len(), pipelines.Len(), shaderObjects.Len(),
		queryPools.Len(), fences.Len(), semaphores.Len(), events.Len(),
		renderPasses.Len(), framebuffers.Len(),
		privateDataSlots.Len(), surfaces.Len(), swapchains.Len(), messengers.Len(), commandPools.Len(),
		descriptorPools.Len(), descriptorSets.Len(),
		descriptorSetLayouts.Len(), descriptorUpdateTemplates.Len())
}

// TestHandlesAreChecked calls each command with a handle that is stale, of another kind, NULL where that is not
// allowed, and of another device, at each place where a handle stands: one message names the rule, and nothing changes.
func TestHandlesAreChecked(t *testing.T) {
	captureLog(t, config.LevelOff)
	i, other := testInstance(t, nil), testInstance(t, nil)
	own, foreign := handleFamily(t, i), handleFamily(t, i)
	foreign[vk.OBJECT_TYPE_SURFACE_KHR] = testSurface(t, other).handle
	foreign[vk.OBJECT_TYPE_DEBUG_UTILS_MESSENGER_EXT] = uint64(testMessenger(t, other, 0, 0, 0))
	testMessenger(t, i, everySeverity, everyType, 0)
	gone := map[vk.ObjectType]uint64{}
	for kind, h := range own {
		gone[kind] = h + 1<<32 // of a later generation
	}
	for kind := range dispatchable {
		gone[kind] = own[kind] + 64<<8 // a slot without an object
	}
	takeInbox()
	before := liveObjects()
	for _, test := range handleTests {
		for at, p := range test.places {
			try := func(what string, h uint64, rule vk.VUID) {
				t.Helper()
				if rule.String() == "" {
					t.Errorf("%s, %s, %s: there is no rule", test.command, p.where, what)
				}
				r := test.call(&handleArgs{own: own, at: at, try: h})
				if got := rules(); !slices.Equal(got, []string{rule.String()}) {
					t.Errorf("%s, %s, %s: reported %q, want %q", test.command, p.where, what, got, rule)
				}
				if r != vk.ERROR_UNKNOWN {
					t.Errorf("%s, %s, %s: result %v", test.command, p.where, what, r)
				}
				if now := liveObjects(); now != before {
					t.Fatalf("%s, %s, %s: objects came or went: %s, before %s", test.command, p.where, what, now, before)
				}
			}
			try("a number", 0xdead, p.stale)
			if !p.exists {
				continue
			}
			try("stale", gone[p.kind], p.stale)
			if dispatchable[p.kind] {
				try("of another kind", own[another(p.kind, vk.OBJECT_TYPE_DEVICE, vk.OBJECT_TYPE_QUEUE)], p.stale)
			} else {
				try("of another kind", own[another(p.kind, vk.OBJECT_TYPE_BUFFER, vk.OBJECT_TYPE_IMAGE)], p.stale)
			}
			if !p.optional {
				try("VK_NULL_HANDLE", 0, p.stale)
			}
			if p.foreign != vk.NoVUID {
				try("of another parent", foreign[p.kind], p.foreign)
			}
		}
	}
}

var dispatchable = map[vk.ObjectType]bool{
	vk.OBJECT_TYPE_INSTANCE: true, vk.OBJECT_TYPE_PHYSICAL_DEVICE: true, vk.OBJECT_TYPE_DEVICE: true,
	vk.OBJECT_TYPE_QUEUE: true, vk.OBJECT_TYPE_COMMAND_BUFFER: true,
}

// another returns the kind of the two that is not t.
func another(t, a, b vk.ObjectType) vk.ObjectType {
	if t == a {
		return b
	}
	return a
}
