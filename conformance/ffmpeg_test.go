package conformance

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os/exec"
	"testing"

	"farside/conformance/vulkan"
)

// The pictures that ffmpeg makes for its filters.
const ffmpegWidth, ffmpegHeight, ffmpegFrames = 322, 178, 3

// upload is FFmpeg's hwupload, with a filter before it that keeps a reference to each of the first eight pictures until
// the end. Without it FFmpeg 5.1 breaks a rule. transfer_image_buf (libavutil/hwcontext_vulkan.c) imports the picture's
// memory (VK_EXT_external_memory_host) and submits a copy from it that nobody waits for. It keeps references to the
// image and to the imported buffers, but none to the picture. hwupload then frees it, and FFmpeg's next allocation
// writes into the source of a copy that is pending. What shows this:
//
//   - A checksum of the copy's source changes between the submission and the copy.
//   - If all submissions wait for another thread, each run of the overlay below is wrong without the filter, and none
//     with it. None is wrong either with vflip in its place: pictures of negative stride are copied, not imported.
//   - lavapipe 22.3.6, whose submissions always wait for another thread, is wrong and right in the same cases.
//
// Later versions of FFmpeg keep a reference (ff_vk_host_map_buffer).
const upload = "loop=loop=-1:size=8,hwupload"

// ffmpeg returns the frames that a graph of filters makes of the pictures, as rows of texels, plane by plane.
func ffmpeg(t *testing.T, graph string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), caseTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "ffmpeg", "-v", "error", "-nostdin", "-init_hw_device", "vulkan=vk:0",
		"-filter_hw_device", "vk",
		"-f", "lavfi", "-i", fmt.Sprintf("testsrc2=size=%dx%d:rate=5", ffmpegWidth, ffmpegHeight), "-f", "lavfi", "-i",
		"testsrc=size=100x60:rate=5",
		"-filter_complex", graph, "-frames:v", fmt.Sprint(ffmpegFrames), "-f", "rawvideo", "pipe:1")
	cmd.Env = vulkan.DriverEnv(farsideManifest())
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	if err := cmd.Run(); err != nil {
		t.Fatalf("ffmpeg %s: %v\n%s", graph, err, &messages)
	}
	return out.Bytes()
}

// A picture is a plane of a frame.
type picture struct {
	texels        []float64
	width, height int
}

// pictures are the planes of all frames of format yuv420p.
func pictures(frames []byte) (list []*picture) {
	for len(frames) > 0 {
		for _, half := range []int{1, 2, 2} {
			p := &picture{width: ffmpegWidth / half, height: ffmpegHeight / half}
			p.texels = make([]float64, p.width*p.height)
			for i := range p.texels {
				p.texels[i] = float64(frames[i])
			}
			list, frames = append(list, p), frames[len(p.texels):]
		}
	}
	return list
}

func (p *picture) at(x, y int) float64 {
	return p.texels[min(max(y, 0), p.height-1)*p.width+min(max(x, 0), p.width-1)]
}

// corner is what a linear filter gives at whole coordinates, where four texels meet, as ffmpeg asks for.
func (p *picture) corner(x, y int) float64 {
	return (p.at(x-1, y-1) + p.at(x, y-1) + p.at(x-1, y) + p.at(x, y)) / 4
}

// sampled is the picture that a filter makes which reads at the place that from gives.
func (p *picture) sampled(from func(x, y int) (int, int)) *picture {
	s := &picture{make([]float64, len(p.texels)), p.width, p.height}
	for i := range s.texels {
		x, y := from(i%p.width, i/p.width)
		s.texels[i] = p.corner(x, y)
	}
	return s
}

// blurred is the picture with the mean of 2*radius+1 neighbours in a row for each texel. The filter has a workgroup for
// 32 texels of a row, whose invocations share what they read; those outside of the picture read nothing, so that the
// last, if it is not whole, takes what was there before, which nobody knows.
func (p *picture) blurred(radius int) *picture {
	b := &picture{make([]float64, len(p.texels)), p.width, p.height}
	for y := range p.height {
		for x := range p.width {
			sum := 0.0
			for d := -radius; d <= radius; d++ {
				sum += p.corner(x+d, y)
			}
			if x >= p.width/32*32 {
				sum = math.NaN()
			}
			b.texels[y*p.width+x] = sum / float64(2*radius+1)
		}
	}
	return b
}

