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
				var b []byte
				for _, w := range append(results, scratch...) {
					b = binary.LittleEndian.AppendUint32(b, w)
				}
				c.system("write", os.WriteFile(filepath.Join(os.Getenv("FARSIDE_RESULTS"), fmt.Sprint(seed)), b, 0o600))
			}
		}}
}

// TestRandomShaders runs random shaders on Farside, on its vector kernels without machine code, on its kernels in plain
// Go, and on lavapipe, which all must write the same bits.
func TestRandomShaders(t *testing.T) {
	needsTool(t, "glslangValidator", "glslang-tools")
	needsTool(t, "spirv-val", "spirv-tools")
	runs := []struct{ name, driver, env string }{{"machine code", "farside", "FARSIDE_KERNELS="},
		{"narrow machine code", "farside", "FARSIDE_KERNELS=narrow"},
		{"vector kernels", "farside", "FARSIDE_KERNELS=avx2"},
		{"Go kernels", "farside", "FARSIDE_KERNELS=go"}, {"lavapipe", "lavapipe", ""}}
	if _, err := os.Stat(lavapipeManifest); err != nil {
		t.Skipf("%s is missing (Debian package mesa-vulkan-drivers)", lavapipeManifest)
	}
	if !strings.Contains(*drivers, "farside") {
		t.Skip("the driver farside is not among -drivers")
	}
	const batch = 15
	for first := *shaderFirst; first < *shaderFirst+uint64(*shaderSeeds); first += batch {
		n := min(batch, *shaderFirst+uint64(*shaderSeeds)-first)
		t.Run(fmt.Sprintf("%d_to_%d", first, first+n-1), func(t *testing.T) {
			var wg sync.WaitGroup
			dirs, texts := make([]string, len(runs)), make([]string, len(runs))
			for i, r := range runs {
				dirs[i] = t.TempDir()
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
					defer cancel()
					cmd := exec.CommandContext(ctx, os.Args[0])
					cmd.Env = append(vulkan.DriverEnv(manifestOf(r.driver)), "FARSIDE_ROLE=random_shaders",
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
				compareShaders(t, seed, dirs, func(i int) string { return runs[i].name })
			}
		})
	}
}

// compareShaders compares what a seed's shader wrote with the last directory's.
func compareShaders(t *testing.T, seed uint64, dirs []string, name func(int) string) {
	last := len(dirs) - 1
	want, err := os.ReadFile(filepath.Join(dirs[last], fmt.Sprint(seed)))
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
		return
	}
	text, local, _ := makeShader(seed)
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
		if results := local * makerGroups * makerOutputs; first >= results {
			where = fmt.Sprintf("scratch word %d of invocation %d", (first-results)%16, (first-results)/16)
		}
		t.Errorf("seed %d: %s and %s differ in %d words, first in %s: %#x and %#x\n%s", seed, name(i), name(last), bad, where,
			binary.LittleEndian.Uint32(got[4*first:]), binary.LittleEndian.Uint32(want[4*first:]), text)
		return
	}
}
