// Package conformance drives the driver through the system's Vulkan loader, as applications do.
//
// Its tests are one table of cases, named after the groups of the Vulkan conformance test suite that they
// mirror. Each case runs in a process of its own, on Farside and, where it has what the case needs, on
// lavapipe as the reference; lavapipe_test.go lists where lavapipe breaks the rule that a case asks about.
// What commands write is compared byte by byte with conformance/reference, which does the same texel by texel.
//
// The shaders of compute cases lie in conformance/shaders, in GLSL or as SPIR-V text. A case names one, the slices that
// its buffers hold before and after it, and how many workgroups run (Case.dispatch); the result is compared with what
// plain Go makes of the same values.
//
// One case alone: go test ./conformance -run 'TestConformance/farside/api.external.memory.opaque_fd'.
package conformance
