package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"farside/conformance/vulkan"
)

// vkmark is the program vkmark with another lavapipe than Debian's, which has VK_EXT_headless_surface.
type vkmark struct{ program, lavapipe string }

// vkmarkScenes are vkmark's default benchmarks.
var vkmarkScenes = []string{
	"vertex:device-local=true", "vertex:device-local=false", "texture:anisotropy=0", "texture:anisotropy=16",
	"shading:shading=gouraud", "shading:shading=blinn-phong-inf", "shading:shading=phong", "shading:shading=cel",
	"effect2d:kernel=edge", "effect2d:kernel=blur", "desktop", "cube", "clear",
}

// vkmarkRounds is how often each scene runs on each driver, for a second.
const vkmarkRounds = 3

// rows are those of the scenes; none without the program.
func (v *vkmark) rows() []row {
	if v.program == "" {
		return nil
	}
	var rows []row
	for _, s := range vkmarkScenes {
		rows = append(rows, compared("vkmark's "+s+", a frame", "farside vkmark "+s, "ms", 1e6,
			"lavapipe with headless surfaces", "lavapipe vkmark "+s, 1))
	}
	return rows
}

// sample runs the scenes that rows need, on each driver by turns.
func (v *vkmark) sample(into *samples) error {
	drivers := []struct{ name, manifest string }{
		{"farside", os.Getenv("FARSIDE_BENCH_MANIFEST")}, {"lavapipe", v.lavapipe},
	}
	for range vkmarkRounds {
		for _, s := range vkmarkScenes {
			for _, d := range drivers {
				key := d.name + " vkmark " + s
				if !into.needs(key) {
					continue
				}
				ns, err := v.frame(s, d.manifest)
				if err != nil {
					return fmt.Errorf("%s: vkmark's %s: %w", d.name, s, err)
				}
				into.note(key, ns)
			}
		}
	}
	return nil
}

// framesPerSecond is what vkmark prints of a scene.
var framesPerSecond = regexp.MustCompile(`FPS: (\d+)`)

// frame gives the nanoseconds of a frame of a scene.
func (v *vkmark) frame(scene, manifest string) (float64, error) {
	path, err := filepath.Abs(manifest)
	if err != nil {
		return 0, err
	}
	var printed bytes.Buffer
	cmd := exec.Command(v.program, "--winsys", "headless", "-b", scene+":duration=1")
	cmd.Env = vulkan.DriverEnv(path)
	cmd.Stdout, cmd.Stderr = &printed, &printed
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%w\n%s", err, &printed)
	}
	m := framesPerSecond.FindStringSubmatch(printed.String())
	if m == nil {
		return 0, fmt.Errorf("no frames per second in\n%s", strings.TrimSpace(printed.String()))
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%s frames per second", m[1])
	}
	return 1e9 / n, nil
}
