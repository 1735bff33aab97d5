// Icdgen reads the Vulkan registry and writes Farside's generated files.
package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
)

func main() {
	root := newRootCommand()
	root.SetArgs(longFlags(os.Args[1:]))
	if err := root.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "icdgen:", err)
		os.Exit(1)
	}
}

// longFlags lets -registry stand for --registry, as Go's own tools write it: no flag here has a cluster of
// one-letter forms that the single dash could mean instead.
func longFlags(args []string) []string {
	out := slices.Clone(args)
	for i, a := range out {
		if a == "--" {
			break
		}
		if len(a) > 2 && a[0] == '-' && a[1] != '-' {
			out[i] = "-" + a
		}
	}
	return out
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "icdgen",
		Short: "Write Farside's generated files",
		Long: `Icdgen writes what Farside does not write by hand: the Vulkan types, constants and tables,
from the Vulkan registry. It prints one line and exits with status 1 when something is wrong.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		newAPICommand(),
		newManifestCommand(),
		newVerbsCommand(),
	)
	return root
}
