package icd

import (
	"testing"

	"farside/internal/vk"
)

func TestNegotiation(t *testing.T) {
	for _, c := range []struct {
		asked, agreed uint32
		result        vk.Result
	}{
		{0, 0, vk.ERROR_INCOMPATIBLE_DRIVER},
		{4, 4, vk.ERROR_INCOMPATIBLE_DRIVER},
		{5, 5, vk.SUCCESS},
		{6, 6, vk.SUCCESS},
		{7, 7, vk.SUCCESS},
		{8, 7, vk.SUCCESS},
		{^uint32(0), 7, vk.SUCCESS},
	} {
		version := c.asked
		if r := NegotiateLoaderICDInterfaceVersion(&version); r != c.result || version != c.agreed {
			t.Errorf("version %d: %v and version %d, want %v and %d", c.asked, r, version, c.result, c.agreed)
		}
	}
	if r := NegotiateLoaderICDInterfaceVersion(nil); r != vk.ERROR_INCOMPATIBLE_DRIVER {
		t.Errorf("no version: %v", r)
	}
}
