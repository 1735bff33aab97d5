package vk

import (
	"errors"
	"fmt"
	"strings"
)

// VUID is a valid usage identifier of the specification, such as VUID_VkBufferCreateInfo_size_00912.
// It is no string, so that one which the specification does not have fails to compile.
type VUID uint16

// String returns the identifier as the specification writes it, empty where there is none.
func (v VUID) String() string { return vuidText[vuidPlaces[v]:vuidPlaces[v+1]] }

// Subject returns the member, parameter or other thing that the rule is about: size of
// VUID-VkBufferCreateInfo-size-00912.
func (v VUID) Subject() string {
	parts := strings.SplitN(v.String(), "-", 4)
	if len(parts) < 4 {
		return ""
	}
	return parts[2]
}

// Error is an error that becomes a VkResult at the boundary, and names the rule that was broken.
type Error struct {
	Result Result
	VUID   VUID
	err    error
}

// Error is the message alone: the result and the VUID are reported beside it.
func (e *Error) Error() string { return e.err.Error() }

// Unwrap returns what %w wrapped.
func (e *Error) Unwrap() error { return errors.Unwrap(e.err) }

// Is lets errors.Is reach every error when the format had several %w.
func (e *Error) Is(target error) bool { return errors.Is(e.err, target) }

// As lets errors.As reach every error when the format had several %w.
func (e *Error) As(target any) bool { return errors.As(e.err, target) }

// Errorf makes an error that becomes r, with the VUID that it breaks (NoVUID where there is none). The format is
// fmt.Errorf's, %w included.
func Errorf(r Result, vuid VUID, format string, args ...any) error {
	return &Error{Result: r, VUID: vuid, err: fmt.Errorf(format, args...)}
}

// ResultOf is the VkResult that err becomes: SUCCESS for nil, ERROR_UNKNOWN for an error that no Errorf made.
// Where one Errorf wraps another, the outer one decides.
func ResultOf(err error) Result {
	if err == nil {
		return SUCCESS
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Result
	}
	return ERROR_UNKNOWN
}

// VUIDOf is the first VUID in err's chain, or NoVUID.
func VUIDOf(err error) VUID {
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			return NoVUID
		}
		if e.VUID != NoVUID {
			return e.VUID
		}
		err = e.err
	}
	return NoVUID
}

// MakeVersion packs a version as VK_MAKE_API_VERSION does for variant 0.
func MakeVersion(major, minor, patch uint32) uint32 { return major<<22 | minor<<12 | patch }

// VersionMajor is VK_API_VERSION_MAJOR.
func VersionMajor(v uint32) uint32 { return v >> 22 & 0x7f }

// VersionMinor is VK_API_VERSION_MINOR.
func VersionMinor(v uint32) uint32 { return v >> 12 & 0x3ff }

// VersionPatch is VK_API_VERSION_PATCH.
func VersionPatch(v uint32) uint32 { return v & 0xfff }
