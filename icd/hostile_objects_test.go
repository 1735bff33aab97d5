package icd

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	glsl "farside/conformance/shaders"
	"farside/internal/vk"
)

// choices reads what FuzzCommands does from bytes, of which there are as many as it asks for: zeros behind the end. A
// zero is a valid choice wherever there is one.
type choices struct{ data []byte }

func (c *choices) byte() byte {
	if len(c.data) == 0 {
		return 0
	}
	b := c.data[0]
	c.data = c.data[1:]
	return b
}

func (c *choices) n(n int) int { return int(c.byte()) % n }
func (c *choices) flag() bool  { return c.byte()&1 != 0 }
func (c *choices) word() uint32 {
	return binary.LittleEndian.Uint32([]byte{c.byte(), c.byte(), c.byte(), c.byte()})
}

// number is mostly small, sometimes huge, and sometimes anything.
func (c *choices) number(usual uint32) uint32 {
	switch b := c.byte(); {
	case b == 0:
		return usual
	case b < 128:
		return uint32(b)
	case b < 192:
		return uint32(1) << (b & 31)
	case b < 224:
		return -uint32(b & 31)
	default:
		return c.word()
	}
}

// size is number for sizes and offsets, which are mostly multiples of 4.
func (c *choices) size(usual uint64) uint64 {
	b := c.byte()
	if b == 0 {
		return usual
	}
	n := uint64(c.number(0))
	switch {
	case b < 128:
		return 4 * n
	case b < 192:
		return n
	case b < 224:
		return n << 31
	}
	return -n
}

func (c *choices) float(usual float32) float32 {
	switch b := c.byte(); {
	case b == 0:
		return usual
	case b < 128:
		return float32(b) / 16
	default:
		return [...]float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32,
			-math.MaxFloat32, math.SmallestNonzeroFloat32, float32(math.Copysign(0, -1)), 0, -1, 16384, -32768, 1 << 30,
			math.Float32frombits(c.word())}[b%13]
	}
}

// enum is a value of an enumeration with n values that begin with 0, or one beyond them.
func (c *choices) enum(n int) int32 {
	if b := c.byte(); b < 250 {
		return int32(b) % int32(n)
	}
	return int32(c.word())
}

// The shaders of hostile draws, by stage. No other fuzz target has what is missing for them.
var hostileVertex = []string{
	`layout(location = 0) out vec4 v;
	void main() {
		gl_Position = vec4(gl_VertexIndex == 1 ? 3 : -1, gl_VertexIndex == 2 ? 3 : -1, 0.5, 1);
		gl_PointSize = gl_InstanceIndex;
		v = gl_Position;
	}`,
	`layout(location = 0) in vec4 at; layout(location = 1) in uvec2 n; layout(location = 0) out vec4 v;
	layout(push_constant) uniform P { vec4 scale; uint rounds; };
	void main() { gl_Position = at * (1 + scale); gl_PointSize = n.x; v = vec4(n, at.xy); }`,
	`layout(binding = 0) buffer B { vec4 data[]; }; layout(location = 0) out vec4 v;
	void main() { gl_Position = data[gl_VertexIndex]; v = data[gl_InstanceIndex]; data[gl_VertexIndex & 7].x += 1; }`,
}

var hostileFragment = []string{
	`layout(location = 0) in vec4 v; layout(location = 0) out vec4 c; void main() { c = v + gl_FragCoord; }`,
	`layout(location = 0) in vec4 v; layout(location = 0) out vec4 c; layout(location = 1) out uvec4 d;
	layout(binding = 0) buffer B { vec4 data[]; }; layout(binding = 1) uniform sampler2D s;
	void main() {
		c = texture(s, v.xy);
		data[uint(v.x) * 1000u] = c;
		d = uvec4(c);
		gl_FragDepth = c.z;
		gl_SampleMask[0] = int(v.y);
	}`,
	`layout(location = 0) in vec4 v; layout(location = 2) out vec4 c;
	layout(input_attachment_index = 0, binding = 2) uniform subpassInput i;
	void main() { c = subpassLoad(i) + dFdx(v); if (v.x > 0.5) discard; }`,
	`layout(location = 0) in vec4 v; layout(location = 0) out vec4 c;
	layout(push_constant) uniform P { vec4 scale; uint rounds; };
	void main() { for (uint i = 0; i < rounds; i++) c += fract(v * i); }`,
}

