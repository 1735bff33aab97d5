package icd

import (
	"errors"
	"fmt"

	"farside/internal/descriptor"
	"farside/internal/exec"
	"farside/internal/pass"
	"farside/internal/sampling"
	"farside/internal/syncobj"
	"farside/internal/transfer"
	"farside/internal/vk"
	"farside/memory"
)

// resources finds what recorded commands name for the queues of a device. What it returns may be destroyed by
// a wrong application at any time: it stays usable for as long as the queue holds its reference.
type resources struct {
	device *device
	index  uint32 // of the physical device whose instances of memory it finds
}

var (
	errNoObject = errors.New("no such object lives on the device")
	errUnbound  = errors.New("it is not bound to memory, or the memory has been freed")
)

// absent is the error of an object that the device does not have; exists says that another device has it.
func absent(what string, h uint64, exists bool) error {
	err := errNoObject
	if exists {
		err = exec.ErrForeign
	}
	return fmt.Errorf("%s %#x: %w", what, h, err)
}

// mapped references and maps the memory that an object of size bytes is bound to at offset, and begins an access to it.
// The caller ends the access and drops the reference.
func mapped(m *deviceMemory, offset, size uint64) (*memory.Payload, []byte, error) {
	if m == nil || offset == noInstance || !m.payload.TryRetain() {
		return nil, nil, errUnbound
	}
	err := m.payload.BeginAccess()
	var all []byte
	if err == nil {
		all, err = m.payload.Bytes()
	}
	if err != nil {
		m.payload.Release()
		return nil, nil, err
	}
	return m.payload, all[offset : offset+size : offset+size], nil
}

func (r *resources) Buffer(h vk.Buffer) (exec.Buffer, error) {
	b := buffers.Get(uint64(h))
	if b == nil || b.device != r.device {
		return exec.Buffer{}, absent("buffer", uint64(h), b != nil)
	}
	p, bytes, err := mapped(b.boundTo(), b.of(r.index), b.size)
	if err != nil {
		return exec.Buffer{}, fmt.Errorf("buffer %#x: %w", uint64(h), err)
	}
	return exec.Buffer{Bytes: bytes, Usage: b.usage, Excess: &b.excess, Payload: p}, nil
}

func (r *resources) Image(h vk.Image) (exec.Image, error) {
	img := images.Get(uint64(h))
	if img == nil || img.device != r.device {
		return exec.Image{}, absent("image", uint64(h), img != nil)
	}
	texels, held, err := img.texels(r.index)
	if err != nil {
		return exec.Image{}, fmt.Errorf("image %#x: %w", uint64(h), err)
	}
	return exec.Image{Image: texels, Usage: img.usage, Excess: &img.excess, Payload: held.payload, Others: held.others,
		Pieced: img.piecedFor(r.index)}, nil
}

// texels references and maps the memory that the image is bound to, for a physical device.
func (img *image) texels(index uint32) (transfer.Image, lent, error) {
	held, bytes, err := img.mapped(index)
	if err != nil {
		return transfer.Image{}, held, err
	}
	return transfer.NewImage(&bytes, &img.layout, img.format, img.imageType), held, nil
}

func (r *resources) ImageView(h vk.ImageView) (exec.View, error) {
	v := imageViews.Get(uint64(h))
	if v == nil || v.device != r.device {
		return exec.View{}, absent("image view", uint64(h), v != nil)
	}
	texels, held, err := v.texels(r.index)
	if err != nil {
		return exec.View{}, fmt.Errorf("image view %#x: %w", uint64(h), err)
	}
	return exec.View{View: texels, Payload: held.payload, Others: held.others, Pieced: v.image.piecedFor(r.index)}, nil
}

