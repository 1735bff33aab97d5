package exec

import (
	"testing"

	"farside/internal/command"
	"farside/internal/descriptor"
	"farside/internal/pass"
	"farside/internal/sampling"
	"farside/internal/syncobj"
	"farside/internal/vk"
)

// foreign are the resources of a device that has nothing: all objects are another device's.
type foreign struct{}

func (foreign) Buffer(vk.Buffer) (Buffer, error)                   { return Buffer{}, ErrForeign }
func (foreign) Image(vk.Image) (Image, error)                      { return Image{}, ErrForeign }
func (foreign) ImageView(vk.ImageView) (View, error)               { return View{}, ErrForeign }
func (foreign) BufferView(vk.BufferView) (View, error)             { return View{}, ErrForeign }
func (foreign) Attachment(vk.ImageView) (AttachmentView, error)    { return AttachmentView{}, ErrForeign }
func (foreign) RenderPass(vk.RenderPass) (*pass.RenderPass, error) { return nil, ErrForeign }
func (foreign) Framebuffer(vk.Framebuffer) (*Framebuffer, error)   { return nil, ErrForeign }
func (foreign) Sampler(vk.Sampler) (*sampling.Sampler, error)      { return nil, ErrForeign }
func (foreign) Event(vk.Event) (*syncobj.Payload, error)           { return nil, ErrForeign }
func (foreign) QueryPool(vk.QueryPool) (*QueryPool, error)         { return nil, ErrForeign }
func (foreign) Pipeline(vk.Pipeline) (*Pipeline, error)            { return nil, ErrForeign }
func (foreign) Shader(vk.ShaderEXT) (*Shader, error)               { return nil, ErrForeign }
func (foreign) Physical(uint64) (Range, bool)                      { return Range{}, false }
func (foreign) Secondary(vk.CommandBuffer) (Secondary, error)      { return Secondary{}, ErrForeign }
func (foreign) DescriptorSet(vk.DescriptorSet) (*descriptor.Set, error) {
	return nil, ErrForeign
}

// TestForeignObjects: a command that names an object of another device breaks its rule commonparent; one that names
// what is no object breaks the parameter's rule.
func TestForeignObjects(t *testing.T) {
	const layout = vk.IMAGE_LAYOUT_GENERAL
	for name, c := range map[string]struct {
		parameter string
		record    func(s *command.Stream) error
	}{
		"FillBuffer":   {"dstBuffer", func(s *command.Stream) error { return s.FillBuffer(9, 0, 4, 0) }},
		"UpdateBuffer": {"dstBuffer", func(s *command.Stream) error { return s.UpdateBuffer(9, 0, make([]byte, 4)) }},
		"CopyBuffer": {"srcBuffer", func(s *command.Stream) error {
			return s.CopyBuffer(9, 9, make([]vk.BufferCopy, 1))
		}},
		"CopyImage": {"srcImage", func(s *command.Stream) error {
			return s.CopyImage(9, layout, 9, layout, make([]vk.ImageCopy, 1))
		}},
		"BlitImage": {"srcImage", func(s *command.Stream) error {
			return s.BlitImage(9, layout, 9, layout, make([]vk.ImageBlit, 1), 0)
		}},
		"CopyBufferToImage": {"srcBuffer", func(s *command.Stream) error {
			return s.CopyBufferToImage(9, 9, layout, make([]vk.BufferImageCopy, 1))
		}},
		"CopyImageToBuffer": {"srcImage", func(s *command.Stream) error {
			return s.CopyImageToBuffer(9, layout, 9, make([]vk.BufferImageCopy, 1))
		}},
		"ClearColorImage": {"image", func(s *command.Stream) error {
			return s.ClearColorImage(9, layout, new(vk.ClearColorValue), make([]vk.ImageSubresourceRange, 1))
		}},
		"ClearDepthStencilImage": {"image", func(s *command.Stream) error {
			return s.ClearDepthStencilImage(9, layout, new(vk.ClearDepthStencilValue), make([]vk.ImageSubresourceRange, 1))
		}},
		"ResolveImage": {"srcImage", func(s *command.Stream) error {
			return s.ResolveImage(9, layout, 9, layout, make([]vk.ImageResolve, 1))
		}},
		"SetEvent":         {"event", func(s *command.Stream) error { return s.SetEvent(9, 0) }},
		"ResetEvent":       {"event", func(s *command.Stream) error { return s.ResetEvent(9, 0) }},
		"WaitEvents":       {"pEvents", func(s *command.Stream) error { return s.WaitEvents([]vk.Event{9}, 0, 0) }},
		"ResetQueryPool":   {"queryPool", func(s *command.Stream) error { return s.ResetQueryPool(9, 0, 1) }},
		"WriteTimestamp":   {"queryPool", func(s *command.Stream) error { return s.WriteTimestamp(0, 9, 0) }},
		"WriteTimestamp2":  {"queryPool", func(s *command.Stream) error { return s.WriteTimestamp2(0, 9, 0) }},
		"DispatchIndirect": {"buffer", func(s *command.Stream) error { return s.DispatchIndirect(9, 0) }},
		"CopyQueryPoolResults": {"queryPool", func(s *command.Stream) error {
			return s.CopyQueryPoolResults(9, 0, 1, 9, 0, 0, 0)
		}},
		"WriteBufferMarkerAMD": {"dstBuffer", func(s *command.Stream) error { return s.WriteBufferMarkerAMD(0, 9, 0, 0) }},
		"BindPipeline":         {"pipeline", func(s *command.Stream) error { return s.BindPipeline(compute1, 9) }},
		"BindShadersEXT": {"pShaders", func(s *command.Stream) error {
			return s.BindShaders([]command.StageShader{{Shader: 9, Stage: uint64(vk.SHADER_STAGE_COMPUTE_BIT)}})
		}},
		"BindDescriptorSets": {"pDescriptorSets", func(s *command.Stream) error {
			return s.BindDescriptorSets(compute1, 0, 0, []vk.DescriptorSet{9}, nil)
		}},
		"ExecuteCommands": {"pCommandBuffers", func(s *command.Stream) error {
			return s.ExecuteCommands([]vk.CommandBuffer{9})
		}},
	} {
		w := newWorld(t)
		record := func(s *command.Stream) { must(t, c.record(s)) }
		if got, want := w.failure(t, record), "VUID-vkCmd"+name+"-"+c.parameter+"-parameter"; got != want {
			t.Errorf("without an object: %q, want %q", got, want)
		}
		w.Resources = foreign{}
		if got, want := w.failure(t, record), "VUID-vkCmd"+name+"-commonparent"; got != want {
			t.Errorf("with another device's object: %q, want %q", got, want)
		}
	}
}
