package conformance

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
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
	shaderSeeds = flag.Int("shaders.seeds", 30, "how many random shaders to run on all drivers")
	shaderFirst = flag.Uint64("shaders.first", 1, "the seed of the first")
)

// random_shaders runs the random shaders of FARSIDE_SEEDS ("first count") and writes what they wrote to files.
func init() {
	roles["random_shaders"] = definition{compute: true,
		needs: []string{"ShaderInt64", "ShaderInt16", "ShaderInt8", "ShaderFloat64"}, run: func(c *Case) {
			var first, n uint64
			if _, err := fmt.Sscan(os.Getenv("FARSIDE_SEEDS"), &first, &n); err != nil {
				c.Fatalf("FARSIDE_SEEDS: %v", err)
			}
			for seed := first; seed < first+n; seed++ {
				text, local, _ := makeShader(seed)
				results, scratch := make([]uint32, local*makerGroups*makerOutputs), make([]uint32, local*makerGroups*16)
				c.dispatch(dispatch{shader: shaders.Source{Name: "random.comp", Text: text, Target: "vulkan1.1"},
					groups:  [3]uint32{makerGroups},
					buffers: []any{random32(64, seed), results, scratch}, push: []uint32{1, 0xfffffff0, uint32(seed), 7}})
				c.keepResults(fmt.Sprint(seed), append(results, scratch...))
			}
		}}
	roles["random_draws"] = definition{compute: true, graphics: true,
		needs: []string{"ShaderInt64", "ShaderInt16", "ShaderInt8", "ShaderFloat64", "FragmentStoresAndAtomics"},
		run: func(c *Case) {
			var first, n uint64
			if _, err := fmt.Sscan(os.Getenv("FARSIDE_SEEDS"), &first, &n); err != nil {
				c.Fatalf("FARSIDE_SEEDS: %v", err)
			}
			for seed := first; seed < first+n; seed++ {
				c.keepResults(fmt.Sprint(seed), c.randomDraw(seed))
			}
		}}
}

// randomDraw gives what the draw of a seed wrote: results, scratch, and two attachments.
func (c *Case) randomDraw(seed uint64) []uint32 {
	const size = 16
	s := c.scene(size, size, 1, 1, 0, vk.FORMAT_R32G32B32A32_UINT, vk.FORMAT_R32G32B32A32_UINT)
	defer s.close()
	vertex, fragment := makeDraw(seed)
	results, scratch := make([]uint32, makerPixels*makerOutputs), make([]uint32, makerPixels*16)
	s.draw(&look{vertex: vertex, fragment: fragment, buffers: []any{random32(64, seed), results, scratch},
		push:   []uint32{1, 0xfffffff0, uint32(seed), 7},
		record: func(cb vk.CommandBuffer) { c.dev.CallOn("vkCmdDraw", uintptr(cb), 6, 1, 0, 0) }})
	all := append(results, scratch...)
	for _, t := range s.colors {
		b := s.read(t, vk.IMAGE_ASPECT_COLOR_BIT, 0, 16)
		for i := 0; i < len(b); i += 4 {
			all = append(all, binary.LittleEndian.Uint32(b[i:]))
		}
	}
	return all
}

// keepResults writes the words of a seed to its file.
func (c *Case) keepResults(name string, words []uint32) {
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	c.system("write", os.WriteFile(filepath.Join(os.Getenv("FARSIDE_RESULTS"), name), b, 0o600))
}

// TestRandomShaders runs random shaders on Farside, on its vector kernels without machine code, on its kernels in plain
// Go, and on lavapipe, which all must write the same bits.
func TestRandomShaders(t *testing.T) {
	onAllKernels(t, "random_shaders", 15, *shaderSeeds, func(seed uint64) (string, int) {
		text, local, _ := makeShader(seed)
		return text, local * makerGroups
	})
}

// TestRandomDraws does the same with draws by random vertex and fragment shaders, for a sixth of the seeds.
func TestRandomDraws(t *testing.T) {
	onAllKernels(t, "random_draws", 5, (*shaderSeeds+5)/6, func(seed uint64) (string, int) {
		vertex, fragment := makeDraw(seed)
		return vertex + fragment, makerPixels
	})
}

