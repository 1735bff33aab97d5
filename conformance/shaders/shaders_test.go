package shaders

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCache: a shader is compiled once for its text, macros and options, and for none of the others.
func TestCache(t *testing.T) {
	if dir, err := Cache(); err != nil || filepath.Base(dir) != "shaders" {
		t.Errorf("in the tree, shaders are kept in %q, %v", dir, err)
	}
	t.Setenv(CacheEnv, t.TempDir())
	first := Source{Name: "first.comp", Text: "#version 450\nlayout(local_size_x = N) in; void main() {}",
		Defines: []string{"N=1"}}
	other, same := first, first
	other.Defines = []string{"N=2"}
	var modules [][]uint32
	for _, s := range []Source{first, other, same} {
		words, err := s.Compile()
		if errors.Is(err, ErrTool) {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
		modules = append(modules, words)
	}
	if slices.Equal(modules[0], modules[1]) || !slices.Equal(modules[0], modules[2]) {
		t.Errorf("modules of %v, %v and %v words: the second is another one, the third the first one", modules[0],
			modules[1], modules[2])
	}
	asm := Source{Name: "asm.spvasm", Text: "OpCapability Shader\nOpMemoryModel Logical GLSL450", Invalid: true}
	if _, err := asm.Compile(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir()) // without an assembler
	if _, err := asm.Compile(); err != nil {
		t.Errorf("what is kept is assembled again: %v", err)
	}
	asm.Text += "\n"
	if _, err := asm.Compile(); !errors.Is(err, ErrTool) {
		t.Errorf("without an assembler: %v", err)
	}
}

// TestCompiler: glslang makes what glslangValidator makes, and what is wrong is told; the next shader is compiled then.
func TestCompiler(t *testing.T) {
	glslang, err := exec.LookPath("glslangValidator")
	if err != nil {
		t.Skip("glslangValidator is missing (Debian package glslang-tools)")
	}
	t.Setenv(CacheEnv, t.TempDir())
	const packed = "#version 450\n#extension GL_EXT_scalar_block_layout : require\n" +
		"layout(scalar, binding = 0) buffer B { vec2 a; vec3 b; }; void main() { b = a.xxx; }"
	for _, c := range []struct {
		s       Source
		options []string
		wrong   string
	}{
		{s: Source{Name: "a.comp", Defines: []string{"N=8", "M=7u"},
			Text: "#version 450\nlayout(local_size_x = N) in;" +
				"layout(binding = 0) buffer B { uint x[]; }; void main() { x[gl_LocalInvocationIndex] = M; }"},
			options: []string{"-DN=8", "-DM=7u"}},
		{s: Source{Name: "a.vert", Text: "#version 450\nvoid main() { gl_Position = vec4(gl_VertexIndex); }",
			Target: "vulkan1.0"}},
		{s: Source{Name: "a.frag", Text: "#version 460\nlayout(location = 0) out vec4 c; void main() { discard; }",
			Target: "vulkan1.3"}},
		{s: Source{Name: "a.comp", Text: "#version 450\nvoid main() {", Target: "vulkan1.2"}, wrong: "syntax error"},
		{s: Source{Name: "a.comp", Text: packed, Target: "vulkan1.2"}, wrong: "spirv-val: "},
		{s: Source{Name: "a.comp", Text: packed, Target: "vulkan1.2", Scalar: true}},
	} {
		words, err := c.s.Compile()
		if errors.Is(err, ErrTool) {
			t.Skip(err)
		}
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v, not %s", c.s.Text, err, c.wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.s.Text, err)
			continue
		}
		in, out := filepath.Join(t.TempDir(), c.s.Name), filepath.Join(t.TempDir(), "a.spv")
		if err := os.WriteFile(in, []byte(c.s.Text), 0o600); err != nil {
			t.Fatal(err)
		}
		target := c.s.Target
		if target == "" {
			target = "vulkan1.1"
		}
		args := append([]string{"-V", "--target-env", target, "-o", out, in}, c.options...)
		if text, err := exec.Command(glslang, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]byte, 0, len(b))
		for _, w := range words {
			want = binary.NativeEndian.AppendUint32(want, w)
		}
		if !bytes.Equal(want, b) {
			t.Errorf("%s: another module than glslangValidator's", c.s.Text)
		}
	}
}
