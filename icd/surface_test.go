package icd

import (
	"testing"

	"farside/internal/vk"
)

// testSurface makes a headless surface that the test's end destroys.
func testSurface(t *testing.T, i *instance) *surface {
	t.Helper()
	var h vk.SurfaceKHR
	if r := createHeadlessSurfaceEXT(i, &vk.HeadlessSurfaceCreateInfoEXT{}, nil, &h); r != vk.SUCCESS {
		t.Fatal(r)
	}
	s := live(surfaces, h)
	t.Cleanup(func() {
		if surfaces.Get(s.handle) == s {
			destroySurfaceKHR(i, s, nil)
		}
	})
	return s
}