// hostileCode is SPIR-V, by stage and number; compiled once.
type hostileCode [2][][]uint32

func compileHostile(f testing.TB) *hostileCode {
	code := new(hostileCode)
	for stage, list := range [2][]string{hostileVertex, hostileFragment} {
		for _, text := range list {
			name := [2]string{"hostile.vert", "hostile.frag"}[stage]
			words, err := glsl.Source{Name: name, Text: "#version 450\n" + text}.Compile()
			if errors.Is(err, glsl.ErrTool) {
				f.Skip(err)
			}
			if err != nil {
				f.Fatal(err)
			}
			code[stage] = append(code[stage], words)
		}
	}
	return code
}

const (
	hostileGap   = 256     // bytes between resources, which no command may change
	hostileRoom  = 1 << 20 // bytes of all resources
	hostileWidth = 24
)

// hostileTest has the objects of an input of FuzzCommands. They are made when they are chosen first.
type hostileTest struct {
	*queueTest
	*choices
	code *hostileCode

	memory  vk.DeviceMemory // of all but one image
	lost    vk.DeviceMemory // of that one
	bytes   []byte
	used    uint64
	placed  map[uint64]uint64 // sizes of resources by where they lie
	buffers [4]vk.Buffer
	images  [len(hostileImages)]vk.Image
	views   [len(hostileImages)]vk.ImageView
	passes  [3]vk.RenderPass
	frames  [6]vk.Framebuffer
	pools   [4]vk.QueryPool
	layouts [2]vk.PipelineLayout
	sets    [3]vk.DescriptorSet
	setForm vk.DescriptorSetLayout
	sampler vk.Sampler
	objects [4]vk.ShaderEXT
	bound   [4]vk.Pipeline // made by the input
	modules [2][4]vk.ShaderModule
	lists   [4]vk.CommandBuffer // two primary ones, two secondary ones
	gone    bool                // the device is lost
	told    func(m received)    // nil, or called for each error that a submission has
}

func newHostileTest(t testing.TB, c *choices, code *hostileCode) *hostileTest {
	t.Setenv("FARSIDE_WATCHDOG", "10ms")
	h := &hostileTest{queueTest: newQueueTest(t), choices: c, code: code, placed: map[uint64]uint64{}}
	info := vk.MemoryAllocateInfo{AllocationSize: hostileRoom, MemoryTypeIndex: hostType(h.queueTest)}
	if r := commands.AllocateMemory(h.d.handle, &info, nil, &h.memory); r != vk.SUCCESS {
		t.Fatal(r)
	}
	var err error
	if h.bytes, err = deviceMemories.Get(uint64(h.memory)).payload.Bytes(); err != nil {
		t.Fatal(err)
	}
	h.gap()
	return h
}

// gap fills the bytes before the next resource.
func (h *hostileTest) gap() {
	for i := range uint64(hostileGap) {
		h.bytes[h.used+i] = 0xa5
	}
	h.used += hostileGap
}

// place returns where a resource of some bytes lies.
func (h *hostileTest) place(size, alignment uint64) uint64 {
	at := (h.used + alignment - 1) / alignment * alignment
	if at+size+hostileGap > hostileRoom {
		h.Fatalf("%d bytes are too few", hostileRoom)
	}
	for ; h.used < at; h.used++ {
		h.bytes[h.used] = 0xa5
	}
	h.used = at + size
	h.placed[at] = size
	h.gap()
	return at
}

// intact looks for a byte outside of all resources that has changed.
func (h *hostileTest) intact() bool {
	for at := uint64(0); at < h.used; at++ {
		if size, ok := h.placed[at]; ok {
			at += size - 1
		} else if h.bytes[at] != 0xa5 {
			return false
		}
	}
	return true
}

