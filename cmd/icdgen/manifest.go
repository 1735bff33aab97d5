package main

import (
	"io"

	"github.com/spf13/cobra"

	"farside/manifest"
)

// manifestOptions are the flags of the manifest command.
type manifestOptions struct {
	library    string
	apiVersion string
	output     string
}

func newManifestCommand() *cobra.Command {
	var opts manifestOptions
	cmd := &cobra.Command{
		Use:   "manifest -library PATH [-output FILE]",
		Short: "Write the JSON file by which the Vulkan loader finds the driver",
		Long: `Manifest writes the JSON file by which the Vulkan loader finds the driver, to -output or to standard output.
The library's path is written as given: absolute, or relative to the manifest's directory when it holds a slash,
or a bare name that the dynamic linker searches for. farside install installs a manifest.

On failure it prints one line and exits with code 1.`,
		Example: "  icdgen manifest -library ./libvulkan_farside.so -o build/farside_icd.x86_64.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runManifest(cmd.OutOrStdout(), opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.library, "library", "", "`path` of the driver's shared library")
	flags.StringVar(&opts.apiVersion, "api-version", manifest.APIVersion,
		"Vulkan `version` that the manifest states, as major.minor.patch")
	flags.StringVarP(&opts.output, "output", "o", "", "`file` to write instead of standard output")
	cobra.CheckErr(cmd.MarkFlagRequired("library"))
	return cmd
}

func runManifest(stdout io.Writer, opts manifestOptions) error {
	m := manifest.New(opts.library, opts.apiVersion)
	if opts.output != "" {
		return manifest.WriteFile(opts.output, m)
	}
	data, err := m.Marshal()
	if err != nil {
		return err
	}
	_, err = stdout.Write(data)
	return err
}
