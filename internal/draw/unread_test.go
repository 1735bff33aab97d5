package draw

import (
	"fmt"
	"testing"

	"farside/compute"
	"farside/internal/vk"
)

// TestUnread finds the outputs of a fragment shader that nobody reads: two colours for two attachments, the second
// source of the first one, and a depth.
func TestUnread(t *testing.T) {
	blend := func(src, dst, srcAlpha, dstAlpha vk.BlendFactor) Blend {
		return Blend{BlendEnable: 1, SrcColorBlendFactor: src, DstColorBlendFactor: dst, SrcAlphaBlendFactor: srcAlpha,
			DstAlphaBlendFactor: dstAlpha, ColorWriteMask: 15}
	}
	const zero, one = vk.BLEND_FACTOR_ZERO, vk.BLEND_FACTOR_ONE
	for _, test := range []struct {
		format vk.Format
		change func(s *scene)
		want   string // the components that are read of location 0, of its second source, and of location 1
	}{
		{vk.FORMAT_R8G8B8A8_UNORM, nil, "rgba  "},
		{vk.FORMAT_B8G8R8A8_SRGB, nil, "rgba  "},
		{vk.FORMAT_R8_UNORM, nil, "r  "},
		{vk.FORMAT_R16G16_SFLOAT, nil, "rg  "},
		{vk.FORMAT_R32_UINT, nil, "r  "},
		{vk.FORMAT_B10G11R11_UFLOAT_PACK32, nil, "rgb  "},
		{vk.FORMAT_E5B9G9R9_UFLOAT_PACK32, nil, "rgba  "},
		{vk.FORMAT_R8G8B8A8_UNORM, func(s *scene) { s.state.Blends[0].ColorWriteMask = 6 }, "gb  "},
		{vk.FORMAT_R8G8B8A8_UNORM, func(s *scene) { s.state.Blends[0].ColorWriteMask = 0 }, "  "},
		{vk.FORMAT_R8G8B8A8_UNORM, func(s *scene) { s.state.Blends = nil }, "  "},
		{vk.FORMAT_R8G8B8A8_UNORM, func(s *scene) { s.pass.Colors = nil }, "  "},
		{vk.FORMAT_R8_UNORM, func(s *scene) { s.state.AlphaToCoverage = true }, "ra  "},
		{vk.FORMAT_R8_UNORM, func(s *scene) { s.state.Blends[0] = blend(one, zero, one, zero) }, "r  "},
		{vk.FORMAT_R8_UNORM, func(s *scene) { s.state.Blends[0] = blend(zero, zero, one, zero) }, "r  "},
		{vk.FORMAT_R8_UNORM, func(s *scene) {
			s.state.Blends[0] = blend(one, vk.BLEND_FACTOR_ONE_MINUS_SRC_ALPHA, one, zero)
		}, "ra  "},
		{vk.FORMAT_R8_UNORM, func(s *scene) {
			s.state.Blends[0] = blend(vk.BLEND_FACTOR_SRC_ALPHA_SATURATE, one, one, zero)
		}, "ra  "},
		{vk.FORMAT_R8_UNORM, func(s *scene) {
			s.state.Blends[0] = blend(vk.BLEND_FACTOR_SRC_ALPHA, one, one, zero)
			s.state.LogicOpEnable = true
		}, "r  "},
		{vk.FORMAT_R8G8_UNORM, func(s *scene) {
			s.state.Blends[0] = blend(vk.BLEND_FACTOR_SRC1_COLOR, vk.BLEND_FACTOR_ONE_MINUS_SRC1_ALPHA, one, zero)
		}, "rg rga "},
		{vk.FORMAT_R8G8B8A8_UNORM, func(s *scene) { // the factors of alpha count where alpha is written
			s.state.Blends[0] = blend(one, one, vk.BLEND_FACTOR_SRC1_ALPHA, one)
			s.state.Blends[0].ColorWriteMask = 7
		}, "rgb  "},
		{vk.FORMAT_R8_UNORM, func(s *scene) {
			s.pass.Colors = append(s.pass.Colors, s.pass.Colors[0])
			s.state.Blends = append(s.state.Blends, Blend{ColorWriteMask: 15})
		}, "r  r"},
		{vk.FORMAT_R8_UNORM, func(s *scene) { s.pass.ColorLocations = []uint32{1} }, "  r"},
	} {
		s := newScene(t, test.format, 4, 4, 1, 4)
		second := floats(0, 4)
		for i := range second {
			second[i].Index = 1
		}
		outputs := join(floats(0, 4), second, floats(1, 4), builtins(0, 1))
		if test.change != nil {
			test.change(s)
		}
		r := run{state: &s.state, pass: &s.pass}
		if err := r.resolveTargets(); err != nil {
			t.Fatal(err)
		}
		var read [3]string
		unread := r.unread(outputs)
		for i := range 12 {
			if unread>>i&1 == 0 {
				read[i/4] += "rgba"[i%4:][:1]
			}
		}
		if got := fmt.Sprintf("%s %s %s", read[0], read[1], read[2]); got != test.want || unread>>12 != 0 {
			t.Errorf("%v, %+v: %q are read, want %q; all unread are %x", test.format, s.state.Blends, got, test.want, unread)
		}
	}
}

// TestUnreadLeftOut has draws ask for no more than is read, and draws in order for everything.
func TestUnreadLeftOut(t *testing.T) {
	for _, inOrder := range []bool{false, true} {
		s := newScene(t, vk.FORMAT_R8_UNORM, 4, 4, 1, 4)
		shader := &watchedShader{goShader: s.state.Fragment.(*goShader)}
		s.state.Fragment, s.InOrder = shader, inOrder
		s.vertices(-1, -1, 0.5, 1, 1, 0, 0, 0, 3, -1, 0.5, 1, 1, 0, 0, 0, -1, 3, 0.5, 1, 1, 0, 0, 0)
		s.draw(t)
		if got := s.color(t, 2, 2, 0)[0]; got != 1 {
			t.Errorf("in order %v: red is %v, want 1", inOrder, got)
		}
		if want := map[bool]uint64{false: 0xe}[inOrder]; shader.unread != want {
			t.Errorf("in order %v: %#x are left out, want %#x", inOrder, shader.unread, want)
		}
	}
}

// watchedShader keeps what was left out of it last.
type watchedShader struct {
	*goShader
	unread uint64
}

func (s *watchedShader) NewBatch(unread uint64) compute.Batch {
	s.unread = unread
	return s.goShader.NewBatch(unread)
}
