package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"farside/internal/config"
	"farside/manifest"
)

func (t *tool) run() *cobra.Command {
	var file string
	values := make([]string, len(runSettings))
	cmd := &cobra.Command{
		Use: "run [FLAG...] -- PROGRAM [ARGUMENT...]", DisableFlagsInUseLine: true,
		Short: "Run a Vulkan program on Farside and on no other driver",
		Long: `Replaces itself by a program whose environment points the Vulkan loader at Farside:
at the manifest beside this tool (build/ after make build, or an unpacked package), at
the one that make install installed for the user or the system, or at the one that
--manifest names.
The loader ignores that environment in privileged programs.

Exit status: the program's; 1 if it can't be run, 2 when called in a wrong way.`,
		Example: "  farside run --strict all --report out -- ./your-vulkan-tests",
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
		if s.complete != nil {
			_ = cmd.RegisterFlagCompletionFunc(s.flag, s.complete) // fails for flags that there are not
		}
	}
	cmd.Flags().StringVar(&file, "manifest", "", "`FILE` that tells the loader of the driver")
	return cmd
}

// runSettings are the variables that farside run has a flag for. Without complete a value is a file.
var runSettings = []struct {
	flag, variable, help string
	complete             cobra.CompletionFunc
}{
	{"profile", config.Profile, "`NAME` or file of what the devices claim to be", profileNames},
	{"faults", config.Faults, "`PLAN` of what fails, or the file of one", nil},
	{"strict", "FARSIDE_STRICT", "`LIST` of what to look out for, or all", strictWords},
	{"report", "FARSIDE_REPORT", "`DIRECTORY` for reports; farside report merges them", directories},
	{"trace", "FARSIDE_TRACE", "`FILE` to which a Perfetto trace is appended", nil},
}

// strictWords completes the last word of a list of FARSIDE_STRICT.
func strictWords(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	before := typed[:strings.LastIndexByte(typed, ',')+1]
	words := slices.Sorted(maps.Keys(config.StrictWords))
	if before == "" {
		words = append(words, "all")
	}
	for i := range words {
		words[i] = before + words[i]
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func directories(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
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

// findManifest finds the driver's manifest, as an absolute path: the one that is asked for, or the first that
// there is of those that belong to this tool.
func findManifest(file string) (string, manifest.Manifest, error) {
	if file != "" {
		return manifest.Find(file)
	}
	var candidates []string
	if self, err := os.Executable(); err == nil {
		dir := filepath.Dir(self)
		candidates = append(candidates, filepath.Join(dir, manifest.FileName()),
			filepath.Join(dir, "../share/vulkan/icd.d", manifest.FileName()))
	}
	return manifest.Find(append(candidates, manifest.Installed()...)...)
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
