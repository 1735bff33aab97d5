package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"farside/cmd/icdgen/internal/registry"
)

func newAPICommand() *cobra.Command {
	var registryPath, out string
	cmd := &cobra.Command{
		Use:   "api -registry PATH [-out DIR]",
		Short: "Write internal/vk from the Vulkan registry",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			reg, err := readRegistry(registryPath)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), len(reg.Structs), len(reg.Commands), len(reg.Extensions), out)
			return err
		},
	}
	cmd.Flags().StringVar(&registryPath, "registry", "", "the registry to read (vk.xml)")
	cmd.Flags().StringVar(&out, "out", ".", "the repository's root")
	return cmd
}

func readRegistry(path string) (*registry.Registry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return registry.Parse(bufio.NewReader(f))
}
