package transfer

import (
	"bytes"
	"math"
	"runtime/debug"
	"testing"

	"golang.org/x/sys/unix"

	"farside/internal/vk"
)

func TestBlitRefuses(t *testing.T) {
	const (
		color, depth    = vk.IMAGE_ASPECT_COLOR_BIT, vk.IMAGE_ASPECT_DEPTH_BIT
		nearest, linear = vk.FILTER_NEAREST, vk.FILTER_LINEAR
		rgba, d16       = vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_D16_UNORM
	)
	formats := func(vuid string, dst, src vk.Format, filter vk.Filter) {
		t.Helper()
		checkRefused(t, vuid, dst, src, vk.IMAGE_TYPE_2D, filter, func(*vk.ImageBlit) {})
	}
	formats("VUID-vkCmdBlitImage-filter-02002", rgba, rgba, vk.FILTER_CUBIC_EXT)
	formats("VUID-vkCmdBlitImage-filter-parameter", rgba, rgba, 77)
	formats("VUID-vkCmdBlitImage-filter-parameter", rgba, rgba, -1)
	formats("VUID-vkCmdBlitImage-dstImage-02000", vk.FORMAT_BC1_RGB_UNORM_BLOCK, rgba, nearest)
	formats("VUID-vkCmdBlitImage-srcImage-00231", rgba, d16, nearest)
	formats("VUID-vkCmdBlitImage-srcImage-00231", d16, rgba, nearest)
	formats("VUID-vkCmdBlitImage-srcImage-00231", vk.FORMAT_D16_UNORM_S8_UINT, d16, nearest)
	formats("VUID-vkCmdBlitImage-srcImage-00232", d16, d16, linear)
	formats("VUID-vkCmdBlitImage-srcImage-00229", rgba, vk.FORMAT_R8_SINT, nearest)
	formats("VUID-vkCmdBlitImage-srcImage-00229", vk.FORMAT_R8_SINT, vk.FORMAT_R8_UINT, nearest)
	formats("VUID-vkCmdBlitImage-srcImage-00230", vk.FORMAT_R8_UINT, rgba, nearest)
	formats("VUID-vkCmdBlitImage-filter-02001", vk.FORMAT_R8_UINT, vk.FORMAT_R8_UINT, linear)
	formats("VUID-vkCmdBlitImage-filter-02001", vk.FORMAT_R8_SINT, vk.FORMAT_R8_SINT, linear)

	region := func(vuid string, imageType vk.ImageType, change func(r *vk.ImageBlit)) {
		t.Helper()
		checkRefused(t, vuid, rgba, rgba, imageType, nearest, change)
	}
	const oneD, twoD, threeD = vk.IMAGE_TYPE_1D, vk.IMAGE_TYPE_2D, vk.IMAGE_TYPE_3D
	region("VUID-VkImageBlit-aspectMask-00238", twoD, func(r *vk.ImageBlit) { r.DstSubresource.AspectMask = depth })
	region("VUID-VkImageSubresourceLayers-aspectMask-requiredbitmask", twoD, func(r *vk.ImageBlit) {
		r.SrcSubresource.AspectMask, r.DstSubresource.AspectMask = 0, 0
	})
	region("VUID-vkCmdBlitImage-aspectMask-00241", twoD, func(r *vk.ImageBlit) {
		r.SrcSubresource.AspectMask, r.DstSubresource.AspectMask = color|depth, color|depth
	})
	region("VUID-VkImageBlit-layerCount-08800", twoD, func(r *vk.ImageBlit) { r.DstSubresource.LayerCount = 2 })
	region("VUID-VkImageSubresourceLayers-layerCount-01700", twoD, func(r *vk.ImageBlit) {
		r.SrcSubresource.LayerCount, r.DstSubresource.LayerCount = 0, 0
	})
	region("VUID-vkCmdBlitImage-srcImage-00240", threeD, func(r *vk.ImageBlit) { r.SrcSubresource.BaseArrayLayer = 1 })
	region("VUID-vkCmdBlitImage-srcImage-00240", threeD,
		func(r *vk.ImageBlit) { r.SrcSubresource.LayerCount, r.DstSubresource.LayerCount = 2, 2 })
	region("VUID-vkCmdBlitImage-srcImage-00245", oneD, func(r *vk.ImageBlit) { r.SrcOffsets[1].Y = 0 })
	region("VUID-vkCmdBlitImage-dstImage-00250", oneD, func(r *vk.ImageBlit) { r.DstOffsets[0].Y = 1 })
	region("VUID-vkCmdBlitImage-srcImage-00247", twoD, func(r *vk.ImageBlit) { r.SrcOffsets[0].Z = 1 })
	region("VUID-vkCmdBlitImage-dstImage-00252", twoD, func(r *vk.ImageBlit) { r.DstOffsets[1].Z = 2 })
	for _, side := range []struct {
		of                     func(r *vk.ImageBlit) (*vk.ImageSubresourceLayers, *[2]vk.Offset3D)
		level, layers, x, y, z string
	}{
		{
			func(r *vk.ImageBlit) (*vk.ImageSubresourceLayers, *[2]vk.Offset3D) {
				return &r.SrcSubresource, &r.SrcOffsets
			},
			"VUID-vkCmdBlitImage-srcSubresource-01705", "VUID-vkCmdBlitImage-srcSubresource-01707",
			"VUID-vkCmdBlitImage-srcOffset-00243", "VUID-vkCmdBlitImage-srcOffset-00244", "VUID-vkCmdBlitImage-srcOffset-00246",
		},
		{
			func(r *vk.ImageBlit) (*vk.ImageSubresourceLayers, *[2]vk.Offset3D) {
				return &r.DstSubresource, &r.DstOffsets
			},
			"VUID-vkCmdBlitImage-dstSubresource-01706", "VUID-vkCmdBlitImage-dstSubresource-01708",
			"VUID-vkCmdBlitImage-dstOffset-00248", "VUID-vkCmdBlitImage-dstOffset-00249", "VUID-vkCmdBlitImage-dstOffset-00251",
		},
	} {
		for _, bad := range []uint32{2, math.MaxUint32} {
			region(side.level, twoD, func(r *vk.ImageBlit) { s, _ := side.of(r); s.MipLevel = bad })
			region(side.layers, twoD, func(r *vk.ImageBlit) { s, _ := side.of(r); s.BaseArrayLayer = bad })
		}
		for end := range 2 {
			for _, bad := range []int32{-1, 9, math.MinInt32, math.MaxInt32} {
				region(side.x, twoD, func(r *vk.ImageBlit) { _, o := side.of(r); o[end].X = bad })
				region(side.y, twoD, func(r *vk.ImageBlit) { _, o := side.of(r); o[end].Y = bad })
				region(side.z, threeD, func(r *vk.ImageBlit) { _, o := side.of(r); o[end].Z = bad })
			}
			// The second level is half as large.
			region(side.x, twoD, func(r *vk.ImageBlit) { s, o := side.of(r); s.MipLevel, o[end].X = 1, 5 })
		}
	}
}

