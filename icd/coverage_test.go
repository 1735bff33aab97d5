package icd

import (
	"strings"
	"testing"

	"farside/internal/vk"
)

// TestCoverageNamesEverything: no extension and no structure of features is left out.
func TestCoverageNamesEverything(t *testing.T) {
	var b strings.Builder
	if err := WriteCoverage(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, e := range vk.Extensions {
		_, rest, _ := strings.Cut(strings.TrimPrefix(e.Name.String(), "VK_"), "_")
		if !strings.Contains(text, "| "+e.Name.String()+" |") && !strings.Contains(text, " "+rest) {
			t.Errorf("%s is missing", e.Name)
		}
	}
	for _, s := range vk.FeatureStructs {
		if !strings.Contains(text, strings.TrimPrefix(s.Name.String(), "VkPhysicalDevice")) {
			t.Errorf("%s is missing", s.Name)
		}
	}
	for _, want := range []string{
		"| VkPhysicalDeviceSynchronization2Features | synchronization2 | yes |  |",
		"| VkPhysicalDeviceFeatures | geometryShader | no |  |",
		"| VK_NV_external_memory_rdma | device | 1 | yes |  |",
		"| VK_EXT_external_memory_dma_buf | device | 1 | partly | on machines with /dev/udmabuf |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no line %q", want)
		}
	}
	for name := range featureNotes {
		if supportedFeatures()[name] && !strings.Contains(text, featureNotes[name]) {
			t.Errorf("the note of %s is missing", name)
		}
	}
}
