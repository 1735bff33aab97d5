package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"

	"farside/conformance/vulkan"
)

// graphicsRows are the rows of draws.
func graphicsRows() []row {
	var rows []row
	for _, k := range graphicsWorks {
		rows = append(rows, lavapipe(k.title, k.name, "ms", 1e6, k.most))
	}
	return append(rows,
		lavapipe("an empty pass, submit and wait", "empty pass", "µs", 1e3, 0.1),
		lavapipe("first draw with its pipeline", "first draw", "ms", 1e6, 0.1))
}

// sampleGraphics measures draws in a process of its own: graphics is off unless the environment asks for it, and the
// other rows are those of Farside without.
func sampleGraphics(pattern string, into *samples) error {
	for _, r := range graphicsRows() {
		if !into.needs(r.key) {
			continue
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "FARSIDE_BENCH_ROLE=graphics", "FARSIDE_BENCH_ROW="+pattern)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("graphics: %w", err)
		}
		return into.read(out)
	}
	return nil
}

// graphicsMain measures draws on both drivers by turns, and prints all samples.
func graphicsMain() error {
	items, err := regexp.Compile(os.Getenv("FARSIDE_BENCH_ROW"))
	if err != nil {
		return err
	}
	all := newSamples(selected(graphicsRows(), items))
	l, err := openLoops()
	if err != nil {
		return err
	}
	loader, err := vulkan.Open()
	if err != nil {
		return err
	}
	benches, err := openGraphics(loader, all)
	if err != nil {
		return err
	}
	for n, k := range graphicsWorks {
		if !all.needs("farside " + k.name) {
			continue
		}
		if err := compareDrawn(benches, n, l); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	for round := range rounds {
		for _, b := range benches {
			if err := b.sample(round, l, all); err != nil {
				return fmt.Errorf("%s: %w", b.name, err)
			}
		}
		slices.Reverse(benches)
	}
	for key, values := range all.values {
		for _, v := range values {
			fmt.Println(key, v)
		}
	}
	return nil
}

// compareDrawn draws a work with both drivers, and compares the pictures. Depths and colours may round otherwise, and
// edges may take a pixel more or less.
func compareDrawn(benches []*graphicsBench, n int, l *loops) error {
	var pictures [2][]byte
	for i, b := range benches {
		run(1, l.submit, address(b.calls), address(b.work[n]))
		var err error
		if pictures[i], err = b.picture(); err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
	}
	wrong := 0
	for i := 0; i < len(pictures[0]); i += 4 {
		for k := range 4 {
			if d := int(pictures[0][i+k]) - int(pictures[1][i+k]); d < -4 || d > 4 {
				wrong++
				break
			}
		}
	}
	if pixels := len(pictures[0]) / 4; wrong > pixels/200 {
		return fmt.Errorf("the drivers' pictures differ in %d of %d pixels", wrong, pixels)
	}
	return nil
}