// checkRefused wants a region refused that change has made wrong, and nothing written, not even the region before.
func checkRefused(t *testing.T, vuid string, dstFormat, srcFormat vk.Format, imageType vk.ImageType, filter vk.Filter,
	change func(r *vk.ImageBlit)) {
	t.Helper()
	extent, layers := [3]uint32{8, 8, 1}, uint32(2)
	end := vk.Offset3D{X: 4, Y: 4, Z: 1}
	switch imageType {
	case vk.IMAGE_TYPE_1D:
		extent[1], end.Y = 1, 1
	case vk.IMAGE_TYPE_3D:
		extent[2], layers = 8, 1
	}
	dst := newGuarded(t, dstFormat, imageType, extent, 2, layers)
	src := newGuarded(t, srcFormat, imageType, extent, 2, layers)
	side := vk.ImageSubresourceLayers{AspectMask: src.Layout.Format.Planes[0].Aspect, LayerCount: 1}
	good := vk.ImageBlit{
		SrcSubresource: side, SrcOffsets: [2]vk.Offset3D{1: end}, DstSubresource: side, DstOffsets: [2]vk.Offset3D{1: end},
	}
	bad := good
	change(&bad)
	before := bytes.Clone(dst.all)
	err := Blit(&dst.Image, &src.Image, []vk.ImageBlit{good, bad}, filter)
	if vk.VUIDOf(err).String() != vuid || !bytes.Equal(before, dst.all) {
		t.Errorf("%v to %v, %+v: %v (%s), want %s and nothing written", srcFormat, dstFormat, bad, err,
			vk.VUIDOf(err).String(), vuid)
	}
}

