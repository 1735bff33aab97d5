package main

const (
	cases    = "a list of cases, one call each"
	scenario = "one sequence of steps, each of which needs what those before it left"
)

// exceptions are files and functions ("FILE NAME") that may be longer, with the reason.
var exceptions = map[string]string{
	"cmd/libvulkan_farside/gate.S": "one body of code for each architecture, with the tables that it shares",

	"compute/image_shader_test.go TestImageShaders":              "a table, and how a row is run",
	"compute/internal/kernel/expect_test.go conversions":         cases,
	"compute/internal/kernel/expect_test.go floats":              cases,
	"compute/internal/kernel/expect_test.go integers":            cases,
	"compute/internal/kernel/kernel_test.go TestMasks":           cases,
	"compute/internal/kernel/memory_test.go check":               cases,
	"compute/internal/native/assembler_test.go TestEncoding":     cases,
	"compute/internal/native/native_unsafe_test.go TestRuns":     scenario,
	"compute/internal/native/native_unsafe_test.go randomRun":    cases,
	"compute/internal/vm/worker.go execute":                      "the loop over the steps, a case each",
	"conformance/bindingrandom_test.go run":                      scenario,
	"conformance/bindingset_test.go indexingCases":               cases,
	"conformance/commandbuffer_test.go commandBufferCases":       cases,
	"conformance/cts/fake_test.go fakeDeqp":                      cases,
	"conformance/executionerror_test.go executionErrorCases":     cases,
	"conformance/hostcopy_test.go hostCopyCases":                 cases,
	"conformance/hostilefd_test.go hostileCases":                 cases,
	"conformance/killed_test.go killedCases":                     cases,
	"conformance/shadermaker_test.go statement":                  cases,
	"conformance/stage_test.go do":                               cases,
	"conformance/syncfd_test.go syncFdCases":                     cases,
	"conformance/texturefunctions_test.go textureCases":          cases,
	"icd/command_buffer_test.go TestSecondaryCommandBuffers":     scenario,
	"icd/command_push_descriptor_test.go TestPushDescriptors":    scenario,
	"icd/descriptor_set_test.go TestUpdateDescriptorSets":        scenario,
	"icd/device_memory_test.go TestFailedAllocationsHoldNothing": scenario,
	"icd/properties_test.go testAggregates":                      cases,
	"rdmasim/helpers_test.go child":                              cases,
}
