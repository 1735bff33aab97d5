package manifest

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

const good = `{
    "file_format_version": "1.0.1",
    "ICD": {
        "library_path": "/usr/local/lib/libvulkan_farside.so",
        "library_arch": "64",
        "api_version": "1.1.360"
    }
}
`

func TestMarshal(t *testing.T) {
	got, err := New("/usr/local/lib/libvulkan_farside.so", "1.1.360").Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != good {
		t.Errorf("Marshal:\n%s\nwant:\n%s", got, good)
	}
	if err := New("/a&b/<c>", APIVersion).Validate(); err != nil {
		t.Errorf("Validate: %v", err)
	}
	got, err = New("/a&b/<c>", APIVersion).Marshal()
	if err != nil || !bytes.Contains(got, []byte(`"/a&b/<c>"`)) {
		t.Errorf("Marshal escaped the path: %s, %v", got, err)
	}
}

func TestParse(t *testing.T) {
	m, err := Parse([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	if want := New("/usr/local/lib/libvulkan_farside.so", "1.1.360"); m != want {
		t.Errorf("Parse = %+v, want %+v", m, want)
	}
	if !m.IsFarside() {
		t.Error("IsFarside = false for its own library")
	}

	// As Debian 12 ships lavapipe's: the older format, without library_arch.
	m, err = Parse(
		[]byte(`{"ICD":{"api_version":"1.3.230","library_path":"/usr/lib/libvulkan_lvp.so"},"file_format_version":"1.0.0"}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Manifest{"1.0.0", ICD{LibraryPath: "/usr/lib/libvulkan_lvp.so", APIVersion: "1.3.230"}}); m != want {
		t.Errorf("Parse = %+v, want %+v", m, want)
	}
	if m.IsFarside() {
		t.Error("IsFarside = true for another driver")
	}

	m, err = Parse(
		[]byte(
			`{"file_format_version":"1.0.1","ICD":{"library_path":"a.so","api_version":"1.4.0","is_portability_driver":true}}`))
	if err != nil || !m.ICD.Portability {
		t.Errorf("Parse = %+v, %v; want a portability driver", m, err)
	}
}

func TestParseErrors(t *testing.T) {
	swap := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%q is not in the sample", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	tests := []struct{ name, in, want string }{
		{"empty", "", "unexpected EOF"},
		{"truncated", good[:60], "unexpected EOF"},
		{"truncated in a string", good[:25], "unexpected EOF"},
		{"not an object", `["a"]`, "JSON array into Go manifest.Manifest"},
		{"ICD not an object", `{"file_format_version":"1.0.1","ICD":7}`, `JSON number into Go manifest.ICD within "/ICD"`},
		{"broken", swap(`"64",`, `"64"`), "after offset"},
		{"behind", good + "{}", "after top-level value"},
		{"unknown", swap(`"library_arch"`, `"library_arc"`), `unknown object member name "library_arc" within "/ICD"`},
		{"other case", swap(`"ICD"`, `"icd"`), `unknown object member name "icd"`},
		{"twice", swap(`"library_arch"`, `"library_path"`), `duplicate object member name "library_path" within "/ICD"`},
		{"number", swap(`"64"`, `64`), `JSON number into Go string within "/ICD/library_arch"`},
		{"null", swap(`"64"`, `null`), `within "/ICD/library_arch": null`},
		{"portability", swap(`"library_arch": "64"`, `"is_portability_driver": "yes"`),
			`JSON string into Go bool within "/ICD/is_portability_driver"`},
		{"no format", `{"ICD":{"library_path":"a.so","api_version":"1.1.0"}}`, "file_format_version is missing"},
		{"no ICD", `{"file_format_version":"1.0.1"}`, "ICD.library_path is missing"},
		{"no version", `{"file_format_version":"1.0.1","ICD":{"library_path":"a.so"}}`, "ICD.api_version is missing"},
		{"format", swap(`"1.0.1"`, `"2.0.0"`), `file_format_version "2.0.0" is not`},
		{"arch", swap(`"64"`, `"x86_64"`), `library_arch "x86_64" is not 32 or 64`},
		{"two parts", swap(`1.1.360`, `1.1`), "is not major.minor.patch"},
		{"sign", swap(`1.1.360`, `1.+1.360`), `"+1" is not a number`},
		{"leading zero", swap(`1.1.360`, `1.01.360`), `"01" is not a number`},
		{"minor too large", swap(`1.1.360`, `1.1024.0`), "at most 10 bits"},
		{"patch too large", swap(`1.1.360`, `1.1.4096`), "at most 12 bits"},
		{"major 0", swap(`1.1.360`, `0.1.360`), "major version 0"},
		{"zero byte", swap(`/usr`, `/\u0000usr`), "zero byte"},
		{"directory", swap(`farside.so"`, `farside.so/"`), "names a directory"},
		{"not UTF-8", swap(`/usr`, "/\xff"), "invalid UTF-8"},
		{"huge", good + strings.Repeat(" ", maxSize), "more than"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, err := Parse([]byte(test.in))
			if !errors.Is(err, ErrInvalid) {
				t.Fatalf("Parse = %+v, %v; want ErrInvalid", m, err)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %q doesn't say %q", err, test.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q has several lines", err)
			}
			if m != (Manifest{}) {
				t.Errorf("Parse returned %+v beside the error", m)
			}
		})
	}
}

func TestMarshalErrors(t *testing.T) {
	for _, m := range []Manifest{{}, New("", APIVersion), New("a.so", ""), New("a.so", "1.1"),
		New("\xff.so", APIVersion)} {
		if data, err := m.Marshal(); !errors.Is(err, ErrInvalid) || data != nil {
			t.Errorf("Marshal of %+v = %q, %v; want ErrInvalid", m, data, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(data)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatalf("error %v doesn't wrap ErrInvalid", err)
			}
			return
		}
		out, err := m.Marshal()
		if err != nil {
			t.Fatalf("what Parse accepted, Marshal refuses: %v", err)
		}
		again, err := Parse(out)
		if err != nil || again != m {
			t.Fatalf("Parse(Marshal(%+v)) = %+v, %v", m, again, err)
		}
	})
}