func (r *resources) Attachment(h vk.ImageView) (exec.AttachmentView, error) {
	v := imageViews.Get(uint64(h))
	if v == nil || v.device != r.device {
		return exec.AttachmentView{}, absent("image view", uint64(h), v != nil)
	}
	return exec.AttachmentView{Image: vk.Image(v.image.handle), Format: v.format, Aspect: v.aspects, Level: v.baseLevel,
		Layer: v.baseLayer, Layers: v.layerCount}, nil
}

func (r *resources) RenderPass(h vk.RenderPass) (*pass.RenderPass, error) {
	p := renderPasses.Get(uint64(h))
	if p == nil || p.device != r.device {
		return nil, absent("render pass", uint64(h), p != nil)
	}
	return &p.pass, nil
}

func (r *resources) Framebuffer(h vk.Framebuffer) (*exec.Framebuffer, error) {
	f := framebuffers.Get(uint64(h))
	if f == nil || f.device != r.device {
		return nil, absent("framebuffer", uint64(h), f != nil)
	}
	return &f.exec, nil
}

func (r *resources) BufferView(h vk.BufferView) (exec.View, error) {
	v := bufferViews.Get(uint64(h))
	if v == nil || v.device != r.device {
		return exec.View{}, absent("buffer view", uint64(h), v != nil)
	}
	texels, p, err := v.texels(r.index)
	if err != nil {
		return exec.View{}, fmt.Errorf("buffer view %#x: %w", uint64(h), err)
	}
	return exec.View{View: texels, Payload: p}, nil
}

func (r *resources) Sampler(h vk.Sampler) (*sampling.Sampler, error) {
	s := samplers.Get(uint64(h))
	if s == nil || s.device != r.device {
		return nil, absent("sampler", uint64(h), s != nil)
	}
	return s.Sampler, nil
}

func (r *resources) Event(h vk.Event) (*syncobj.Payload, error) {
	e := events.Get(uint64(h))
	if e == nil || e.device != r.device {
		return nil, absent("event", uint64(h), e != nil)
	}
	return e.payload.Retain(), nil
}

func (r *resources) QueryPool(h vk.QueryPool) (*exec.QueryPool, error) {
	p := queryPools.Get(uint64(h))
	if p == nil || p.device != r.device {
		return nil, absent("query pool", uint64(h), p != nil)
	}
	return p.pool, nil
}

func (r *resources) Pipeline(h vk.Pipeline) (*exec.Pipeline, error) {
	p := pipelines.Get(uint64(h))
	if p == nil || p.device != r.device {
		return nil, absent("pipeline", uint64(h), p != nil)
	}
	return &p.exec, nil
}

func (r *resources) Shader(h vk.ShaderEXT) (*exec.Shader, error) {
	s := shaderObjects.Get(uint64(h))
	if s == nil || s.device != r.device {
		return nil, absent("shader", uint64(h), s != nil)
	}
	return &s.exec, nil
}

func (r *resources) DescriptorSet(h vk.DescriptorSet) (*descriptor.Set, error) {
	s := descriptorSets.Get(uint64(h))
	if s == nil || s.pool.device != r.device {
		return nil, absent("descriptor set", uint64(h), s != nil)
	}
	return s.set, nil
}

func (r *resources) Physical(address uint64) (exec.Range, bool) {
	return r.device.addresses.find(address)
}

func (r *resources) Secondary(h vk.CommandBuffer) (exec.Secondary, error) {
	b := commandBuffers.Get(uintptr(h))
	switch {
	case b == nil || b.pool.device != r.device:
		return exec.Secondary{}, absent("command buffer", uint64(h), b != nil)
	case b.level != vk.COMMAND_BUFFER_LEVEL_SECONDARY:
		return exec.Secondary{}, vk.Errorf(vk.ERROR_DEVICE_LOST, vk.VUID_vkCmdExecuteCommands_pCommandBuffers_00088,
			"command buffer %#x is a primary one", uint64(h))
	}
	return exec.Secondary{Stream: b.Stream(), Inherits: &b.inherits}, nil
}