// buffer chooses a buffer: one of 4096 bytes, one of few, one that is no multiple of anything, one without memory.
func (h *hostileTest) buffer() vk.Buffer {
	i := h.n(len(h.buffers))
	if h.buffers[i] != 0 {
		return h.buffers[i]
	}
	info := vk.BufferCreateInfo{Size: [4]uint64{4096, 12, 333, 4096}[i], Usage: vk.BUFFER_USAGE_TRANSFER_SRC_BIT |
		vk.BUFFER_USAGE_TRANSFER_DST_BIT | vk.BUFFER_USAGE_VERTEX_BUFFER_BIT | vk.BUFFER_USAGE_INDEX_BUFFER_BIT |
		vk.BUFFER_USAGE_INDIRECT_BUFFER_BIT | vk.BUFFER_USAGE_STORAGE_BUFFER_BIT}
	if r := commands.CreateBuffer(h.d.handle, &info, nil, &h.buffers[i]); r != vk.SUCCESS {
		h.Fatal(r)
	}
	if i < 3 {
		var needs vk.MemoryRequirements
		commands.GetBufferMemoryRequirements(h.d.handle, h.buffers[i], &needs)
		at := h.place(info.Size, needs.Alignment)
		if r := commands.BindBufferMemory(h.d.handle, h.buffers[i], h.memory, at); r != vk.SUCCESS {
			h.Fatal(r)
		}
		for n := range info.Size { // numbers that are small as vertices, indices and counts
			h.bytes[at+n] = [4]byte{byte(n>>2) & 3, 0, byte(n>>5) & 1 << 7, byte(n>>6) & 0x3f}[n&3]
		}
	}
	return h.buffers[i]
}

// hostileImages are the images of hostile passes. The last one is destroyed when its view has been made. The memory of
// the one before is freed then.
var hostileImages = [...]vk.ImageCreateInfo{
	{Format: vk.FORMAT_R8G8B8A8_UNORM, Samples: 1, ArrayLayers: 2},
	{Format: vk.FORMAT_R8G8B8A8_UNORM, Samples: 4, ArrayLayers: 2},
	{Format: vk.FORMAT_D24_UNORM_S8_UINT, Samples: 1, ArrayLayers: 2},
	{Format: vk.FORMAT_D32_SFLOAT, Samples: 4, ArrayLayers: 1},
	{Format: vk.FORMAT_R32G32_UINT, Samples: 1, ArrayLayers: 1},
	{Format: vk.FORMAT_S8_UINT, Samples: 1, ArrayLayers: 3},
	{Format: vk.FORMAT_B10G11R11_UFLOAT_PACK32, Samples: 1, ArrayLayers: 1},
	{Format: vk.FORMAT_R8G8B8A8_UNORM, Samples: 1, ArrayLayers: 1},
	{Format: vk.FORMAT_R8G8B8A8_UNORM, Samples: 1, ArrayLayers: 1},
}

