package conformance

import (
	"bufio"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

var (
	turnNeeds      = []string{"SampleRateShading", "TimelineSemaphore"}
	turnExtensions = []string{fdExtension, semaphoreFdExtension}
)

func init() {
	needs := []string{"SampleRateShading"}
	roles["image_viewer"] = definition{compute: true, graphics: true, needs: needs, run: playImageViewer,
		extensions: []string{fdExtension}}
	roles["foreign_image_viewer"] = definition{compute: true, graphics: true, needs: needs, run: playImageViewer,
		extensions: []string{fdExtension, foreignExtension}}
	roles["image_turns"] = definition{compute: true, graphics: true, needs: turnNeeds, run: playTurns,
		extensions: turnExtensions}
	roles["dma_image_viewer"] = definition{compute: true, graphics: true, needs: needs, run: playImageViewer,
		extensions: dmaBufExtensions}
	roles["foreign_dma_image_viewer"] = definition{compute: true, graphics: true, needs: needs, run: playImageViewer,
		extensions: slices.Concat(dmaBufExtensions, []string{foreignExtension})}
}

// A sharedWay is a type of handles by which images are shared.
type sharedWay struct {
	group, role string
	handle      vk.ExternalMemoryHandleTypeFlags
	extensions  []string
}

// row is a case that shares all images that specs makes of a plain one.
func (w sharedWay) row(name string, specs func(c *Case, plain sharedSpec) []sharedSpec) definition {
	if name == "foreign" {
		w.role, w.extensions = "foreign_"+w.role, slices.Concat(w.extensions, []string{foreignExtension})
	}
	d := drawCase("api.external.memory."+w.group+".image.drawn."+name, func(c *Case) {
		plain := sharedSpec{handle: w.handle, format: rgba8, samples: 1, levels: 1, layers: 1,
			owner: vk.QUEUE_FAMILY_EXTERNAL}
		c.shareImages(w.role, specs(c, plain))
	}, "SampleRateShading")
	d.extensions = w.extensions
	d.valid = w.handle != dmaBuf // which is slow, and differs in nothing else
	return d
}

// each is a spec for each of some formats; of dma-bufs for few of them: the machine that has them may be an emulated
// one.
func (w sharedWay) each(formats []vk.Format, p sharedSpec) (list []sharedSpec) {
	every := 1
	if w.handle == dmaBuf {
		every = 3 + len(formats)/2
	}
	for i := 0; i < len(formats); i += every {
		p.format = formats[i]
		list = append(list, p)
	}
	return list
}

// few are so many sizes or sample counts; of dma-bufs the first.
func few[T any](w sharedWay, values ...T) []T {
	if w.handle == dmaBuf {
		return values[:1]
	}
	return values
}

func (w sharedWay) cases() []definition {
	some := []vk.Format{rgba8, vk.FORMAT_R16G16_SINT, vk.FORMAT_R32_UINT, vk.FORMAT_D16_UNORM,
		vk.FORMAT_D32_SFLOAT_S8_UINT}
	all := []definition{
		w.row("color_formats", func(c *Case, p sharedSpec) []sharedSpec { return w.each(c.attachmentFormats(false), p) }),
		w.row("depth_formats", func(c *Case, p sharedSpec) []sharedSpec { return w.each(c.attachmentFormats(true), p) }),
		w.row("linear", func(c *Case, p sharedSpec) []sharedSpec {
			p.tiling = vk.IMAGE_TILING_LINEAR
			var third []vk.Format
			for i, f := range append(c.attachmentFormats(false), c.attachmentFormats(true)...) {
				if i%3 == 0 {
					third = append(third, f)
				}
			}
			return w.each(third, p)
		}),
		w.row("levels_and_layers", func(_ *Case, p sharedSpec) (list []sharedSpec) {
			for _, p.tiling = range few(w, vk.IMAGE_TILING_OPTIMAL, vk.IMAGE_TILING_LINEAR) {
				for _, size := range few(w, [2]uint32{3, 2}, [2]uint32{5, 1}, [2]uint32{1, 4}) {
					p.levels, p.layers = size[0], size[1]
					list = append(list, w.each(some, p)...)
				}
			}
			return list
		}),
		w.row("samples", func(_ *Case, p sharedSpec) (list []sharedSpec) {
			for _, p.samples = range few[uint32](w, 4, 8, 2, 16) {
				p.layers = 1 + p.samples/8&1
				list = append(list, w.each(some, p)...)
			}
			return list
		}),
		w.row("foreign", func(_ *Case, p sharedSpec) []sharedSpec {
			p.owner = vk.QUEUE_FAMILY_FOREIGN_EXT
			return w.each(some, p)
		}),
	}
	if w.handle == dmaBuf {
		all = append(all, w.row("modifier", func(c *Case, p sharedSpec) []sharedSpec {
			p.tiling = modifierTiling
			return w.each(c.attachmentFormats(false), p)
		}))
	}
	return all
}

// sharedImageCases draw into images that are exported, and sample them in another process; and the other way round.
func sharedImageCases() []definition {
	opaque := sharedWay{"opaque_fd", "image_viewer", opaqueFd, []string{fdExtension}}
	dma := sharedWay{"dma_buf", "dma_image_viewer", dmaBuf, dmaBufExtensions}
	instances := drawCase("api.external.memory.opaque_fd.image.drawn.between_instances", imageBetweenInstances,
		"SampleRateShading")
	instances.extensions = []string{fdExtension}
	inTurn := drawCase("api.external.memory.opaque_fd.image.drawn.in_turn", imagesInTurn, turnNeeds...)
	inTurn.extensions = turnExtensions
	return slices.Concat(opaque.cases(), dma.cases(), []definition{instances, inTurn})
}

// imageBetweenInstances shares images between two instances of a process, both ways.
func imageBetweenInstances(c *Case) {
	other := &Case{def: c.def, driver: c.driver, loader: c.loader}
	other.open(true)
	p := sharedSpec{handle: opaqueFd, format: rgba8, samples: 1, levels: 2, layers: 2, owner: vk.QUEUE_FAMILY_EXTERNAL}
	for _, p.format = range []vk.Format{rgba8, vk.FORMAT_D32_SFLOAT} {
		for _, both := range [][2]*Case{{c, other}, {other, c}} {
			if !both[0].shareOne(p, func(p *sharedSpec, fd int) { both[1].viewShared(*p, fd) }) {
				c.Unsupported("an image of those that can be exported")
			}
		}
	}
	c.failed = c.failed || other.failed
	other.close()
	other.a.Close()
}

const (
	turnPeers = 3
	turns     = 24
)

// turnSpec is of the two images that processes draw into in turn.
var turnSpec = sharedSpec{handle: opaqueFd, format: vk.FORMAT_R32_SFLOAT, samples: 1, levels: 1, layers: 1,
	owner: vk.QUEUE_FAMILY_EXTERNAL}

// imagesInTurn has this process and others draw into two images in turn, all under one timeline semaphore: at each
// value of it, one of them samples an image, and draws what it has found, and one more, to the other.
func imagesInTurn(c *Case) {
	t, r := c.dev.CreateSemaphore(vulkan.SemaphoreTypeInfo(&c.a, 0, vulkan.ExportSemaphoreInfo(&c.a,
		vk.ExternalSemaphoreHandleTypeFlags(vk.EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT), nil)))
	c.must("vkCreateSemaphore", r)
	defer c.dev.DestroySemaphore(t)
	var images [2]*sharedImage
	for i := range images {
		if images[i] = c.shared(turnSpec, -1); images[i] == nil {
			c.Unsupported("an image of those that can be exported")
		}
		defer images[i].close()
		images[i].make()
		images[i].at(0, 0)
		images[i].render(nil, vk.ATTACHMENT_LOAD_OP_CLEAR)
		images[i].give()
	}
	for i := range turnPeers {
		p := c.start("image_turns")
		defer p.end()
		p.tell("%d", i+1)
		for _, s := range images {
			fd := c.getFd(s.image.memory)
			c.system("send", sendFd(p.socket, fd))
			unix.Close(fd)
			p.hear()
		}
		fd, r := c.dev.SemaphoreFd(t, vk.EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT)
		c.must("vkGetSemaphoreFdKHR", r)
		c.system("send", sendFd(p.socket, fd))
		unix.Close(fd)
		defer func() {
			if s := p.hear(); s != "good" {
				c.Errorf("peer %d says %s", i+1, s)
			}
		}()
	}
	c.takeTurns(images, t, 0)
	c.must("vkWaitSemaphores", c.dev.WaitSemaphores(0, patience, vulkan.Point{Semaphore: t, Value: turns}))
	for i, s := range images {
		s.take()
		got := s.copied()
		for n, v := range got {
			if v != float32(turns-i) {
				c.Errorf("image %d: texel %d is %v, want %d", i, n, v, turns-i)
				break
			}
		}
	}
}

// copied reads a shared image of VK_FORMAT_R32_SFLOAT, by a fragment shader.
func (s *sharedImage) copied() (out []float32) {
	r := s.c.scene(sharedWidth, sharedHeight, 1, 1, 0, rgba32f)
	defer r.close()
	l, done := s.passOn(0)
	defer done()
	r.draw(l)
	for i, v := range r.floats(r.colors[0]) {
		if i%4 == 0 {
			out = append(out, v)
		}
	}
	return out
}

// passOn is a look that draws what an image holds, and some more.
func (s *sharedImage) passOn(more int) (*look, func()) {
	view := s.viewOf(0, 1, 0, 1, vk.ImageAspectFlags(vk.IMAGE_ASPECT_COLOR_BIT),
		vk.ImageUsageFlags(vk.IMAGE_USAGE_SAMPLED_BIT))
	return &look{vertex: wholeTarget, push: []int32{int32(more)},
		buffers: []any{described{vulkan.Descriptor{Type: vk.DESCRIPTOR_TYPE_SAMPLED_IMAGE,
			Image: vk.DescriptorImageInfo{ImageView: view, ImageLayout: vk.IMAGE_LAYOUT_GENERAL}}}},
		fragment: `#extension GL_EXT_samplerless_texture_functions : require
			layout(binding = 0) uniform texture2DArray t;
			layout(push_constant) uniform P { int more; };
			layout(location = 0) out vec4 c;
			void main() { c = texelFetch(t, ivec3(gl_FragCoord.xy, 0), 0) + more; }`,
	}, func() { s.c.dev.Call("vkDestroyImageView", uintptr(view), 0) }
}

// takeTurns submits the turns of one of the processes at once, and waits for them.
func (c *Case) takeTurns(images [2]*sharedImage, t vk.Semaphore, who int) {
	var batches []vulkan.Batch
	from, to := images[who%2], images[(who+1)%2] // in all of its turns: there is an even number of processes
	l, done := from.passOn(1)
	defer done()
	to.at(0, 0)
	d := to.drawing(l)
	for turn := who; turn < turns; turn += turnPeers + 1 {
		cb := c.commandBuffers(to.pool, vk.COMMAND_BUFFER_LEVEL_PRIMARY, 1)[0]
		to.begin(cb, 0)
		from.handOver(cb, vk.IMAGE_LAYOUT_GENERAL, from.owner, 0)
		to.handOver(cb, vk.IMAGE_LAYOUT_GENERAL, to.owner, 0)
		a := vulkan.Attachment(to.colors[0].view)
		c.dev.Render(cb, vulkan.Rendering{Area: to.whole(), Colors: []vk.RenderingAttachmentInfo{a}}, func() {
			c.dev.BindGraphics(cb, d.pipeline)
			c.dev.BindGraphicsSets(cb, d.layout, d.sets)
			c.dev.PushStages(cb, d.layout, vk.ShaderStageFlags(vk.SHADER_STAGE_VERTEX_BIT|vk.SHADER_STAGE_FRAGMENT_BIT), 0,
				bytesOf(l.push))
			c.dev.CallOn("vkCmdDraw", uintptr(cb), 3, 1, 0, 0)
		})
		from.handOver(cb, vk.IMAGE_LAYOUT_GENERAL, 0, from.owner)
		to.handOver(cb, vk.IMAGE_LAYOUT_GENERAL, 0, to.owner)
		to.end(cb)
		batches = append(batches, vulkan.Batch{Wait: []vulkan.Point{{Semaphore: t, Value: uint64(turn)}},
			Buffers: []vk.CommandBuffer{cb}, Signal: []vulkan.Point{{Semaphore: t, Value: uint64(turn + 1)}}})
	}
	c.must("vkQueueSubmit", c.dev.SubmitBatches(c.dev.Queue(), 0, batches...))
	c.must("vkQueueWaitIdle", c.dev.QueueWaitIdle(c.dev.Queue()))
}

// playTurns is the life of a process that draws in turn with others.
func playTurns(c *Case) {
	in := bufio.NewReader(os.Stdin)
	var who int
	_, err := fmt.Fscanln(in, &who)
	c.system("scan", err)
	var images [2]*sharedImage
	for i := range images {
		fd, err := receiveFd(3)
		c.system("receive", err)
		images[i] = c.shared(turnSpec, fd)
		unix.Close(fd)
		defer images[i].close()
		say("imported")
	}
	fd, err := receiveFd(3)
	c.system("receive", err)
	t, r := c.dev.CreateSemaphore(vulkan.SemaphoreTypeInfo(&c.a, 0, nil))
	c.must("vkCreateSemaphore", r)
	defer c.dev.DestroySemaphore(t)
	c.must("vkImportSemaphoreFdKHR", c.dev.ImportSemaphoreFd(t, vk.EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT, 0, fd))
	c.takeTurns(images, t, who)
	say("good")
}
