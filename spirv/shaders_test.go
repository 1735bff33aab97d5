package spirv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	glsl "farside/conformance/shaders"
)

// tool looks for a program of Debian's packages glslang-tools and spirv-tools.
func tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is missing (packages glslang-tools, spirv-tools)", name)
	}
	return path
}

func toWords(data []byte) []uint32 {
	words := make([]uint32, len(data)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return words
}

func toBytes(words []uint32) []byte {
	data := make([]byte, 4*len(words))
	for i, w := range words {
		binary.LittleEndian.PutUint32(data[4*i:], w)
	}
	return data
}

// assemble runs spirv-as. Ids keep their numbers.
func assemble(t testing.TB, text string) []uint32 {
	t.Helper()
	cmd := exec.Command(tool(t, "spirv-as"), "--target-env", "spv1.6", "--preserve-numeric-ids", "-o", "-", "-")
	cmd.Stdin = strings.NewReader(text)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("spirv-as: %v\n%s\n%s", err, errOut.String(), text)
	}
	return toWords(out.Bytes())
}

var compiled struct {
	sync.Mutex
	shaders map[string][]uint32
}

// shaders compiles the GLSL below testdata, once for all tests.
func shaders(t testing.TB) map[string][]uint32 {
	t.Helper()
	compiled.Lock()
	defer compiled.Unlock()
	if compiled.shaders != nil {
		return compiled.shaders
	}
	files, err := filepath.Glob("testdata/shaders/*.[cvf][oer][mra][ptg]")
	if err != nil || len(files) == 0 {
		t.Fatal("no shaders", err)
	}
	all := map[string][]uint32{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		words, err := glsl.Source{Name: filepath.Base(f), Text: string(text), Target: "vulkan1.3", Invalid: true}.Compile()
		if errors.Is(err, glsl.ErrTool) {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(f)] = words
	}
	compiled.shaders = all
	return all
}

func decode(t testing.TB, words []uint32) *Module {
	t.Helper()
	m, err := Decode(words)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// function finds a function by its OpName.
func function(t testing.TB, m *Module, name string) *Function {
	t.Helper()
	for _, f := range m.Functions {
		if n, _, _ := strings.Cut(m.DebugName(f.Result), "("); n == name {
			return f
		}
	}
	t.Fatalf("no function %s", name)
	return nil
}
