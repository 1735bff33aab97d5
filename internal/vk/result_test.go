package vk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"
)

func TestVUID(t *testing.T) {
	for _, c := range []struct {
		vuid          VUID
		text, subject string
	}{
		{NoVUID, "", ""},
		{VUID_VkBufferCreateInfo_size_00912, "VUID-VkBufferCreateInfo-size-00912", "size"},
		{VUID_vkDestroyInstance_instance_parameter, "VUID-vkDestroyInstance-instance-parameter", "instance"},
		{VUID(len(vuidPlaces) - 2), "VUID-vkWaitSemaphores-device-parameter", "device"},
	} {
		if text, subject := c.vuid.String(), c.vuid.Subject(); text != c.text || subject != c.subject {
			t.Errorf("%d is %q about %q, want %q about %q", c.vuid, text, subject, c.text, c.subject)
		}
	}
}

func TestErrors(t *testing.T) {
	const rule = "VUID-VkBufferCreateInfo-size-00912"
	inner := Errorf(ERROR_INVALID_EXTERNAL_HANDLE, VUID_VkBufferCreateInfo_size_00912, "reading: %w", io.ErrUnexpectedEOF)
	bare := Errorf(ERROR_TOO_MANY_OBJECTS, NoVUID, "dup: %w", inner)
	two := Errorf(ERROR_OUT_OF_HOST_MEMORY, NoVUID, "%w and %w", io.EOF, fs.ErrClosed)
	for _, test := range []struct {
		name   string
		err    error
		result Result
		vuid   string
		text   string
		is     error
	}{
		{"nil", nil, SUCCESS, "", "", nil},
		{"foreign", io.EOF, ERROR_UNKNOWN, "", "EOF", io.EOF},
		{"plain", inner, ERROR_INVALID_EXTERNAL_HANDLE, rule, "reading: unexpected EOF", io.ErrUnexpectedEOF},
		{"wrapped by fmt", fmt.Errorf("import: %w", inner), ERROR_INVALID_EXTERNAL_HANDLE, rule,
			"import: reading: unexpected EOF", io.ErrUnexpectedEOF},
		{"the outer result, the inner VUID", bare, ERROR_TOO_MANY_OBJECTS, rule, "dup: reading: unexpected EOF",
			io.ErrUnexpectedEOF},
		{"two wrapped", two, ERROR_OUT_OF_HOST_MEMORY, "", "EOF and file already closed", fs.ErrClosed},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := ResultOf(test.err); got != test.result {
				t.Errorf("result %v, want %v", got, test.result)
			}
			if got := VUIDOf(test.err); got.String() != test.vuid {
				t.Errorf("VUID %q, want %q", got, test.vuid)
			}
			if test.err != nil && test.err.Error() != test.text {
				t.Errorf("text %q, want %q", test.err, test.text)
			}
			if !errors.Is(test.err, test.is) {
				t.Errorf("is not %v", test.is)
			}
		})
	}
	var e *Error
	if !errors.As(two, &e) || e.Result != ERROR_OUT_OF_HOST_MEMORY || e.Unwrap() != nil {
		t.Errorf("As found %+v", e)
	}
	if errors.Unwrap(inner) != io.ErrUnexpectedEOF {
		t.Errorf("unwraps to %v", errors.Unwrap(inner))
	}
}

func TestVersion(t *testing.T) {
	v := MakeVersion(1, 3, 239)
	if v != API_VERSION_1_3|239 {
		t.Errorf("MakeVersion(1, 3, 239) = %#x", v)
	}
	if VersionMajor(v) != 1 || VersionMinor(v) != 3 || VersionPatch(v) != 239 {
		t.Errorf("%#x is %d.%d.%d", v, VersionMajor(v), VersionMinor(v), VersionPatch(v))
	}
}

func TestStrings(t *testing.T) {
	for _, test := range []struct {
		v    fmt.Stringer
		want string
	}{
		{ERROR_INVALID_EXTERNAL_HANDLE, "VK_ERROR_INVALID_EXTERNAL_HANDLE"},
		{Result(-12345), "VkResult(-12345)"},
		{ERROR_OUT_OF_POOL_MEMORY_KHR, "VK_ERROR_OUT_OF_POOL_MEMORY"},
		{MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV | MEMORY_PROPERTY_DEVICE_LOCAL_BIT | 0x40000000,
			"VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT|VK_MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV|0x40000000"},
		{MemoryPropertyFlags(0), "0"},
		{AccessFlags2(0), "VK_ACCESS_2_NONE"},
		{SHADER_STAGE_ALL_GRAPHICS,
			"VK_SHADER_STAGE_VERTEX_BIT|VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT|" +
				"VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT|" +
				"VK_SHADER_STAGE_GEOMETRY_BIT|VK_SHADER_STAGE_FRAGMENT_BIT"},
		{InstanceExtension, "instance"},
		{PhysicalDeviceLevel, "physical device"},
		{NumericSFLOAT, "SFLOAT"},
		{NumericFormat(200), "NumericFormat(200)"},
	} {
		if got := test.v.String(); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
