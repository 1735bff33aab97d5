package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"farside/cmd/icdgen/internal/emit"
	"farside/cmd/icdgen/internal/registry"
)

// apiPaths are the flags of the command api.
type apiPaths struct{ registry, support, ops, sources, out string }

func newAPICommand() *cobra.Command {
	var paths apiPaths
	cmd := &cobra.Command{
		Use:   "api -registry PATH [-support FILE] [-ops FILE] [-out DIR]",
		Short: "Write internal/vk, internal/cabi, internal/command and spirv from the Vulkan registry",
		Long: `Api reads the Vulkan registry (vk.xml of KhronosGroup/Vulkan-Docs) and writes
internal/vk/zz_generated_*.go below the output directory: handles, enumerations, bitmasks,
constants, structures in C layout, and the tables of structures, features, extensions,
commands and formats; internal/cabi/zz_generated_*: stubs, frame readers and the dispatch
table for the commands that the driver implements; internal/fault/zz_generated_*: the results
that these may return; and internal/command/zz_generated_*: the commands that command buffers
hold. From SPIR-V's grammars (spirv.core.grammar.json and extinst.glsl.std.450.grammar.json of
KhronosGroup/SPIRV-Headers), which lie beside vk.xml, it writes spirv/zz_generated_*: opcodes,
enumerations and operands. From the list of valid usage identifiers beside vk.xml (vuids.txt,
one a line) it writes a constant for each that the Go files below -sources name as vk.VUID_…, and
fails where one does not exist. The same registry always gives the same bytes. Files are written
only when all of them could be generated; those whose content did not change are left alone.`,
		Example: "  go run ./cmd/icdgen api -registry ../shared/registry/vk.xml",
		Args:    cobra.NoArgs,

		DisableFlagsInUseLine: true,
		RunE:                  func(*cobra.Command, []string) error { return paths.generate() },
	}
	cmd.Flags().StringVar(&paths.registry, "registry", "", "the registry to read (`PATH` of vk.xml)")
	cmd.Flags().StringVar(&paths.support, "support", "icd/support.go",
		"the Go `FILE` whose cabi.Commands literal names the commands that the driver implements")
	cmd.Flags().StringVar(&paths.ops, "ops", "internal/command/op.go",
		"the Go `FILE` whose constants name the commands that command buffers hold")
	cmd.Flags().StringVar(&paths.sources, "sources", ".", "the `DIR` below which Go files name valid usage identifiers")
	cmd.Flags().StringVar(&paths.out, "out", ".", "the repository's root, `DIR`")
	return cmd
}

// generate makes all files and then writes them.
func (paths *apiPaths) generate() error {
	if paths.registry == "" {
		return errors.New("api: -registry is missing: the path of vk.xml")
	}
	reg, err := readRegistry(paths.registry)
	if err != nil {
		return err
	}
	files, err := emit.API(reg)
	if err != nil {
		return err
	}
	properties, err := emit.Profile(reg)
	if err != nil {
		return err
	}
	recorded, err := names(paths.ops, emit.Ops)
	if err != nil {
		return err
	}
	supported, err := names(paths.support, emit.Supported)
	if err != nil {
		return err
	}
	entries, err := emit.CABI(reg, supported, recorded)
	if err != nil {
		return fmt.Errorf("%s: %w", paths.support, err)
	}
	records, err := emit.Records(reg, recorded)
	if err != nil {
		return fmt.Errorf("%s: %w", paths.ops, err)
	}
	modules, err := spirvFiles(filepath.Dir(paths.registry))
	if err != nil {
		return err
	}
	vuids, err := readWith(filepath.Join(filepath.Dir(paths.registry), "vuids.txt"), emit.ReadVUIDs)
	if err != nil {
		return err
	}
	driver, err := readDriver(filepath.Dir(paths.support), supported)
	if err != nil {
		return err
	}
	checked, err := emit.Handles(reg, driver, vuids)
	if err != nil {
		return err
	}
	faults, err := emit.Faults(reg, driver)
	if err != nil {
		return err
	}
	constants, err := vuidFile(vuids, paths.sources, checked)
	if err != nil {
		return err
	}
	single := []emit.File{properties, faults, constants}
	return writeFiles(paths.out, slices.Concat(files, entries, records, modules, checked, single))
}

// names reads a list of names from a Go file.
func names(path string, parse func(path string, src []byte) ([]string, error)) ([]string, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parse(path, src)
}

func readRegistry(path string) (*registry.Registry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	reg, err := registry.Parse(bufio.NewReader(f))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return reg, nil
}

// spirvFiles makes package spirv's files from the grammars in a directory.
func spirvFiles(dir string) ([]emit.File, error) {
	path := filepath.Join(dir, "spirv.core.grammar.json")
	grammar, err := readWith(path, registry.ParseGrammar)
	if err != nil {
		return nil, err
	}
	glsl, err := readWith(filepath.Join(dir, "extinst.glsl.std.450.grammar.json"), registry.ParseExtendedSet)
	if err != nil {
		return nil, err
	}
	files, err := emit.SPIRV(grammar, glsl)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return files, nil
}

// readWith reads a file, whose name stands in every error.
func readWith[T any](path string, parse func(io.Reader) (T, error)) (read T, err error) {
	f, err := os.Open(path)
	if err != nil {
		return read, err
	}
	defer f.Close()
	if read, err = parse(f); err != nil {
		return read, fmt.Errorf("%s: %w", path, err)
	}
	return read, nil
}

// readDriver reads the sources of package icd in a directory.
func readDriver(dir string, commands []string) (*emit.Driver, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	sources := map[string][]byte{}
	for _, p := range paths {
		if sources[p], err = os.ReadFile(p); err != nil {
			return nil, err
		}
	}
	return emit.ReadDriver(sources, commands)
}

// vuidFile makes the constants of the valid usage identifiers that Go files below root name, and those that are about
// to be written.
func vuidFile(list *emit.VUIDList, root string, written []emit.File) (emit.File, error) {
	used := map[string]bool{}
	for _, f := range written {
		emit.VUIDsIn(f.Data, used)
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasPrefix(d.Name(), "zz_generated"):
			return nil
		}
		src, err := os.ReadFile(path)
		if err == nil {
			emit.VUIDsIn(src, used)
		}
		return err
	})
	if err != nil {
		return emit.File{}, err
	}
	return list.Constants(used)
}

// writeFiles leaves unchanged files alone, so that their times stay and builds stay cached.
func writeFiles(root string, files []emit.File) error {
	for _, f := range files {
		path := filepath.Join(root, filepath.FromSlash(f.Path))
		if old, err := os.ReadFile(path); err == nil && string(old) == string(f.Data) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