// onAllKernels runs the seeds of a role, a batch of them in a process, and compares what they wrote. made gives the
// text of a seed's shaders and how many invocations have results.
func onAllKernels(t *testing.T, role string, batch uint64, seeds int, made func(seed uint64) (string, int)) {
	needsCompiler(t)
	runs := []struct{ name, driver, env string }{{"machine code", "farside", "FARSIDE_KERNELS="},
		{"narrow machine code", "farside", "FARSIDE_KERNELS=narrow"},
		{"vector kernels", "farside", "FARSIDE_KERNELS=vector"},
		{"Go kernels", "farside", "FARSIDE_KERNELS=go"}, {"lavapipe", "lavapipe", ""}}
	if _, err := os.Stat(lavapipeManifest); err != nil {
		t.Skipf("%s is missing (Debian package mesa-vulkan-drivers)", lavapipeManifest)
	}
	if !strings.Contains(*drivers, "farside") {
		t.Skip("the driver farside is not among -drivers")
	}
	for first := *shaderFirst; first < *shaderFirst+uint64(seeds); first += batch {
		n := min(batch, *shaderFirst+uint64(seeds)-first)
		t.Run(fmt.Sprintf("%d_to_%d", first, first+n-1), func(t *testing.T) {
			var wg sync.WaitGroup
			dirs, texts := make([]string, len(runs)), make([]string, len(runs))
			for i, r := range runs {
				dirs[i] = t.TempDir()
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
					defer cancel()
					cmd := exec.CommandContext(ctx, os.Args[0])
					cmd.Env = append(vulkan.DriverEnv(manifestOf(r.driver)), "FARSIDE_ROLE="+role,
						"FARSIDE_CASE_DRIVER="+r.driver,
						fmt.Sprintf("FARSIDE_SEEDS=%d %d", first, n), "FARSIDE_RESULTS="+dirs[i], r.env)
					out, err := cmd.CombinedOutput()
					if err != nil {
						texts[i] = fmt.Sprintf("%v\n%s", err, out)
					}
				})
			}
			wg.Wait()
			for i, r := range runs {
				if texts[i] != "" {
					t.Errorf("%s: %s", r.name, texts[i])
				}
			}
			for seed := first; seed < first+n; seed++ {
				text, invocations := made(seed)
				compareShaders(t, seed, dirs, func(i int) string { return runs[i].name }, text, invocations)
			}
		})
	}
}

// compareShaders compares what a seed's shader wrote with the last directory's.
func compareShaders(t *testing.T, seed uint64, dirs []string, name func(int) string, text string, invocations int) {
	last := len(dirs) - 1
	want, err := os.ReadFile(filepath.Join(dirs[last], fmt.Sprint(seed)))
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
		return
	}
	for i := range last {
		got, err := os.ReadFile(filepath.Join(dirs[i], fmt.Sprint(seed)))
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		if bytes.Equal(got, want) {
			continue
		}
		bad, first := 0, -1
		for at := 0; at < len(want); at += 4 {
			if !bytes.Equal(got[at:at+4], want[at:at+4]) {
				if bad++; first < 0 {
					first = at / 4
				}
			}
		}
		where := fmt.Sprintf("results of invocation %d, output %d", first/makerOutputs, first%makerOutputs)
		results, scratch := invocations*makerOutputs, invocations*16
		switch {
		case first >= results+scratch:
			first := first - results - scratch
			where = fmt.Sprintf("attachment %d, word %d of pixel %d", first/(4*invocations), first%4, first/4%invocations)
		case first >= results:
			where = fmt.Sprintf("scratch word %d of invocation %d", (first-results)%16, (first-results)/16)
		}
		t.Errorf("seed %d: %s and %s differ in %d words, first in %s: %#x and %#x\n%s", seed, name(i), name(last), bad, where,
			binary.LittleEndian.Uint32(got[4*first:]), binary.LittleEndian.Uint32(want[4*first:]), text)
		return
	}
}
