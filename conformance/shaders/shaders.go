// Package shaders has the shaders of the conformance suite, in GLSL and as SPIR-V text. It compiles them and those of
// other packages' tests with glslang or spirv-as; SPIRV-Tools must accept the result.
package shaders

import (
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

//go:embed */*.comp */*.vert */*.frag */*.spvasm
var files embed.FS

// CacheEnv names the environment variable with the directory in which compiled shaders are kept, so that processes
// and runs compile each of them once. Without it the directory is build/shaders of the tree in which the process runs;
// elsewhere nothing is kept.
const CacheEnv = "FARSIDE_SHADER_CACHE"

// ErrTool is wrapped by the errors that say that a tool is missing.
var ErrTool = errors.New("not installed")

// A Source is a shader and how to compile it.
type Source struct {
	Name    string   // of a file of this package, such as "basic/ids.comp"; with Text only for messages
	Text    string   // GLSL or, if Name ends in ".spvasm", SPIR-V text, instead of a file's
	Defines []string // "NAME=VALUE": macros of the preprocessor, or text that replaces @NAME@ in SPIR-V text
	Target  string   // of glslang: "vulkan1.0" to "vulkan1.3", "" for "vulkan1.1"
	Scalar  bool     // blocks are laid out by the rules of scalarBlockLayout
	Debug   bool     // with the names of files and lines
	Invalid bool     // not to be validated
}

// Compile returns the words of the shader's module.
func (s Source) Compile() ([]uint32, error) {
	if s.Target == "" {
		s.Target = "vulkan1.1"
	}
	if s.Text == "" {
		text, err := files.ReadFile(s.Name)
		if err != nil {
			return nil, err
		}
		s.Text = string(text)
	}
	dir, err := Cache()
	if err != nil {
		return nil, err
	}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "farside-shader-"); err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
	}
	key := filepath.Join(dir, fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%#v %s", s, tools()))))
	if b, err := os.ReadFile(key + ".spv"); err == nil {
		return words(b)
	}
	b, err := s.compile(key)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", s.Name, strings.Join(s.Defines, " "), err)
	}
	return words(b)
}

// Check returns an error that wraps ErrTool if the compiler can't be had.
func Check() error {
	_, err := Source{Name: "empty.comp", Text: "#version 450\nvoid main() {}"}.Compile()
	return err
}

// Cache is the directory in which compiled shaders are kept, "" if there is none.
func Cache() (string, error) {
	if dir := os.Getenv(CacheEnv); dir != "" {
		return dir, os.MkdirAll(dir, 0o755)
	}
	tree, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if mod, err := os.ReadFile(filepath.Join(tree, "go.mod")); err == nil {
			if !strings.HasPrefix(string(mod), "module farside\n") {
				return "", nil
			}
			dir := filepath.Join(tree, "build", "shaders")
			return dir, os.MkdirAll(dir, 0o755)
		}
		if tree == filepath.Dir(tree) {
			return "", nil
		}
		tree = filepath.Dir(tree)
	}
}

// tools tells compilers apart: what another one has made isn't taken for this one's.
var tools = sync.OnceValue(func() string {
	var all strings.Builder
	for _, name := range []string{"glslangValidator", "spirv-as", "spirv-val"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintln(&all, path, info.Size(), info.ModTime())
		}
	}
	return all.String()
})

// compile writes the module to key.spv, under a name of its own first: others may be at it too.
func (s Source) compile(key string) ([]byte, error) {
	translate := s.glsl
	if path.Ext(s.Name) == ".spvasm" {
		translate = s.assemble
	}
	b, err := translate(filepath.Dir(key))
	if err != nil {
		return nil, err
	}
	out, err := os.CreateTemp(filepath.Dir(key), "module-*")
	if err != nil {
		return nil, err
	}
	_, err = out.Write(b)
	if err = errors.Join(err, out.Close()); err != nil {
		return nil, err
	}
	return b, os.Rename(out.Name(), key+".spv")
}

// assemble makes the module's bytes of SPIR-V text. dir is for files on the way.
func (s Source) assemble(dir string) ([]byte, error) {
	out, err := os.CreateTemp(dir, "assembled-*")
	if err != nil {
		return nil, err
	}
	_ = out.Close()
	defer os.Remove(out.Name())
	text := s.Text
	for _, d := range s.Defines {
		name, value, _ := strings.Cut(d, "=")
		text = strings.ReplaceAll(text, "@"+name+"@", value)
	}
	env := map[string]string{"vulkan1.0": "spv1.0", "vulkan1.1": "spv1.3", "vulkan1.2": "spv1.5", "vulkan1.3": "spv1.6"}
	if err := tool("spirv-as", text, "--preserve-numeric-ids", "--target-env", env[s.Target], "-o", out.Name(),
		"-"); err != nil {
		return nil, err
	}
	if !s.Invalid {
		args := []string{"--target-env", s.Target, "--uniform-buffer-standard-layout"}
		if s.Scalar {
			args = append(args, "--scalar-block-layout", "--workgroup-scalar-block-layout")
		}
		if err := tool("spirv-val", "", append(args, out.Name())...); err != nil {
			return nil, err
		}
	}
	return os.ReadFile(out.Name())
}

// tool runs a program of the Debian package spirv-tools.
func tool(name, stdin string, args ...string) error {
	if _, err := exec.LookPath(name); err != nil {
		return fmt.Errorf("%s (Debian package spirv-tools): %w", name, ErrTool)
	}
	cmd := exec.Command(name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}

func words(b []byte) ([]uint32, error) {
	if len(b)%4 != 0 {
		return nil, fmt.Errorf("a module of %d bytes", len(b))
	}
	w := make([]uint32, len(b)/4)
	for i := range w {
		w[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return w, nil
}
