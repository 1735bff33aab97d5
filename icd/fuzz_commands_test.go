package icd

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"farside/internal/vk"
)

const (
	hostileStep  = 48              // bytes of an input that a command is made of: a command buffer, its kind, what it says
	hostileSteps = 40              // commands of an input
	hostileTime  = 8 * time.Second // that executing a command buffer may take, with a watchdog of 10 ms
)

// submit submits a command buffer and waits. Whatever it has recorded, it is executed or refused, or the device is lost
// with a message that isn't of a panic.
func (h *hostileTest) submit(c vk.CommandBuffer) {
	begun := time.Now()
	r := submit1(h.d.queues[0], 0, vk.SubmitInfo{CommandBufferCount: 1, PCommandBuffers: &c})
	idle := commands.DeviceWaitIdle(h.d.handle)
	if took := time.Since(begun); took > hostileTime {
		h.Errorf("executing took %v", took)
	}
	for _, r := range []vk.Result{r, idle} {
		if r != vk.SUCCESS && r != vk.ERROR_DEVICE_LOST && r != vk.ERROR_UNKNOWN {
			h.Errorf("submitting: %v", r)
		}
	}
	messages := takeInbox()
	for _, m := range messages {
		if h.told != nil && m.severity == vk.DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT {
			h.told(m)
		}
		if strings.Contains(m.text, "panic") {
			h.Errorf("%s", m.text)
		}
	}
	if idle == vk.ERROR_DEVICE_LOST && !h.gone && len(messages) == 0 {
		h.Errorf("the device is lost, and no message says why")
	}
	h.gone = idle == vk.ERROR_DEVICE_LOST
}

// run records and executes what an input says. Command buffers are begun at first. Primary ones are ended and submitted
// at last.
func (h *hostileTest) run(data []byte) {
	for i := range len(h.lists) {
		h.data = []byte{byte(i)}
		c := h.list(vk.CommandBufferLevel(i / 2))
		h.data = []byte{255, 0, 0, 0, 0, 0, byte(i / 2)} // a rendering, if it is a secondary one
		h.begin(c)
	}
	for range hostileSteps {
		if len(data) < 2 {
			break
		}
		step := data[:min(hostileStep, len(data))]
		data = data[len(step):]
		h.data = step[2:]
		hostileCommands[int(step[1])%len(hostileCommands)].add(h, h.lists[step[0]&3])
	}
	for _, c := range h.lists[:2] {
		commands.EndCommandBuffer(c)
		h.submit(c)
	}
	if !h.intact() {
		h.Errorf("bytes outside of all resources have changed")
	}
}

// seed makes an input of the names of commands. A name with "2:" before it is recorded to the first secondary command
// buffer. Bytes behind the name say what is other than usual.
func seed(steps ...string) (data []byte) {
	for _, s := range steps {
		step := make([]byte, hostileStep)
		if strings.HasPrefix(s, "2:") {
			step[0], s = 2, s[2:]
		}
		name, bytes, _ := strings.Cut(s, " ")
		step[1] = byte(slices.IndexFunc(hostileCommands, func(c hostileCommand) bool { return c.name == name }))
		copy(step[2:], bytes)
		data = append(data, step...)
	}
	return data
}

// FuzzCommands records commands of graphics that need not fit each other, nor what they are about, and executes them.
// Their handles are live, and of the right kind. Nothing may crash, hang, take longer than the watchdog allows, or
// write outside of the resources.
func FuzzCommands(f *testing.F) {
	code := compileHostile(f)
	for _, s := range hostileSeeds {
		f.Add(seed(s...))
	}
	f.Fuzz(func(t *testing.T, data []byte) { newHostileTest(t, new(choices), code).run(data) })
}

// hostileSeeds are inputs in which most is in order.
var hostileSeeds = [][]string{
	{"beginRendering", "bindPipeline", "draw", "endRendering"},
	{"beginRendering", "states", "bindPipeline \x00\x01\x01\x03", "bindVertexBuffers", "pushConstants", "bindIndexBuffer",
		"drawIndexed", "drawIndirect", "drawIndirectCount", "drawMulti", "clearAttachments", "endRendering"},
	{"beginRendering", "states", "bindShaders \x00\x00\x02", "bindDescriptorSets", "draw", "endRendering"},
	{"beginRendering", "states", "bindShaders \x01\x00\x03", "bindDescriptorSets", "draw", "endRendering"},
	{"resetQueries", "beginRenderPass", "beginQuery", "bindPipeline \x00\x02\x00\x00", "draw", "nextSubpass", "draw",
		"endRenderPass", "endQuery", "copyQueries"},
	{"beginRenderPass \x01", "bindPipeline \x00\x03" + strings.Repeat("\x00", 28) + "\x01", "draw", // with 4 samples
		"endRenderPass"},
	{"beginRenderPass \x02\x01\x01\x01", "bindPipeline", "draw", "endRenderPass", "barrier", "timestamp \x02"},
	{"2:bindPipeline", "2:draw", "beginRendering", "executeCommands", "endRendering"},
	{"beginRendering", "bindPipeline", "draw \xf0\xff\xff\xff\xff\xf0\xff\xff\xff\xff", "endRendering"},
	{"transfer", "updateDescriptorSets", "locations", "begin", "beginRendering", "draw", "end \x04", "state"},
}

// TestRandomCommands is FuzzCommands for random changes of its seeds.
func TestRandomCommands(t *testing.T) {
	code := compileHostile(t)
	for n := range uint64(60) {
		random := rand.New(rand.NewPCG(n, 29))
		data := seed(hostileSeeds[random.IntN(len(hostileSeeds))]...)
		for range 1 + random.IntN(6) {
			step := random.IntN(len(data)/hostileStep+1) * hostileStep
			if random.IntN(3) == 0 { // one more, of a kind that is there or not
				more := make([]byte, hostileStep)
				more[0], more[1] = byte(random.IntN(8)&3)&2, byte(random.Uint32())
				data = slices.Insert(data, step, more...)
			}
			for range random.IntN(12) {
				if at := step + 2 + random.IntN(24); at < len(data) {
					data[at] = byte(random.Uint32())
				}
			}
		}
		t.Run(strconv.FormatUint(n, 10), func(t *testing.T) { newHostileTest(t, new(choices), code).run(data) })
	}
}

// TestHugeDraws: draws that would take years end with a lost device, and a message that names the time limit.
func TestHugeDraws(t *testing.T) {
	const huge = "\xf0\xff\xff\xff\xff"
	code := compileHostile(t)
	for name, command := range map[string]string{
		"vertices": "draw " + huge, "instances": "draw \x00" + huge, "both": "draw " + huge + huge,
		"indices": "drawIndexed " + huge + huge,
		"several": "drawMulti " + huge + "\x00" + huge + "\x00\x00\x00\x00\x02" + huge,
	} {
		t.Run(name, func(t *testing.T) {
			h := newHostileTest(t, new(choices), code)
			var told []received
			h.told = func(m received) { told = append(told, m) }
			h.run(seed("beginRendering", "bindPipeline", "bindIndexBuffer", command, "endRendering"))
			if !h.gone || len(told) == 0 || !strings.Contains(told[0].text, "FARSIDE_WATCHDOG") {
				t.Errorf("lost: %v, told of %+v", h.gone, told)
			}
		})
	}
}