func TestBlitNeedsMemory(t *testing.T) {
	for _, short := range []int{0, 1} {
		images := [2]*guarded{}
		for i := range images {
			images[i] = newGuarded(t, vk.FORMAT_R8_UNORM, vk.IMAGE_TYPE_2D, [3]uint32{8, 8, 1}, 1, 1)
		}
		images[short].Bytes = images[short].Bytes[:len(images[short].Bytes)-1]
		before := bytes.Clone(images[0].all)
		side := vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LayerCount: 1}
		all := [2]vk.Offset3D{{}, {X: 1, Y: 1, Z: 1}}
		r := vk.ImageBlit{SrcSubresource: side, SrcOffsets: all, DstSubresource: side, DstOffsets: all}
		err := Blit(&images[0].Image, &images[1].Image, []vk.ImageBlit{r}, vk.FILTER_NEAREST)
		if vk.VUIDOf(err).String() != [2]string{"VUID-vkCmdBlitImage-dstImage-00225",
			"VUID-vkCmdBlitImage-srcImage-00220"}[short] || !bytes.Equal(before, images[0].all) {
			t.Errorf("an image larger than its memory: %v", err)
		}
	}
}

func TestBlitWithinItself(t *testing.T) {
	box := func(x0, y0, x1, y1 int32) [2]vk.Offset3D { return [2]vk.Offset3D{{X: x0, Y: y0}, {X: x1, Y: y1, Z: 1}} }
	const color = vk.IMAGE_ASPECT_COLOR_BIT
	first := vk.ImageSubresourceLayers{AspectMask: color, LayerCount: 1}
	second := vk.ImageSubresourceLayers{AspectMask: color, LayerCount: 1, BaseArrayLayer: 1}
	half := vk.ImageSubresourceLayers{AspectMask: color, LayerCount: 1, MipLevel: 1}
	for _, c := range []struct {
		name    string
		regions []vk.ImageBlit
		refused bool
	}{
		{"side by side",
			[]vk.ImageBlit{{SrcSubresource: first, SrcOffsets: box(0, 0, 32, 64), DstSubresource: first,
				DstOffsets: box(64, 64, 32, 0)}}, false},
		{"layers",
			[]vk.ImageBlit{{SrcSubresource: first, SrcOffsets: box(0, 0, 64, 64), DstSubresource: second,
				DstOffsets: box(0, 0, 64, 64)}}, false},
		{"levels",
			[]vk.ImageBlit{{SrcSubresource: first, SrcOffsets: box(0, 0, 64, 64), DstSubresource: half,
				DstOffsets: box(0, 0, 32, 32)}}, false},
		{"nothing",
			[]vk.ImageBlit{{SrcSubresource: first, SrcOffsets: box(0, 0, 64, 64), DstSubresource: first,
				DstOffsets: box(32, 32, 32, 40)}}, false},
		{"a column",
			[]vk.ImageBlit{{SrcSubresource: first, SrcOffsets: box(33, 0, 0, 64), DstSubresource: first,
				DstOffsets: box(64, 64, 32, 0)}}, true},
		{"another region", []vk.ImageBlit{
			{SrcSubresource: first, SrcOffsets: box(0, 0, 16, 16), DstSubresource: second, DstOffsets: box(0, 0, 16, 16)},
			{SrcSubresource: second, SrcOffsets: box(15, 15, 32, 32), DstSubresource: first, DstOffsets: box(32, 32, 64, 64)},
		}, true},
	} {
		m := newGuarded(t, vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_TYPE_2D, [3]uint32{64, 64, 1}, 2, 2)
		before := bytes.Clone(m.all)
		err := Blit(&m.Image, &m.Image, c.regions, vk.FILTER_NEAREST)
		switch {
		case c.refused && (vk.VUIDOf(err).String() != "VUID-vkCmdBlitImage-pRegions-00217" || !bytes.Equal(before, m.all)):
			t.Errorf("%s: %v, want it refused and nothing written", c.name, err)
		case !c.refused && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case !c.refused && c.name != "nothing":
			reference(t, m, before, &Image{Bytes: before[guard:], Layout: m.Layout, Format: m.Format, Type: m.Type},
				&c.regions[0], vk.FILTER_NEAREST)
		}
	}
}

