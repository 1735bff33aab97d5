package conformance

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"farside/conformance/shaders"
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

var (
	sceneSeeds = flag.Int("scenes.seeds", 2, "how many random scenes to draw on all drivers")
	sceneFirst = flag.Uint64("scenes.first", 10, "the seed of the first")
)

// random_scenes draws the random scenes of FARSIDE_SEEDS and writes every sample of every attachment to files.
func init() {
	roles["random_scenes"] = definition{compute: true, graphics: true, run: func(c *Case) {
		var first, n uint64
		if _, err := fmt.Sscan(os.Getenv("FARSIDE_SEEDS"), &first, &n); err != nil {
			c.Fatalf("FARSIDE_SEEDS: %v", err)
		}
		for seed := first; seed < first+n; seed++ {
			if c.driver == "lavapipe" && !plainScene(seed) {
				continue
			}
			floats, whole := c.randomScene(seed)
			c.keepResults(fmt.Sprint(seed), floats)
			c.keepResults(fmt.Sprint(seed, ".whole"), whole)
		}
	}}
}

// randomScene draws a scene, and gives its samples: four words each, those that are floats and those that are whole.
func (c *Case) randomScene(seed uint64) (floats, whole []uint32) {
	m := c.makeScene(seed)
	defer m.close()
	var looks []*look
	for range 1 + m.rng.IntN(4) {
		looks = append(looks, m.look())
	}
	list := make([]*drawn, len(looks))
	for i, l := range looks {
		list[i] = m.drawing(l)
		m.several(list[i])
	}
	m.render(list, vk.ATTACHMENT_LOAD_OP_CLEAR)
	for i, t := range m.colors {
		words := m.allSamples(t, vk.IMAGE_ASPECT_COLOR_BIT, m.prefixes[i])
		if m.prefixes[i] == "" {
			floats = append(floats, words...)
		} else {
			whole = append(whole, words...)
		}
	}
	if m.depth != nil && m.depth.aspects&vk.IMAGE_ASPECT_DEPTH_BIT != 0 {
		floats = append(floats, m.allSamples(m.depth, vk.IMAGE_ASPECT_DEPTH_BIT, "")...)
	}
	if m.depth != nil && m.depth.aspects&vk.IMAGE_ASPECT_STENCIL_BIT != 0 {
		whole = append(whole, m.allSamples(m.depth, vk.IMAGE_ASPECT_STENCIL_BIT, "u")...)
	}
	return floats, whole
}

// allSamples reads an attachment with a shader.
func (m *sceneMaker) allSamples(t *attachment, aspect vk.ImageAspectFlags, prefix string) []uint32 {
	c := m.c
	part := *t
	part.aspects = aspect
	view := m.view(&part, vk.IMAGE_VIEW_TYPE_2D_ARRAY, t.format)
	defer c.dev.Call("vkDestroyImageView", uintptr(view), 0)
	kind, fetch := "texture2DArray", "texelFetch(t, ivec3(x, y, z), 0)"
	if m.samples > 1 {
		kind, fetch = "texture2DMSArray", "texelFetch(t, ivec3(x, y, z), int(s))"
	}
	if prefix == "" {
		fetch = "floatBitsToUint(" + fetch + ")"
	}
	text := fmt.Sprintf(`#version 450
		#extension GL_EXT_samplerless_texture_functions : enable
		layout(local_size_x = 64) in;
		layout(binding = 0) uniform %s%s t;
		layout(binding = 1) buffer B { uvec4 data[]; };
		layout(push_constant) uniform P { uint width, height, layers, samples; };
		void main() {
			uint i = gl_GlobalInvocationID.x;
			if (i >= width * height * layers * samples)
				return;
			uint s = i %% samples, x = i / samples %% width, y = i / samples / width %% height;
			uint z = i / samples / width / height;
			data[i] = uvec4(%s);
		}`, prefix, kind, fetch)
	n := m.width * m.height * t.layers * m.samples
	out := make([]uint32, n*4)
	c.dispatch(dispatch{shader: shaders.Source{Name: "samples.comp", Text: text, Target: "vulkan1.1"},
		groups: [3]uint32{(n + 63) / 64}, push: []uint32{m.width, m.height, t.layers, m.samples},
		buffers: []any{described{vulkan.Descriptor{Type: vk.DESCRIPTOR_TYPE_SAMPLED_IMAGE,
			Image: vk.DescriptorImageInfo{ImageView: view, ImageLayout: vk.IMAGE_LAYOUT_GENERAL}}}, out}})
	return out
}