// TestFFmpeg runs filters of FFmpeg, a client that nobody wrote for this driver: by storage images, sampled images with
// coordinates that are not normalized, a timeline semaphore for each image, memory that could be exported, and
// workgroup memory.
func TestFFmpeg(t *testing.T) {
	needsTool(t, "ffmpeg", "ffmpeg")
	for _, format := range []string{"yuv420p", "rgba", "bgra", "nv12", "p010", "gray16le", "yuva444p"} {
		t.Run("transfer/"+format, func(t *testing.T) {
			want := ffmpeg(t, "[0]format="+format+";[1]nullsink")
			got := ffmpeg(t, "[0]format="+format+","+upload+",hwdownload,format="+format+";[1]nullsink")
			if len(got) == 0 || !bytes.Equal(got, want) {
				t.Errorf("%d bytes come back from the device otherwise than the %d that went there", len(got), len(want))
			}
		})
	}
	t.Run("overlay", func(t *testing.T) {
		const both = "[0]format=yuv420p%[1]s[a];[1]format=yuv420p%[1]s[b];[a][b]"
		want := ffmpeg(t, fmt.Sprintf(both, "")+"overlay=x=30:y=20,format=yuv420p")
		got := ffmpeg(t, fmt.Sprintf(both, ","+upload)+"overlay_vulkan=x=30:y=20,hwdownload,format=yuv420p")
		if len(got) == 0 || !bytes.Equal(got, want) {
			t.Error("overlay_vulkan gives other pictures than overlay")
		}
	})
	source := pictures(ffmpeg(t, "[0]format=yuv420p;[1]nullsink"))
	for filter, want := range map[string]func(p *picture) *picture{
		"hflip_vulkan": func(p *picture) *picture { return p.sampled(func(x, y int) (int, int) { return p.width - x, y }) },
		"vflip_vulkan": func(p *picture) *picture { return p.sampled(func(x, y int) (int, int) { return x, p.height - y }) },
		"flip_vulkan": func(p *picture) *picture {
			return p.sampled(func(x, y int) (int, int) { return p.width - x, p.height - y })
		},
		"avgblur_vulkan=sizeX=7:sizeY=1": func(p *picture) *picture {
			return p.blurred(6).sampled(func(x, y int) (int, int) {
				return x, y
			})
		},
	} {
		t.Run(filter, func(t *testing.T) {
			got := pictures(ffmpeg(t, "[0]format=yuv420p,"+upload+","+filter+",hwdownload,format=yuv420p;[1]nullsink"))
			if len(got) != len(source) {
				t.Fatalf("%d planes, want %d", len(got), len(source))
			}
			bad, known := 0, 0
			for i, p := range got {
				for n, w := range want(source[i]).texels {
					if !math.IsNaN(w) {
						known++
					}
					if d := p.texels[n] - w; d > 1 || d < -1 {
						bad++
					}
				}
			}
			if bad > 0 || known == 0 {
				t.Errorf("%d of %d texels are wrong", bad, known)
			}
		})
	}
	// libplacebo has fragment shaders where there are graphics, and goes from Y'CbCr to colours and back.
	t.Run("libplacebo", func(t *testing.T) {
		const size = 2 * ffmpegWidth * 2 * ffmpegHeight * 3 / 2 * ffmpegFrames
		want := ffmpeg(t, "[0]format=yuv420p,scale=iw*2:ih*2:flags=bilinear;[1]nullsink")
		got := ffmpeg(t, "[0]format=yuv420p,"+upload+
			",libplacebo=w=iw*2:h=ih*2:upscaler=bilinear,hwdownload,format=yuv420p;[1]nullsink")
		if len(got) != size || len(want) != size {
			t.Fatalf("%d and %d bytes, want %d", len(got), len(want), size)
		}
		sum, far := 0.0, 0
		for i := range got {
			d := math.Abs(float64(got[i]) - float64(want[i]))
			sum += d
			if d > 24 {
				far++
			}
		}
		if mean := sum / size; mean > 1.5 || far > size/100 {
			t.Errorf("the pictures differ by %.2f in the mean, %d of %d texels are far off", mean, far, size)
		}
	})
}
