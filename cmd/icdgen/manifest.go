package main

import (
	"fmt"
	"io"
	"path/filepath"

	"farside/manifest"

	"github.com/spf13/cobra"
)

// manifestOptions are the flags of the manifest command.
type manifestOptions struct {
	library    string
	apiVersion string
	output     string
	install    string
	remove     string
	root       string
}

func newManifestCommand() *cobra.Command {
	var opts manifestOptions
	cmd := &cobra.Command{
		Use:   "manifest (-library PATH [-output FILE | -install SCOPE] | -remove SCOPE)",
		Short: "Write, install or remove the JSON file by which the Vulkan loader finds the driver",
		Long: `Manifest writes the JSON file by which the Vulkan loader finds the driver, or installs or removes it.

Without -install or -remove it writes the manifest to -output, or to standard output. The library's path is
written as given: absolute, or relative to the manifest's directory when it holds a slash, or a bare name that
the dynamic linker searches for.

-install puts the manifest where the loader looks by itself, with the library's absolute path. It replaces an
earlier manifest of this driver and refuses to replace another driver's. -remove deletes what -install wrote.
SCOPE is user ($XDG_DATA_HOME/vulkan/icd.d, by default ~/.local/share/vulkan/icd.d) or system
(/usr/local/share/vulkan/icd.d).

On failure it prints one line and exits with code 1.`,
		Example: `  icdgen manifest -library ./libvulkan_farside.so -o build/farside_icd.x86_64.json
  icdgen manifest -library build/libvulkan_farside.so -install user
  icdgen manifest -remove user`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runManifest(cmd.OutOrStdout(), opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.library, "library", "", "`path` of the driver's shared library")
	flags.StringVar(&opts.apiVersion, "api-version", manifest.APIVersion, "Vulkan `version` that the manifest states, as major.minor.patch")
	flags.StringVarP(&opts.output, "output", "o", "", "`file` to write instead of standard output")
	flags.StringVar(&opts.install, "install", "", "install for this `scope`: user or system")
	flags.StringVar(&opts.remove, "remove", "", "remove what was installed for this `scope`: user or system")
	flags.StringVar(&opts.root, "root", "", "`directory` to put before the scope's directory, as packagers use DESTDIR")
	cmd.MarkFlagsMutuallyExclusive("output", "install", "remove")
	cmd.MarkFlagsMutuallyExclusive("library", "remove")
	cmd.MarkFlagsOneRequired("library", "remove")
	return cmd
}

func runManifest(stdout io.Writer, opts manifestOptions) error {
	if opts.root != "" && opts.install == "" && opts.remove == "" {
		return fmt.Errorf("-root needs -install or -remove")
	}
	m := manifest.New(opts.library, opts.apiVersion)
	switch {
	case opts.remove != "":
		scope, err := manifest.ParseScope(opts.remove)
		if err != nil {
			return err
		}
		path, err := manifest.Remove(scope, opts.root)
		if err != nil {
			return err
		}
		fmt.Fprintln(stdout, "removed", path)
	case opts.install != "":
		scope, err := manifest.ParseScope(opts.install)
		if err != nil {
			return err
		}
		if opts.library == "" {
			return fmt.Errorf("-library is empty")
		}
		if m.ICD.LibraryPath, err = filepath.Abs(opts.library); err != nil {
			return err
		}
		path, err := manifest.Install(scope, opts.root, m)
		if err != nil {
			return err
		}
		fmt.Fprintln(stdout, "installed", path)
	case opts.output != "":
		return manifest.WriteFile(opts.output, m)
	default:
		data, err := m.Marshal()
		if err != nil {
			return err
		}
		_, err = stdout.Write(data)
		return err
	}
	return nil
}
