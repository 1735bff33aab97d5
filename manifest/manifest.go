// Package manifest builds, reads and installs the JSON file by which the Vulkan loader finds a driver.
//
// The format is the loader's own, described in its LoaderDriverInterface document: file format versions 1.0.0
// and 1.0.1. The package writes 1.0.1, the first one with library_arch.
package manifest

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// FormatVersion is the file format version that New writes.
	FormatVersion = "1.0.1"
	// APIVersion is the Vulkan version of the driver in this tree, as its manifest states it.
	APIVersion = "1.4.360"
	// LibraryName is the file name of the driver's shared library.
	LibraryName = "libvulkan_farside.so"

	// maxSize bounds what Parse reads, in bytes. Real manifests are below 1 KiB.
	maxSize = 1 << 20
)

// ErrInvalid is wrapped by every error about the content of a manifest.
var ErrInvalid = errors.New("invalid driver manifest")

// Manifest is the whole file.
type Manifest struct {
	FileFormatVersion string `json:"file_format_version"`
	ICD               ICD    `json:"ICD"`
}

// ICD describes one driver.
type ICD struct {
	// LibraryPath is absolute, or relative to the manifest's directory when it holds a slash, or else a name
	// that the dynamic linker searches for.
	LibraryPath string `json:"library_path"`
	// LibraryArch is the width of a pointer in bits, "32" or "64", or empty where the manifest doesn't say.
	LibraryArch string `json:"library_arch,omitzero"`
	// APIVersion is the highest Vulkan version that the driver offers, as major.minor.patch.
	APIVersion string `json:"api_version"`
	// Portability is set by drivers that don't conform and that the loader hides unless asked.
	Portability bool `json:"is_portability_driver,omitzero"`
}

// New returns the manifest of a 64-bit driver. libraryPath is what the loader opens, apiVersion is written as
// major.minor.patch. Neither is checked before Validate or Marshal.
func New(libraryPath, apiVersion string) Manifest {
	return Manifest{
		FileFormatVersion: FormatVersion,
		ICD:               ICD{LibraryPath: libraryPath, LibraryArch: "64", APIVersion: apiVersion},
	}
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// Validate returns an error that wraps ErrInvalid and names the field when the loader would reject the manifest
// or misunderstand it.
func (m Manifest) Validate() error {
	switch m.FileFormatVersion {
	case "1.0.0", "1.0.1":
	case "":
		return invalid("file_format_version is missing")
	default:
		return invalid("file_format_version %q is not 1.0.0 or 1.0.1", m.FileFormatVersion)
	}
	switch path := m.ICD.LibraryPath; {
	case path == "":
		return invalid("ICD.library_path is missing")
	case strings.ContainsRune(path, 0):
		return invalid("ICD.library_path %q holds a zero byte", path)
	case !utf8.ValidString(path):
		return invalid("ICD.library_path %q is not UTF-8", path)
	case strings.HasSuffix(path, "/"):
		return invalid("ICD.library_path %q names a directory", path)
	}
	switch m.ICD.LibraryArch {
	case "", "32", "64":
	default:
		return invalid("ICD.library_arch %q is not 32 or 64", m.ICD.LibraryArch)
	}
	if m.ICD.APIVersion == "" {
		return invalid("ICD.api_version is missing")
	}
	return validateAPIVersion(m.ICD.APIVersion)
}

// validateAPIVersion accepts what fits VK_MAKE_API_VERSION: 7 bits of major, 10 of minor, 12 of patch.
func validateAPIVersion(version string) error {
	parts := strings.Split(version, ".")
	if len(parts) != 3 {
		return invalid("ICD.api_version %q is not major.minor.patch", version)
	}
	for i, bits := range [3]int{7, 10, 12} {
		n, err := strconv.ParseUint(parts[i], 10, bits)
		if err != nil || strconv.FormatUint(n, 10) != parts[i] {
			return invalid("ICD.api_version %q: %q is not a number of at most %d bits", version, parts[i], bits)
		}
	}
	if parts[0] == "0" {
		return invalid("ICD.api_version %q has major version 0", version)
	}
	return nil
}

// Marshal returns the file's content, indented and ending in a newline, or Validate's error.
func (m Manifest) Marshal() ([]byte, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	data, err := json.Marshal(m, jsontext.WithIndent("    "))
	return append(data, '\n'), err
}

// Parse reads a manifest. It refuses unknown, misspelt and repeated members and anything behind the object, since the
// loader would ignore or misread those in silence. Errors wrap ErrInvalid and name the member.
func Parse(data []byte) (Manifest, error) {
	if len(data) > maxSize {
		return Manifest{}, invalid("%d bytes are more than %d", len(data), maxSize)
	}
	var m Manifest
	if err := json.Unmarshal(data, &m, json.RejectUnknownMembers(true),
		json.WithUnmarshalers(json.JoinUnmarshalers(notNull[*string](), notNull[*bool]()))); err != nil {
		return Manifest{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err := m.Validate(); err != nil {
		return Manifest{}, err
	}
	return m, nil
}

// notNull refuses null, which would otherwise count as an absent member.
func notNull[T any]() *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(d *jsontext.Decoder, _ T) error {
		if d.PeekKind() == 'n' {
			return errors.New("null")
		}
		return errors.ErrUnsupported // of this function: the value is read as ever
	})
}

// IsFarside says whether the manifest names this driver's library.
func (m Manifest) IsFarside() bool {
	return filepath.Base(m.ICD.LibraryPath) == LibraryName
}
