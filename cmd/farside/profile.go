package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"farside/icd"
	"farside/internal/profile"
)

func (t *tool) profile() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "profile",
		Short: "List, show and check what devices can claim to be",
		Long: `A profile makes the driver's physical device claim to be another one. It is built in, or
a file: the text or the JSON of vulkaninfo, a report of gpuinfo.org, or TOML that changes
one of these. docs/profiles.md has the format.`,
		Example: "  farside profile list\n  FARSIDE_PROFILE=h200 farside run -- ./your-vulkan-tests",
	}
	cmd.AddCommand(t.profileList(), t.profileShow(), t.profileCheck())
	return cmd
}

func (t *tool) profileList() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the built-in profiles",
		Example: "  farside profile list",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
			names, about := profile.Builtin()
			for i, name := range names {
				fmt.Fprintf(w, "%s\t%s\n", name, about[i])
			}
			return t.fail(w.Flush())
		},
	}
}

// profileNames completes the first argument with the names of the built-in profiles, and with files.
func profileNames(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, _ := profile.Builtin()
	return names, cobra.ShellCompDirectiveDefault
}

func (t *tool) profileShow() *cobra.Command {
	var cut, notes bool
	cmd := &cobra.Command{
		Use:   "show NAME|FILE",
		Short: "Show the devices of a profile, and what of it is cut",
		Long: `Shows what the devices of a profile are here: names, memory, queue families, and how many
extensions and features. Then what the profile claims and the driver doesn't do: by kind,
with the first of each, or with --cut all in a table with reasons. The profile isn't
checked; farside profile check does that.`,
		Example:           "  farside profile show h200\n  farside profile show --cut laptop.txt",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: profileNames,
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := profile.Load(args[0])
			if err != nil {
				return t.fail(err)
			}
			for i, r := range icd.ShowProfile(p) {
				err = errors.Join(err, showDevice(os.Stdout, i, p.Devices[i], r))
				showCuts := summarizeCuts
				if cut {
					showCuts = listCuts
				}
				err = errors.Join(err, showCuts(os.Stdout, r.Changes))
				if notes {
					for _, note := range p.Devices[i].Notes {
						fmt.Println(printable(note))
					}
				}
			}
			return t.fail(err)
		},
	}
	cmd.Flags().BoolVar(&cut, "cut", false, "list all that the profile claims and the driver doesn't do")
	cmd.Flags().BoolVar(&notes, "notes", false, "show what of the file nobody here knows, too")
	return cmd
}

// own is what stands for a value that the profile leaves to the driver.
const own = "(the driver's own)"

func orOwn(s string) string {
	if s == "" {
		return own
	}
	return s
}

func showDevice(out io.Writer, number int, d *profile.Device, r *profile.Result) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	const core = "VkPhysicalDeviceProperties."
	fmt.Fprintf(w, "device %d\t%s\n", number, printable(orOwn(d.Name())))
	fmt.Fprintf(w, "  type\t%s\n", orOwn(d.Value(core+"deviceType")))
	fmt.Fprintf(w, "  deviceUUID\t%s\n", orOwn(d.Value("VkPhysicalDeviceIDProperties.deviceUUID")))
	fmt.Fprintf(w, "  Vulkan\t%d.%d.%d\n", r.Version>>22, r.Version>>12&0x3ff, r.Version&0xfff)
	if d.Group != nil {
		fmt.Fprintf(w, "  device group\tof devices %s\n", strings.Trim(fmt.Sprint(d.Group.Devices), "[]"))
	}
	for i, h := range r.Heaps {
		fmt.Fprintf(w, "  heap %d\t%s\t%s\n", i, units.BytesSize(float64(h.Size)), short(h.Flags, "VK_MEMORY_HEAP_"))
	}
	for i, m := range r.Types {
		fmt.Fprintf(w, "  memory type %d\theap %d\t%s\t%s\n", i, m.Heap, short(m.Flags, "VK_MEMORY_PROPERTY_"), tilings(m))
	}
	for i, f := range r.Families {
		fmt.Fprintf(w, "  queue family %d\t%d queues\t%v\n", i, f.Count, short(f.Flags, "VK_QUEUE_"))
	}
	fmt.Fprintf(w, "  extensions\t%d\n  features\t%d\n  cut\t%d\n", len(r.Extensions), len(r.Features), len(r.Changes))
	return w.Flush()
}

// short prints flags without what their names have in common.
func short(flags fmt.Stringer, prefix string) string {
	return strings.ReplaceAll(strings.ReplaceAll(flags.String(), prefix, ""), "_BIT", "")
}

// tilings says which images can't lie in a memory type.
func tilings(m profile.Type) string {
	switch {
	case !m.Optimal && !m.Linear:
		return "no images"
	case !m.Optimal:
		return "no optimal images"
	case !m.Linear:
		return "no linear images"
	}
	return ""
}

func (t *tool) profileCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check NAME|FILE",
		Short: "Check a profile against the rules of the specification",
		Long: `Reads a profile and holds it to the rules of the specification, as vkCreateInstance does.
Each rule that it breaks is a line. The exit status is 0 for a profile that can be used, and 1
for any other.`,
		Example:           "  farside profile check laptop.txt",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: profileNames,
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := profile.Load(args[0])
			if err == nil {
				err = profile.Check(p, icd.HasFeature)
			}
			if err != nil {
				return t.fail(err)
			}
			fmt.Printf("%s: %d physical devices, no rule is broken\n", printable(args[0]), len(p.Devices))
			return nil
		},
	}
}
