// Package manifest builds, reads and installs the JSON file by which the Vulkan loader finds a driver.
//
// The format is the loader's own, described in its LoaderDriverInterface document: file format versions 1.0.0
// and 1.0.1. The package writes 1.0.1, the first one with library_arch.
package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// FormatVersion is the file format version that New writes.
	FormatVersion = "1.0.1"
	// APIVersion is the Vulkan version of the driver in this tree, as its manifest states it.
	APIVersion = "1.3.360"
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
	LibraryArch string `json:"library_arch,omitempty"`
	// APIVersion is the highest Vulkan version that the driver offers, as major.minor.patch.
	APIVersion string `json:"api_version"`
	// Portability is set by drivers that don't conform and that the loader hides unless asked.
	Portability bool `json:"is_portability_driver,omitempty"`
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
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // paths stay readable
	enc.SetIndent("", "    ")
	if err := enc.Encode(m); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// Parse reads a manifest. Unlike encoding/json it refuses unknown, misspelt and repeated members and anything
// behind the object, since the loader would ignore or misread those in silence. Errors wrap ErrInvalid and name
// the member.
func Parse(data []byte) (Manifest, error) {
	if len(data) > maxSize {
		return Manifest{}, invalid("%d bytes are more than %d", len(data), maxSize)
	}
	if !utf8.Valid(data) {
		return Manifest{}, invalid("not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	var m Manifest
	if err := object(dec, "", map[string]member{
		"file_format_version": text(&m.FileFormatVersion),
		"ICD": func(dec *json.Decoder, name string) error {
			return object(dec, name, map[string]member{
				"library_path":          text(&m.ICD.LibraryPath),
				"library_arch":          text(&m.ICD.LibraryArch),
				"api_version":           text(&m.ICD.APIVersion),
				"is_portability_driver": boolean(&m.ICD.Portability),
			})
		},
	}); err != nil {
		return Manifest{}, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return Manifest{}, invalid("more data behind the object, at byte %d", dec.InputOffset())
	}
	if err := m.Validate(); err != nil {
		return Manifest{}, err
	}
	return m, nil
}

// A member reads one member's value; name is its full name for errors.
type member func(dec *json.Decoder, name string) error

// token reads one token. The end of the file comes as an error about the content, as every other error does.
func token(dec *json.Decoder) (json.Token, error) {
	tok, err := dec.Token()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, invalid("it ends early, at byte %d", dec.InputOffset())
	}
	if err != nil {
		return nil, invalid("at byte %d: %v", dec.InputOffset(), err)
	}
	return tok, nil
}

func object(dec *json.Decoder, name string, members map[string]member) error {
	what, prefix := "the file", ""
	if name != "" {
		what, prefix = name, name+"."
	}
	tok, err := token(dec)
	if err != nil {
		return err
	}
	if tok != json.Delim('{') {
		return invalid("%s is not an object", what)
	}
	seen := make(map[string]bool, len(members))
	for {
		tok, err := token(dec)
		if err != nil {
			return err
		}
		if tok == json.Delim('}') {
			return nil
		}
		key, ok := tok.(string)
		if !ok {
			return invalid("%s has a member without a name, at byte %d", what, dec.InputOffset())
		}
		read, ok := members[key]
		if !ok {
			return invalid("unknown member %q", prefix+key)
		}
		if seen[key] {
			return invalid("member %q is given twice", prefix+key)
		}
		seen[key] = true
		if err := read(dec, prefix+key); err != nil {
			return err
		}
	}
}

func text(dst *string) member {
	return func(dec *json.Decoder, name string) error {
		tok, err := token(dec)
		if err != nil {
			return err
		}
		s, ok := tok.(string)
		if !ok {
			return invalid("%s is not a string", name)
		}
		*dst = s
		return nil
	}
}

func boolean(dst *bool) member {
	return func(dec *json.Decoder, name string) error {
		tok, err := token(dec)
		if err != nil {
			return err
		}
		b, ok := tok.(bool)
		if !ok {
			return invalid("%s is not true or false", name)
		}
		*dst = b
		return nil
	}
}

// IsFarside says whether the manifest names this driver's library.
func (m Manifest) IsFarside() bool {
	return filepath.Base(m.ICD.LibraryPath) == LibraryName
}
