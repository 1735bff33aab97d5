package main

import (
	"path/filepath"
	"slices"
)

// dmaBufCases are the cases of the Khronos CTS that use dma-bufs.
var dmaBufCases = []string{
	"dEQP-VK.api.external.memory.dma_buf.*",
	"dEQP-VK.drm_format_modifiers.*",
	"dEQP-VK.synchronization*.cross_instance.*_dma_buf",
}

// cts is which cases of the Khronos CTS run in the guest. The CTS isn't a package of Debian: who has deqp-vk names it.
type cts struct {
	deqp  string
	cases []string
}

// step runs the cases as `make cts` does. What it leaves in files stays in the guest; the report is its output.
func (c *cts) step() (step, error) {
	deqp, err := filepath.Abs(c.deqp)
	if err != nil {
		return step{}, err
	}
	return step{Name: "cts", Program: "conformance/cts", Sees: filepath.Dir(deqp),
		Args: append([]string{"--deqp-vk=" + deqp, "--out=/tmp/cts-results"}, c.cases...)}, nil
}

// visible are the folders that the guest sees although they may lie where its own are, such as in /tmp.
func visible(tree, out string, steps []step) []string {
	folders := []string{tree, out}
	for _, s := range steps {
		if s.Sees != "" && !slices.Contains(folders, s.Sees) {
			folders = append(folders, s.Sees)
		}
	}
	return folders
}
