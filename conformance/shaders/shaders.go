// Package shaders has the shaders of the conformance suite, in GLSL and as SPIR-V text. It compiles them and those of
// other packages' tests with glslangValidator or spirv-as; spirv-val must accept the result.
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
// and runs compile each of them once: to start glslangValidator takes longer than most tests of a shader. Without it
// the directory is build/shaders of the tree in whose directory the process runs, and nothing is kept elsewhere.
const CacheEnv = "FARSIDE_SHADER_CACHE"

// ErrTool is wrapped by the errors that say that a tool is missing.
var ErrTool = errors.New("not installed")

// A Source is a shader and how to compile it.
type Source struct {
	Name    string   // of a file of this package, such as "basic/ids.comp"; with Text only for messages
	Text    string   // GLSL or, if Name ends in ".spvasm", SPIR-V text, instead of a file's
	Defines []string // "NAME=VALUE": macros of the preprocessor, or text that replaces @NAME@ in SPIR-V text
	Target  string   // of glslangValidator: "vulkan1.0" to "vulkan1.3", "" for "vulkan1.1"
	Scalar  bool     // blocks are laid out by the rules of scalarBlockLayout
	Debug   bool     // with the names of files and lines
	Invalid bool     // not to be shown to spirv-val
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

// Cache is the directory in which compiled shaders are kept, "" if there is none.
func Cache() (string, error) {
	if dir := os.Getenv(CacheEnv); dir != "" {
		return dir, nil
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

// compile writes the module to key.spv under a name of its own first: others may be at it too.
func (s Source) compile(key string) ([]byte, error) {
	out, err := os.CreateTemp(filepath.Dir(key), "module-*")
	if err != nil {
		return nil, err
	}
	_ = out.Close()
	// Messages, and the debug information of a module, have the shader's own name.
	if err := os.Mkdir(out.Name()+"-source", 0o700); err != nil {
		return nil, err
	}
	source := filepath.Join(out.Name()+"-source", path.Base(s.Name))
	if path.Ext(s.Name) == ".spvasm" {
		text := s.Text
		for _, d := range s.Defines {
			name, value, _ := strings.Cut(d, "=")
			text = strings.ReplaceAll(text, "@"+name+"@", value)
		}
		if err = os.WriteFile(source, []byte(text), 0o600); err == nil {
			env := map[string]string{"vulkan1.0": "spv1.0", "vulkan1.1": "spv1.3", "vulkan1.2": "spv1.5", "vulkan1.3": "spv1.6"}
			err = tool("spirv-as", "spirv-tools", "--preserve-numeric-ids", "--target-env", env[s.Target], "-o", out.Name(),
				source)
		}
	} else {
		args := []string{"-V", "-S", strings.TrimPrefix(path.Ext(s.Name), "."), "--target-env", s.Target, "-o", out.Name()}
		if s.Debug {
			args = append(args, "-g")
		}
		for _, d := range s.Defines {
			args = append(args, "-D"+d)
		}
		if err = os.WriteFile(source, []byte(s.Text), 0o600); err == nil {
			err = tool("glslangValidator", "glslang-tools", append(args, source)...)
		}
	}
	if err != nil {
		return nil, err
	}
	if !s.Invalid {
		args := []string{"--target-env", s.Target, "--uniform-buffer-standard-layout"}
		if s.Scalar {
			args = append(args, "--scalar-block-layout", "--workgroup-scalar-block-layout")
		}
		if err := tool("spirv-val", "spirv-tools", append(args, out.Name())...); err != nil {
			return nil, err
		}
	}
	b, err := os.ReadFile(out.Name())
	if err != nil {
		return nil, err
	}
	return b, os.Rename(out.Name(), key+".spv")
}

func tool(name, pkg string, args ...string) error {
	if _, err := exec.LookPath(name); err != nil {
		return fmt.Errorf("%s (Debian package %s): %w", name, pkg, ErrTool)
	}
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
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
