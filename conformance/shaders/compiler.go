package shaders

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

//go:embed compiler/main.c
var compilerSource []byte

// libraries are glslang's and SPIRV-Tools', as Debian's glslang-dev and spirv-tools have them. They need the library of
// C++, and no compiler.
var libraries = strings.Fields(`-Wl,--start-group -lglslang -lMachineIndependent -lGenericCodeGen -lOSDependent
	-lOGLCompiler -lHLSL -lSPIRV -lSPVRemapper -lglslang-default-resource-limits -lSPIRV-Tools-opt -lSPIRV-Tools
	-Wl,--end-group -l:libstdc++.so.6 -lm`)

// buildCompiler compiles compiler/main.c into a directory, unless it is there, and gives the program's path.
func buildCompiler(dir string) (string, error) {
	program := filepath.Join(dir, fmt.Sprintf("compiler-%.8x", sha256.Sum256(fmt.Appendf(compilerSource, "%s", tools()))))
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	out, err := os.CreateTemp(dir, "compiler-*")
	if err != nil {
		return "", err
	}
	_ = out.Close()
	cmd := exec.Command("gcc", slices.Concat([]string{"-O1", "-xc", "-", "-xnone", "-o", out.Name()}, libraries)...)
	cmd.Stdin = bytes.NewReader(compilerSource)
	if text, err := cmd.CombinedOutput(); err != nil {
		_ = os.Remove(out.Name())
		return "", fmt.Errorf("gcc with the Debian packages glslang-dev and spirv-tools: %w: %v\n%s", ErrTool, err, text)
	}
	return program, os.Rename(out.Name(), program)
}

// compiler is a process of compiler/main.c, which lives as long as the process that needs it.
var compiler struct {
	sync.Mutex
	in  *os.File // of its standard input, nil if there is no process
	out *os.File
}

// Owns tells whether a descriptor of the process is the compiler's.
func Owns(fd int) bool {
	compiler.Lock()
	defer compiler.Unlock()
	return compiler.in != nil && (compiler.in.Fd() == uintptr(fd) || compiler.out.Fd() == uintptr(fd))
}

// startCompiler starts the process. The caller holds the lock.
func startCompiler(dir string) error {
	program, err := buildCompiler(dir)
	if err != nil {
		return err
	}
	stdin, in, err := os.Pipe()
	if err != nil {
		return err
	}
	out, stdout, err := os.Pipe()
	if err == nil {
		cmd := exec.Command(program)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, os.Stderr
		if err = cmd.Start(); err == nil {
			_ = cmd.Process.Release() // it ends with this process, and keeps no descriptor
			compiler.in, compiler.out = in, out
		} else {
			_ = out.Close()
		}
		_ = stdout.Close()
	}
	_ = stdin.Close()
	if err != nil {
		_ = in.Close()
	}
	return err
}

// glsl compiles the source and gives the module's bytes. dir is where the compiler is kept.
func (s Source) glsl(dir string) ([]byte, error) {
	compiler.Lock()
	defer compiler.Unlock()
	if compiler.in == nil {
		if err := startCompiler(dir); err != nil {
			return nil, err
		}
	}
	b, wrong, err := s.ask()
	if err != nil {
		_, _ = compiler.in.Close(), compiler.out.Close()
		compiler.in, compiler.out = nil, nil
		return nil, fmt.Errorf("the compiler's process: %w", err)
	}
	if wrong {
		return nil, errors.New(string(b))
	}
	return b, nil
}

// ask sends the source to the compiler and gives the module, or what is wrong with the source.
func (s Source) ask() (answer []byte, wrong bool, err error) {
	var preamble strings.Builder
	for _, d := range s.Defines {
		name, value, _ := strings.Cut(d, "=")
		fmt.Fprintf(&preamble, "#define %s %s\n", name, value)
	}
	// The numbers are glslang_stage_t's.
	stage := map[string]uint32{".vert": 0, ".frag": 4, ".comp": 5}[path.Ext(s.Name)]
	target := s.Target[len(s.Target)-1] - '0'
	is := func(b bool) uint32 {
		if b {
			return 1
		}
		return 0
	}
	texts := []string{s.Text, preamble.String(), path.Base(s.Name)}
	header := []uint32{stage, uint32(target), is(s.Debug), is(!s.Invalid), is(s.Scalar)}
	for _, t := range texts {
		header = append(header, uint32(len(t)+1))
	}
	var request bytes.Buffer
	_ = binary.Write(&request, binary.NativeEndian, header)
	for _, t := range texts {
		request.WriteString(t + "\x00")
	}
	if _, err := compiler.in.Write(request.Bytes()); err != nil {
		return nil, false, err
	}
	var head [2]uint32
	if err := binary.Read(compiler.out, binary.NativeEndian, &head); err != nil {
		return nil, false, err
	}
	answer = make([]byte, head[1])
	_, err = io.ReadFull(compiler.out, answer)
	return answer, head[0] != 0, err
}
