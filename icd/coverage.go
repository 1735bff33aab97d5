package icd

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"farside/internal/vk"
)

// featureNotes say of supported features what a reader should know.
var featureNotes = map[string]string{
	"bufferDeviceAddress":         "without capture and replay, and for one device",
	"robustBufferAccess":          "always on; what lies out of range reads as 0 and is not written",
	"separateDepthStencilLayouts": "images lie the same in all layouts",
}

// WriteCoverage writes docs/COVERAGE.md: each extension and each feature of the registry, and whether it is supported.
// It is printed from the tables that vkEnumerate*ExtensionProperties and vkGetPhysicalDeviceFeatures2 answer from.
func WriteCoverage(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, `# What is supported

Printed by `+"`make coverage`"+` from the driver's own tables (icd/support.go, icd/features.go, icd/graphics_support.go)
and the Vulkan registry %s. It is Vulkan %s. What is of graphics is missing with FARSIDE_GRAPHICS=off,
and it is Vulkan %s then.

`, versionText(vk.HEADER_VERSION_COMPLETE), versionText(instanceVersion), versionText(computeVersion))
	writeExtensions(&b)
	writeFeatureTable(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func versionText(v uint32) string {
	return fmt.Sprintf("%d.%d.%d", v>>22&0x7f, v>>12&0x3ff, v&0xfff)
}

func writeExtensions(b *strings.Builder) {
	rows := map[string]extension{}
	for _, table := range [][]extension{instanceExtensions, deviceExtensions, graphicsExtensions} {
		for _, row := range table {
			rows[row.name] = row
		}
	}
	kinds := map[vk.ExtensionType]string{vk.InstanceExtension: "instance", vk.DeviceExtension: "device"}
	fmt.Fprintf(b,
		"## Extensions\n\n%d of the registry's %d.\n\n"+
			"| extension | of the | revision | supported | note |\n| --- | --- | --- | --- | --- |\n",
		len(rows), len(vk.Extensions))
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		e := vk.ExtensionByName(name)
		fmt.Fprintf(b, "| %s | %s | %d | %s | %s |\n", name, kinds[e.Type], e.SpecVersion, yes(rows[name].note),
			rows[name].note)
	}
	b.WriteString("\nNot supported:")
	vendor := ""
	for _, e := range vk.Extensions {
		if _, ok := rows[e.Name.String()]; ok {
			continue
		}
		v, rest, _ := strings.Cut(strings.TrimPrefix(e.Name.String(), "VK_"), "_")
		if v != vendor {
			fmt.Fprintf(b, "\n\n- VK_%s:", v)
			vendor = v
		}
		fmt.Fprintf(b, " %s", rest)
	}
	b.WriteString("\n\n")
}

// yes is the word for what is supported, with a note that limits it or without.
func yes(note string) string {
	if note != "" {
		return "partly"
	}
	return "yes"
}

// coversFeature says whether the driver's own device has a feature.
func coversFeature(structure vk.StructureType, name string) bool {
	return supportsFeature(structure, name) || structure != otherExtension && graphicsFeatures[name]
}

func writeFeatureTable(b *strings.Builder) {
	b.WriteString("## Features\n\n| structure | feature | supported | note |\n| --- | --- | --- | --- |\n")
	row := func(structure string, st vk.StructureType, feature string) {
		answer, note := "no", ""
		if coversFeature(st, feature) {
			note = featureNotes[feature]
			answer = yes(note)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", structure, feature, answer, note)
	}
	for _, f := range vk.CoreFeatures {
		row("VkPhysicalDeviceFeatures", vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, f.Name.String())
	}
	structs := slices.SortedFunc(slices.Values(vk.FeatureStructs),
		func(a, b vk.FeatureStruct) int { return cmp.Compare(a.Name.String(), b.Name.String()) })
	var without []string
	for _, s := range structs {
		supported := func(f vk.FeatureField) bool { return coversFeature(s.SType, f.Name.String()) }
		if !slices.ContainsFunc(s.Fields(), supported) {
			without = append(without, strings.TrimPrefix(s.Name.String(), "VkPhysicalDevice"))
			continue
		}
		for _, f := range s.Fields() {
			row(s.Name.String(), s.SType, f.Name.String())
		}
	}
	fmt.Fprintf(b, "\nStructures of which no feature is supported (VkPhysicalDevice…): %s.\n", strings.Join(without, ", "))
}
