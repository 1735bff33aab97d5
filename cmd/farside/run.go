package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"farside/manifest"
)

func (t *tool) run() *cobra.Command {
	var file string
	values := make([]string, len(runSettings))
	cmd := &cobra.Command{
		Use:   "run [--faults TEXT] [--strict LIST] [--report DIRECTORY] [--trace FILE] [--manifest FILE] -- PROGRAM [ARGUMENT...]",
		Short: "Run a Vulkan program on Farside and on no other driver",
		Long: `Replaces itself by a program whose environment points the Vulkan loader at Farside:
at the manifest beside this tool (build/ after make build), at the one that make
install installed for the user or the system, or at the one that --manifest names.
The loader ignores that environment in privileged programs.`,
		Example: "  farside run -- vulkaninfo --summary",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			for i, s := range runSettings {
				if values[i] != "" {
					if err := os.Setenv(s.variable, values[i]); err != nil {
						return t.fail(err)
					}
				}
			}
			return t.fail(runOn(file, args))
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows PROGRAM is its own
	for i, s := range runSettings {
		cmd.Flags().StringVar(&values[i], s.flag, "", s.help)
	}
	cmd.Flags().StringVar(&file, "manifest", "", "`FILE` that tells the loader of the driver")
	return cmd
}

// runSettings are the variables that farside run has a flag for.
var runSettings = []struct{ flag, variable, help string }{
	{"faults", "FARSIDE_FAULTS", "what fails on command, `TEXT` or a file; farside faults explains"},
	{"strict", "FARSIDE_STRICT", "`LIST` of what to look out for, or all"},
	{"report", "FARSIDE_REPORT", "`DIRECTORY` for reports of what happens; farside report merges them"},
	{"trace", "FARSIDE_TRACE", "`FILE` to which what happens is appended as a Perfetto trace"},
}

func runOn(file string, args []string) error {
	path, _, err := findManifest(file)
	if err != nil {
		return err
	}
	program, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", program, unix.Exec(program, args, onDriver(path)))
}

var errNoManifest = errors.New("no manifest of the driver")

// findManifest finds the driver's manifest, as an absolute path: the one that is asked for, or the first that
// there is of those that belong to this tool.
func findManifest(file string) (string, manifest.Manifest, error) {
	candidates := []string{file}
	if file == "" {
		candidates = nil
		if self, err := os.Executable(); err == nil {
			candidates = append(candidates, filepath.Join(filepath.Dir(self), manifest.FileName()))
		}
		for _, scope := range []manifest.Scope{manifest.User, manifest.System} {
			if path, err := manifest.Path(scope, ""); err == nil {
				candidates = append(candidates, path)
			}
		}
	}
	for _, path := range candidates {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var m manifest.Manifest
		if err == nil {
			m, err = manifest.Parse(data)
		}
		if err == nil && !m.IsFarside() {
			err = manifest.ErrNotFarside
		}
		if err != nil {
			return "", m, fmt.Errorf("%s: %w", path, err)
		}
		path, err = filepath.Abs(path)
		return path, m, err
	}
	return "", manifest.Manifest{}, fmt.Errorf("%w: not %s", errNoManifest, strings.Join(candidates, ", "))
}

// onDriver is the environment with the loader pointed at a manifest: by one variable for loaders from 1.3.207
// on, by the other for older ones.
func onDriver(path string) []string {
	names := []string{"VK_DRIVER_FILES=", "VK_ICD_FILENAMES="}
	env := slices.DeleteFunc(os.Environ(), func(s string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(s, name) })
	})
	for _, name := range names {
		env = append(env, name+path)
	}
	return env
}
