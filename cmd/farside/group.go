package main

import (
	"fmt"
	"slices"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
)

// shapeGroups makes each command that has others below it print its help, and refuse a word that none of them is.
func shapeGroups(c *cobra.Command) {
	for _, sub := range c.Commands() {
		shapeGroups(sub)
	}
	switch {
	case c.Name() == "help":
		c.Args = func(_ *cobra.Command, args []string) error {
			group, rest, err := c.Root().Find(args)
			if err != nil || !group.HasSubCommands() {
				return err
			}
			return noWord(group, rest)
		}
	case c.HasSubCommands():
		c.Args = noWord
		c.RunE = func(group *cobra.Command, _ []string) error { return group.Help() }
	}
}

// noWord refuses the word that was taken for a command of a group, and names the nearest that there is.
func noWord(group *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range group.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	near := slices.MinFunc(names, func(a, b string) int {
		return levenshtein.ComputeDistance(a, args[0]) - levenshtein.ComputeDistance(b, args[0])
	})
	return fmt.Errorf("%s has no command %q; the nearest is %s", group.CommandPath(), args[0], near)
}