// FuzzBlit gives any regions to Blit. What is refused changes nothing, what is done is what the reference does, and
// in no case is a byte outside of the destination touched.
func FuzzBlit(f *testing.F) {
	formats := allFormats()
	f.Add([]byte{})
	f.Add([]byte{
		0, 20, 1, 20, 20, 0, 0, 20, 1, 30, 30, 0, 0, 1, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 8, 8, 1, 1, 0, 0, 8, 16, 0, 0, 0, 16, 1,
	})
	f.Fuzz(func(t *testing.T, data []byte) {
		in := &fields{data}
		filter := vk.Filter(in.below(3))
		from := in.shape(formats)
		to := in.shape(formats)
		if in.below(2) == 0 {
			to.format = from.format
		}
		src := newGuarded(t, from.format, from.imageType, from.extent, from.levels, from.layers)
		dst := newGuarded(t, to.format, to.imageType, to.extent, to.levels, to.layers)
		tame := in.below(2) != 0
		var regions []vk.ImageBlit
		for range 1 + in.below(2) {
			r := vk.ImageBlit{
				SrcSubresource: in.layers(), SrcOffsets: [2]vk.Offset3D{in.offset(), in.offset()},
				DstSubresource: in.layers(), DstOffsets: [2]vk.Offset3D{in.offset(), in.offset()},
			}
			if tame { // most blits of the kind above are refused
				r.SrcSubresource.AspectMask = src.Layout.Format.Planes[0].Aspect
				r.DstSubresource.AspectMask = r.SrcSubresource.AspectMask
				r.DstSubresource.LayerCount = r.SrcSubresource.LayerCount
				for _, offsets := range []*[2]vk.Offset3D{&r.SrcOffsets, &r.DstOffsets} {
					offsets[0].Z, offsets[1].Z = 0, 1
				}
			}
			regions = append(regions, r)
		}
		before, source := bytes.Clone(dst.all), bytes.Clone(src.all)
		err := Blit(&dst.Image, &src.Image, regions, filter)
		end := guard + len(dst.Bytes)
		switch {
		case err != nil && (vk.VUIDOf(err).String() == "" || !bytes.Equal(before, dst.all)):
			t.Errorf("%v to %v, %+v: refused without a VUID, or done nevertheless: %v", from, to, regions, err)
		case !bytes.Equal(before[:guard], dst.all[:guard]) || !bytes.Equal(before[end:], dst.all[end:]):
			t.Errorf("%v to %v, %+v: bytes beside the image changed", from, to, regions)
		case !bytes.Equal(source, src.all):
			t.Errorf("%v to %v, %+v: the source changed", from, to, regions)
		case err == nil && len(regions) == 1 && filter == vk.FILTER_NEAREST:
			reference(t, dst, before, unpacked(&src.Image), &regions[0], filter)
		}
	})
}

// TestBlitFaults: memory that the application unmaps is a panic to recover from, in the assembly too.
func TestBlitFaults(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for _, format := range []vk.Format{vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R8G8B8A8_SRGB, vk.FORMAT_R16G16B16A16_SFLOAT} {
		for _, size := range []int32{8, 500} { // of the destination: one core, all
			for bad := range 2 {
				images := [2]*guarded{
					newGuarded(t, format, vk.IMAGE_TYPE_2D, [3]uint32{uint32(size), uint32(size), 1}, 1, 1),
					newGuarded(t, format, vk.IMAGE_TYPE_2D, [3]uint32{13, 9, 1}, 1, 1),
				}
				gone, err := unix.Mmap(-1, 0, int(images[bad].Layout.Size), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
				if err != nil {
					t.Fatal(err)
				}
				images[bad].Bytes = gone
				side := vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LayerCount: 1}
				r := vk.ImageBlit{
					SrcSubresource: side, SrcOffsets: [2]vk.Offset3D{{}, {X: 13, Y: 9, Z: 1}},
					DstSubresource: side, DstOffsets: [2]vk.Offset3D{{}, {X: size, Y: size, Z: 1}},
				}
				for _, filter := range []vk.Filter{vk.FILTER_NEAREST, vk.FILTER_LINEAR} {
					func() {
						defer func() {
							if fault, ok := recover().(interface{ Addr() uintptr }); !ok {
								t.Errorf("%v, %v: no fault but %v", format, filter, fault)
							}
						}()
						err := Blit(&images[0].Image, &images[1].Image, []vk.ImageBlit{r}, filter)
						t.Errorf("%v, %v: a blit of memory that is not there ends with %v", format, filter, err)
					}()
				}
				if err := unix.Munmap(gone); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