// view chooses an image view, number usual if the byte is zero; rarely none.
func (h *hostileTest) view(usual int) vk.ImageView {
	b := int(h.byte())
	if b == 255 {
		return 0
	}
	i := (b + usual) % len(h.views)
	if h.views[i] != 0 {
		return h.views[i]
	}
	info := hostileImages[i]
	info.ImageType, info.MipLevels = vk.IMAGE_TYPE_2D, 1
	info.Extent = vk.Extent3D{Width: hostileWidth, Height: 17, Depth: 1}
	info.Usage = vk.IMAGE_USAGE_TRANSFER_SRC_BIT | vk.IMAGE_USAGE_TRANSFER_DST_BIT | vk.IMAGE_USAGE_SAMPLED_BIT |
		vk.IMAGE_USAGE_INPUT_ATTACHMENT_BIT
	view := vk.ImageViewCreateInfo{ViewType: vk.IMAGE_VIEW_TYPE_2D_ARRAY, Format: info.Format,
		SubresourceRange: vk.ImageSubresourceRange{LevelCount: 1, LayerCount: info.ArrayLayers}}
	switch info.Format {
	case vk.FORMAT_D24_UNORM_S8_UINT:
		view.SubresourceRange.AspectMask = vk.IMAGE_ASPECT_DEPTH_BIT | vk.IMAGE_ASPECT_STENCIL_BIT
	case vk.FORMAT_D32_SFLOAT:
		view.SubresourceRange.AspectMask = vk.IMAGE_ASPECT_DEPTH_BIT
	case vk.FORMAT_S8_UINT:
		view.SubresourceRange.AspectMask = vk.IMAGE_ASPECT_STENCIL_BIT
	default:
		view.SubresourceRange.AspectMask = vk.IMAGE_ASPECT_COLOR_BIT
	}
	if info.Usage |= vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT; view.SubresourceRange.AspectMask != vk.IMAGE_ASPECT_COLOR_BIT {
		info.Usage ^= vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT | vk.IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT
	}
	view.Image = h.newImage(i, &info)
	h.images[i] = view.Image
	if r := commands.CreateImageView(h.d.handle, &view, nil, &h.views[i]); r != vk.SUCCESS {
		h.Fatalf("view %d: %v %q", i, r, rules())
	}
	switch i {
	case len(h.views) - 1:
		commands.DestroyImage(h.d.handle, view.Image, nil)
		h.images[i] = 0
	case len(h.views) - 2:
		commands.FreeMemory(h.d.handle, h.lost, nil)
	}
	return h.views[i]
}

// newImage makes an image and its memory.
func (h *hostileTest) newImage(i int, info *vk.ImageCreateInfo) (img vk.Image) {
	if r := commands.CreateImage(h.d.handle, info, nil, &img); r != vk.SUCCESS {
		h.Fatalf("image %d: %v %q", i, r, rules())
	}
	var needs vk.MemoryRequirements
	commands.GetImageMemoryRequirements(h.d.handle, img, &needs)
	memory, at := h.memory, uint64(0)
	if i == len(h.views)-2 {
		own := vk.MemoryAllocateInfo{AllocationSize: needs.Size, MemoryTypeIndex: hostType(h.queueTest)}
		if r := commands.AllocateMemory(h.d.handle, &own, nil, &h.lost); r != vk.SUCCESS {
			h.Fatal(r)
		}
		memory = h.lost
	} else {
		at = h.place(needs.Size, needs.Alignment)
	}
	if r := commands.BindImageMemory(h.d.handle, img, memory, at); r != vk.SUCCESS {
		h.Fatal(r)
	}
	return img
}

// image chooses an image as view does; 0 where that is destroyed.
func (h *hostileTest) image(usual int) vk.Image {
	if v := h.view(usual); v != 0 {
		return h.images[slices.Index(h.views[:], v)]
	}
	return 0
}

// query chooses a pool of three queries: of occlusion, statistics, timestamps.
func (h *hostileTest) query() vk.QueryPool {
	i := h.n(3)
	if h.pools[i] == 0 {
		info := vk.QueryPoolCreateInfo{QueryCount: 3, QueryType: [3]vk.QueryType{vk.QUERY_TYPE_OCCLUSION,
			vk.QUERY_TYPE_PIPELINE_STATISTICS, vk.QUERY_TYPE_TIMESTAMP}[i]}
		if i == 1 {
			info.PipelineStatistics = 0x7ff
		}
		if r := commands.CreateQueryPool(h.d.handle, &info, nil, &h.pools[i]); r != vk.SUCCESS {
			h.Fatal(r)
		}
	}
	return h.pools[i]
}

// list chooses a command buffer of a level.
func (h *hostileTest) list(level vk.CommandBufferLevel) vk.CommandBuffer {
	i := h.n(2) + 2*int(level)
	if h.lists[i] == 0 {
		h.lists[i] = h.commands(0, level)
	}
	return h.lists[i]
}