// TestRandomScenes draws random scenes on Farside by bins and in order, which must give the same bits; and on
// lavapipe, which must give nearly the same where the specification leaves little freedom.
func TestRandomScenes(t *testing.T) {
	needsCompiler(t)
	if !strings.Contains(*drivers, "farside") {
		t.Skip("the driver farside is not among -drivers")
	}
	runs := []struct{ name, driver, env string }{{"bins", "farside", "FARSIDE_DRAWS="},
		{"in order", "farside", "FARSIDE_DRAWS=ordered"}, {"lavapipe", "lavapipe", ""}}
	if _, err := os.Stat(lavapipeManifest); err != nil {
		t.Skipf("%s is missing (Debian package mesa-vulkan-drivers)", lavapipeManifest)
	}
	const batch = 6
	for first := *sceneFirst; first < *sceneFirst+uint64(*sceneSeeds); first += batch {
		n := min(batch, *sceneFirst+uint64(*sceneSeeds)-first)
		dirs := make([]string, len(runs))
		var wg sync.WaitGroup
		for i, r := range runs {
			dirs[i] = t.TempDir()
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, os.Args[0])
				cmd.Env = append(vulkan.DriverEnv(manifestOf(r.driver)), "FARSIDE_ROLE=random_scenes",
					"FARSIDE_CASE_DRIVER="+r.driver, fmt.Sprintf("FARSIDE_SEEDS=%d %d", first, n), "FARSIDE_RESULTS="+dirs[i],
					r.env)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%s: %v\n%s", r.name, err, out)
				}
			})
		}
		wg.Wait()
		for seed := first; seed < first+n; seed++ {
			compareScene(t, fmt.Sprint(seed), plainScene(seed), dirs, alike)
			compareScene(t, fmt.Sprint(seed, ".whole"), plainScene(seed), dirs, alikeWhole)
		}
	}
}

// compareScene compares what a scene left on Farside by bins, in order, and, where it is plain, on lavapipe.
func compareScene(t *testing.T, name string, plain bool, dirs []string, alike func(a, b uint32) bool) {
	t.Helper()
	var words [3][]byte
	for i, dir := range dirs {
		var err error
		words[i], err = os.ReadFile(filepath.Join(dir, name))
		if err != nil && (i < 2 || plain) {
			t.Errorf("seed %s: %v", name, err)
		}
	}
	if !bytes.Equal(words[0], words[1]) {
		bad, at := unlike(words[0], words[1], func(a, b uint32) bool { return a == b })
		t.Errorf("seed %s: by bins and in order %d words differ, first %d", name, bad, at)
	}
	if plain && len(words[2]) > 0 {
		bad, at := unlike(words[0], words[2], alike)
		if allowed := len(words[2]) / 4 / 200; bad > allowed {
			t.Errorf("seed %s: %d of %d words are unlike lavapipe's, first %d: %#x, %#x", name, bad, len(words[2])/4, at,
				binary.LittleEndian.Uint32(words[0][4*at:]), binary.LittleEndian.Uint32(words[2][4*at:]))
		}
	}
}

// alike says whether two words are nearly the same float.
func alike(a, b uint32) bool {
	x, y := float64(math.Float32frombits(a)), float64(math.Float32frombits(b))
	return a == b || x != x && y != y || math.Abs(x-y) <= 0.02+0.01*math.Abs(x)
}

// alikeWhole says whether two words are the same, or differ as a float does that was rounded down before.
func alikeWhole(a, b uint32) bool { return a-b+1 <= 2 }

// unlike counts the words that differ, and says which is the first.
func unlike(a, b []byte, same func(a, b uint32) bool) (bad, first int) {
	for i := 0; i+4 <= min(len(a), len(b)); i += 4 {
		if !same(binary.LittleEndian.Uint32(a[i:]), binary.LittleEndian.Uint32(b[i:])) {
			if bad == 0 {
				first = i / 4
			}
			bad++
		}
	}
	return bad, first
}
