package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// generations is how often the processes of both builds are started anew: where a process has its memory and its code
// makes some per cent of difference.
const generations = 8

// beforeRows are the rows that compare with another build: what is compared with lavapipe otherwise, and what nobody
// but an earlier build does as fast.
func beforeRows() []row {
	var rows []row
	for _, r := range slices.Concat(plainRows(), computeRows()) {
		_, ours := strings.CutPrefix(r.key, "farside ")
		if ours && !slices.ContainsFunc(rows, func(o row) bool { return o.key == r.key }) {
			rows = append(rows, row{item: r.item, key: r.key, unit: r.unit, scale: r.scale})
		}
	}
	return append(rows, row{item: "map + unmap 1 MiB", key: "farside map", unit: "ns", scale: 1})
}

// build is one of the two that are compared.
type build struct {
	manifest string
	values   map[string][]float64
}

// compareBuilds measures two builds of Farside by turns, each in processes of its own, and prints the least and the
// median of each row.
func compareBuilds(before, now, loops, pattern string) error {
	items, err := regexp.Compile(pattern)
	if err != nil {
		return fmt.Errorf("-row: %w", err)
	}
	rows := selected(beforeRows(), items)
	if len(rows) == 0 {
		return fmt.Errorf("-row: no row matches %q", pattern)
	}
	all := newSamples(rows)
	builds := []*build{{before, map[string][]float64{}}, {now, map[string][]float64{}}}
	if all.needs("farside create", "farside peak") {
		for round := range rounds * generations {
			for i := range builds {
				b := builds[(i+round)%2]
				ns, kib, err := creation(b.manifest)
				if err != nil {
					return err
				}
				b.values["farside create"] = append(b.values["farside create"], ns)
				b.values["farside peak"] = append(b.values["farside peak"], kib)
			}
		}
	}
	keys := maps.Clone(all.needed)
	delete(keys, "farside create")
	delete(keys, "farside peak")
	for range generations {
		if len(keys) == 0 {
			break
		}
		if err := takeTurns(builds, loops, pattern); err != nil {
			return err
		}
	}
	fmt.Println("| item | before: least, median | now: least, median | ratio of the least | of the medians |")
	fmt.Println("| --- | --- | --- | --- | --- |")
	for _, r := range rows {
		var least, median [2]float64
		for i, b := range builds {
			v := slices.Sorted(slices.Values(b.values[r.key]))
			if len(v) == 0 {
				return fmt.Errorf("%s: nothing was measured", r.item)
			}
			least[i], median[i] = v[0]/r.scale, v[len(v)/2]/r.scale
		}
		fmt.Printf("| %s | %.4g, %.4g %s | %.4g, %.4g %s | %.2f | %.2f |\n", r.item, least[0], median[0], r.unit,
			least[1], median[1], r.unit, least[1]/least[0], median[1]/median[0])
	}
	return nil
}

// takeTurns starts a process for each build, and has them measure by turns.
func takeTurns(builds []*build, loops, pattern string) error {
	type process struct {
		cmd *exec.Cmd
		in  io.WriteCloser
		out *bufio.Scanner
	}
	var list []process
	defer func() {
		for _, p := range list {
			_ = p.in.Close()
			_ = p.cmd.Wait()
		}
	}()
	for _, b := range builds {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(vulkan.DriverEnv(b.manifest), "FARSIDE_BENCH_ROLE=turn", "FARSIDE_BENCH_LOOPS="+loops,
			"FARSIDE_BENCH_ROW="+pattern)
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		list = append(list, process{cmd, in, bufio.NewScanner(out)})
	}
	for round := range rounds {
		for i := range list {
			n := (i + round) % 2 // neither always comes first
			p, b := list[n], builds[n]
			if _, err := fmt.Fprintln(p.in, round); err != nil {
				return fmt.Errorf("%s: %w", b.manifest, err)
			}
			for {
				if !p.out.Scan() {
					return fmt.Errorf("%s: the process that measures has ended", b.manifest)
				}
				value, key, ok := strings.Cut(p.out.Text(), " ")
				if !ok {
					break
				}
				var v float64
				if _, err := fmt.Sscan(value, &v); err != nil {
					return fmt.Errorf("%s: %q: %w", b.manifest, p.out.Text(), err)
				}
				b.values[key] = append(b.values[key], v)
			}
		}
	}
	return nil
}

// turnMain measures a build when the standard input says so: a line with the number of the round. The answer is a line
// for each sample, value and key, and one with a dot.
func turnMain() error {
	items, err := regexp.Compile(os.Getenv("FARSIDE_BENCH_ROW"))
	if err != nil {
		return err
	}
	rows := selected(beforeRows(), items)
	l, err := openLoops()
	if err != nil {
		return err
	}
	loader, err := vulkan.Open()
	if err != nil {
		return err
	}
	inst, r := loader.CreateInstance(vulkan.InstanceConfig{APIVersion: uint32(vk.API_VERSION_1_1)})
	if r != vk.SUCCESS {
		return fmt.Errorf("vkCreateInstance: %v", r)
	}
	pds, r := inst.PhysicalDevices()
	if r != vk.SUCCESS || len(pds) == 0 {
		return fmt.Errorf("%d physical devices: %v", len(pds), r)
	}
	d, err := openDriver(inst, pds[0])
	if err != nil {
		return err
	}
	if d.name != "farside" {
		return errors.New("the manifest is not Farside's")
	}
	if slices.ContainsFunc(selected(computeRows(), items), func(r row) bool { return r.against != "" }) {
		if d.compute, err = openComputeBench(d.dev, d.visible); err != nil {
			return err
		}
	}
	d.warmUp(l)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var round int
		if _, err := fmt.Sscan(in.Text(), &round); err != nil {
			return err
		}
		all := newSamples(rows)
		d.sample(l, all)
		if err := d.transfer.sample(d, l, all); err != nil {
			return err
		}
		if d.compute != nil {
			if err := d.compute.sample(d, round, l, all); err != nil {
				return err
			}
		}
		for key, values := range all.values {
			for _, v := range values {
				fmt.Println(v, key)
			}
		}
		fmt.Println(".")
	}
	return nil
}
